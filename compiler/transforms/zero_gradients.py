"""Gradients that are zero everywhere: found when they are made, and noted for the lint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.losses import NEVER_NEGATIVE, sums_to_one, sums_to_zero, why_same
from staticgraph.compiler.graph.notes import ConstantLoss, ZeroGradient, note, notes_of
from staticgraph.compiler.graph.traversal import ancestors, between
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.elementwise.arithmetic import flat
from staticgraph.compiler.ops.programs import control

Zero: TypeAlias = "bool | tuple[bool, ...]"
"""Whether a value is zero everywhere; of a tuple, whether each item is."""


def note_zeros(
    output: Expression,
    wrt: Sequence[Expression],
    nodes: Sequence[Expression],
    results: Sequence[Expression],
    implied: bool,
) -> None:
    """Note each of the gradients `results` that is zero everywhere.

    Args:
        output: what was differentiated.
        wrt: by what; one per result.
        nodes: what `output` depends on, operands first.
        implied: whether nobody named what is in `wrt`.
    """
    known = {node.serial: node for node in nodes}
    zeros = _zeros(between(results, known))
    for target, result in zip(wrt, results, strict=True):
        if result.serial in zeros:
            blocks = _blocks(target, nodes)
            if blocks:
                what = ZeroGradient(_named(output), _named(target), blocks, implied)
                note(result, what)
    if results and not output.ndim:
        _note_constant(output, wrt, nodes, results[0])


def _note_constant(
    output: Expression, wrt: Sequence[Expression], nodes: Sequence[Expression], result: Expression
) -> None:
    """Note that a loss is the same for all parameters, because of ops that are always the same."""
    same = {one.serial: why for one in nodes if (why := _why_same(one)) is not None}
    if not same:
        return
    reached = {one.serial for one in wrt}
    found: dict[str, None] = {}
    for node in nodes:
        positions = [i for i, one in enumerate(node.operands) if one.serial in reached]
        if not positions:
            continue
        if node.serial in same:
            found[f"{node.op.name} at {place_of(node.source)}, {same[node.serial]}"] = None
        elif not _blocks_at(node, positions):
            reached.add(node.serial)
    if output.serial not in reached and found:
        note(result, ConstantLoss(_named(output), tuple(found)))


_ALWAYS = frozenset(
    (
        "cross_entropy", "layer_norm", "log_softmax", "mean", "mse_loss", "multiply", "relu",
        "softmax", "subtract", "sum",
    )
)  # fmt: skip


def _why_same(node: Expression) -> str | None:
    """Why a value is the same for all finite operands; None if it is not."""
    name = node.op.name
    if name not in _ALWAYS or gradient_of(node.source):
        return None
    operands: Any = node.operands
    of = operands[0]
    if name in ("mean", "sum"):
        if of.op.name == "subtract" and of.operands[1].op.name == "mean":
            less, mean = of.operands
            is_centred = mean.operands[0] is less
            is_zero = is_centred and sums_to_zero(node.attrs, mean.attrs, less.ndim)
            return "of a value less its mean" if is_zero else None
        is_one = name == "sum" and of.op.name == "softmax"
        is_one = is_one and sums_to_one(node.attrs, of.attrs, of.ndim)
        return "of a softmax over its axis" if is_one else None
    if name == "relu":
        is_never = of.op.name == "negative" and of.operands[0].op.name in NEVER_NEGATIVE
        return "of what is never above 0" if is_never else None
    if name == "layer_norm" and operands[2].op is not leaves.constant:
        return None
    if name == "multiply":
        is_zero = any(_zeros([one]) for one in operands if one.op is leaves.constant)
        return "by a constant that is 0" if is_zero else None
    is_pair = len(operands) > 1 and operands[0] is operands[1]
    return why_same(name, node.attrs, [one.shape for one in operands], is_pair)


def note_joined(made: Expression, ways: Sequence[Expression]) -> None:
    """Note that a result is a gradient of zeros if it is one on each way through a function."""
    found = [_zero_notes(_before_stops(one)) for one in ways]
    whats = [what for one in found for what in one]
    if not whats or _zero_notes([made]):
        return
    if all(one or _is_filled_with_zeros(way) for one, way in zip(found, ways, strict=True)):
        blocks = tuple(dict.fromkeys(block for what in whats for block in what.blocks))
        implied = all(what.implied for what in whats)
        note(made, ZeroGradient(whats[0].output, whats[0].target, blocks, implied))


def _zero_notes(expressions: Sequence[Expression]) -> list[ZeroGradient]:
    return [what for _, what in notes_of(expressions) if isinstance(what, ZeroGradient)]


def _before_stops(value: Expression) -> list[Expression]:
    """A value, and what it was before `stop_gradient`."""
    found = [value]
    while found[-1].op.name == "stop_gradient":
        found.append(found[-1].operands[0])
    return found


def _is_filled_with_zeros(value: Expression) -> bool:
    """Whether a value is what stands for results where a way has none."""
    return value.serial in _zeros(ancestors([value]))


def _zeros(made: Sequence[Expression], given: Sequence[Expression] = ()) -> dict[int, Zero]:
    """The expressions, by serial, that are zero whatever the others are, if they are finite.

    `given`: others that are known to be zero.
    """
    zeros: dict[int, Zero] = {one.serial: True for one in given}
    for node in made:
        if node.op is leaves.constant:
            array: Any = node.attrs["value"].array
            found: Zero = bool(array.size) and not array.any()
        elif node.op is control.item:
            parts = zeros.get(node.operands[0].serial)
            found = isinstance(parts, tuple) and parts[node.attrs["index"]]
        elif node.op in _NESTED:
            found = _items(node, [one.serial in zeros for one in node.operands])
        elif not (zeros and node.operands):
            continue
        else:
            found = _is_zero(node, [one.serial in zeros for one in node.operands])
        if found:
            zeros[node.serial] = found
    return zeros


_NESTED = (control.cond, control.scan, control.while_loop)


def _items(node: Expression, given: Sequence[bool]) -> tuple[bool, ...]:
    """Which items of a branch or a loop are zero, given that of its operands.

    What a loop carries is zero if it is before the first step and a step leaves it so.
    """
    attrs = node.attrs
    if node.op is control.cond:
        sides = (_given(attrs[side], given[1:]) for side in ("on_true", "on_false"))
        return tuple(map(all, zip(*sides, strict=True)))
    start = attrs["consts"]
    count = attrs["carries"] if node.op is control.scan else len(given) - start
    carried = tuple(given[start : start + count])
    while True:
        result = _given(attrs["body"], [*given[:start], *carried, *given[start + count :]])
        left = tuple(map(all, zip(carried, result[:count], strict=True)))
        if left == carried:
            return (*carried, *result[count:])
        carried = left


def _given(body: Body, given: Sequence[bool]) -> tuple[bool, ...]:
    """Which outputs of a body are zero, given which inputs are."""
    inputs, outputs = body.expressions()
    known = [one for one, zero in zip(inputs, given, strict=True) if zero]
    zeros = _zeros(ancestors(outputs), known)
    return tuple([one.serial in zeros for one in outputs])


_SUMS = frozenset(("add", "negative", "stop_gradient", "subtract"))
_PRODUCTS = frozenset(("multiply", "square"))


def _is_zero(node: Expression, given: Sequence[bool]) -> bool:
    name, linearity = node.op.name, node.op.linearity
    if linearity == "multilinear" or name in _PRODUCTS:  # an index of zeros is no factor
        pairs = zip(given, node.operands, strict=True)
        return any(zero and is_float(one.dtype) for zero, one in pairs)
    if name == "divide" or linearity == "affine":
        return given[0] and not node.attrs.get("value", 0)
    if name == "where":
        return all(given[1:])
    return all(given) and (linearity == "linear" or name in _SUMS)


def _named(one: Expression) -> str:
    made = one.operands[0] if one.op is control.item else one
    label = f" {one.name!r}" if one.name else ""
    return f"{made.op.name}{label} {one.type}"


def _blocks(target: Expression, nodes: Sequence[Expression]) -> tuple[str, ...]:
    """The ops between `target` and the output that hand no gradient on; none if one of them is
    part of a gradient, where that is what a second derivative mostly is.
    """
    found: dict[str, None] = {}
    is_derived = _find_blocks([target], nodes, found)
    return () if is_derived else tuple(found)


def _find_blocks(
    targets: Sequence[Expression], nodes: Sequence[Expression], found: dict[str, None]
) -> bool:
    """Find them, in branches and loops too; whether one is part of a gradient."""
    reached = {one.serial for one in targets}
    is_derived = False
    for node in nodes:
        positions = [i for i, one in enumerate(node.operands) if one.serial in reached]
        if not positions:
            continue
        if node.op in _NESTED:
            for body in node.attrs.values():
                if isinstance(body, Body):
                    is_derived |= _find_in_body(node, body, positions, found)
        if _blocks_at(node, positions):
            is_derived |= bool(gradient_of(node.source))
            found[f"{node.op.name} at {place_of(node.source)}"] = None
        else:
            reached.add(node.serial)
    return is_derived


def _find_in_body(
    node: Expression, body: Body, positions: Sequence[int], found: dict[str, None]
) -> bool:
    inputs, outputs = body.expressions()
    first = len(node.operands) - len(inputs)  # of a branch the predicate comes before
    targets = [inputs[i - first] for i in positions if i >= first]
    return _find_blocks(targets, ancestors(outputs), found)


def _blocks_at(node: Expression, positions: Sequence[int]) -> bool:
    type: Any = node.type
    if node.op.vjp_items is not None:
        return False
    if getattr(type, "dtype", None) is not None and not is_float(type.dtype):
        return True
    rules = [node.op.rule(position) for position in positions]
    return all(rule is None or rule is flat for rule in rules)
