"""Checkpointed regions: expressions of which the reverse pass differentiates a copy.

The copy reads what enters the region through the op `recompute`, so that it is never interned
with the original, and is computed when the cotangents of the region's results are known. So
nothing inside the region is kept from forward to reverse (Chen, Xu, Zhang, Guestrin 2016,
"Training deep nets with sublinear memory cost").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.graph.expression import Expression, at_line, construct, next_serial
from compiler.lowering import Alias, IndexMap
from compiler.ops.regions import checkpoint, recompute
from compiler.types import TensorType


def close_region(results: Sequence[Expression], start: int) -> list[Expression]:
    """The results of the region of all expressions made since the serial `start` was drawn."""
    region = (start, next_serial())
    return [construct(checkpoint, (result,), {"region": region}) for result in results]


def regions_of(
    nodes: Iterable[Expression], wrt: Sequence[Expression]
) -> dict[int, list[Expression]]:
    """The regions among `nodes`: under the serial of the first of its results, all of them.

    Without those that are empty, that are rebuilt from a graph and so have other serials, or in
    which an expression of `wrt` lies: its cotangent is asked for, not that of a copy.
    """
    found: dict[Any, list[Expression]] = {}
    for node in nodes:
        if node.op is checkpoint:
            found.setdefault(node.attrs["region"], []).append(node)
    return {
        results[0].serial: results
        for (start, end), results in found.items()
        if start <= max(result.operands[0].serial for result in results) < end
        and not any(start <= target.serial < end for target in wrt)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A region made again.

    Attributes:
        nodes: the copies of its expressions, operands first.
        results: those of its results.
        entries: pairs of an expression that enters the region and of what the copy reads instead.
    """

    nodes: tuple[Expression, ...]
    results: tuple[Expression, ...]
    entries: tuple[tuple[Expression, Expression], ...]


def copy_region(results: Sequence[Expression], after: Sequence[Expression]) -> Copy:
    """The region of some results made again, to be computed once `after` is known."""
    start, _ = results[0].attrs["region"]
    wanted = [result.operands[0] for result in results]
    inner, entering = _reached(wanted, start)
    entries: dict[int, Expression] = {}
    for node in entering:
        _enter(node, after, entries)
    made = dict(entries)
    serials: list[tuple[int, int]] = []
    for node in inner:
        with at_line(node.source):
            operands = tuple(made[operand.serial] for operand in node.operands)
            attrs = _nested(node.attrs, serials) if node.op is checkpoint else node.attrs
            made[node.serial] = construct(node.op, operands, attrs)
        serials.append((node.serial, made[node.serial].serial))
    return Copy(
        tuple(made[node.serial] for node in inner),
        tuple(made[node.serial] for node in wanted),
        tuple((node, made[node.serial]) for node in entering),
    )


def _reached(wanted: Sequence[Expression], start: int) -> tuple[list[Expression], list[Expression]]:
    """The expressions of a region that its results need, and those that enter it; in order."""
    inner: dict[int, Expression] = {}
    entering: dict[int, Expression] = {}
    stack = list(wanted)
    while stack:
        node = stack.pop()
        if node.serial in inner:
            continue
        if node.serial < start or not node.operands:
            entering[node.serial] = node
        else:
            inner[node.serial] = node
            stack.extend(node.operands)
    return [inner[i] for i in sorted(inner)], [entering[i] for i in sorted(entering)]


def _enter(
    node: Expression, after: Sequence[Expression], entries: dict[int, Expression]
) -> Expression:
    """What the copy reads instead of `node`. What only moves elements is free to do again."""
    if node.serial in entries:
        return entries[node.serial]
    with at_line(node.source):
        if not node.operands and node.op.name not in ("placeholder", "variable"):
            again = node
        elif node.op is checkpoint:
            again = construct(checkpoint, (_enter(node.operands[0], after, entries),), _empty())
        elif _moves(node):
            moved = tuple(_enter(operand, after, entries) for operand in node.operands)
            again = construct(node.op, moved, node.attrs)
        else:
            again = construct(recompute, (node, *after), {})
    entries[node.serial] = again
    return again


def _moves(node: Expression) -> bool:
    """Whether a value only has the elements of others, in other places."""
    return (
        node.op is not recompute
        and isinstance(node.op.lowering, IndexMap | Alias)
        and all(isinstance(operand.type, TensorType) for operand in node.operands)
    )


def _nested(attrs: dict[str, Any], serials: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The attributes of a copied result of an inner region: the serials are those of the copy."""
    start, end = attrs["region"]
    first, last = bisect_left(serials, (start,)), bisect_left(serials, (end,))
    if first == last:
        return _empty()
    return {"region": (serials[first][1], serials[last - 1][1] + 1)}


def _empty() -> dict[str, Any]:
    """The attributes of a result of a region without expressions."""
    return {"region": (next_serial(),) * 2}
