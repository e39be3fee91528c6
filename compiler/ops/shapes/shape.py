"""Ops that move elements or rename axes; none computes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.lowering import Alias, Index, IndexMap
from staticgraph.compiler.core.op import Attrs, Op, Operand, register
from staticgraph.compiler.core.types import (
    Shape,
    TensorType,
    normalise_axes,
    normalise_axis,
    unify,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, shifted, widened
from staticgraph.compiler.ops.declare import as_operand, one_axis, unbroadcast

__all__ = [
    "broadcast_to", "expand_dims", "flip", "permute", "reshape", "squeeze", "swapaxes", "transpose",
]  # fmt: skip


def sizes_of(op: str, shape: object) -> Shape:
    """`shape` as a tuple of sizes; a single size is a shape of one axis."""
    number = isinstance(shape, Operand) and not shape.shape
    listed = shape if hasattr(shape, "__iter__") and not number else (shape,)
    sizes = tuple(
        [one if type(one) is int or isinstance(one, Dim) else _int(op, one) for one in listed]
    )
    for size in sizes:
        if type(size) is int and size < -1:
            raise ShapeError(f"{op}: negative size in {sizes}")
    return sizes


def _int(op: str, size: object) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise ShapeError(f"{op}: {size!r} is not a size")
    if not isinstance(size, int | np.integer):  # a tensor, which tells its value or refuses to
        try:
            return operator.index(size)
        except TypeError:
            raise ShapeError(f"{op}: {size!r} is not a size") from None
    return int(size)


def _reshape_bind(
    x: Any, *sizes: Any, shape: Any = None, order: str = "C"
) -> tuple[Any, Attrs | None]:
    x = as_operand(x)
    if order not in ("C", "F", "A"):
        raise OptionError(f"reshape: order={order!r} is none of C, F and A")
    given = sizes if shape is None else (*sizes, shape)
    sizes = sizes_of("reshape", given[0] if len(given) == 1 else given)
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape: more than one -1 in {sizes}")
    if -1 in sizes:
        known = dims.product([size for size in sizes if size != -1])
        if known == 0:
            raise ShapeError(f"reshape: -1 in {sizes} is ambiguous: another size is 0")
        total = dims.product(x.shape)
        sizes = tuple(dims.floor_divide(total, known) if size == -1 else size for size in sizes)
    if order == "F":
        return transpose(reshape.bound((transpose(x),), {"shape": sizes[::-1]})), None
    return (x,), {"shape": sizes}


def _reshape_type(x: TensorType, *, shape: Shape) -> TensorType:
    if unify(x.size, dims.product(shape)) is None:
        raise ShapeError(f"reshape: {x} has {x.size} elements, {shape} has {dims.product(shape)}")
    return TensorType(shape, x.dtype)


def _batched_shape(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    return apply(op, [examples[0].tensor], {**attrs, "shape": (size, *attrs["shape"])})


reshape: Op = register(
    Op(
        name="reshape",
        infer_type=_reshape_type,
        evaluate=lambda x, shape: x.reshape(shape),
        vjp=(lambda g, o, a, *, shape: reshape.bound((g,), {"shape": a.shape}),),
        saves=("",),
        bind=_reshape_bind,
        lowering=Alias(),
        batching=_batched_shape,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="The same elements in row-major order under another shape; one size may be -1. "
        'With order="F" the first index changes fastest, in x and in the result.',
        example=">>> sg.reshape(np.array([1.0, 2.0, 3.0, 4.0]), (2, -1))\n"
        "array([[1., 2.],\n"
        "       [3., 4.]])",
    )
)


def _broadcast_bind(x: object, *shape: object) -> tuple[Sequence[Any], Attrs]:
    sizes = sizes_of("broadcast_to", shape[0] if len(shape) == 1 else shape)
    if -1 in sizes:
        raise ShapeError(f"broadcast_to: negative size in {sizes}")
    return (as_operand(x),), {"shape": sizes}


def _broadcast_type(x: TensorType, *, shape: Shape) -> TensorType:
    if x.ndim > len(shape):
        raise ShapeError(f"broadcast_to: {x} has more axes than {shape}")
    for have, want in zip(reversed(x.shape), reversed(shape), strict=False):
        if have != 1 and unify(have, want) is None:
            raise ShapeError(f"broadcast_to: {x} does not broadcast to {shape}: {have} != {want}")
    return TensorType(shape, x.dtype)


def _broadcast_numpy(x: Any, shape: tuple[int, ...]) -> Any:
    extra = len(shape) - x.ndim
    strides = (0,) * extra
    if x.ndim:
        if extra < 0 or not x.flags.forc:
            return np.broadcast_to(x, shape)
        for size, stride, wanted in zip(x.shape, x.strides, shape[extra:], strict=True):
            if size == wanted:
                strides += (stride,)
            elif size == 1:
                strides += (0,)
            else:
                return np.broadcast_to(x, shape)  # which says what is wrong
    view = np.ndarray(shape, x.dtype, x, 0, strides)  # a tenth of broadcast_to's time
    view.flags.writeable = False
    return view


def _broadcast_map(index: Index, x: TensorType, out: TensorType, *, shape: Shape) -> Index:
    kept = index[len(index) - x.ndim :]
    return tuple(Affine() if size == 1 else i for i, size in zip(kept, x.shape, strict=True))


def _batched_broadcast(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    tensor = widened(examples[0], len(attrs["shape"]))
    return apply(op, [tensor], {**attrs, "shape": (size, *attrs["shape"])})


broadcast_to = register(
    Op(
        name="broadcast_to",
        infer_type=_broadcast_type,
        evaluate=_broadcast_numpy,
        vjp=(lambda g, o, a, *, shape: unbroadcast(g, a),),
        saves=("",),
        bind=_broadcast_bind,
        lowering=IndexMap(_broadcast_map, repeats=True),
        batching=_batched_broadcast,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="x repeated along axes of size 1 and along new leading axes.",
        example=">>> sg.broadcast_to(np.array([1.0, 2.0]), (2, 2))\n"
        "array([[1., 2.],\n"
        "       [1., 2.]])",
    )
)


def _transpose_bind(x: Any, *order: Any, axes: Any = None) -> tuple[Sequence[Any], Attrs]:
    x = as_operand(x)
    if axes is not None or order == (None,):
        order = () if axes is None else (*order, axes)
    listed = order[0] if len(order) == 1 and not isinstance(order[0], int | np.integer) else order
    order = tuple(listed) if order else tuple(reversed(range(x.ndim)))
    order = tuple(normalise_axis("transpose", axis, x.ndim) for axis in order)
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"transpose: {order} is not an order of the {x.ndim} axes")
    return (x,), {"axes": order}


@functools.lru_cache(maxsize=1024)
def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def _transpose_vjp(g: Any, o: object, a: object, *, axes: tuple[int, ...]) -> Any:
    order = _inverse(axes)
    return g.transpose(order) if type(g) is np.ndarray else transpose.bound((g,), {"axes": order})


def _batched_transpose(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    axes = (0, *(axis + 1 for axis in attrs["axes"]))
    return apply(op, [examples[0].tensor], {**attrs, "axes": axes})


transpose: Op = register(
    Op(
        name="transpose",
        infer_type=lambda x, axes: TensorType(tuple(x.shape[axis] for axis in axes), x.dtype),
        evaluate=lambda x, axes: x.transpose(axes),
        vjp=(_transpose_vjp,),
        saves=("",),
        bind=_transpose_bind,
        lowering=IndexMap(lambda index, x, out, *, axes: tuple(index[i] for i in _inverse(axes))),
        batching=_batched_transpose,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="The axes in another order; reversed if none is given.",
        example=">>> sg.transpose(np.array([[1.0, 2.0]]))\narray([[1.],\n       [2.]])",
    )
)


def permute(x: object, *axes: object) -> Any:
    """PyTorch's name of `transpose` with an order of all axes.

    Example:
        >>> sg.permute(np.array([[1.0, 2.0]]), 1, 0)
        array([[1.],
               [2.]])
    """
    return transpose(x, *axes)


def swapaxes(x: Value, first: int, second: int) -> Value:
    """`x` with two axes exchanged.

    Example:
        >>> sg.swapaxes(np.array([[1.0, 2.0]]), 0, 1)
        array([[1.],
               [2.]])
    """
    x = as_operand(x)
    ndim = x.ndim
    order = list(range(ndim))
    i, j = normalise_axis("swapaxes", first, ndim), normalise_axis("swapaxes", second, ndim)
    order[i], order[j] = order[j], order[i]
    return transpose.bound((x,), {"axes": tuple(order)})


def _expand_bind(x: Any, axis: Any = None, *, dim: Any = None) -> tuple[Sequence[Any], Attrs]:
    x, axis = as_operand(x), one_axis("expand_dims", axis, dim)
    if axis is None:
        raise OptionError("expand_dims: takes an axis")
    added = 1 if hasattr(axis, "__index__") and not getattr(axis, "ndim", 0) else len(axis)
    return (x,), {"axes": normalise_axes("expand_dims", axis, x.ndim + added)}


def _expand_type(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
    sizes = iter(x.shape)
    shape = tuple(1 if axis in axes else next(sizes) for axis in range(x.ndim + len(axes)))
    return TensorType(shape, x.dtype)


def _expand_numpy(x: Any, axes: tuple[int, ...]) -> Any:
    shape = list(x.shape)
    for axis in axes:
        shape.insert(axis, 1)
    return x.reshape(shape)


expand_dims = register(
    Op(
        name="expand_dims",
        infer_type=_expand_type,
        evaluate=_expand_numpy,
        vjp=(lambda g, o, a, *, axes: squeeze.bound((g,), {"axes": axes}),),
        saves=("",),
        bind=_expand_bind,
        lowering=IndexMap(
            lambda index, x, out, *, axes: tuple(
                i for axis, i in enumerate(index) if axis not in axes
            )
        ),
        batching=shifted,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="New axes of size 1 at the given places of the result.",
        example=">>> sg.expand_dims(np.array([1.0, 2.0]), axis=1)\narray([[1.],\n       [2.]])",
    )
)


def _squeeze_bind(x: Any, axis: Any = None, *, dim: Any = None) -> tuple[Sequence[Any], Attrs]:
    x, axis = as_operand(x), one_axis("squeeze", axis, dim)
    if axis is None:
        axis = tuple(i for i, size in enumerate(x.shape) if dims.is_one(size))
    return (x,), {"axes": normalise_axes("squeeze", axis, x.ndim)}


def _squeeze_type(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
    for axis in axes:
        if x.shape[axis] != 1:
            raise ShapeError(f"squeeze: axis {axis} of {x} has size {x.shape[axis]}, not 1")
    return TensorType(tuple(s for i, s in enumerate(x.shape) if i not in axes), x.dtype)


def _squeeze_map(index: Index, x: TensorType, out: TensorType, *, axes: tuple[int, ...]) -> Index:
    kept = iter(index)
    return tuple(Affine() if axis in axes else next(kept) for axis in range(x.ndim))


squeeze: Op = register(
    Op(
        name="squeeze",
        infer_type=_squeeze_type,
        evaluate=lambda x, axes: x.squeeze(axes),
        vjp=(lambda g, o, a, *, axes: expand_dims.bound((g,), {"axes": axes}),),
        saves=("",),
        bind=_squeeze_bind,
        lowering=IndexMap(_squeeze_map),
        batching=shifted,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="x without the given axes, which have size 1 (all such axes if None).",
        example=">>> sg.squeeze(np.array([[1.0, 2.0]]))\narray([1., 2.])",
    )
)


def _flip_bind(x: Any, axis: Any = None, *, dim: Any = None) -> tuple[Sequence[Any], Attrs]:
    x = as_operand(x)
    return (x,), {"axes": normalise_axes("flip", one_axis("flip", axis, dim), x.ndim)}


def _flip_map(index: Index, x: TensorType, out: TensorType, *, axes: tuple[int, ...]) -> Index:
    return tuple(
        i * -1 + (x.shape[axis] - 1) if axis in axes else i for axis, i in enumerate(index)
    )


flip: Op = register(
    Op(
        name="flip",
        infer_type=lambda x, axes: x,
        evaluate=lambda x, axes: np.flip(x, axes),
        vjp=(lambda g, o, a, *, axes: flip(g, axes),),
        saves=("",),
        bind=_flip_bind,
        lowering=IndexMap(_flip_map),
        batching=shifted,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="The elements in reverse order along the given axes (all if None).",
        example=">>> sg.flip(np.array([1.0, 2.0, 3.0]))\narray([3., 2., 1.])",
    )
)
