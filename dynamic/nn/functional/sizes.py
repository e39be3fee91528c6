"""Comparison of shapes of which some sizes, those of symbolic operands, may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.types import unify


def differ(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two shapes are known to be different."""
    if len(first) != len(second):
        return True
    return any(unify(one, other) is None for one, other in zip(first, second, strict=True))
