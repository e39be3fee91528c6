"""The extension `linalg` of the array API standard, of expressions."""

from __future__ import annotations

from compiler.array_api import LINALG

__all__ = list(LINALG)

globals().update(LINALG)
