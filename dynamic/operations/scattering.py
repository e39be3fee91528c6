"""Gathering from, and scattering to, places that tensors name."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.functions import counting
from staticgraph.compiler.ops.indexing.scattering import cut
from staticgraph.compiler.reference.indices import places_other_than_zero
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import (
    INT64,
    element,
    require_dtype,
    require_index,
    require_mask,
    require_one,
    require_places,
)
from staticgraph.dynamic.core.errors import AutogradError, MissingKernelError
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.dims import along, axis_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.scaled import refuse_complex_factor
from staticgraph.dynamic.tensors.short_ways import small_arrays
from staticgraph.dynamic.tensors.slice_sizes import check_added, check_copied
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, has_values, wrap
from staticgraph.dynamic.tensors.values import sizing_values, values_of
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "argwhere", "bincount", "count_nonzero", "gather", "index_add", "index_copy", "index_fill",
    "masked_scatter", "masked_select", "nonzero", "nonzero_static", "scatter", "scatter_add",
    "scatter_reduce", "take_along_dim",
]  # fmt: skip


def _check(name: str, x: Any, dim: int, index: Any) -> int:
    """The axis; RuntimeError unless `index` is int64, of x's rank, and no larger off the axis."""
    axis = axis_of(name, dim, x.ndim)
    require_index(f"{name}(): Expected dtype int32/int64 for index: got {{0}}", index)
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
    if not has_values(index):  # the op checks them at each call
        return axis
    array = index._array
    bad = array[(array < 0) | (array >= x.shape[axis])]
    if bad.size:
        raise AutogradError(
            f"index {bad.flat[0]} is out of bounds for dimension {axis} with size {x.shape[axis]}"
        )
    return axis


@computed
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The elements at `index` along one axis: index's shape, which may be smaller off the axis.

    Example:
        >>> dynamic.gather(dynamic.tensor([[1, 2], [3, 4]]), 1, dynamic.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """
    found = _of_few(input, dim, index)
    if found is not None:
        return found
    if not input.ndim and index.ndim <= 1:
        return ops.reshape(ops.take(ops.reshape(input, (1,)), index, 0), tuple(index.shape))
    if input.ndim == 1 and not index.ndim:
        return gather(input, dim, ops.reshape(index, (1,)))[0]
    axis = _check("gather", input, dim, index)
    take = eager_ops.gathered if type(input) in PLAIN else ops.take_along_axis
    return take(cut(input, index, axis), index, axis, wrap=False)


_recorder = Recorder(eager_ops.gathered, 2)


def _of_few(input: Any, dim: object, index: Any) -> Any:
    """The short way of small plain tensors that fit; None for all else."""
    if type(dim) is not int or type(index) not in PLAIN or (paused and mode.capture is not None):
        return None
    arrays = small_arrays((input,))
    places = index._array
    if arrays is None or places.dtype is not INT64:
        return None
    (x,) = arrays
    axis = dim + x.ndim if dim < 0 else dim
    sizes, wanted = x.shape, places.shape
    if len(wanted) != len(sizes) or not 0 <= axis < len(sizes) or places.size >= LARGE:
        return None
    if sizes[:axis] != wanted[:axis] or sizes[axis + 1 :] != wanted[axis + 1 :]:
        return None
    attrs = {"axis": axis, "wrap": False}
    try:
        value = ops.take_along_axis.evaluate(x, places, **attrs)
    except OutOfRangeError:
        return None
    return _recorder.function(value, attrs, input, index)


@along
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The elements at `indices` along one axis, of which the others broadcast; flat if None.

    Example:
        >>> dynamic.take_along_dim(dynamic.tensor([[1, 2], [3, 4]]), dynamic.tensor([[1], [0]]), 1)
        tensor([[2],
                [3]])
    """
    text = "torch.take_along_dim(): dtype of indices should be Long but got {0}"
    require_index(text, indices, True)
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


def _sources(src: Any, index: Any) -> Any:
    """The elements of a source that an index of its rank, which may be smaller, has places for."""
    if all(size == wanted for size, wanted in zip(src.shape, index.shape, strict=True)):
        return src
    return ops.strided_slice(src, (0,) * src.ndim, tuple(index.shape), (1,) * src.ndim)


def _number(value: Any, like: Any) -> Any:
    """A Python number as a tensor of like's dtype; a tensor as it is."""
    if isinstance(value, Tensor):
        return value
    return like._constant(element(value, np.dtype(like._array.dtype)))


@along
def scatter(
    input: object, dim: int, index: object, src: object, *, reduce: str | None = None
) -> Any:
    """The input with the elements of `src` (or one number) written at `index` along one axis.

    Where a place occurs twice, the last one stays. reduce="add" adds instead, "multiply"
    multiplies.

    Example:
        >>> dynamic.scatter(dynamic.zeros(3), 0, dynamic.tensor([2, 0]), dynamic.tensor([5.0, 6.0]))
        tensor([6., 0., 5.])
    """
    axis = _check("scatter", input, dim, index)
    src = _number(src, input)
    if reduce == "add":
        return _scattered(ops.scatter_add, input, axis, index, src)
    if reduce == "multiply":
        options = {"reduce": "prod", "include_self": True}
        return _scattered(ops.scatter_reduce, input, axis, index, src, **options)
    if reduce is not None:
        raise OptionError(f"scatter: reduce is 'add', 'multiply' or None, not {reduce!r}")
    return _scattered(ops.scatter, input, axis, index, src)


def _scattered(op: Any, input: Any, axis: int, index: Any, src: Any, **attrs: object) -> Any:
    require_dtype("scatter(): Expected self.dtype to be equal to src.dtype", input, src)
    if not index._array.size and (not src.ndim or index.shape != src.shape):
        return input.clone()  # an index of nothing may have any shape
    source = _sources(src, index) if src.ndim else src
    return op.bound((input, source, index), {"axis": axis, "wrap": False, **attrs})


@along
def scatter_add(input: object, dim: int, index: object, src: object) -> Any:
    """The input with the elements of `src` added at `index` along one axis.

    Example:
        >>> dynamic.scatter_add(
        ...     dynamic.zeros(2), 0, dynamic.tensor([1, 1]), dynamic.tensor([2.0, 3.0])
        ... )
        tensor([0., 5.])
    """
    axis = _check("scatter_add", input, dim, index)
    return _scattered(ops.scatter_add, input, axis, index, src)


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@along
def scatter_reduce(
    input: object, dim: int, index: object, src: object, reduce: str, *, include_self: bool = True
) -> Any:
    """The input with the elements of `src` at `index` along one axis, reduced place by place.

    `reduce` is "sum", "prod", "mean", "amax" or "amin", over the element of the input too unless
    `include_self` is False. Ties share the gradient evenly.

    Example:
        >>> dynamic.scatter_reduce(
        ...     dynamic.zeros(2), 0, dynamic.tensor([1, 1]), dynamic.tensor([2.0, 3.0]), "amax"
        ... )
        tensor([0., 3.])
    """
    axis = _check("scatter_reduce", input, dim, index)
    if reduce not in _REDUCTIONS:
        raise AutogradError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + reduce
        )
    options = {"reduce": reduce, "include_self": bool(include_self)}
    return _scattered(ops.scatter_reduce, input, axis, index, src, **options)


def _slices(op: Any, input: object, axis: int, index: Any, source: object) -> Any:
    index = index if index.ndim else ops.reshape(index, (1,))
    attrs = {"axis": axis, "wrap": op is ops.index_fill}
    try:
        return op.bound((input, source, index), attrs)
    except OutOfRangeError as error:
        _, _, text = str(error).partition(": ")
        raise OutOfRangeError(f"index out of range in self: {op.name}: {text}") from None


def _keep(result: Any, source: Any) -> Any:
    """The result, whose node keeps the source, as PyTorch's does, if that has a gradient."""
    return keep(result, source) if source.requires_grad else result


@along
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: object = 1) -> Any:
    """The input with the slices of `source` added at `index` along one axis.

    Example:
        >>> dynamic.index_add(
        ...     dynamic.zeros(2), 0, dynamic.tensor([1, 1]), dynamic.tensor([2.0, 3.0])
        ... )
        tensor([0., 5.])
    """
    axis = axis_of("index_add", dim, input.ndim)
    check_added(input, axis, index, source)
    require_index("index_add_(): Expected dtype int32/int64 for index but got: {0}", index)
    require_dtype(
        "index_add_(): self ({0}) and source ({1}) must have the same scalar type", input, source
    )
    refuse_complex_factor("alpha", alpha, source)
    scaled = source if alpha == 1 else source * alpha
    return _keep(_slices(ops.index_add, input, axis, index, scaled), source)


@along
def index_fill(input: Any, dim: int, index: object, value: Any) -> Any:
    """The input with `value`, a number or a 0-d tensor, in the slices at `index` of one axis.

    Example:
        >>> dynamic.index_fill(dynamic.zeros(2), 0, dynamic.tensor([1]), 7.0)
        tensor([0., 7.])
    """
    require_places(index)
    require_one(value)
    if isinstance(value, Operand) and not is_inexact(np.dtype(input.dtype)):
        value = ops.astype(value, np.dtype(input.dtype))  # it never promotes
    value = _number(value, input)
    return _slices(ops.index_fill, input, axis_of("index", dim, input.ndim), index, value)


@along
def index_copy(input: Any, dim: int, index: object, source: object) -> Any:
    """The input with the slices of `source` at `index` along one axis.

    Example:
        >>> dynamic.index_copy(dynamic.zeros(2), 0, dynamic.tensor([1]), dynamic.tensor([2.0]))
        tensor([0., 2.])
    """
    require_index(
        "index_copy_(): Expected a long tensor for index, but got {0}",
        index,
        True,
        kind=OutOfRangeError,
    )
    axis = axis_of("index", dim, input.ndim)
    require_dtype(
        "index_copy_(): self and source expected to have the same dtype, but got (self) {0} and "
        "(source) {1}", input, source,
    )  # fmt: skip
    check_copied(input, axis, index, source)
    return _keep(_slices(ops.index_copy, input, axis, index, source), source)


@called("MaskedSelect", "input", "mask")
def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask holds, in one axis; both broadcast.

    Example:
        >>> dynamic.masked_select(dynamic.tensor([1, 2, 3]), dynamic.tensor([True, False, True]))
        tensor([1, 3])
    """
    if mask._array.dtype.kind != "b":
        raise AutogradError("masked_select: expected BoolTensor for mask")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    holds = sizing_values(mask, "sg.extract(mask, x, size=n)")
    places = np.flatnonzero(np.broadcast_to(holds, shape))
    return ops.take(ops.reshape(ops.broadcast_to(input, shape), (-1,)), places, 0)


@called("MaskedScatter")
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The input with the elements of `source`, in their order, where the mask holds.

    Example:
        >>> dynamic.masked_scatter(
        ...     dynamic.zeros(3), dynamic.tensor([True, False, True]), dynamic.tensor([1.0, 2.0])
        ... )
        tensor([1., 0., 2.])
    """
    require_dtype(
        "masked_scatter: expected self and source to have same dtypes but got {0} and {1}",
        input, source,
    )  # fmt: skip
    require_mask(mask, "masked_scatter_ only supports boolean masks, but got mask with dtype {0}")
    shape = np.broadcast_shapes(input.shape, mask.shape)
    holds = ops.broadcast_to(mask, shape)
    if not source.shape.numel() and has_values(mask) and not mask._array.any():
        return ops.broadcast_to(input, shape).clone()
    places = ops.cumsum(ops.reshape(holds, (-1,)), 0) - 1
    order = ops.reshape(ops.maximum(places, 0), shape)
    return ops.where(holds, ops.take(ops.reshape(source, (-1,)), order, 0), input)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0, one per row; or one tensor per axis.

    Example:
        >>> dynamic.nonzero(dynamic.tensor([0, 5, 6]))
        tensor([[1],
                [2]])
    """
    if as_tuple:
        values = np.atleast_1d(sizing_values(input, "sg.nonzero(x, size=n)"))
        return tuple(map(wrap, places_other_than_zero(values)))
    values = np.asarray(sizing_values(input, "sg.argwhere(x, size=n)"))
    if not values.ndim:
        return wrap(np.argwhere(values))
    return wrap(np.stack(places_other_than_zero(values), 1))


def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:
    """The indices of the first `size` elements that are not 0, and rows of `fill_value` after them.

    Its size does not depend on values, so that captured functions may call it.

    Raises:
        AutogradError: the size is negative.

    Example:
        >>> dynamic.nonzero_static(dynamic.tensor([0, 5, 6]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
    """
    if size < 0:
        raise AutogradError("nonzero_static: 'size' must be an non-negative integer")
    if not input.ndim:
        return wrap(np.empty((size, 0), np.int64))
    return counting.argwhere(input, size=size, fill_value=fill_value)


def argwhere(input: object) -> Any:
    """The indices of the elements that are not 0, one per row.

    Example:
        >>> dynamic.argwhere(dynamic.tensor([0, 5, 6]))
        tensor([[1],
                [2]])
    """
    return nonzero(input)


@along
def count_nonzero(input: object, dim: object = None) -> Any:
    """How many elements are not 0, along axes or of all.

    Example:
        >>> dynamic.count_nonzero(dynamic.tensor([0.0, 2.0, np.nan]))
        tensor(2)
    """
    return ops.astype(ops.not_equal(input, 0), "int64").sum(dim)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each number from 0 occurs in a vector of them, or the sums of their weights.

    Example:
        >>> dynamic.bincount(dynamic.tensor([1, 1, 3]))
        tensor([0, 2, 0, 1])
    """
    array = sizing_values(input, "sg.bincount(x, length=n)")
    if array.dtype.kind not in "iub":
        raise MissingKernelError(f"\"bincount_cpu\" not implemented for '{input.dtype.legacy}'")
    if array.ndim != 1 or array.dtype.kind == "b" or (array.size and array.min() < 0):
        raise AutogradError("bincount only supports 1-d non-negative integral inputs.")
    counted = np.bincount(array, None if weights is None else values_of(weights), minlength)
    if weights is not None and weights._array.dtype == np.float32:
        counted = counted.astype(np.float32)
    return wrap(counted)
