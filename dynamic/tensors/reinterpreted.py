"""Tensors whose bits are read as another dtype: `x.view(dtype)`."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.core.dtypes import DTYPES, DType
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.strided import owner


def view_of_dtype(tensor: Any, dtype: DType) -> Any:
    """The memory of a tensor, and its version, read as elements of another dtype.

    The last axis grows or shrinks where the elements have another size. It has no gradient.
    RuntimeError where the sizes or the layout do not allow it.
    """
    array, wanted = tensor._array, dtype.dtype
    if wanted == array.dtype:
        return tensor.detach() if tensor._node is None else tensor.view_as(tensor)
    old, new = array.dtype.itemsize, wanted.itemsize
    if new != old:
        _check_layout(array, dtype, old, new)
    result = tensor.detach()
    result._array = array.view(wanted)
    return result


def _check_layout(array: Any, dtype: DType, old: int, new: int) -> None:
    """RuntimeError unless the last axis of an array is whole elements of another size."""
    own = DTYPES[array.dtype].legacy
    end = f"to view {own} as {dtype.legacy} (different element sizes)"
    if not array.ndim:
        raise AutogradError(f"self.dim() cannot be 0 {end}")
    last, step = array.shape[-1], array.strides[-1] // old
    if step != 1 and array.size:
        raise AutogradError(f"self.stride(-1) must be 1 {end}, but got {step}")
    if new < old:
        return
    times = new // old
    if last % times:
        raise AutogradError(f"self.size(-1) must be divisible by {times} {end}, but got {last}")
    memory = owner(array)
    start = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    if start % new:
        raise AutogradError(
            f"self.storage_offset() must be divisible by {times} {end}, but got {start // old}"
        )
    for axis, stride in enumerate(array.strides[:-1]):
        if stride % new:
            raise AutogradError(
                f"self.stride({axis}) must be divisible by {times} {end}, but got {stride // old}"
            )
