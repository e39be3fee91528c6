"""Lift: an op on single slices as the same op on stacks of slices, along a new first axis.

So what a loop does to each slice is done to all of them at once, outside. An operand is *stacked*
if it has the new axis, and otherwise the same for all slices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler import ops
from compiler.dims import Size, product
from compiler.graph.expression import Expression, at_line, construct
from compiler.lowering import Gather, Pointwise, Reduce


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """What stands outside for a value in a loop: one for all slices, or a stack of them."""

    value: Expression
    stacked: bool


def lift(
    wanted: Expression, known: Mapping[int, Lifted], length: Size, made: dict[int, Lifted | None]
) -> Lifted | None:
    """What stands outside for an expression of a body, given that for the values it starts from.

    Args:
        wanted: the expression.
        known: by the serials of expressions in the body; the rest is computed from them.
        length: the size of the new axis.
        made: what was lifted before, which grows.

    Returns:
        None where there is no rule for an op, or a value is not known.
    """
    stack = [wanted]
    while stack:
        node = stack[-1]
        if node.serial in known:
            made[node.serial] = known[node.serial]
        missing = [one for one in node.operands if one.serial not in made]
        if node.serial in made:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            parts = [made[operand.serial] for operand in node.operands]
            made[node.serial] = _applied(node, parts, length)
            stack.pop()
    return made[wanted.serial]


def _applied(node: Expression, parts: Sequence[Lifted | None], length: Size) -> Lifted | None:
    given = [part for part in parts if part is not None]
    if len(given) < len(parts) or node.op.name in ("placeholder", "variable"):
        return None
    with at_line(node.source):
        if not any(part.stacked for part in given):
            if isinstance(node.op.lowering, Gather) and not (isinstance(length, int) and length):
                return None  # an index out of range is no error in a loop of no steps
            values = tuple(part.value for part in given)
            return Lifted(construct(node.op, values, node.attrs), False)
        value: Expression | None
        if isinstance(node.op.lowering, Pointwise):
            value = _pointwise(node, given)
        elif isinstance(node.op.lowering, Reduce):
            value = _shifted(node, given)
        else:
            value = _RULES[node.op.name](node, given, length) if node.op.name in _RULES else None
    return None if value is None else Lifted(value, True)


def _padded(part: Lifted, ndim: int) -> Expression:
    """A stack with slices of `ndim` axes, by new ones in front of theirs."""
    if not part.stacked:
        return part.value
    missing = ndim - (part.value.ndim - 1)
    return ops.expand_dims(part.value, tuple(range(1, 1 + missing))) if missing else part.value


def _pointwise(node: Expression, parts: Sequence[Lifted]) -> Expression:
    values = tuple(_padded(part, node.ndim) for part in parts)
    return construct(node.op, values, node.attrs)


def _shifted(node: Expression, parts: Sequence[Lifted]) -> Expression:
    axes = tuple(axis + 1 for axis in node.attrs["axes"])
    return construct(node.op, (parts[0].value,), {**node.attrs, "axes": axes})


def _transpose(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    return ops.transpose(parts[0].value, (0, *(axis + 1 for axis in node.attrs["axes"])))


def _reshape(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    return ops.reshape(parts[0].value, (length, *node.shape))


def _broadcast(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    return ops.broadcast_to(_padded(parts[0], node.ndim), (length, *node.shape))


def _slice(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    attrs = node.attrs
    starts, sizes, steps = (0, *attrs["starts"]), (length, *attrs["sizes"]), (1, *attrs["steps"])
    return ops.strided_slice(parts[0].value, starts, sizes, steps)


def _embed(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    attrs = node.attrs
    starts, shape, steps = (0, *attrs["starts"]), (length, *attrs["shape"]), (1, *attrs["steps"])
    return ops.embed(parts[0].value, starts, shape, steps, attrs["value"])


def _concatenate(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    values = [
        part.value if part.stacked else ops.broadcast_to(part.value, (length, *part.value.shape))
        for part in parts
    ]
    return ops.concatenate(values, node.attrs["axis"] + 1)


def _take(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    table, index = parts
    axis = node.attrs["axis"]
    if table.stacked:
        return None if index.stacked else ops.take(table.value, index.value, axis + 1)
    taken = ops.take(table.value, index.value, axis)
    return ops.transpose(taken, (axis, *(i for i in range(taken.ndim) if i != axis)))


def _matmul(node: Expression, parts: Sequence[Lifted], length: Size) -> Any:
    left, right = parts
    ranks = tuple(operand.ndim for operand in node.operands)
    if left.stacked and right.stacked:
        return _batched(node, left.value, right.value)
    if left.stacked and ranks[1] <= 2:
        return _rows(left.value, right.value)
    if right.stacked and ranks[1] == 1 and ranks[0] <= 2:
        return _rows(right.value, left.value.T)
    if 1 in ranks:
        return None
    return ops.matmul(*(_padded(part, max(ranks)) for part in parts))


def _rows(stack: Expression, matrix: Expression) -> Expression:
    """One product of all rows of all slices with a matrix, or with a vector."""
    if stack.ndim <= 2:
        return ops.matmul(stack, matrix)
    rows = ops.reshape(stack, (product(stack.shape[:-1]), stack.shape[-1]))
    return ops.reshape(ops.matmul(rows, matrix), (*stack.shape[:-1], *matrix.shape[1:]))


def _batched(node: Expression, left: Expression, right: Expression) -> Expression | None:
    ranks = [operand.ndim for operand in node.operands]
    if max(ranks) > 2:
        return ops.matmul(left, right) if ranks[0] == ranks[1] else None
    if ranks[0] == 1:
        left = ops.expand_dims(left, 1)
    if ranks[1] == 1:
        right = ops.expand_dims(right, 2)
    result = ops.matmul(left, right)
    return ops.reshape(result, (result.shape[0], *node.shape))


_RULES: dict[str, Callable[[Expression, Sequence[Lifted], Size], Any]] = {
    "broadcast_to": _broadcast,
    "concatenate": _concatenate,
    "embed": _embed,
    "expand_dims": lambda node, parts, length: _shifted(node, parts),
    "flip": lambda node, parts, length: _shifted(node, parts),
    "matmul": _matmul,
    "reshape": _reshape,
    "squeeze": lambda node, parts, length: _shifted(node, parts),
    "strided_slice": _slice,
    "take": _take,
    "transpose": _transpose,
}
