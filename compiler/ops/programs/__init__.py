"""Ops that hold programs or touch the world: loops, branches, effects, users' own ops."""
