"""The extension `linalg` of the array API standard, of tensors."""

from __future__ import annotations

from compiler.array_api import LINALG
from dynamic.xp.functions import namespace

__all__ = list(LINALG)

globals().update(namespace(LINALG))
