"""Gathers by integer tensors along an axis, with their adjoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.default_dtype import or_default
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OptionError, OutOfRangeError, ShapeError
from staticgraph.compiler.core.lowering import Gather, Index, IndexMap, Scatter
from staticgraph.compiler.core.op import Attrs, Op, op_named, register
from staticgraph.compiler.core.types import DType, Shape, TensorType, normalise_axis, unify
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, full, shifted_one
from staticgraph.compiler.ops.declare import as_operand, composite, one_axis, size_value
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.elementwise.comparison import equal, where
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, reshape, transpose
from staticgraph.compiler.reference.indices import check_range, coordinates, taken_along

__all__ = ["one_hot", "take", "take_along_axis"]


def require_index(op: str, type: TensorType) -> None:
    """DTypeError unless a type is of integers."""
    if type.dtype.kind not in "iu":
        raise DTypeError(f"{op}: index {type} is not an integer tensor")


def require_element(op: str, x: TensorType, axis: int, index: TensorType) -> None:
    """OutOfRangeError where every index is out of range: the kernel reads the axis at 0 instead."""
    if x.shape[axis] == 0 and isinstance(index.size, int) and index.size > 0:
        raise OutOfRangeError(f"{op}: index {index} points into axis {axis} of {x}, which is empty")


def _take_bind(
    x: Any,
    index: Any,
    axis: Any = None,
    *,
    mode: str = "raise",
    dim: Any = None,
    wrap: bool = True,
) -> tuple[Sequence[Any], Attrs]:
    x, axis = as_operand(x), one_axis("take", axis, dim)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if mode != "raise":
        index = _inside(mode, as_operand(index), x, normalise_axis("take", axis, x.ndim))
    attrs = {"axis": normalise_axis("take", axis, x.ndim), **({} if wrap else {"wrap": False})}
    return (x, as_operand(index)), attrs


def _inside(mode: str, index: Any, x: Any, axis: int) -> Any:
    """Indices that are out of range as NumPy's modes take them: round again, or at the end."""
    size = x.shape[axis]
    if isinstance(size, Dim):
        size = op_named("astype")(x._apply(op_named("size_of"), (), {"size": size}), "int64")
    if mode == "wrap":
        return op_named("remainder")(index, size)
    if mode != "clip":
        raise OptionError(f"take: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    return op_named("minimum")(op_named("maximum")(index, 0), size - 1)


def _take_type(x: TensorType, index: TensorType, *, axis: int, wrap: bool = True) -> TensorType:
    require_index("take", index)
    require_element("take", x, axis, index)
    return TensorType(x.shape[:axis] + index.shape + x.shape[axis + 1 :], x.dtype)


def _take_split(
    index: Index, x: TensorType, indices: TensorType, *, axis: int, **attrs: object
) -> tuple[Index, Index]:
    inner = index[axis : axis + indices.ndim]
    return inner, (*index[:axis], Affine(), *index[axis + indices.ndim :])


def _take_vjp(g: object, o: object, x: Any, index: object, *, axis: int, wrap: bool = True) -> Any:
    return take_add(g, index, axis, x.shape[axis], wrap)


def _take_slopes(
    positions: Sequence[int], g: Any, o: object, x: Any, index: Any, *, axis: int, wrap: bool = True
) -> Sequence[Any]:
    return (_take_add_numpy(g, index, axis=axis, size=x.shape[axis], wrap=wrap),)


def _batched_take(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    x, index = examples
    axis = attrs["axis"]
    if not index.batched:
        return apply(op, [x.tensor, index.tensor], {**attrs, "axis": axis + 1})
    if not x.batched:  # the batch axis of the result is where the axis of x was
        result = apply(op, [x.tensor, index.tensor], attrs)
        return transpose(result, (axis, *(i for i in range(result.ndim) if i != axis)))
    # one axis for the index, then one gather with the index repeated over the other axes
    shape = x.tensor.shape
    count = math.prod(index.tensor.shape[1:])
    flat = reshape(index.tensor, (size, *(1,) * axis, count, *(1,) * (x.ndim - axis - 1)))
    places = broadcast_to(flat, (*shape[: axis + 1], count, *shape[axis + 2 :]))
    result = take_along_axis(x.tensor, places, axis + 1, wrap=attrs.get("wrap", True))
    return reshape(result, (*shape[: axis + 1], *index.tensor.shape[1:], *shape[axis + 2 :]))


take = register(
    Op(
        name="take",
        infer_type=_take_type,
        evaluate=lambda x, index, axis, wrap=True: np.take(
            x, check_range("take", np.asarray(index), x.shape[axis], wrap), axis
        ),
        vjp=(_take_vjp, None),
        vjp_arrays=_take_slopes,
        saves=("b", ""),
        bind=_take_bind,
        lowering=Gather(_take_split),
        batching=_batched_take,
        linearity="multilinear",
        exact=True,
        sweep="slices",
        complex="linear",
        doc="The slices of x along `axis` (of the flat x if None) at integer indices of any shape; "
        "negative ones count from the end if `wrap`. OutOfRangeError outside, unless `mode` is "
        '"wrap" or "clip".',
        example=">>> sg.take(np.array([10.0, 20.0, 30.0]), np.array([2, 0, -1]))\n"
        "array([30., 10., 30.])",
    )
)


def _take_add_bind(
    g: object, index: object, axis: int, size: Size, wrap: bool = True
) -> tuple[Sequence[Any], Attrs]:
    return (g, index), {"axis": axis, "size": size, **({} if wrap else {"wrap": False})}


def _require_agreement(op: str, g: TensorType, part: Shape, index: TensorType) -> None:
    """ShapeError unless a part of the shape of `g` is that of the index."""
    if len(part) != index.ndim or None in map(unify, part, index.shape):
        raise ShapeError(f"{op}: {g} has no axes like those of the index {index}")


def _take_add_type(
    g: TensorType, index: TensorType, *, axis: int, size: Size, wrap: bool = True
) -> TensorType:
    require_index("take_add", index)
    _require_agreement("take_add", g, g.shape[axis : axis + index.ndim], index)
    result = TensorType((*g.shape[:axis], size, *g.shape[axis + index.ndim :]), g.dtype)
    require_element("take_add", result, axis, index)
    return result


def _take_add_numpy(g: Any, index: Any, *, axis: int, size: int, wrap: bool = True) -> Any:
    index = check_range("take_add", np.asarray(index), size, wrap)
    result = np.zeros((*g.shape[:axis], size, *g.shape[axis + index.ndim :]), g.dtype)
    np.add.at(result, (slice(None),) * axis + (index,), g)
    return result


def _batched_take_add(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    g, index = examples
    axis = attrs["axis"]
    if not index.batched:
        return apply(op, [g.tensor, index.tensor], {**attrs, "axis": axis + 1})
    x = full(g, size)
    shape, last = x.shape, axis + 1 + index.ndim
    count = math.prod(index.tensor.shape[1:])
    x = reshape(x, (*shape[: axis + 1], count, *shape[last:]))
    flat = reshape(index.tensor, (size, *(1,) * axis, count, *(1,) * (len(shape) - last)))
    wrap = attrs.get("wrap", True)
    return along_add(x, broadcast_to(flat, x.shape), axis + 1, attrs["size"], wrap)


take_add = register(
    Op(
        name="take_add",
        infer_type=_take_add_type,
        evaluate=_take_add_numpy,
        vjp=(lambda g, o, a, b, *, axis, size, wrap=True: take(g, b, axis, wrap=wrap), None),
        saves=("b", ""),
        bind=_take_add_bind,
        lowering=Scatter(_take_split),
        sweep="slices",
        batching=_batched_take_add,
        linearity="multilinear",
        complex="linear",
        doc="Zeros with `size` slices along `axis` into which those of g are added at the indices: "
        "the adjoint of `take`. Negative ones count from the end if `wrap`.",
    )
)


def _along_bind(
    x: Any, index: Any, axis: Any = -1, *, dim: Any = None, wrap: bool = True
) -> tuple[Sequence[Any], Attrs]:
    x, index = as_operand(x), as_operand(index)
    if dim is not None:
        axis = one_axis("take_along_axis", None if axis == -1 else axis, dim)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalise_axis("take_along_axis", axis, x.ndim)
    return _meeting(x, index, axis), {"axis": axis, "wrap": wrap}


def _meeting(x: Any, index: Any, axis: int) -> tuple[Any, Any]:
    """Both of one shape but for the axis, where one of them has size 1, as in NumPy."""
    if index.ndim != x.ndim:
        return x, index

    def wide(one: Any, other: Any) -> Any:
        shape = [b if a == 1 else a for a, b in zip(one.shape, other.shape, strict=True)]
        shape[axis] = one.shape[axis]
        if tuple(shape) == tuple(one.shape):
            return one
        if hasattr(other, "_constant") and isinstance(one, np.ndarray):
            one = other._constant(one)  # the sizes of the other may be unknown
        return broadcast_to(one, tuple(shape))

    return wide(x, index), wide(index, x)


def _along_type(x: TensorType, index: TensorType, *, axis: int, wrap: bool) -> TensorType:
    require_index("take_along_axis", index)
    if index.ndim != x.ndim:
        raise ShapeError(f"take_along_axis: {x} and index {index} differ in rank")
    for i, (size, other) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != axis and unify(size, other) is None:
            raise ShapeError(f"take_along_axis: {x} and index {index} differ at axis {i}")
    require_element("take_along_axis", x, axis, index)
    return TensorType(index.shape, x.dtype)


def along_split(
    index: Index, x: TensorType, indices: TensorType, *, axis: int, **attrs: object
) -> tuple[Index, Index]:
    """How an index of x's rank, along an axis, is read: see `Gather` and `Scatter`."""
    return index, (*index[:axis], Affine(), *index[axis + 1 :])


def _along_vjp(g: object, o: object, x: Any, index: Any, *, axis: int, wrap: bool) -> Any:
    size = x.shape[axis]
    if index.shape[axis] == 1:
        # one element per row: a comparison fuses with what follows, a scatter does not
        place = astype(index, "int64")
        if wrap:
            place = where(place < 0, place + size_value(size, place), place)
        return where(equal(positions(x, axis), place), g, 0)
    return along_add(g, index, axis, size)


take_along_axis = register(
    Op(
        name="take_along_axis",
        infer_type=_along_type,
        evaluate=lambda x, index, axis, wrap: taken_along(
            x, check_range("take_along_axis", np.asarray(index), x.shape[axis], wrap), axis
        ),
        vjp=(_along_vjp, None),
        saves=("b", ""),
        bind=_along_bind,
        lowering=Gather(along_split),
        batching=shifted_one,
        linearity="multilinear",
        exact=True,
        sweep="places",
        complex="linear",
        doc="Per place of `index`, of x's rank, the element of x there with its coordinate along "
        "`axis` replaced, of the flat x if None. Negative indices count from the end if `wrap`. "
        "OutOfRangeError outside.",
        example=">>> sg.take_along_axis(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1], [0]]), "
        "axis=1)\n"
        "array([[2.],\n"
        "       [3.]])",
    )
)


def along_type(name: str) -> Callable[..., TensorType]:
    """The type rule of what is laid on `size` places along an axis by an index of its shape."""

    def infer_type(
        g: TensorType, index: TensorType, *, axis: int, size: Size, **attrs: object
    ) -> TensorType:
        require_index(name, index)
        _require_agreement(name, g, g.shape, index)
        result = TensorType((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
        require_element(name, result, axis, index)
        return result

    return infer_type


def _along_add_numpy(g: Any, index: Any, *, axis: int, size: int, wrap: bool = True) -> Any:
    index = check_range("along_add", np.asarray(index), size, wrap)
    result = np.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
    others = coordinates(g.shape, axis)
    np.add.at(result, (*others[:axis], index, *others[axis + 1 :]), g)
    return result


along_add = register(
    Op(
        name="along_add",
        infer_type=along_type("along_add"),
        evaluate=_along_add_numpy,
        vjp=(lambda g, o, a, b, *, axis, size, wrap=True: take_along_axis(g, b, axis), None),
        saves=("b", ""),
        bind=_take_add_bind,
        lowering=Scatter(along_split),
        sweep="places",
        batching=shifted_one,
        linearity="multilinear",
        complex="linear",
        doc="Zeros with `size` elements along `axis` into which those of g are added at the "
        "indices: the adjoint of `take_along_axis`.",
    )
)


def _one_hot(index: Any, *, classes: int, dtype: DType) -> Any:
    column = expand_dims(index, index.ndim)
    numbers = np.arange(classes).reshape((1,) * index.ndim + (classes,))
    return astype(equal(astype(column, "int64"), numbers), dtype)


def _one_hot_numpy(index: Any, *, classes: int, dtype: DType) -> Any:
    places = index.reshape(-1).astype(np.int64, copy=False)
    if not places.size or places.min() < 0 or places.max() >= classes:
        return _one_hot(index, classes=classes, dtype=dtype)
    result = np.zeros((*index.shape, classes), dtype)
    result.reshape(-1)[np.arange(0, result.size, classes) + places] = 1
    return result


def _one_hot_bind(index: object, classes: int, dtype: object = None) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(index),), {"classes": int(classes), "dtype": or_default(dtype, "one_hot")}


one_hot = composite(
    "one_hot", _one_hot, bind=_one_hot_bind, vjp=(None,), evaluate=_one_hot_numpy,
    check=lambda name, type, **attrs: require_index(name, type),
    exact=True,
    doc="1 at each index along a new last axis of size `classes`, 0 elsewhere: (...) -> (..., c). "
    "An index outside gives zeros.",
    example=">>> sg.one_hot(np.array([2, 0]), 3)\n"
    "array([[0., 0., 1.],\n"
    "       [1., 0., 0.]], dtype=float32)",
)  # fmt: skip


def _as_strided_type(x: TensorType, *, shape: Shape, strides: Shape) -> TensorType:
    if x.ndim != 1 or not shape or len(strides) != len(shape):
        raise ShapeError(f"as_strided: {x}, {shape} and {strides}: memory and a stride per axis")
    reach: Size = 1
    for size, stride in zip(shape, strides, strict=True):
        reach = reach + (size - 1) * stride
    if unify(x.size, reach) is None:
        raise ShapeError(f"as_strided: {x} has {x.size} elements, {shape} reaches over {reach}")
    return TensorType(shape, x.dtype)


def _as_strided_map(
    index: Index, x: TensorType, out: TensorType, *, shape: Shape, strides: Shape
) -> Index:
    place = Affine()
    for i, stride in zip(index, strides, strict=True):
        place = place + i * stride
    return (place,)


def _as_strided_vjp(g: object, o: object, a: Any, *, shape: Shape, strides: Shape) -> Any:
    places = 0
    for axis, stride in enumerate(strides):
        places = positions(g, axis) * stride + places
    return take_add(g, places, 0, a.shape[0])


def _batched_view(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    memory = examples[0].tensor  # the batch lies in one memory, example after example
    strides = (memory.shape[1], *attrs["strides"])
    return apply(op, [reshape(memory, -1)], {"shape": (size, *attrs["shape"]), "strides": strides})


as_strided = register(
    Op(
        name="as_strided",
        infer_type=_as_strided_type,
        evaluate=lambda x, shape, strides: np.lib.stride_tricks.as_strided(
            x, shape, tuple(stride * x.strides[0] for stride in strides), writeable=False
        ),
        vjp=(_as_strided_vjp,),
        saves=("",),
        bind=lambda x, shape, strides: ((x,), {"shape": tuple(shape), "strides": tuple(strides)}),
        lowering=IndexMap(_as_strided_map),
        batching=_batched_view,
        exact=True,
        complex="linear",
        doc="Memory, a vector, as an array whose axes have these strides in elements: what the "
        "compiler reads an input through that is not row-major. No two elements share a place.",
    )
)
