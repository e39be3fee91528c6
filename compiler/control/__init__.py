"""Loops and branches for both paradigms: `scan`, `while_loop` and `cond`."""

from compiler.control.functions import cond, scan, while_loop

__all__ = ["cond", "scan", "while_loop"]
