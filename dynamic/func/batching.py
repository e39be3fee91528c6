"""Batching rules: how an op on examples is an op on batches, whose first axis counts them.

Most families of ops need one rule: elementwise ops align the axes of the examples, reductions
and ops that name axes count them after the batch axis, shapes get the batch in front. A composite
without a rule is expanded by the caller into ops that have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler import ops
from compiler.lowering import Pointwise, Reduce
from compiler.op import Attrs, Op
from dynamic import eager_ops
from dynamic.func.tracer import evaluated


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


def full(example: Example, size: int) -> Any:
    """The tensor with the batch axis, repeated along it without memory if it has none."""
    if example.batched:
        return example.tensor
    return ops.broadcast_to(example.tensor, (size, *example.tensor.shape))


def widened(example: Example, ndim: int) -> Any:
    """The tensor of which an example has `ndim` axes: new ones behind the batch axis."""
    if not example.batched or example.ndim == ndim:
        return example.tensor
    return ops.expand_dims(example.tensor, tuple(range(1, 1 + ndim - example.ndim)))


def _aligned(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    ndim = max(one.ndim for one in examples)
    return apply(op, [widened(one, ndim) for one in examples], attrs)


def _aligned_to_first(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    first, *rest = examples
    return apply(op, [full(first, size), *(widened(one, first.ndim) for one in rest)], attrs)


def _shifted(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of one operand that name several axes."""
    axes = tuple(axis + 1 for axis in attrs["axes"])
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


def _shifted_one(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of operands of one rank that name one axis."""
    tensors = [full(one, size) for one in examples]
    return apply(op, tensors, {**attrs, "axis": attrs["axis"] + 1})


def _reordered(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    axes = (0, *(axis + 1 for axis in attrs["axes"]))
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


def _reshaped(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    tensor = widened(examples[0], len(attrs["shape"])) if op is ops.broadcast_to else None
    tensor = examples[0].tensor if tensor is None else tensor
    return apply(op, [tensor], {**attrs, "shape": (size, *attrs["shape"])})


def _unchanged(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops of one operand on its last axes."""
    return apply(op, [examples[0].tensor], attrs)


def _sliced(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    front = {"starts": 0, "sizes": size, "steps": 1, "shape": size}
    batch = {
        name: (front[name], *value) if name in front else value for name, value in attrs.items()
    }
    return apply(op, [examples[0].tensor], batch)


def _selected(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    key = attrs["key"]
    batch = {**attrs, "key": (slice(None), *(key if isinstance(key, tuple) else (key,)))}
    if "shape" in attrs:
        batch["shape"] = (size, *attrs["shape"])
    return apply(op, [examples[0].tensor], batch)


def _put(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    x, value = examples
    places = np.asarray(attrs["places"])
    offsets = np.arange(size) * int(np.prod(x.tensor.shape[1 if x.batched else 0 :]))
    batch = places + offsets.reshape((size,) + (1,) * places.ndim)
    return apply(op, [full(x, size), widened(value, places.ndim)], {"places": batch})


def _taken(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
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
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
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
    return ops.along_add(x, ops.broadcast_to(flat, x.shape), axis + 1, attrs["size"])


def _multiplied(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
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


def _outer(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    a, b = (full(one, size) for one in examples)
    return ops.multiply(ops.expand_dims(a, 2), ops.expand_dims(b, 1))


def _images(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    """Ops on images, of one larger batch; None where the weights differ between the examples."""
    x, *rest = examples
    if any(one.batched for one in rest):
        return None
    images = ops.reshape(x.tensor, (size * x.tensor.shape[1], *x.tensor.shape[2:]))
    result = apply(op, [images, *(one.tensor for one in rest)], attrs)
    return ops.reshape(result, (*x.tensor.shape[:2], *result.shape[1:]))


_RULES: dict[Op, BatchRule] = {
    **dict.fromkeys(
        (
            ops.clamp, ops.leaky_relu, ops.elu, ops.silu, ops.gelu, ops.stop_gradient,
            eager_ops.clone, eager_ops.contiguous, eager_ops.fill, eager_ops.zero,
        ),
        _aligned,
    ),
    eager_ops.copy: _aligned_to_first,
    **dict.fromkeys(
        (
            ops.mean, ops.var, ops.std, ops.logsumexp, ops.expand_dims, ops.squeeze, ops.flip,
            eager_ops.norm, eager_ops.mean_dim, eager_ops.squeeze_dim,
        ),
        _shifted,
    ),
    **dict.fromkeys(
        (
            ops.softmax, ops.log_softmax, ops.concatenate, eager_ops.stack, ops.take_along_axis,
            ops.along_add,
        ),
        _shifted_one,
    ),
    **dict.fromkeys(
        (ops.transpose, eager_ops.transpose_2d, eager_ops.swap), _reordered
    ),
    ops.reshape: _reshaped,
    ops.broadcast_to: _reshaped,
    ops.sliding_windows: _unchanged,
    ops.overlap_add: _unchanged,
    ops.strided_slice: _sliced,
    ops.embed: _sliced,
    eager_ops.select: _selected,
    eager_ops.place: _selected,
    eager_ops.put: _put,
    ops.take: _taken,
    eager_ops.index_select: _taken,
    ops.take_add: _take_added,
    ops.matmul: _multiplied,
    eager_ops.bmm: _multiplied,
    ops.dot: _multiplied,
    ops.outer: _outer,
    ops.conv2d: _images,
    ops.max_pool2d: _images,
    ops.avg_pool2d: _images,
}  # fmt: skip


def rule_of(op: Op) -> BatchRule | None:
    """The batching rule of an op, or None."""
    found = _RULES.get(op)
    if found is None and isinstance(op.lowering, Pointwise):
        return _aligned
    if found is None and isinstance(op.lowering, Reduce):
        return _shifted
    return found
