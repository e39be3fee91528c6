"""Comparison of shapes of which some sizes, those of symbolic operands, may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.dims import assume_equal
from staticgraph.compiler.core.types import unify


def differ(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two shapes are known to be different.

    Where that depends on unknown sizes, a trace takes them for equal, and checks it at each call.
    """
    if len(first) != len(second):
        return True
    pairs = list(zip(first, second, strict=True))
    if any(unify(one, other) is None for one, other in pairs):
        return True
    for one, other in pairs:
        if one is not other and not (isinstance(one, int) and isinstance(other, int)):
            assume_equal(one, other)
    return False
