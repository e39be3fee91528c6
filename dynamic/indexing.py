"""`x[key]`: views for basic keys, copies for tensors of indices and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compiler import ops
from compiler.errors import OutOfRangeError
from compiler.op import Operand
from dynamic import eager_ops


class Indexing(Operand):
    """Indexing as NumPy and PyTorch have it."""

    __slots__ = ()

    _array: Any

    if TYPE_CHECKING:

        def __index__(self) -> int: ...

    def __getitem__(self, key: Any) -> Any:
        basic = self._basic_key(key)
        if basic is None:
            return ops.take(ops.reshape(self, (-1,)), self._places(key), 0)
        return self._selected(basic)

    def _selected(self, basic: tuple[Any, ...]) -> Any:
        """The view that a key of numbers and slices makes."""
        try:
            return self.apply(eager_ops.select, (self,), {"key": basic})
        except IndexError as error:
            raise OutOfRangeError(_index_text(error, self._array)) from None

    def _basic_key(self, key: Any) -> tuple[Any, ...] | None:
        """The key as a tuple that makes a view, or None if it holds tensors, lists or masks."""
        if not self._array.ndim:
            _check_key_of_number(key)
        keys = key if type(key) is tuple else (key,)
        whole = True
        basic: list[Any] = []
        for one in keys:
            if one is Ellipsis:
                whole = False
            elif isinstance(one, Indexing) and not one._array.ndim:
                if one._array.dtype.kind == "b":
                    return None
                one = one.__index__()
            elif not (type(one) is int or one is None or isinstance(one, slice)) and not isinstance(
                one, np.integer
            ):
                return None
            basic.append(one)
        if whole:
            basic.append(Ellipsis)  # else an index of every axis makes a NumPy scalar, no view
        return tuple(basic)

    def _places(self, key: Any) -> Any:
        """The positions in the flat tensor that an advanced key selects."""
        keys = tuple(
            one._array if isinstance(one, Indexing) else one
            for one in (key if type(key) is tuple else (key,))
        )
        positions = np.arange(self._array.size).reshape(self._array.shape)
        numbers, rest = _numbers_first(keys)
        try:
            return (positions if numbers is None else positions[numbers])[rest]
        except IndexError as error:
            raise OutOfRangeError(_index_text(error, self._array)) from None


def _numbers_first(keys: tuple[Any, ...]) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:
    """The key of the numbers in a key, which select before all else, and the key of the rest.

    None if there are none. NumPy has numbers broadcast with the arrays of indices, which moves the
    axes of these to the front where something stands between them; PyTorch has not.
    """
    if not any(_is_number(one) for one in keys):
        return None, keys
    selected: list[Any] = []
    for one in keys:
        if one is Ellipsis or _is_number(one):
            selected.append(one)
        elif isinstance(one, slice):
            selected.append(slice(None))
        elif one is not None:
            array = np.asarray(one)
            selected += [slice(None)] * (array.ndim if array.dtype == np.bool_ else 1)
    return tuple(selected), tuple(one for one in keys if not _is_number(one))


def _is_number(one: Any) -> bool:
    if isinstance(one, np.ndarray):
        return not one.ndim and one.dtype.kind in "iu"
    return isinstance(one, int | np.integer) and not isinstance(one, bool)


def _check_key_of_number(key: Any) -> None:
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
        return f"too many indices for tensor of dimension {array.ndim}"
    return text.replace("axis", "dimension")
