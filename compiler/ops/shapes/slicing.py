"""Ops that take parts of tensors, place them and join them; none computes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.lowering import Index, IndexMap, Window
from staticgraph.compiler.core.op import Attrs, Op, op_named, register
from staticgraph.compiler.core.types import (
    Shape,
    TensorType,
    fits,
    normalise_axis,
    require_same_dtype,
    unify,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, shifted_one
from staticgraph.compiler.ops.declare import as_operand, one_axis
from staticgraph.compiler.ops.shapes.shape import expand_dims, reshape, squeeze

__all__ = ["concatenate", "split", "stack"]


def _concatenate_bind(
    tensors: Sequence[Any], axis: Any = 0, *, dim: Any = None, dtype: object = None
) -> tuple[Sequence[Any], Attrs]:
    operands = tuple(as_operand(x) for x in tensors)
    if dtype is not None:
        operands = tuple(op_named("astype")(x, dtype) for x in operands)
    if not operands:
        raise OptionError("concatenate: needs at least one tensor")
    if dim is not None:
        axis = one_axis("concatenate", axis or None, dim)
    elif axis is None:  # NumPy's: all elements in a row
        operands, axis = tuple(reshape(x, (-1,)) for x in operands), 0
    return operands, {"axis": normalise_axis("concatenate", axis, operands[0].ndim)}


def _concatenate_type(*types: TensorType, axis: int) -> TensorType:
    dtype = require_same_dtype("concatenate", *types)
    shape = list(types[0].shape)
    for type in types[1:]:
        if type.ndim != len(shape):
            raise ShapeError(f"concatenate: {types[0]} and {type} differ in rank")
        for i, size in enumerate(type.shape):
            common = shape[i] + size if i == axis else unify(shape[i], size)
            if common is None:
                raise ShapeError(f"concatenate: {types[0]} and {type} differ at axis {i}")
            shape[i] = common
    return TensorType(tuple(shape), dtype)


def _offsets(operands: Sequence[Any], axis: int) -> list[Size]:
    offsets: list[Size] = [0]
    for operand in operands:
        offsets.append(offsets[-1] + operand.shape[axis])
    return offsets


def _concatenate_vjp(i: int, g: object, o: object, *operands: object, axis: int) -> Any:
    offsets = _offsets(operands, axis)
    return slice_axis(g, axis, offsets[i], offsets[i + 1])


def _concatenate_windows(
    types: Sequence[TensorType], out: TensorType, *, axis: int
) -> list[tuple[tuple[Size, ...], tuple[int, ...]]]:
    steps = (1,) * out.ndim
    return [
        (tuple(offset if i == axis else 0 for i in range(out.ndim)), steps)
        for offset in _offsets(types, axis)[:-1]
    ]


def _joined(*arrays: Any, axis: int) -> Any:
    from staticgraph.compiler.reference.copies import joined  # which few programs need

    return joined(arrays, axis)


concatenate = register(
    Op(
        name="concatenate",
        infer_type=_concatenate_type,
        evaluate=_joined,
        vjp=_concatenate_vjp,
        bind=_concatenate_bind,
        lowering=Window(_concatenate_windows, lambda axis: None),
        promotes=slice(None),
        batching=shifted_one,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="Tensors, cast to `dtype`, joined along an axis that they have; the other sizes agree.",
        example=">>> sg.concatenate([np.array([1.0, 2.0]), np.array([3.0])], axis=0)\n"
        "array([1., 2., 3.])",
    )
)


def stack(
    tensors: Sequence[Value], axis: int = 0, *, dim: int | None = None, dtype: object = None
) -> Value:
    """Tensors of one shape, cast to `dtype`, joined along a new axis.

    Example:
        >>> sg.stack([np.array([1.0, 2.0]), np.array([3.0, 4.0])])
        array([[1., 2.],
               [3., 4.]])
    """
    axis = axis if dim is None else dim
    return concatenate([expand_dims(x, axis) for x in tensors], axis=axis, dtype=dtype)


def split(
    x: Value, sections: int | Sequence[int], axis: int = 0, *, dim: int | None = None
) -> list[Value]:
    """`x` cut along `axis` into equal sections, or before each of the given indices (NumPy).

    Example:
        >>> sg.split(np.array([1.0, 2.0, 3.0, 4.0]), 2)
        [array([1., 2.]), array([3., 4.])]
    """
    x = as_operand(x)
    axis = normalise_axis("split", axis if dim is None else dim, x.ndim)
    size = x.shape[axis]
    if isinstance(sections, int | np.integer):
        if sections < 1 or (isinstance(size, int) and size % sections):
            raise ShapeError(f"split: axis {axis} has {size} elements, not {sections} equal parts")
        part = dims.floor_divide(size, int(sections))
        # the type rule of reshape assumes that the parts make up the whole, where it is unknown
        x = reshape(x, (*x.shape[:axis], int(sections), part, *x.shape[axis + 1 :]))
        return [squeeze(slice_axis(x, axis, i, i + 1), axis) for i in range(sections)]
    bounds: list[Size] = [0, *sections, size]
    if isinstance(size, int) and all(isinstance(one, int | np.integer) for one in bounds):
        bounds = [slice(one).indices(size)[1] for one in bounds]  # from the end, or beyond it
        cut = [(start, max(start, stop)) for start, stop in itertools.pairwise(bounds)]
    else:
        from_end = (isinstance(one, int | np.integer) and one < 0 for one in bounds)
        places = [size + one if ends else one for ends, one in zip(from_end, bounds, strict=True)]
        cut = list(itertools.pairwise(places))
    return [slice_axis(x, axis, start, stop) for start, stop in cut]


def slice_axis(x: Any, axis: int, start: Size, stop: Size) -> Any:
    """The elements from `start` to `stop` of one axis, without clamping."""
    starts = tuple(start if i == axis else 0 for i in range(x.ndim))
    sizes = tuple(stop - start if i == axis else size for i, size in enumerate(x.shape))
    return strided_slice(x, starts, sizes, (1,) * x.ndim)


def _slice_bind(x: Any, starts: Any, sizes: Any, steps: Any) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(x),), {"starts": starts, "sizes": sizes, "steps": steps}


def _is_inside(start: Size, size: Size, step: int, bound: Size) -> bool:
    """Whether `size` elements from `start` by `step` may lie on an axis of `bound`: see `fits`."""
    if size == 0:
        return fits(0, start)
    return fits(0, size) and fits(0, start) and fits(start + (size - 1) * step + 1, bound)


def _slice_type(
    x: TensorType, *, starts: Shape, sizes: Shape, steps: tuple[int, ...]
) -> TensorType:
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        if not _is_inside(start, size, step, x.shape[axis]):
            raise ShapeError(
                f"strided_slice: axis {axis} of {x}: {size} elements from {start} by {step} "
                f"go past {x.shape[axis]}"
            )
    return TensorType(sizes, x.dtype)


def _slice_numpy(x: Any, *, starts: Any, sizes: Any, steps: Any) -> Any:
    return x[
        tuple(
            slice(start, start + size * step, step)
            for start, size, step in zip(starts, sizes, steps, strict=True)
        )
    ]


def _slice_map(
    index: Index, x: TensorType, out: TensorType, *, starts: Any, sizes: object, steps: Any
) -> Index:
    return tuple(i * step + start for i, start, step in zip(index, starts, steps, strict=True))


def _slice_vjp(g: object, o: object, a: Any, *, starts: object, sizes: Any, steps: Any) -> Any:
    return embed(g, starts, a.shape, steps)


def _batched_slices(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    front = {"starts": 0, "sizes": size, "steps": 1, "shape": size}
    batch = {
        name: (front[name], *value) if name in front else value for name, value in attrs.items()
    }
    return apply(op, [examples[0].tensor], batch)


strided_slice = register(
    Op(
        name="strided_slice",
        infer_type=_slice_type,
        evaluate=_slice_numpy,
        vjp=(_slice_vjp,),
        saves=("",),
        bind=_slice_bind,
        lowering=IndexMap(_slice_map),
        batching=_batched_slices,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="`sizes` elements per axis, from `starts` by `steps` (positive): basic indexing.",
    )
)


def _embed_bind(
    x: Any, starts: Any, shape: Any, steps: Any, value: float = 0.0
) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(x),), {
        "starts": tuple(starts), "shape": tuple(shape), "steps": tuple(steps), "value": value,
    }  # fmt: skip


def _embed_type(
    x: TensorType, *, starts: Shape, shape: Shape, steps: tuple[int, ...], value: float
) -> TensorType:
    for axis, (start, size, step) in enumerate(zip(starts, x.shape, steps, strict=True)):
        if not _is_inside(start, size, step, shape[axis]):
            raise ShapeError(
                f"embed: axis {axis} of {x} from {start} by {step} goes past {shape[axis]}"
            )
    return TensorType(shape, x.dtype)


def _embed_numpy(x: Any, *, starts: Any, shape: Any, steps: Any, value: float) -> Any:
    result = np.full(shape, value, x.dtype)
    result[
        tuple(
            slice(start, start + size * step, step)
            for start, size, step in zip(starts, x.shape, steps, strict=True)
        )
    ] = x
    return result


embed = register(
    Op(
        name="embed",
        infer_type=_embed_type,
        evaluate=_embed_numpy,
        vjp=(
            lambda g, o, a, *, starts, shape, steps, value: strided_slice(
                g, starts, a.shape, steps
            ),
        ),
        saves=("",),
        bind=_embed_bind,
        lowering=Window(
            lambda types, out, *, starts, shape, steps, value: [(starts, steps)],
            lambda *, starts, shape, steps, value: value,
        ),
        batching=_batched_slices,
        linearity="affine",
        exact=True,
        complex="linear",
        doc="x placed from `starts` by `steps` in a tensor of `shape` filled with `value`.",
    )
)
