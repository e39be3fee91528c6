"""Tensors: their methods, views, in-place operations, and how they are made and printed."""
