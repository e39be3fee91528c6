"""Checkpointed regions: expressions of which the reverse pass differentiates a copy.

The copy reads what enters the region through the op `recompute`, so that it is never interned
with the original, and is computed when the cotangents of the region's results are known. So
nothing inside the region is kept from forward to reverse (Chen, Xu, Zhang, Guestrin 2016,
"Training deep nets with sublinear memory cost").

A result of a region has what enters the region for it as operands. So a region is what lies
between, also after its expressions were made again, in the body of a loop or for a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.expression import Expression, at_line, construct, next_serial
from staticgraph.compiler.graph.traversal import between, cut
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs.control import item
from staticgraph.compiler.ops.programs.regions import checkpoint, recompute


def close_region(results: Sequence[Expression], start: int) -> list[Expression]:
    """The results of the region of all expressions made since the serial `start` was drawn."""
    attrs = {"region": next_serial()}
    return [construct(checkpoint, (result, *_entering(result, start)), attrs) for result in results]


def _entering(result: Expression, start: int) -> list[Expression]:
    """The tensors that were there when a region began, and that its result is computed from."""

    def is_inside(node: Expression) -> bool:
        whole = _whole(node)
        return whole.serial >= start and not _is_fed(whole)

    _, border = cut([result], is_inside)
    return [node for node in border if _whole(node).operands or _is_fed(node)]


def _whole(node: Expression) -> Expression:
    return node.operands[0] if node.op is item else node


def _is_fed(node: Expression) -> bool:
    return node.op in (leaves.placeholder, leaves.variable)


def regions_of(
    nodes: Iterable[Expression], wrt: Sequence[Expression]
) -> dict[int, list[Expression]]:
    """The regions among `nodes`: under the serial of the first of its results, all of them.

    Without those in which an expression of `wrt` lies: its cotangent is asked for, not that of a
    copy.
    """
    found: dict[int, list[Expression]] = {}
    latest: dict[int, int] = {}
    for node in nodes:
        if node.op is checkpoint:
            region = node.attrs["region"]
            first = latest.get(region)
            # of a region that was made again, a result may be needed for what enters another one
            if first is None or any(entry.serial > first for entry in node.operands[1:]):
                first = latest[region] = node.serial
            found.setdefault(first, []).append(node)
    targets = {target.serial for target in wrt}
    return {
        first: results
        for first, results in found.items()
        if targets.isdisjoint(node.serial for node in _inside(results))
    }


@frozen(eq=False)
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
    entries = []
    for node in _entries(results):
        with at_line(node.source):
            entries.append((node, construct(recompute, (node, *after), {})))
    made = {node.serial: again for node, again in entries}
    inner = _inside(results)
    for node in inner:
        with at_line(node.source):
            operands = tuple(made.get(operand.serial, operand) for operand in node.operands)
            made[node.serial] = construct(node.op, operands, node.attrs) if operands else node
    return Copy(
        tuple(made[node.serial] for node in inner),
        tuple(made[result.operands[0].serial] for result in results),
        tuple(entries),
    )


def _inside(results: Sequence[Expression]) -> list[Expression]:
    """The expressions of a region that its results need, operands first."""
    entries = {entry.serial: entry for entry in _entries(results)}
    return between([result.operands[0] for result in results], entries)


def _entries(results: Sequence[Expression]) -> list[Expression]:
    """What enters the region of some results, in the order in which it was made."""
    found = {entry.serial: entry for result in results for entry in result.operands[1:]}
    return [found[serial] for serial in sorted(found)]
