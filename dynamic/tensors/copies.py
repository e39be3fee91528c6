"""Copies of tensors: deep ones, which share memory as the tensors do, and what pickle writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tensors.strided import address, owner

_SLOTS = ("_array", "_cell", "_home", "_maker", "_note")


def with_memory(array: Any, memo: dict[Any, Any]) -> Any:
    """An array on a copy of its whole memory, which is one for all that are copied together."""
    memory = owner(array)
    key = "memory", id(memory)
    copied = memo.get(key)
    if copied is None:
        copied = memo[key] = memory.copy(order="K")
    if copied.strides != memory.strides or not array.size:
        return array.copy(order="K")  # another library's memory, with gaps, which no copy has
    order = sorted(range(memory.ndim), key=lambda axis: -memory.strides[axis])
    content = copied.transpose(order).reshape(-1).view(np.uint8)
    start = address(array) - address(memory)
    return np.ndarray(array.shape, array.dtype, content, start, array.strides)


def rebuild(kind: Any, array: Any, requires_grad: bool) -> Any:
    """A leaf of a class of tensors on the memory of an array, or on a copy of what is read alone.

    Such are large arrays of what joblib sends to another process, or maps from a file.
    """
    if not array.flags.writeable:
        array = array.copy(order="K")
    result = kind.__new__(kind)
    made = result._constant(array)
    for name in _SLOTS:
        setattr(result, name, getattr(made, name))
    result.requires_grad = requires_grad
    return result


def warn_of_hooks(tensor: Any) -> None:
    """Warn if a hook on the gradient of a tensor is not written with it, as PyTorch does."""
    node = tensor._maker
    hooks = None if node is None else node.hooks
    for hook in () if hooks is None else hooks.tensor.values():
        if not getattr(hook, "__torch_unserializable__", False):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning"
            )
