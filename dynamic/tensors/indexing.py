"""`x[key]`: views for basic keys, copies for tensors of indices and masks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OutOfRangeError, StaticGraphError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import require_index
from staticgraph.dynamic.core.eager_ops import is_all
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.grad_mode import mode, paused, recording
from staticgraph.dynamic.tape.tape import keep
from staticgraph.dynamic.tensors.dims import along

_ALL = slice(None)
_WHOLE = (Ellipsis,)
_PLACES = (np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_))
"""The dtypes of tensors of indices, and of masks."""


class StepError(StaticGraphError, ValueError):
    """A slice that goes backwards, which PyTorch has no view of."""


class Indexing(Operand):
    """Indexing as PyTorch has it: numbers and slices first, tensors and masks of what is left."""

    __slots__ = ()

    _array: Any

    if TYPE_CHECKING:

        def __index__(self) -> int: ...

    def __getitem__(self, key: object) -> Any:
        if paused and mode.capture is not None:
            lifted = mode.capture.lifted(self)
            if lifted is not self:  # the values of the key may be others at the next call
                return lifted[key]
        basic, advanced = self._parts(key)
        if advanced is None:
            return self._selected(key if type(key) is slice else basic)
        view = self if is_whole(basic, self._array) else self._selected(basic)
        if len(advanced) == 1 and _is_of_slices(advanced[0], view._array):
            # a tensor, whose version tells whether it is changed before the gradient reads it
            index: Any = np.array(advanced[0])
            if isinstance(key, Indexing) and advanced[0] is key._array:
                index = key
            return ops.take(view, index, 0)
        found = ops.take(ops.reshape(view, (-1,)), view._places(advanced), 0)
        keep_key(found, key)
        return found

    def _selected(self, basic: object) -> Any:
        """The view that a key of numbers and slices makes."""
        try:
            return self._apply(eager_ops.select, (self,), {"key": basic})
        except IndexError as error:
            raise OutOfRangeError(_index_text(error, self._array)) from None

    def _parts(self, key: object) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
        """The key that makes a view, and that of tensors, lists and masks in the view, or None.

        As in PyTorch, a bool is a new axis, of which one element is selected, or none.
        """
        if not self._array.ndim:
            _check_key_of_number(key)
        if isinstance(key, Indexing) and 0 < key._array.ndim <= self._array.ndim:
            return _WHOLE, (_index_of(key),)
        keys = _keys_of(key)
        while len(keys) > 1 and keys[-1] is keys[-2] is Ellipsis:
            keys = keys[:-1]  # the last one is of no axis
        basic: list[Any] = []
        advanced: list[Any] = []
        indexed = whole = False
        for one in keys:
            kind = type(one)
            if kind is int or isinstance(one, np.integer):
                basic.append(one)
            elif kind is slice:
                if one.step is not None and one.step.__index__() < 0:
                    raise StepError("step must be greater than zero")
                basic.append(one)
                advanced.append(_ALL)
            elif one is None:
                basic.append(None)
                advanced.append(_ALL)
            elif one is Ellipsis:
                whole = True
                basic.append(one)
                advanced.append(one)
            else:
                found = _index_of(one)
                if found is None:
                    basic.append(one.__index__())
                    continue
                indexed = True
                if not found.ndim:  # a bool
                    basic.append(None)
                    advanced.append(np.zeros(int(found), np.intp))
                else:
                    basic.extend([_ALL] * (found.ndim if found.dtype.kind == "b" else 1))
                    advanced.append(found)
        if not whole:
            basic.append(Ellipsis)  # else an index of every axis makes a NumPy scalar, no view
        return tuple(basic), tuple(advanced) if indexed else None

    def _places(self, key: tuple[object, ...]) -> Any:
        """The positions in the flat tensor that a key of tensors, lists and masks selects."""
        array = self._array
        keys = _without_ellipsis(key, array.ndim)
        _check_masks(keys, array.shape)
        if len(keys) == 1 and keys[0].dtype.kind == "b" and keys[0].ndim == array.ndim:
            return np.flatnonzero(keys[0])
        if len(keys) == array.ndim and (found := _positions(keys, array.shape)) is not None:
            return found
        positions = np.arange(array.size).reshape(array.shape)
        try:
            return positions[keys]
        except IndexError as error:
            raise OutOfRangeError(_index_text(error, array)) from None


def keep_key(result: Any, key: object) -> None:
    """Have the node of what a key selected, or set, tell if the key's tensors were changed.

    A change that is not recorded leaves the node of what was there before.
    """
    unrecorded = paused and (mode.capture is not None or not recording())
    node = None if unrecorded else result._maker
    if node is not None:
        entries = key if isinstance(key, tuple) or type(key) is list else (key,)
        keep(node, [one for one in entries if isinstance(one, Indexing)])


def _keys_of(key: object) -> tuple[Any, ...]:
    """A key as one index per entry: a list of what are indices themselves counts as a tuple."""
    if isinstance(key, tuple):
        return key
    if type(key) is not list or len(key) >= _LISTED or not any(map(_is_index, key)):
        return (key,)
    warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
        "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be "
        "interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error "
        "or a different result"
    )
    return tuple(key)


_LISTED = 32
"""A list of so many entries is never taken for a tuple (NumPy's old rule, which PyTorch has)."""


def _is_index(one: object) -> bool:
    """Whether an entry of a list is no plain number."""
    known = isinstance(one, Indexing | list | tuple | np.ndarray | slice)
    return known or one is None or one is Ellipsis


def _index_of(one: object) -> Any:
    """What is no number, slice, None or Ellipsis as an array; None if it is used as a number.

    Elements of uint8 are those of a mask.
    """
    array = one._array if isinstance(one, Indexing) else np.asarray(one)
    kind = array.dtype.kind
    if kind == "u" and array.dtype.itemsize == 1:
        if array.ndim:
            warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
                "instead."
            )
        return array != 0
    if array.ndim and array.dtype not in _PLACES and isinstance(one, Indexing | np.ndarray):
        raise OutOfRangeError("tensors used as indices must be long, int, byte or bool tensors")
    if kind in "iub" and not isinstance(one, np.bool_):
        return array if array.ndim or kind == "b" else None
    if isinstance(one, Indexing | np.ndarray):
        raise OutOfRangeError("tensors used as indices must be long, int, byte or bool tensors")
    if isinstance(one, list | tuple) and not array.size:
        return array.astype(np.intp)
    if isinstance(one, str):
        raise ArgumentError(f"indices are numbers, slices, `...`, None or tensors, not {one!r}")
    name = "numpy.bool" if isinstance(one, np.bool_) else type(one).__name__
    raise OutOfRangeError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {name})"
    )


def _without_ellipsis(key: tuple[object, ...], ndim: int) -> tuple[Any, ...]:
    """The same with slices instead, which may be none, and so leave its neighbours together."""
    for place, one in enumerate(key):
        if one is Ellipsis:
            used = sum([1 if isinstance(other, slice) else _axes(other) for other in key]) - 1
            return (*key[:place], *(_ALL,) * (ndim - used), *key[place + 1 :])
    return key


def _axes(one: Any) -> int:
    """How many axes an index is of."""
    return int(one.ndim) if one is not Ellipsis and one.dtype.kind == "b" else 1


def _positions(keys: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The positions in a flat array that an array of indices per axis names.

    None where it is not that, or an index is out of range: NumPy has to find them.
    """
    total: Any = None
    for one, size in zip(keys, shape, strict=True):
        if type(one) is not np.ndarray or one.dtype.kind != "i" or not one.size:
            return None
        least = int(one.min())
        if least < -size or int(one.max()) >= size:
            return None
        places = one.astype(np.int64, copy=False)
        if least < 0:
            places = np.where(places < 0, places + size, places)
        try:
            total = places if total is None else total * size + places
        except ValueError:  # they do not broadcast
            return None
    return total


def _check_masks(key: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """IndexError for a mask of another shape than the axes that it is of."""
    axis = 0
    for one in key:
        if isinstance(one, slice):
            axis += 1
            continue
        end = axis + _axes(one)
        if one.dtype.kind == "b":
            for i, size in enumerate(one.shape):
                if shape[axis + i] != size:
                    raise OutOfRangeError(
                        f"The shape of the mask {list(one.shape)} at index {i} does not match the "
                        f"shape of the indexed tensor {list(shape)} at index {axis + i}"
                    )
        axis = end


def is_whole(basic: tuple[object, ...], array: Any) -> bool:
    """Whether a key of numbers and slices leaves out nothing and adds no axis."""
    if len(basic) > array.ndim + 1:
        return False
    axis = 0
    for one in basic:
        if one is Ellipsis:
            axis += array.ndim - len(basic) + 1
        elif type(one) is not slice or axis >= array.ndim or not is_all(one, array.shape[axis]):
            return False
        else:
            axis += 1
    return True


def _is_of_slices(index: Any, array: Any) -> bool:
    """Whether an index names slices along the first axis, all of which are there."""
    if type(index) is not np.ndarray or index.dtype.kind == "b":
        return False  # or its values are not known yet
    size = array.shape[0]
    return not index.size or bool(-size <= index.min() and index.max() < size)


def _check_key_of_number(key: object) -> None:
    """IndexError for a number or a slice alone."""
    if isinstance(key, slice):
        raise OutOfRangeError("slice() cannot be applied to a 0-dim tensor.")
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        raise OutOfRangeError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )


def _index_text(error: IndexError, array: Any) -> str:
    text = str(error)
    if text.startswith("too many indices"):
        shape = list(array.shape)
        return f"too many indices for tensor of dimension {array.ndim}: its shape is {shape}"
    if text.startswith("shape mismatch"):
        shapes = re.findall(r"\(([\d,]*)\)", text)
        listed = ", ".join(str([int(n) for n in one.split(",") if n]) for one in shapes)
        return (
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        )
    return text.replace("axis", "dimension")


@along
def slices_at(input: Any, dim: int, index: Any) -> Any:
    """The slices at `index`, a vector or a number, along one axis: see `Tensor.index_select`."""
    require_index(
        "index_select(): Expected dtype int32 or int64 for index: got {0}",
        index,
        kind=OutOfRangeError,
    )
    if index.ndim > 1:
        raise OutOfRangeError(
            f"index_select(): Index is supposed to be a vector: it is of shape {list(index.shape)}"
        )
    try:
        return eager_ops.index_select(input, index, dim, wrap=False)
    except OutOfRangeError as error:
        raise OutOfRangeError(f"index out of range in self: {error}") from None
