"""How far apart the bounds of `x[start:stop]` are where they are computed: `start + n` is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim, Size

DEEPEST = 8
"""How deep two expressions are compared, that were written twice."""


def extent(start: object, stop: object) -> Size | None:
    """`stop - start` if it is known; None if it is not."""
    one, before = _offset(start)
    other, after = _offset(stop)
    if one is None or other is None or not _is_same(one, other, DEEPEST):
        return None
    return after - before


def _offset(value: Any) -> tuple[Any, Size]:
    """An expression of which constants are added up apart; None for a number."""
    total: Size = 0
    while hasattr(value, "operands"):
        if value.op.name == "astype" and value.dtype.kind in "iu":
            (operand,) = value.operands
            if operand.dtype.kind not in "iu" or operand.dtype.itemsize > value.dtype.itemsize:
                break
            value = operand
            continue
        if value.op.name not in ("add", "subtract"):
            break
        left, right = value.operands
        sign = 1 if value.op.name == "add" else -1
        if (known := _known(right)) is not None:
            value, total = left, total + sign * known
        elif sign == 1 and (known := _known(left)) is not None:
            value, total = right, total + known
        else:
            break
    return (value, total) if hasattr(value, "operands") else (None, total)


def _known(value: Any) -> Size | None:
    """The size that an expression is, if it is one number."""
    while value.op.name == "astype":
        (value,) = value.operands
    if value.op.name == "size_of":
        size: Dim = value.attrs["size"]
        return size
    if value.op.name == "constant" and value.dtype.kind in "iu" and not value.ndim:
        return int(value.attrs["value"].array)
    return None


def _is_same(one: Any, other: Any, depth: int) -> bool:
    """Whether two expressions are one computation, maybe written twice."""
    if one is other:
        return True
    if one.op is not other.op or not one.operands or not depth or one.type != other.type:
        return _is_same_constant(one, other)
    return one.attrs == other.attrs and all(
        _is_same(a, b, depth - 1) for a, b in zip(one.operands, other.operands, strict=True)
    )


def _is_same_constant(one: Any, other: Any) -> bool:
    if one.op.name != "constant" or other.op.name != "constant":
        return False
    return np.array_equal(one.attrs["value"].array, other.attrs["value"].array)
