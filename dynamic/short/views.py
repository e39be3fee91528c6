"""Views: indexing by numbers and slices, and other shapes."""

from __future__ import annotations

from typing import Any

from compiler import ops
from dynamic import eager_ops
from dynamic.indexing import Indexing
from dynamic.tape import recipe
from dynamic.tensor import PLAIN, new_value, new_view

_INDICES = frozenset((int, slice, type(None)))
"""The types of keys that make a view, beside an Ellipsis."""
_select = recipe(eager_ops.select, (True,))


def _getitem(self: Any, key: Any) -> Any:
    """`self[key]`: a view for an int, a slice, None, or several of them."""
    if type(key) in _INDICES:
        key = (key, Ellipsis)  # without it, an index of the only axis makes a NumPy scalar
    elif type(key) is tuple:
        for one in key:
            if type(one) not in _INDICES:
                return Indexing.__getitem__(self, key)
        key = (*key, Ellipsis)
    else:
        return Indexing.__getitem__(self, key)
    try:
        array = self._array[key]
    except IndexError:
        return Indexing.__getitem__(self, key)
    return new_view(_select, self, array, {"key": key})


_reshape = recipe(ops.reshape, (True,))


def reshape(input: Any, *shape: Any) -> Any:
    """The same elements in row-major order under another shape, as a view if that is possible."""
    if type(input) in PLAIN:
        x = input._array
        try:
            array = x.reshape(*shape)
        except (TypeError, ValueError):
            return ops.reshape(input, *shape)
        base = array.base
        new = new_view if base is x or (base is not None and base is x.base) else new_value
        return new(_reshape, input, array, {"shape": array.shape})
    return ops.reshape(input, *shape)


METHODS: dict[str, Any] = {"__getitem__": _getitem, "reshape": reshape}
"""Operators and methods of Tensor."""
