"""Batching rules: how an op on examples is an op on batches, whose first axis counts them.

Most families of ops need one rule: elementwise ops align the axes of the examples, reductions
and ops that name axes count them after the batch axis, shapes get the batch in front. A composite
without a rule is expanded by the caller into ops that have one. The rules are written in ops, and
serve expressions and eager tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler import ops
from compiler.core.dims import Size
from compiler.core.lowering import Pointwise, Reduce
from compiler.core.op import Attrs, Op
from compiler.ops.regions import checkpoint, recompute


@dataclass(frozen=True, slots=True)
class Example:
    """An operand: the tensor, whether its first axis is the batch, and the axes of an example."""

    tensor: Any
    batched: bool
    ndim: int


Apply = Callable[[Op, Sequence[Any], Attrs], Any]
BatchRule = Callable[..., Any]
"""`(op, examples, size, attrs, apply=evaluated) -> tensor` with the batch as first axis, or None
where the rule does not know these examples."""


def evaluated(op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
    """`op` applied to handles, with attributes that are complete already."""
    return operands[0].apply(op, operands, attrs)


def full(example: Example, size: Size) -> Any:
    """The tensor with the batch axis, repeated along it without memory if it has none."""
    if example.batched:
        return example.tensor
    return ops.broadcast_to(example.tensor, (size, *example.tensor.shape))


def widened(example: Example, ndim: int) -> Any:
    """The tensor of which an example has `ndim` axes: new ones behind the batch axis."""
    if not example.batched or example.ndim == ndim:
        return example.tensor
    return ops.expand_dims(example.tensor, tuple(range(1, 1 + ndim - example.ndim)))


def aligned(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Elementwise ops: the axes of the examples are counted from the last."""
    ndim = max(one.ndim for one in examples)
    return apply(op, [widened(one, ndim) for one in examples], attrs)


def shifted(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of one operand that name several axes."""
    axes = tuple(axis + 1 for axis in attrs["axes"])
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


def shifted_one(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of operands of one rank that name one axis."""
    tensors = [full(one, size) for one in examples]
    return apply(op, tensors, {**attrs, "axis": attrs["axis"] + 1})


def reordered(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of one operand that give its axes another order."""
    axes = (0, *(axis + 1 for axis in attrs["axes"]))
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


def _reshaped(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    tensor = widened(examples[0], len(attrs["shape"])) if op is ops.broadcast_to else None
    tensor = examples[0].tensor if tensor is None else tensor
    return apply(op, [tensor], {**attrs, "shape": (size, *attrs["shape"])})


def _unchanged(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of one operand on its last axes."""
    return apply(op, [examples[0].tensor], attrs)


def _sliced(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    front = {"starts": 0, "sizes": size, "steps": 1, "shape": size}
    batch = {
        name: (front[name], *value) if name in front else value for name, value in attrs.items()
    }
    return apply(op, [examples[0].tensor], batch)


def _viewed(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Views of memory: the batch lies in one memory, example after example."""
    memory = examples[0].tensor
    strides = (memory.shape[1], *attrs["strides"])
    flat = ops.reshape(memory, -1)
    return apply(op, [flat], {"shape": (size, *attrs["shape"]), "strides": strides})


def taken(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """A gather along one axis."""
    x, index = examples
    axis = attrs["axis"]
    if not index.batched:
        return apply(op, [x.tensor, index.tensor], {"axis": axis + 1})
    if not x.batched:  # the batch axis of the result is where the axis of x was
        result = apply(op, [x.tensor, index.tensor], {"axis": axis})
        return ops.transpose(result, _to_front(axis, result.ndim))
    # one axis for the index, then one gather with the index repeated over the other axes
    shape = x.tensor.shape
    count = math.prod(index.tensor.shape[1:])
    flat = ops.reshape(index.tensor, (size, *(1,) * axis, count, *(1,) * (x.ndim - axis - 1)))
    places = ops.broadcast_to(flat, (*shape[: axis + 1], count, *shape[axis + 2 :]))
    result = ops.take_along_axis(x.tensor, places, axis + 1)
    return ops.reshape(result, (*shape[: axis + 1], *index.tensor.shape[1:], *shape[axis + 2 :]))


def _to_front(axis: int, ndim: int) -> tuple[int, ...]:
    return (axis, *(i for i in range(ndim) if i != axis))


def _take_added(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    g, index = examples
    axis = attrs["axis"]
    if not index.batched:
        return apply(op, [g.tensor, index.tensor], {**attrs, "axis": axis + 1})
    x = full(g, size)
    shape, last = x.shape, axis + 1 + index.ndim
    count = math.prod(index.tensor.shape[1:])
    x = ops.reshape(x, (*shape[: axis + 1], count, *shape[last:]))
    flat = ops.reshape(index.tensor, (size, *(1,) * axis, count, *(1,) * (len(shape) - last)))
    wrap = attrs.get("wrap", True)
    return ops.along_add(x, ops.broadcast_to(flat, x.shape), axis + 1, attrs["size"], wrap)


def multiplied(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Products of matrices and vectors."""
    a, b = examples
    if a.batched and not b.batched and b.ndim == 2 and a.ndim:
        # one product over the rows of all examples
        lead = a.tensor.shape[:-1]
        rows = ops.reshape(a.tensor, (math.prod(lead), a.tensor.shape[-1]))
        return ops.reshape(apply(ops.matmul, [rows, b.tensor], {}), (*lead, b.tensor.shape[1]))
    if not a.batched and b.batched and b.ndim == 1 and a.ndim == 2:
        return apply(ops.matmul, [b.tensor, ops.swapaxes(a.tensor, 0, 1)], {})
    left, right = a.tensor, b.tensor
    if a.ndim == 1:
        left = ops.expand_dims(left, left.ndim - 1)
    if b.ndim == 1:
        right = ops.expand_dims(right, right.ndim)
    ndim = max(a.ndim, b.ndim, 2)
    left = widened(Example(left, a.batched, max(a.ndim, 2)), ndim)
    right = widened(Example(right, b.batched, max(b.ndim, 2)), ndim)
    result = apply(ops.matmul, [left, right], {})
    dropped = [axis for axis, one in ((-2, a), (-1, b)) if one.ndim == 1]
    return ops.squeeze(result, tuple(dropped)) if dropped else result


def _accumulated(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Matrices to which products are added."""
    c, *factors = examples
    product = multiplied(ops.matmul, factors, size, {}, apply)
    return c.tensor * attrs["beta"] + product * attrs["alpha"]


def _systems(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Matrices and right-hand sides, of which the leading axes broadcast."""
    ndim = max(one.ndim for one in examples)
    return apply(op, [widened(one, ndim) for one in examples], attrs)


def _outer(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    a, b = (full(one, size) for one in examples)
    return ops.multiply(ops.expand_dims(a, 2), ops.expand_dims(b, 1))


def _images(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops on images, of one larger batch; None where the weights differ between the examples."""
    x, *rest = examples
    if any(one.batched for one in rest):
        return None
    images = ops.reshape(x.tensor, (size * x.tensor.shape[1], *x.tensor.shape[2:]))
    result = apply(op, [images, *(one.tensor for one in rest)], attrs)
    return ops.reshape(result, (*x.tensor.shape[:2], *result.shape[1:]))


def _first_of_all(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops whose value is their first operand, and that wait for the others."""
    return apply(op, [full(examples[0], size), *(one.tensor for one in examples[1:])], attrs)


RULES: dict[Op, BatchRule] = {
    ops.stop_gradient: aligned,
    ops.ravel_multi_index: aligned,
    **dict.fromkeys(
        (
            ops.mean, ops.var, ops.std, ops.logsumexp, ops.vector_norm, ops.expand_dims,
            ops.squeeze, ops.flip,
        ),
        shifted,
    ),
    **dict.fromkeys(
        (
            ops.softmax, ops.log_softmax, ops.concatenate, ops.take_along_axis, ops.along_add,
            ops.along_extremum, ops.along_prod, ops.last_positions,
            ops.cumsum, ops.cumprod, ops.logcumsumexp, ops.extremum_positions, ops.sort,
            ops.argsort,
        ),
        shifted_one,
    ),
    ops.transpose: reordered,
    ops.reshape: _reshaped,
    ops.broadcast_to: _reshaped,
    **dict.fromkeys(
        (
            ops.sliding_windows, ops.overlap_add, ops.inv, ops.cofactor, ops.det, ops.logabsdet,
            ops.signdet, ops.cholesky_factor, ops.pinv, ops.eigh_factors, ops.eigvalsh,
            ops.qr_factors, ops.svd_factors, ops.svdvals,
        ),
        _unchanged,
    ),
    ops.solve_matrices: _systems,
    ops.strided_slice: _sliced,
    ops.embed: _sliced,
    ops.as_strided: _viewed,
    ops.take: taken,
    ops.take_add: _take_added,
    ops.matmul: multiplied,
    ops.gemm: _accumulated,
    ops.dot: multiplied,
    ops.outer: _outer,
    ops.conv2d: _images,
    ops.max_pool2d: _images,
    ops.avg_pool2d: _images,
    recompute: _first_of_all,
    checkpoint: _first_of_all,
}  # fmt: skip


def rule_of(op: Op) -> BatchRule | None:
    """The batching rule of an op, or None."""
    found = RULES.get(op)
    if found is None and (op.elementwise or isinstance(op.lowering, Pointwise)):
        return aligned
    if found is None and isinstance(op.lowering, Reduce):
        return shifted
    return found
