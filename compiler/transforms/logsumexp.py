"""A logsumexp that is written by hand: log(sum(exp(x - m))) + m, where m is the largest of x.

Taken for what it is, its gradient is a softmax. Rule by rule it would go through m as well, where
terms of which the sum is zero are rounded, and it would look for the largest element once more.
"""

from __future__ import annotations

from typing import NamedTuple

from staticgraph.compiler.graph.expression import Expression

_SAME_ELEMENTS = frozenset({"expand_dims", "reshape", "squeeze", "stop_gradient"})


class ByHand(NamedTuple):
    """What `logsumexp` is called with, and the nodes between it and the result."""

    x: Expression
    axes: tuple[int, ...]
    keepdims: bool
    inner: frozenset[int]


def shifted_by_largest(summed: Expression) -> Expression | None:
    """The largest elements that are subtracted from x in sum(exp(x - m)); None if none are."""
    if summed.op.name != "sum" or summed.operands[0].op.name != "exp":
        return None
    shifted = summed.operands[0].operands[0]
    if shifted.op.name != "subtract" or not summed.attrs["axes"]:
        return None
    x, shift = shifted.operands
    largest = _origin(shift)
    axes = summed.attrs["axes"]
    if largest.op.name != "max" or largest.operands[0] is not x or largest.attrs["axes"] != axes:
        return None
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    around = (1,) * (x.ndim - shift.ndim)
    return largest if (*around, *shift.shape) == kept else None


def logsumexp_by_hand(a: Expression, b: Expression) -> ByHand | None:
    """What a + b is the logsumexp of; None if it is none."""
    for log, added in ((a, b), (b, a)):
        if log.op.name != "log":
            continue
        summed = log.operands[0]
        largest = shifted_by_largest(summed)
        if largest is None or _origin(added) is not largest or added.shape != log.shape:
            continue
        exp = summed.operands[0]
        shifted = exp.operands[0]
        between = [log, summed, exp, shifted, largest]
        between += [*_way(added), *_way(shifted.operands[1])]
        keepdims = summed.attrs["keepdims"]
        inner = frozenset(one.serial for one in between)
        return ByHand(shifted.operands[0], summed.attrs["axes"], keepdims, inner)
    return None


def _way(node: Expression) -> list[Expression]:
    """A node and those that it has the elements of, in their order."""
    found = [node]
    while found[-1].op.name in _SAME_ELEMENTS:
        found.append(found[-1].operands[0])
    return found


def _origin(node: Expression) -> Expression:
    return _way(node)[-1]
