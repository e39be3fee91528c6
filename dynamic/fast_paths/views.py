"""Views: indexing by numbers and slices, other shapes, and other orders of the axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.reference.indices import check_range
from staticgraph.dynamic.core import eager_ops, provided
from staticgraph.dynamic.core.activity import methods_stay, were_enough
from staticgraph.dynamic.core.dtypes import BOOL, INT64
from staticgraph.dynamic.core.results import missing
from staticgraph.dynamic.fast_paths.loops import as_method, shown
from staticgraph.dynamic.kernels.dispatch import LARGE, LARGE_NAMED
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tape.versions import Versions
from staticgraph.dynamic.tensors import tensor
from staticgraph.dynamic.tensors.indexing import Indexing
from staticgraph.dynamic.tensors.recorders import reshaped_by, viewed_by
from staticgraph.dynamic.tensors.shapes import reshaped
from staticgraph.dynamic.tensors.tensor import (
    PLAIN,
    Tensor,
    new_value,
    new_value_of_two,
    new_view,
    wrap,
)

_new = object.__new__
_RANKS = range(9)
"""The numbers of axes for which attributes are kept ready."""
_SEQUENCES = (tuple, list)
_FIRST: Attrs = {"axis": 0}
_NO_ATTRS: Attrs = {}
_take = (recipe(ops.take, (True, False)),) * 3  # an index has no gradient
_select = recipe(eager_ops.select, (True,))
_reshape = recipe(ops.reshape, (True,))

Arranged = tuple[Any, Attrs]


def _view_by_machine_code() -> None:
    """Replace `new_view`, which the functions here look up at each call, and what makes shapes.

    If there were enough calls for it; else views are counted on.
    """
    if not were_enough(tensor.FEW_VIEWS):
        tensor.few_views = tensor.blanks(tensor.FEW_VIEWS)
        return
    tensor.few_views = tensor.blanks()  # count no more
    made = viewed_by(tensor.new_view)
    if made is not None:
        globals()["new_view"] = made
    for name in ("reshape", "view"):
        general = METHODS[name]
        if vars(Tensor)[name] is general and not methods_stay():  # nobody else's
            made = reshaped_by(general, _reshape, shown(general))
            if made is not None:
                setattr(Tensor, name, as_method(made))


provided.many_views.provide(_view_by_machine_code)


def _getitem(self: Any, key: Any) -> Any:
    """`self[key]`: a view for an int, a slice, None, or several of them."""
    basic: Any
    kind = type(key)
    if kind is int or key is None:
        basic = (key, Ellipsis)  # without it, an index of the only axis makes a NumPy scalar
    elif kind is slice and (key.step is None or key.step == 1):
        basic = key
    elif kind is tuple:
        basic = (*key, Ellipsis)
        for one in key:
            kind = type(one)
            if kind is int or one is None or (kind is slice and one.step is None):
                continue
            if kind in PLAIN and len(key) == self._array.ndim:
                return _elements(self, key)
            if one is not Ellipsis or basic is key:
                return Indexing.__getitem__(self, key)
            basic = key
    elif kind in PLAIN:
        return _rows(self, key)
    else:
        return Indexing.__getitem__(self, key)
    try:
        array = self._array[basic]
    except IndexError:
        return Indexing.__getitem__(self, key)
    unrecorded = self._maker is None and self._note is None and not paused  # nobody reads attrs
    return new_view(_select, self, array, _NO_ATTRS if unrecorded else {"key": basic})


def _rows(self: Any, key: Any) -> Any:
    """`self[key]`: the slices that a tensor of indices names, copied by NumPy if they are few."""
    x, index = self._array, key._array
    few = index.dtype is INT64 and index.ndim and x.ndim and _are_few(x, index.size)
    if few and not (paused and mode.capture is not None):
        try:
            value = x.take(index, 0)
        except IndexError:
            return Indexing.__getitem__(self, key)
        return new_value_of_two(_new(Tensor), _take, self, key, x, index, value, _FIRST)
    if index.dtype is BOOL and index.shape == x.shape and 0 < x.size < LARGE and not paused:
        return _at(self, np.flatnonzero(index), key._cell or key._counter)
    return Indexing.__getitem__(self, key)


def _are_few(x: Any, count: int) -> bool:
    """Whether so many parts of an array along its first axis are few elements."""
    if x.size < LARGE:
        return count < LARGE
    return bool(x.flags.c_contiguous and count * x.size < LARGE_NAMED * x.shape[0])


def _elements(self: Any, key: tuple[Any, ...]) -> Any:
    """`self[i, j, ...]`: what tensors of indices of one shape, one for each axis, name."""
    x, first = self._array, key[0]
    if type(first) not in PLAIN or not x.size or paused or not _are_few(x, first._array.size):
        return Indexing.__getitem__(self, key)
    shape = first._array.shape
    places: Any = 0
    for one, size in zip(key, x.shape, strict=True):
        index = one._array if type(one) in PLAIN else None
        if index is None or index.dtype is not INT64 or index.shape != shape or not shape:
            return Indexing.__getitem__(self, key)
        try:
            index = check_range("index", index, size)
        except OutOfRangeError:
            return Indexing.__getitem__(self, key)
        places = places * size + index
    counters = [one._cell or one._counter for one in key]
    return _at(self, places, counters[0] if len(counters) == 1 else Versions(counters))


def _at(self: Any, places: Any, counter: Any) -> Any:
    """The elements at these positions in the flat tensor; `counter` is of what names them."""
    flat = self.reshape(-1)
    value = flat._array.take(places)
    key = wrap(places)
    key._cell = counter  # who changes what names them changes, as in PyTorch, what is kept
    return new_value_of_two(_new(Tensor), _take, flat, key, flat._array, places, value, _FIRST)


def _is_refused(shape: Any) -> bool:
    """Whether NumPy took None for a shape, or a negative size that is not -1 for it."""
    if shape is None:
        return True
    sizes = shape if isinstance(shape, _SEQUENCES) else (shape,)
    return -1 not in sizes and bool(min(sizes, default=0) < -1)


def reshaping(general: Callable[..., Any], copies: bool) -> Any:
    """A function of a tensor and a shape; where no view has that shape, a copy if it `copies`."""

    def function(input: Any, *given: object, **named: object) -> Any:
        kind = type(input)
        if (kind is Tensor or kind in PLAIN) and given:
            x = input._array
            shape = given[0] if len(given) == 1 else given
            try:
                array = x.reshape(shape)
            except (TypeError, ValueError):
                return general(input, *given)
            sizes = array.shape
            if sizes != shape and shape != -1 and _is_refused(shape):
                return general(input, *given)
            base = array.base
            if not copies and copying and mode.capture is not None:
                return mode.capture.lifted(input).view(*given)
            if base is x or (base is not None and base is x.base):
                unrecorded = input._maker is None and input._note is None and not paused
                attrs = _NO_ATTRS if unrecorded else {"shape": sizes}
                return new_view(_reshape, input, array, attrs)
            if copies:
                return new_value(_new(Tensor), _reshape, input, array, {"shape": sizes})
        return by_name(input, *given, **named)

    def by_name(
        input: object,
        *given: object,
        shape: object = None,
        size: object = None,
        dtype: object = None,
    ) -> Any:
        if dtype is not None and not copies:
            return general(input, dtype)
        if shape is not None or size is not None:
            return function(input, size if shape is None else shape)
        if copies and not given:
            raise missing("reshape", "shape")
        return general(input, *given)

    # keywords that are not given are looked up one by one
    setattr(function, "__signature__", inspect.signature(by_name))  # noqa: B010
    for one in (function, by_name):
        one.__name__ = one.__qualname__ = "reshape" if copies else "view"
    function.__doc__ = ops.reshape.doc if copies else general.__doc__
    return function


def _general_reshape(input: object, *shape: object) -> Any:
    """The elements in another shape, of which one size may be -1."""
    if isinstance(input, Tensor):
        return reshaped("reshape", input, shape)
    return ops.reshape.general(input, *shape)


reshape = reshaping(_general_reshape, copies=True)
_inherited: Any = Tensor


def _flatten(self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from `start_dim` to `end_dim` as one."""
    if type(start_dim) is int and start_dim == 0 and end_dim == -1 and self._array.ndim > 1:
        return reshape(self, -1)
    return _general_flatten(self, start_dim, end_dim)


_general_flatten: Any = Tensor.flatten


def arranging(op: Op, general: Callable[..., Any], arranged: Callable[..., Arranged | None]) -> Any:
    """A method that makes a view by `op`.

    `arranged(array, *args)` makes the array and the attributes; where it gives None or fails,
    `general`, the method for every other call, goes on or says why.
    """
    plan = recipe(op, (True,))

    def method(self: Any, *args: object, **options: object) -> Any:
        if options:
            return general(self, *args, **options)
        try:
            made = arranged(self._array, *args)
        except (IndexError, TypeError, ValueError, RuntimeError):
            made = None
        if made is None:
            return general(self, *args)
        array, attrs = made
        return new_view(plan, self, array, attrs)

    method.__doc__ = general.__doc__
    method.__wrapped__ = general  # type: ignore[attr-defined]
    method.__annotations__ = {"return": Any}  # texts would be looked up beside the general one
    return method


_REVERSED: tuple[Attrs, ...] = tuple({"axes": tuple(range(n))[::-1]} for n in _RANKS)


def _exchanged(n: int, i: int, j: int) -> Attrs:
    axes = list(range(n))
    axes[i], axes[j] = axes[j], axes[i]
    return {"axes": tuple(axes)}


_EXCHANGED = [[[_exchanged(n, i, j) for j in range(n)] for i in range(n)] for n in _RANKS]
_NEW_AXIS = [
    [((slice(None),) * i + (None, Ellipsis), {"axes": (i,)}) for i in range(n + 1)] for n in _RANKS
]


def _reversed(x: Any) -> Arranged:
    return x.T, _REVERSED[x.ndim]


def _reversed_matrix(x: Any) -> Arranged | None:
    return (x.T, _REVERSED[x.ndim]) if x.ndim <= 2 else None


def _swapped(x: Any, dim0: int, dim1: int) -> Arranged | None:
    if type(dim0) is not int or type(dim1) is not int:
        return None
    attrs = _EXCHANGED[x.ndim][dim0][dim1]
    return x.transpose(attrs["axes"]), attrs


def _last_swapped(x: Any) -> Arranged:
    attrs = _EXCHANGED[x.ndim][-2][-1]
    return x.transpose(attrs["axes"]), attrs


def _permuted(x: Any, *dims: Any) -> Arranged:
    array = x.transpose(*dims) if dims else None
    ndim = x.ndim
    listed = dims if len(dims) == ndim and type(dims[0]) is int else dims[0]
    return array, {"axes": tuple([dim % ndim for dim in listed])}


def _unsqueezed(x: Any, dim: int) -> Arranged | None:
    if type(dim) is not int:
        return None
    key, attrs = _NEW_AXIS[x.ndim][dim]
    return x[key], attrs


def _squeezed(x: Any) -> Arranged:
    return x.squeeze(), {"axes": tuple([i for i, size in enumerate(x.shape) if size == 1])}


def _squeezed_along(x: Any, dim: int) -> Arranged | None:
    if type(dim) is not int:
        return None
    axes = (dim % x.ndim,) if x.shape[dim] == 1 else ()
    return x.squeeze(axes), {"axes": axes}


def _expanded(x: Any, *sizes: Any) -> Arranged | None:
    if type(sizes[0]) is int:
        wanted = sizes
    elif len(sizes) == 1:
        wanted = tuple(sizes[0])
    else:
        return None
    lead = len(wanted) - x.ndim
    if -1 in wanted[: max(lead, 0)]:
        return None
    shape = (1,) * lead + x.shape
    shape = tuple([n if size == -1 else size for n, size in zip(shape, wanted, strict=True)])
    return ops.broadcast_to.evaluate(x, shape), {"shape": shape}


_squeeze_all = arranging(ops.squeeze, Tensor.squeeze, _squeezed)
_squeeze_one = arranging(eager_ops.squeeze_dim, Tensor.squeeze, _squeezed_along)


def _squeeze(self: object, dim: object = None, *, axis: object = None) -> Any:
    """A view without the axes of size 1: all, or those of `dim` (or `axis`) that have size 1."""
    dim = dim if axis is None else axis
    return _squeeze_all(self) if dim is None else _squeeze_one(self, dim)


METHODS: dict[str, Any] = {
    "__getitem__": _getitem,
    "reshape": reshape,
    "view": reshaping(Tensor.view, copies=False),
    "flatten": _flatten,
    "squeeze": _squeeze,
    "t": arranging(eager_ops.transpose_2d, Tensor.t, _reversed_matrix),
    "transpose": arranging(eager_ops.swap, Tensor.transpose, _swapped),
    "swapaxes": arranging(eager_ops.swap, Tensor.transpose, _swapped),
    "permute": arranging(ops.transpose, _inherited.permute, _permuted),
    "unsqueeze": arranging(ops.expand_dims, Tensor.unsqueeze, _unsqueezed),
    "expand": arranging(ops.broadcast_to, Tensor.expand, _expanded),
    "T": property(arranging(ops.transpose, _inherited.T.fget, _reversed)),
    "mT": property(arranging(eager_ops.swap, _inherited.mT.fget, _last_swapped)),
}
"""Operators, methods and properties of Tensor."""
