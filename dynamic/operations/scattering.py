"""Gathering from, and scattering to, places that tensors name."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import OptionError, OutOfRangeError
from compiler.core.op import Op
from compiler.core.types import TensorType
from dynamic.core.dtypes import require_dtype
from dynamic.errors import AutogradError
from dynamic.tensors.dims import along, axis_of
from dynamic.tensors.tensor import Tensor, wrap
from dynamic.tensors.views import computed

__all__ = [
    "argwhere", "bincount", "count_nonzero", "gather", "index_add", "index_copy", "index_fill",
    "masked_scatter", "masked_select", "nonzero", "scatter", "scatter_add", "take_along_dim",
]  # fmt: skip


def _cut(x: Any, shape: Any, kept: int | None = None) -> Any:
    """The first elements of each axis, so that x has this shape, except at the axis `kept`."""
    sizes = tuple(
        size if axis == kept else wanted
        for axis, (size, wanted) in enumerate(zip(x.shape, shape, strict=True))
    )
    if sizes == tuple(x.shape):
        return x
    return ops.strided_slice(x, (0,) * x.ndim, sizes, (1,) * x.ndim)


def _check(name: str, x: Any, dim: int, index: Any) -> int:
    """The axis; RuntimeError unless `index` is int64, of x's rank, and no larger off the axis."""
    axis = axis_of(name, dim, x.ndim)
    if index._array.dtype.kind != "i":
        raise AutogradError(f"{name}(): Expected dtype int32/int64 for index")
    if name != "gather" and not index._array.size:
        return axis
    if index.ndim != x.ndim:
        raise AutogradError(
            "Index tensor must have the same number of dimensions as "
            f"{'input' if name == 'gather' else 'self'} tensor"
        )
    for i, (size, wanted) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != axis and wanted > size:
            raise AutogradError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be no "
                f"larger than self {list(x.shape)} apart from dimension {axis}"
            )
    array = index._array
    bad = array[(array < 0) | (array >= x.shape[axis])]
    if bad.size:
        raise AutogradError(
            f"index {bad.flat[0]} is out of bounds for dimension {axis} with size {x.shape[axis]}"
        )
    return axis


@computed
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The elements at `index` along one axis: index's shape, which may be smaller off the axis."""
    if not input.ndim and index.ndim <= 1:
        return ops.reshape(ops.take(ops.reshape(input, (1,)), index, 0), tuple(index.shape))
    axis = _check("gather", input, dim, index)
    return ops.take_along_axis(_cut(input, index.shape, axis), index, axis)


@along
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The elements at `indices` along one axis, of which the others broadcast; flat if None."""
    if dim is None:
        return ops.take(ops.reshape(input, (-1,)), ops.reshape(indices, (-1,)), 0)
    axis = axis_of("take_along_dim", dim, input.ndim)
    off = [np.empty([*one.shape[:axis], 1, *one.shape[axis + 1 :]]) for one in (input, indices)]
    shape = np.broadcast_shapes(*(one.shape for one in off))
    grown = [
        ops.broadcast_to(one, (*shape[:axis], one.shape[axis], *shape[axis + 1 :]))
        for one in (input, indices)
    ]
    return ops.take_along_axis(*grown, axis)


def _grid(index: Any, axis: int) -> tuple[Any, ...]:
    places: list[Any] = list(np.ix_(*(range(size) for size in index.shape)))
    places[axis] = index
    return tuple(places)


def _scattered(x: Any, source: Any, *, axis: int, index: Any) -> Any:
    result = np.array(x)
    result[_grid(index, axis)] = source
    return result


def _scatter_by_x(g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any) -> Any:
    kept = np.ones(a.shape, np.bool_)
    kept[_grid(index, axis)] = False
    return ops.where(kept, g, 0)


def _scatter_by_source(g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any) -> Any:
    return ops.take_along_axis(_cut(g, index.shape, axis), index, axis)


_scatter = Op(
    name="scatter",
    infer_type=lambda x, source, axis, index: TensorType(x.shape, x.dtype),
    evaluate=_scattered,
    vjp=(_scatter_by_x, _scatter_by_source),
    saves=("", ""),
    promotes=slice(None),
    doc="x with the elements of `source` at `index` along an axis.",
)


@along
def scatter(input: Any, dim: int, index: Any, src: Any, *, reduce: str | None = None) -> Any:
    """The input with the elements of `src` (or one number) written at `index` along one axis.

    Where a place occurs twice, the last one stays. reduce="add" adds instead.
    """
    axis = _check("scatter", input, dim, index)
    if not isinstance(src, Tensor):
        src = wrap(np.full(index.shape, src, input._array.dtype))
    if reduce == "add":
        return scatter_add(input, dim, index, src)
    if reduce is not None:
        raise OptionError(f"scatter: reduce is 'add' or None, not {reduce!r}")
    require_dtype("scatter(): Expected self.dtype to be equal to src.dtype", input, src)
    if not index._array.size:
        return input.clone()
    attrs = {"axis": axis, "index": index._array}
    return input.apply(_scatter, (input, _cut(src, index.shape)), attrs)


@along
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """The input with the elements of `src` added at `index` along one axis."""
    axis = _check("scatter_add", input, dim, index)
    require_dtype("scatter(): Expected self.dtype to be equal to src.dtype", input, src)
    if not index._array.size:
        return input.clone()
    added = ops.along_add(_cut(src, index.shape), index, axis, input.shape[axis])
    if tuple(added.shape) != tuple(input.shape):
        added = ops.embed(added, (0,) * input.ndim, tuple(input.shape), (1,) * input.ndim)
    return input + added


@along
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The input with the slices of `source` added at `index` along one axis."""
    axis = axis_of("index_add", dim, input.ndim)
    if index.shape[0] != source.shape[axis]:
        raise AutogradError(
            f"index_add_(): Number of indices ({index.shape[0]}) should be equal to "
            f"source.size(dim): ({source.shape[axis]}), for dim: {dim}"
        )
    require_dtype(
        "index_add_(): self ({0}) and source ({1}) must have the same scalar type", input, source
    )
    source = source if alpha == 1 else source * alpha
    return input + ops.take_add(source, index, axis, input.shape[axis])


def _rows(input: Any, dim: int, index: Any) -> tuple[int, Any]:
    """The axis, and where its slices are named by `index`."""
    axis = axis_of("index", dim, input.ndim)
    named = np.zeros(input.shape[axis], np.bool_)
    try:
        named[index._array] = True
    except IndexError as error:
        raise OutOfRangeError(str(error)) from None
    return axis, named.reshape((-1,) + (1,) * (input.ndim - axis - 1))


@along
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """The input with `value` in the slices at `index` along one axis."""
    _, named = _rows(input, dim, index)
    return ops.where(named, value, input)


@along
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """The input with the slices of `source` at `index` along one axis."""
    axis, named = _rows(input, dim, index)
    require_dtype(
        "index_copy_(): self and source expected to have the same dtype, but got (self) {0} and "
        "(source) {1}", input, source,
    )  # fmt: skip
    place = np.zeros(input.shape[axis], np.int64)
    place[index._array] = np.arange(source.shape[axis])
    return ops.where(named, ops.take(source, place, axis), input)


def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask holds, in one axis; both broadcast."""
    if mask._array.dtype.kind != "b":
        raise AutogradError("masked_select: expected BoolTensor for mask")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    places = np.flatnonzero(np.broadcast_to(mask._array, shape))
    return ops.take(ops.reshape(ops.broadcast_to(input, shape), (-1,)), places, 0)


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The input with the elements of `source`, in their order, where the mask holds."""
    require_dtype(
        "masked_scatter: expected self and source to have same dtypes but got {0} and {1}",
        input, source,
    )  # fmt: skip
    shape = np.broadcast_shapes(input.shape, mask.shape)
    holds = np.broadcast_to(mask._array, shape)
    places = np.maximum(np.cumsum(holds.reshape(-1)) - 1, 0).reshape(shape)
    return ops.where(holds, ops.take(ops.reshape(source, (-1,)), places, 0), input)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0, one per row; or one tensor per axis."""
    if as_tuple:
        return tuple(wrap(place) for place in np.nonzero(np.atleast_1d(input._array)))
    return wrap(np.argwhere(input._array))


def argwhere(input: Any) -> Any:
    """The indices of the elements that are not 0, one per row."""
    return nonzero(input)


@along
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many elements are not 0, along axes or of all."""
    return ops.sum(ops.astype(ops.not_equal(input, 0), "int64"), dim)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 occurs in a vector of them, or the sums of their weights."""
    array = input._array
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise AutogradError("bincount only supports 1-d non-negative integral inputs.")
    counted = np.bincount(array, None if weights is None else weights._array, minlength)
    if weights is not None and weights._array.dtype == np.float32:
        counted = counted.astype(np.float32)
    return wrap(counted)
