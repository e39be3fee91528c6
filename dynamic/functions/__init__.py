"""Functions of the main package that need layers, linear algebra or captures."""
