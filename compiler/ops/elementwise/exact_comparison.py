"""Comparisons of uint64 with signed integers, which have no dtype in common that holds both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)

_OF_NEGATIVE = {
    equal: (False, False),
    not_equal: (True, True),
    less: (False, True),
    less_equal: (False, True),
    greater: (True, False),
    greater_equal: (True, False),
}
"""What a comparison is where the signed integer is below 0: as the right operand, as the left."""


def compared_exactly(op: Op, operands: Sequence[Value]) -> Value:
    """A comparison of a uint64 with a signed integer, exact as NumPy's; None for any other op."""
    if op not in _OF_NEGATIVE or len(operands) != 2:
        return None
    kinds = [getattr(one, "dtype", None) for one in operands]
    if np.uint64 not in kinds or any(getattr(one, "weak", False) for one in operands):
        return None
    side = kinds.index(np.dtype(np.uint64)) ^ 1
    if kinds[side] is None or np.dtype(kinds[side]).kind != "i":
        return None
    signed = operands[side]
    given = [astype(one, np.uint64) if one is signed else one for one in operands]
    negative, found = less(signed, 0), op.bound(given, {})
    if _OF_NEGATIVE[op][0 if side else 1]:
        return logical_or(negative, found)
    return logical_and(logical_not(negative), found)
