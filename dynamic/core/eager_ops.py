"""Ops that only an eager engine has: about memory, or named apart as PyTorch names them.

They are not part of the shared library: a symbolic expression has no memory to copy or fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import part_dtype
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.types import (
    TensorType,
    TupleType,
    broadcast_shapes,
    require_same_dtype,
)
from staticgraph.compiler.ops.batching import (
    Apply,
    Example,
    aligned,
    aligned_to_first,
    evaluated,
    shifted,
    shifted_one,
)
from staticgraph.compiler.ops.declare import unbroadcast, zeros_like
from staticgraph.compiler.reference.copies import copied, joined
from staticgraph.dynamic.core.padding_copies import padded_along, padded_along_vjp


def _same_type(x: TensorType, *others: TensorType, **attrs: object) -> TensorType:
    return x


def _fitted(g: Any, operand: Any) -> Any:
    """The cotangent of an operand that was broadcast and cast."""
    extra = len(operand.shape) - g.ndim
    if extra > 0:  # what is assigned may have axes of size 1 in front that its place has not
        g = ops.reshape(g, (1,) * extra + tuple(g.shape))
    g = unbroadcast(g, operand)
    return (
        g
        if g.dtype == operand.dtype
        else ops.astype.bound((g,), {"dtype": np.dtype(operand.dtype)})
    )


def _cast(source: Any, like: Any) -> Any:
    """`source` in the dtype of another, without a word where an imaginary part is lost."""
    return ops.astype.bound((source,), {"dtype": np.dtype(like.dtype)})


def _nothing(g: Any) -> Any:
    return zeros_like(g) if isinstance(g, Operand) else np.broadcast_to(g.dtype.type(0), g.shape)


def _nothing_for(g: Any, operand: Any) -> Any:
    """Zeros for an operand that may have another shape than the cotangent."""
    if tuple(operand.shape) == tuple(g.shape):
        return _nothing(g)
    zeros = np.broadcast_to(np.zeros((), operand.dtype), tuple(operand.shape))
    return g._constant(zeros) if isinstance(g, Operand) else zeros


def _apply(op: Op, x: object, **attrs: object) -> Any:
    return x._apply(op, (x,), attrs) if isinstance(x, Operand) else op.evaluate(x, **attrs)


def _place(x: Any, key: Any, shape: tuple[int, ...]) -> Any:
    result = np.zeros(shape, x.dtype)
    result[key] = x
    return result


def _select_type(x: TensorType, *, key: Any) -> TensorType:
    shape = np.broadcast_to(np.empty((), x.dtype), x.shape)[key].shape  # type: ignore[arg-type]
    return TensorType(shape, x.dtype)


def _batched_key(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    key = attrs["key"]
    batch = {**attrs, "key": (slice(None), *(key if isinstance(key, tuple) else (key,)))}
    if "shape" in attrs:
        batch["shape"] = (size, *attrs["shape"])
    return apply(op, [examples[0].tensor], batch)


select: Op = Op(
    name="select",
    infer_type=_select_type,
    evaluate=lambda x, key: x[key],
    vjp=(lambda g, o, a, *, key: _apply(place, g, key=key, shape=a.shape),),
    saves=("",),
    expand=lambda x, *, key: ops.getitem(x, key),
    batching=_batched_key,
    linearity="linear",
    complex="linear",
    doc="x[key] for a basic index, as one view.",
)
place: Op = Op(
    name="place",
    infer_type=lambda x, key, shape: TensorType(shape, x.dtype),
    evaluate=_place,
    vjp=(lambda g, o, a, *, key, shape: _apply(select, g, key=key),),
    saves=("",),
    batching=_batched_key,
    linearity="linear",
    complex="linear",
    doc="Zeros of `shape` with x at the basic index `key`: the adjoint of `select`.",
)


def is_all(one: Any, size: int) -> bool:
    """Whether a slice is the whole of an axis, and says so from the front."""
    start, stop, step = one.start, one.stop, one.step
    return (
        (start is None or start == 0)
        and (stop is None or stop >= size)
        and (step is None or step == 1)
    )


def _cloned(x: Any) -> Any:
    """A copy laid out as x is where that has no gaps and no repetition, else in row-major order."""
    copy = copied(x, "K")
    if copy.flags.c_contiguous or all(
        n == 1 or a == b for n, a, b in zip(x.shape, x.strides, copy.strides, strict=True)
    ):
        return copy
    return copied(x)


clone = Op(
    name="clone",
    infer_type=_same_type,
    evaluate=_cloned,
    vjp=(lambda g, o, a: g,),
    saves=("",),
    expand=lambda x: x,
    batching=aligned,
    linearity="linear",
    complex="linear",
    doc="A copy of x with memory of its own.",
)
tied = Op(
    name="tied",
    infer_type=_same_type,
    evaluate=lambda x, other: np.copy(x),
    vjp=(lambda g, o, a, b: g, lambda g, o, a, b: _nothing_for(g, b)),
    saves=("", ""),
    expand=lambda x, other: ops.where(np.True_, x, other),
    complex="linear",
    doc="x, which counts as depending on `other`, with gradient 0.",
)
scaled_back = Op(
    name="scaled_back",
    infer_type=_same_type,
    evaluate=lambda x, scale: np.copy(x),
    vjp=(lambda g, o, a, b: g * b, None),
    saves=("b", ""),
    expand=lambda x, scale: x,
    doc="x, whose gradient is multiplied by a constant.",
)
contiguous = replace(clone, evaluate=copied)
copy = Op(
    name="copy",
    infer_type=_same_type,
    evaluate=lambda x, source: copied(np.broadcast_to(_cast(source, x), x.shape)),
    vjp=(lambda g, o, a, b: _nothing(g), lambda g, o, a, b: _fitted(g, b)),
    saves=("", ""),
    expand=lambda x, source: ops.broadcast_to(_cast(source, x), x.shape),
    batching=aligned_to_first,
    linearity="diagonal",
    complex="own",
    doc="`source` broadcast to x's shape and cast to its dtype: what x becomes in place.",
)
fill = Op(
    name="fill",
    infer_type=_same_type,
    evaluate=lambda x, value: np.full(x.shape, value, x.dtype),
    vjp=(lambda g, o, a, *, value: _nothing(g),),
    saves=("",),
    expand=lambda x, value: ops.broadcast_to(x._constant(np.asarray(value, x.dtype)), x.shape),
    batching=aligned,
    linearity="diagonal",
    complex="own",
    doc="`value` in x's shape and dtype.",
)
fill_of_tensor = replace(fill, name="fill_of_tensor")
zero = replace(fill, name="zero")
fill_where = Op(
    name="masked_fill",
    infer_type=_same_type,
    evaluate=lambda x, mask, value: np.asarray(np.where(mask, value, x), x.dtype),
    vjp=(
        lambda g, o, a, b, c: ops.where(b, 0.0, g),
        None,
        lambda g, o, a, b, c: _fitted(ops.where(b, g, 0.0), c),
    ),
    saves=("b", "", "b"),
    expand=lambda x, mask, value: ops.where(mask, ops.astype(value, x.dtype), x),
    complex="own",
    doc="x with `value` where the mask holds: what x becomes in place.",
)


def _rolled_back(g: object, o: object, a: object, *, shifts: Any, axes: object) -> Any:
    return _apply(roll, g, shifts=tuple(-shift for shift in shifts), axes=axes)


def _roll_expanded(x: Any, *, shifts: Any, axes: Any) -> Any:
    for shift, axis in zip(shifts, axes, strict=True):
        x = ops.take(x, np.roll(np.arange(x.shape[axis]), shift), axis)
    return x


roll: Op = Op(
    name="roll",
    infer_type=_same_type,
    evaluate=lambda x, shifts, axes: np.roll(x, shifts, axes),
    vjp=(_rolled_back,),
    saves=("",),
    expand=_roll_expanded,
    linearity="linear",
    complex="linear",
    doc="The elements moved by `shifts` along `axes`; those past the end come first.",
)


def _squares(x: Any) -> Any:
    return ops.square(ops.absolute(x) if np.dtype(x.dtype).kind == "c" else x)


def _norm_type(x: TensorType, **attrs: Any) -> TensorType:
    total: Any = ops.sum.infer_type(x, **attrs)
    return TensorType(total.shape, part_dtype(x.dtype))


def _norm(x: object, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    return ops.sqrt(ops.sum(_squares(x), axis=axes, keepdims=keepdims))


def _norm_vjp(g: object, o: object, a: object, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    slope = ops.where(ops.equal(o, 0), 0, g / ops.where(ops.equal(o, 0), 1, o))
    return a * (slope if keepdims else ops.expand_dims(slope, axes))


def _norm_expanded(x: object, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    squares = ops.sum(_squares(x), axis=axes, keepdims=keepdims)
    zero = ops.equal(squares, 0)
    return ops.where(zero, 0, ops.sqrt(ops.where(zero, 1, squares)))


norm = Op(
    name="norm",
    infer_type=_norm_type,
    evaluate=_norm,
    vjp=(_norm_vjp,),
    saves=("ao",),
    bind=ops.sum.bind,
    floating=True,
    expand=_norm_expanded,
    batching=shifted,
    complex="own",
    doc="The square root of the sum of squares; its gradient at 0 is 0, as PyTorch's.",
)


def _differences(a: Any, b: Any) -> Any:
    return ops.expand_dims(a, -2) - ops.expand_dims(b, -3)


def _distances_type(a: TensorType, b: TensorType) -> TensorType:
    require_same_dtype("cdist", a, b)
    lead = [TensorType(one.shape[:-2], one.dtype) for one in (a, b)]
    batch = broadcast_shapes("cdist: leading axes", *lead)
    return TensorType((*batch, a.shape[-2], b.shape[-2]), a.dtype)


def _distances_vjp(g: Any, o: Any, a: Any, b: Any) -> Any:
    """Per pair of rows the part of the cotangent of the first along their difference."""
    zero = ops.equal(o, 0)
    slope = ops.where(zero, 0, g / ops.where(zero, 1, o))
    return ops.expand_dims(slope, -1) * _differences(a, b)


distances = Op(
    name="cdist",
    infer_type=_distances_type,
    evaluate=lambda a, b: np.sqrt(np.square(a[..., :, None, :] - b[..., None, :, :]).sum(-1)),
    vjp=(
        lambda g, o, a, b: unbroadcast(ops.sum(_distances_vjp(g, o, a, b), axis=-2), a),
        lambda g, o, a, b: unbroadcast(-ops.sum(_distances_vjp(g, o, a, b), axis=-3), b),
    ),
    saves=("abo", "abo"),
    checked=True,
    sweep="pairs",
    promotes=slice(None),
    expand=lambda a, b: _norm_expanded(_differences(a, b), axes=(-1,), keepdims=False),
    doc="The Euclidean distances of all pairs of rows, of differences; the gradient at 0 is 0.",
)


def _stack_type(*types: TensorType, axis: int) -> TensorType:
    dtype = require_same_dtype("stack", *types)
    for place, one in enumerate(types):
        if one.shape != types[0].shape:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(types[0].shape)} at "
                f"entry 0 and {list(one.shape)} at entry {place}"
            )
    shape = list(types[0].shape)
    shape.insert(axis, len(types))
    return TensorType(tuple(shape), dtype)


def _stacked(*arrays: Any, axis: int) -> Any:
    return joined([np.expand_dims(one, axis) for one in arrays], axis)


def _stack_vjp(i: int, g: object, o: object, *operands: object, axis: int) -> Any:
    return _apply(select, g, key=(slice(None),) * axis + (i, Ellipsis))


stack = Op(
    name="stack",
    infer_type=_stack_type,
    evaluate=_stacked,
    vjp=_stack_vjp,
    promotes=slice(None),
    expand=lambda *xs, axis: ops.concatenate([ops.expand_dims(x, axis) for x in xs], axis),
    batching=shifted_one,
    linearity="linear",
    complex="linear",
    doc="Tensors of one shape joined along a new axis.",
)


def _renamed(op: Op, name: str) -> Op:
    return replace(op, name=name, expand=lambda *xs, **attrs: op.bound(xs, attrs))


transpose_2d = _renamed(ops.transpose, "t")
swap = _renamed(ops.transpose, "swap")
squeeze_dim = _renamed(ops.squeeze, "squeeze_dim")
sum_dim = _renamed(ops.sum, "sum_dim")
mean_dim = _renamed(ops.mean, "mean_dim")
prod_dim = _renamed(ops.prod, "prod_dim")
index_select = _renamed(ops.take, "index_select")
masked_fill = replace(
    _renamed(ops.where, "masked_fill"),
    evaluate=lambda *operands: np.asarray(ops.where.evaluate(*operands), order="C"),
)
bmm = _renamed(ops.matmul, "bmm")
add_bias = _renamed(ops.add, "addmm")
picked = _renamed(ops.take_along_axis, "picked")
gathered = replace(
    _renamed(ops.take_along_axis, "gather"),
    saves=("ab", ""),  # PyTorch keeps x too: who changes it in place is told
)


def _kept(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """What was found along an axis, with the axis of one element that it may lack."""
    return x if keepdims else ops.expand_dims(x, axes[0])


def _found(x: Any, places: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    found = ops.take_along_axis(x, _kept(places, axes, keepdims), axes[0], wrap=False)
    return found if keepdims else ops.squeeze(found, axes[0])


def _found_vjp(
    g: Any, o: object, x: Any, places: Any, *, axes: tuple[int, ...], keepdims: bool
) -> Any:
    index, rule = _kept(places, axes, keepdims), ops.take_along_axis.rule(0)
    assert rule is not None
    return rule(_kept(g, axes, keepdims), None, x, index, axis=axes[0], wrap=False)


def _found_vjp_arrays(
    wanted: Sequence[int], g: Any, o: object, x: Any, places: Any, *, axes: tuple[int, ...],
    keepdims: bool,
) -> Sequence[Any]:  # fmt: skip
    result = np.zeros(x.shape, g.dtype)
    index, parts = _kept(places, axes, keepdims), _kept(g, axes, keepdims)
    np.put_along_axis(result, index, parts, axes[0])
    return (result,)


largest_at = Op(
    name="largest_at",
    infer_type=lambda x, places, **attrs: TensorType(places.shape, x.dtype),
    evaluate=_found,
    vjp=(_found_vjp, None),
    vjp_arrays=_found_vjp_arrays,
    saves=("b", ""),
    expand=_found,
    doc="The element of each row at a place that is known, where `max` found it.",
)
smallest_at = replace(largest_at, name="smallest_at", doc="`largest_at` of what `min` found.")
mirrored = _renamed(ops.take, "mirrored")
mirrored_lines = replace(mirrored, evaluate=padded_along, vjp_arrays=padded_along_vjp, sweep="")


def _var_mean_type(x: TensorType, *, correction: float, **attrs: Any) -> TupleType:
    items: Any = (
        ops.var.infer_type(x, correction=correction, **attrs),
        ops.mean.infer_type(x, **attrs),
    )
    return TupleType(items)


def _var_mean(x: Any, *, correction: float, **attrs: Any) -> tuple[Any, Any]:
    return ops.var.evaluate(x, correction=correction, **attrs), ops.mean.evaluate(x, **attrs)


def _var_mean_vjp(
    positions: Sequence[int], gs: Any, out: Any, x: Any, *, correction: float, **attrs: Any
) -> list[Any]:
    of_var, of_mean = ops.var.rule(0), ops.mean.rule(0)
    assert of_var is not None and of_mean is not None
    parts = []
    if gs[0] is not None:
        parts.append(of_var(gs[0], out[0], x, correction=correction, **attrs))
    if gs[1] is not None:
        parts.append(of_mean(gs[1], out[1], x, **attrs))
    return [parts[0] if len(parts) == 1 else parts[0] + parts[1]]


var_mean = Op(
    name="var_mean",
    infer_type=_var_mean_type,
    evaluate=_var_mean,
    vjp_items=_var_mean_vjp,
    saves=("a",),
    doc="The variance and the mean, of which one node is recorded.",
)
