"""Order: sorting, the largest and the middle elements, and what is unique."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.dynamic.core.dtypes import INT64
from staticgraph.dynamic.core.errors import AutogradError, MissingKernelError
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.nodes import NAMESPACE, Failing
from staticgraph.dynamic.tensors.dims import axis_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.tensor import has_values, wrap
from staticgraph.dynamic.tensors.values import sizing_values, values_of
from staticgraph.dynamic.tensors.views import computed

__all__ = [
    "aminmax", "argsort", "kthvalue", "median", "msort", "sort", "topk", "unique",
    "unique_consecutive",
]  # fmt: skip


class Sorted(NamedTuple):
    """Elements in order, and where they were."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("sort", self)


class TopK(NamedTuple):
    """The largest or smallest elements, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("topk", self)


class KthValue(NamedTuple):
    """The k-th smallest elements, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("kthvalue", self)


class Median(NamedTuple):
    """The middle elements, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("median", self)


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return named("aminmax", self)


def argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The places of the elements along an axis in order; equal ones stay in theirs.

    Example:
        >>> dynamic.argsort(dynamic.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
    """
    axis = axis_of("argsort", dim, input.ndim)
    if not input.ndim:
        return wrap(np.zeros((), INT64))
    return ops.argsort.bound((input,), {"axis": axis, "descending": bool(descending)})


def _pick(x: Any, indices: object, dim: int) -> Any:
    return ops.take_along_axis(x, indices, dim) if x.ndim else x.clone()


@called("Sort")
def sort(input: object, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The elements along an axis in order, nan last (first if descending), and their places.

    Example:
        >>> dynamic.sort(dynamic.tensor([3.0, 1.0, 2.0]), descending=True)
        torch.return_types.sort(
        values=tensor([3., 2., 1.]),
        indices=tensor([0, 2, 1]))
    """
    indices = argsort(input, dim, descending)
    return Sorted(_pick(input, indices, dim), indices)


def msort(input: object) -> Any:
    """The elements along the first axis in order.

    Example:
        >>> dynamic.msort(dynamic.tensor([3, 1, 2]))
        tensor([1, 2, 3])
    """
    return sort(input, 0).values


@called("Topk")
@computed
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (smallest) elements along an axis in order, and where they are.

    Example:
        >>> dynamic.topk(dynamic.tensor([3.0, 1.0, 2.0]), 2)
        torch.return_types.topk(
        values=tensor([3., 2.]),
        indices=tensor([0, 2]))
    """
    size = input.shape[axis_of("topk", dim, input.ndim)] if input.ndim else 1
    if not 0 <= k <= size:
        raise AutogradError(f"selected index k out of range: topk of {k} among {size}")
    if not input.ndim:
        indices = argsort(input, dim, largest)
    else:
        indices = ops.first_places(input, k, dim, bool(largest))
    return TopK(_pick(input, indices, dim), indices)


def _found(input: Any, places: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The elements at one place of each row along an axis, and the places."""
    values = ops.take_along_axis(input, places, dim)
    if keepdim:
        return values, places
    return values.squeeze(dim), places.squeeze(dim)


@called("Kthvalue")
@computed
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along an axis, k from 1, and where it is.

    Example:
        >>> dynamic.kthvalue(dynamic.tensor([3, 1, 2]), 2).indices
        tensor(2)
    """
    axis = axis_of("kthvalue", dim, input.ndim)
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise AutogradError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if not input.ndim:
        return KthValue(input.clone(), argsort(input, dim))
    indices = ops.first_places(input, k, dim)
    return KthValue(*_found(input, indices.narrow(dim, k - 1, 1), dim, keepdim))


def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element, of two the smaller one; with `dim` also where it is; nan wins.

    Example:
        >>> dynamic.median(dynamic.tensor([1.0, 9.0, 2.0]))
        tensor(2.)
    """
    return _median_of_all(input) if dim is None else _median_along(input, dim, keepdim)


@called("Median")
def _median_of_all(input: Any) -> Any:
    flat = ops.reshape(input, (-1,))
    if not flat.shape[0]:
        return wrap(np.array(np.nan, input._array.dtype))
    middle = _median_along(flat, 0, False).values
    return middle if not input.requires_grad else keep(shared_by_ties(flat, middle), input)


@called("MedianBackward1")
def _median_along(input: Any, dim: int, keepdim: bool) -> Any:
    size = input.shape[axis_of("median", dim, input.ndim)] if input.ndim else 1
    if not size:
        raise AutogradError(f"median(): Expected reduction dim {dim} to have non-zero size.")
    indices = argsort(input, dim)
    if not input.ndim:
        return Median(input.clone(), indices)
    places = indices.narrow(dim, (size - 1) // 2, 1)
    if is_float(input.dtype):
        missing = ops.isnan(input.detach())
        numbers = size - missing.sum(dim, True)
        first = ops.take_along_axis(indices, ops.minimum(numbers, size - 1), dim)
        places = ops.where(numbers < size, first, places)
    return Median(*_found(input, places, dim, keepdim))


def shared_by_ties(flat: Any, middle: Any) -> Any:
    """`middle`, an element of `flat`, each element of that value with a part of the gradient.

    So it is with `amax`.
    """
    if has_values(middle) and bool(np.isnan(middle._array)):
        missing = ops.isnan(flat)
        total = ops.where(missing, flat, 0.0).sum()
        return total / int(np.count_nonzero(missing._array))
    same = ops.logical_or(ops.equal(flat, middle), ops.isnan(middle))
    tied: Any = ops.where(same, flat, -np.inf)
    return tied.amax()


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, along an axis or of all.

    Example:
        >>> dynamic.aminmax(dynamic.tensor([3.0, 1.0, 2.0])).max
        tensor(3.)
    """
    return MinMax(input.amin(dim, keepdim), input.amax(dim, keepdim))


def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements, or slices along `dim`, in order, which cannot be differentiated.

    How many there are depends on the values: no captured function can contain it.

    With the options also, in a tuple, the place of each element in the result, and how often each
    occurs.

    Example:
        >>> dynamic.unique(dynamic.tensor([3, 1, 3]))
        tensor([1, 3])
    """
    array = sizing_values(input, "sg.unique(x, size=n)")
    axis = None if dim is None else axis_of("unique", dim, input.ndim, of_number=False)
    values, inverse, counts = np.unique(
        array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    shape = array.shape if axis is None else (array.shape[axis],)
    name = "_unique2" if dim is None else "unique_dim"
    inverse = inverse.reshape(shape)
    return _listed(input, name, values, inverse, counts, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along `dim`, without those equal to the one before them.

    Example:
        >>> dynamic.unique_consecutive(dynamic.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
    """
    array = values_of(input)
    axis = 0 if dim is None else axis_of("unique", dim, input.ndim, of_number=False)
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, axis, 0)
    flat = rows.reshape(len(rows), -1)
    new = np.ones(len(rows), np.bool_)
    new[1:] = (flat[1:] != flat[:-1]).any(1)
    starts = np.flatnonzero(new)
    values = rows[starts] if dim is None else np.moveaxis(rows[starts], 0, axis)
    inverse = np.cumsum(new) - 1
    if dim is None:
        inverse = inverse.reshape(array.shape)
    counts = np.diff(np.append(starts, len(rows)))
    name = "unique_consecutive"
    return _listed(input, name, values, inverse, counts, return_inverse, return_counts)


def _listed(
    input: Any, name: str, values: object, inverse: object, counts: object, with_inverse: bool,
    with_counts: bool,
) -> Any:  # fmt: skip
    found = [values, *[inverse] * with_inverse, *[counts] * with_counts]
    tensors = tuple(wrap(np.array(one)) for one in found)
    if mode.enabled and input.requires_grad:
        error = MissingKernelError(f"the derivative for '{name}' is not implemented.")
        node = Failing(tensors[0]._array, error, f"{NAMESPACE}NotImplemented", (input._node,))
        tensors[0]._node = node
    return tensors if len(tensors) > 1 else tensors[0]
