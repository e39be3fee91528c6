"""The cotangents of loops and branches, as loops and branches.

The reverse of a scan is a scan in the other direction whose body is the gradient of the body. What
it reads of the forward body are its *residuals*: a forward scan that also stacks them replaces the
original one when the graph is compiled (`compiler.passes.merge_scans`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import atoms, evaluate
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.lowering import Alias, IndexMap, Iota, Pointwise, SizeValue
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.effects import without_effects
from staticgraph.compiler.graph.expression import Expression, construct, next_serial
from staticgraph.compiler.graph.loop import Carry, OpenLoop, items_of, open_loop
from staticgraph.compiler.graph.traversal import between, cut
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.autodiff import cotangents_of

_RENAMING = frozenset(
    ("broadcast_to", "expand_dims", "flip", "reshape", "squeeze", "transpose")
)  # no smaller than their operand


def stand_in(type: TensorType, name: str | None) -> Expression:
    """A placeholder for what a body takes: it has a key of its own."""
    attrs = leaves.leaf_attrs(type.shape, type.dtype, next_serial())
    return Expression(leaves.placeholder, (), attrs, name)


def require_expressions(name: str, operands: Sequence[object]) -> None:
    """GraphError for tensors of `dynamic.func`, in whose graphs no compiled loop is."""
    if not all(isinstance(one, Expression) for one in operands):
        raise GraphError(
            f"{name}: the gradient of a compiled one by tensors of dynamic.func: use vmap and grad "
            "of dynamic.func inside too, not those of sg"
        )


def scan_cotangents(
    positions: Sequence[int],
    gs: Sequence[object],
    out: Expression,
    *operands: Expression,
    **attrs: object,
) -> list[Any]:
    """The cotangents of the operands of a scan at `positions`, given those of its items."""
    require_expressions("scan", operands)
    loop = open_loop(operands, {**attrs, "body": without_effects(attrs["body"])})
    reverse = _reverse_of(loop, positions, gs)
    if any(node.op is ops.checkpoint for node in loop.nodes):
        kept = _reverse_of(loop, positions, gs, regions=False)
        if _stacked_bytes(loop, kept.saved) <= _stacked_bytes(loop, reverse.saved):
            reverse = kept
    backward = reverse.loop
    pairs = list(zip(reverse.saved, _stacks(loop, reverse.saved, out), strict=True))
    items = replace(backward, xs=[*backward.xs, *pairs]).close()
    results = dict(zip(reverse.given, items, strict=True))
    return [results.get(i) for i in positions]


provided.scan_cotangents.provide(scan_cotangents)


@frozen(eq=False)
class _Reverse:
    """The reverse of a scan.

    Attributes:
        loop: it, without its residuals.
        given: the positions of the operands whose cotangents are its items.
        saved: the residuals: values of the forward body that its body reads.
    """

    loop: OpenLoop
    given: Sequence[int]
    saved: Sequence[Expression]


def _reverse_of(
    loop: OpenLoop, positions: Sequence[int], gs: Sequence[Any], regions: bool = True
) -> _Reverse:
    consts, carries = len(loop.consts), len(loop.carries)
    carried, stacked = _reached(loop, set(positions), gs)
    by_next = [stand_in(loop.carries[i].inner.type, "cotangent") for i in carried]
    by_y = [stand_in(loop.ys[j].type, "cotangent") for j in stacked]
    places = [i for i in positions if not consts <= i < consts + carries]
    inputs = loop.inputs
    found = cotangents_of(
        [*(loop.carries[i].next for i in carried), *(loop.ys[j] for j in stacked)],
        [loop.carries[i].inner for i in carried] + [inputs[i] for i in places],
        [*by_next, *by_y],
        regions,
    )
    by_place = {
        i: part for i, part in zip(places, found[len(carried) :], strict=True) if part is not None
    }
    sums = [i for i in by_place if i < consts]
    totals = {i: stand_in(inputs[i].type, "sum") for i in sums}
    moving = [
        Carry(
            inner,
            zeros_like(loop.carries[i].first) if gs[i] is None else gs[i],
            zeros_like(inner) if part is None else part,
        )
        for i, inner, part in zip(carried, by_next, found, strict=False)
    ] + [Carry(totals[i], zeros_like(loop.consts[i][1]), totals[i] + by_place[i]) for i in sums]
    slices = [i for i in by_place if i >= consts]
    backward = OpenLoop(
        loop.consts,
        moving,
        [*loop.xs, *((by_y[k], gs[carries + j]) for k, j in enumerate(stacked))],
        [by_place[i] for i in slices],
        loop.length,
        not loop.reverse,
    )
    given = [*(consts + i for i in carried), *sums, *slices]
    return _Reverse(backward, given, _residuals(loop, backward))


def _reached(loop: OpenLoop, wanted: set[int], gs: Sequence[object]) -> tuple[list[int], list[int]]:
    """The carries and the ys through which the cotangents of the outputs reach what is wanted."""
    consts, carries = len(loop.consts), len(loop.carries)
    reads = _reads(loop.inputs, loop.outputs)
    active = set(wanted)
    useful = {i for i in range(carries) if gs[i] is not None}
    ends = [reads[carries + j] for j in range(len(loop.ys)) if gs[carries + j] is not None]
    for _ in range(carries):
        active |= {consts + i for i in range(carries) if reads[i] & active}
        read = set[int]().union(*ends, *(reads[i] for i in useful))
        useful |= {i for i in range(carries) if consts + i in read}
    return (
        [i for i in range(carries) if i in useful and consts + i in active],
        [
            j
            for j in range(len(loop.ys))
            if gs[carries + j] is not None and reads[carries + j] & active
        ],
    )


def _reads(inputs: Sequence[Expression], outputs: Sequence[Expression]) -> list[set[int]]:
    """Per output the positions of the floating-point inputs that it depends on."""
    positions: dict[int, set[int]] = {}
    for i, one in enumerate(inputs):
        positions[one.serial] = {i} if is_inexact(one.dtype) else set()
    for node in between(outputs, positions):
        positions[node.serial] = set[int]().union(
            *(positions[operand.serial] for operand in node.operands)
        )
    return [positions[output.serial] for output in outputs]


def _residuals(loop: OpenLoop, backward: OpenLoop) -> list[Expression]:
    """What the backward body reads of the forward body."""
    forward = {node.serial: node for node in between(loop.outputs, {})}
    others = []
    for node in between(backward.outputs, forward):
        inside = [one for one in node.operands if one.serial in forward]
        if node.op in (control.scan, control.item) and len(inside) == len(node.operands):
            forward[node.serial] = node  # the residuals of a loop in the body
        else:
            others += inside
    others += [node for node in backward.outputs if node.serial in forward]
    read = {one.serial: one for one in others}
    return _saved(_given(loop, forward), [read[serial] for serial in sorted(read)])


def _stacks(loop: OpenLoop, saved: Sequence[Expression], out: Expression) -> list[Expression]:
    """The stacks of values of the body: those of `out`, or of a scan that also makes the others."""
    new, places = _new_stacks(loop, saved)
    if new:
        stacks = replace(loop, ys=[*loop.ys, *new]).close()
    else:
        stacks = items_of(out, len(loop.outputs))
    return [stacks[len(loop.carries) + places[_same(node)]] for node in saved]


def _new_stacks(
    loop: OpenLoop, saved: Sequence[Expression]
) -> tuple[list[Expression], dict[Any, int]]:
    """The values that are no ys yet, and the places of all among the ys that there will be."""
    places = {_same(y): j for j, y in reversed(list(enumerate(loop.ys)))}
    new: list[Expression] = []
    for node in saved:
        if _same(node) not in places:
            places[_same(node)] = len(loop.ys) + len(new)
            new.append(node)
    return new, places


_TYPICAL = 64  # stands for a size that is not known when stacks are compared


def _stacked_bytes(loop: OpenLoop, saved: Sequence[Expression]) -> int:
    """The bytes per step of what is stacked for these residuals alone."""
    new, _ = _new_stacks(loop, saved)
    sizes = dict.fromkeys(atoms([node.type.size for node in new]), _TYPICAL)
    return sum(node.dtype.itemsize * evaluate(node.type.size, sizes) for node in new)


def _same(node: Expression) -> Any:
    """What two expressions of one tensor have in common."""
    while node.op is ops.checkpoint:
        node = node.operands[0]
    if node.op is control.item:
        return node.operands[0].serial, node.attrs["index"]
    return node.serial


def _given(loop: OpenLoop, forward: dict[int, Expression]) -> set[int]:
    """The serials of what the backward body has, or can cheaply compute, without residuals."""
    fixed = {inner.serial for inner, _ in loop.consts}
    given = fixed | {inner.serial for inner, _ in loop.xs}
    carried = {carry.inner.serial for carry in loop.carries}
    for serial in sorted(forward.keys() - given - carried):
        operands = {operand.serial for operand in forward[serial].operands}
        if operands <= fixed:  # computed once for both loops: see `compiler.passes.hoist`
            fixed.add(serial)
            given.add(serial)
        elif operands <= given and _is_cheap(forward[serial]):
            given.add(serial)
    return given


def _saved(given: set[int], read: Sequence[Expression]) -> list[Expression]:
    """The values to stack, so that those that are read can be had from them by cheap ops."""
    saved: dict[int, Expression] = {}
    sources = [_renamed(node) for node in read]
    # the expensive ones first, since they may give the cheap ones
    for node in sorted(sources, key=_is_cheap):
        if not _is_had(node, given | saved.keys()):
            saved[node.serial] = node
    return [saved[serial] for serial in sorted(saved)]


def _renamed(node: Expression) -> Expression:
    """What a value was before its elements were moved or repeated."""
    while node.op.name in _RENAMING:
        node = node.operands[0]
    return node


def _is_cheap(node: Expression) -> bool:
    """Whether computing a value again costs no more than reading it."""
    lowering = node.op.lowering
    if isinstance(lowering, Pointwise):
        return node.op.cost == "cheap"
    return isinstance(lowering, IndexMap | Alias | Iota | SizeValue)


def _is_had(node: Expression, known: Set[int]) -> bool:
    """Whether cheap ops make a value from known ones."""
    _, border = cut([node], lambda one: one.serial not in known and one.operands and _is_cheap(one))
    return all(one.serial in known for one in border)


def cond_cotangents(
    positions: Sequence[int],
    gs: Sequence[Any],
    out: Expression,
    pred: Expression,
    *operands: Expression,
    on_true: Body,
    on_false: Body,
) -> list[Any]:
    """The cotangents of the operands of a cond at `positions`: a cond of those of the branches."""
    require_expressions("cond", operands)
    given = [i for i, g in enumerate(gs) if g is not None]
    branches = []
    for body in (without_effects(on_true), without_effects(on_false)):
        inputs, outputs = body.expressions()
        seeds = [stand_in(outputs[i].type, "cotangent") for i in given]
        wrt = [inputs[i - 1] for i in positions]
        found = cotangents_of([outputs[i] for i in given], wrt, seeds)
        branches.append((inputs, seeds, wrt, found))
    kept = [k for k in range(len(positions)) if any(found[k] is not None for *_, found in branches)]
    bodies = []
    for inputs, seeds, wrt, found in branches:
        parts: list[Any] = [found[k] for k in kept]
        filled = [zeros_like(wrt[k]) if p is None else p for k, p in zip(kept, parts, strict=True)]
        bodies.append(Body.of([*inputs, *seeds], filled))
    attrs = {"on_true": bodies[0], "on_false": bodies[1]}
    node = construct(control.cond, (pred, *operands, *(gs[i] for i in given)), attrs)
    results = dict(zip(kept, items_of(node, len(kept)), strict=True))
    return [results.get(k) for k in range(len(positions))]


provided.cond_cotangents.provide(cond_cotangents)
