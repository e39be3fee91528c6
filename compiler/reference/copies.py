"""Copies of arrays: small ones by NumPy, large ones by threads in any order of memory.

The bits are the same. DYNAMIC_COMPILE_LARGE_OPS=0 in the environment leaves all to NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.settings import COMPILE_LARGE_OPS
from staticgraph.compiler.core.values import Array, Value

LARGE = 1 << 17
"""From how many elements on threads share a copy: as kernels of `dynamic.kernels.native`."""


def copied(x: Array, order: Literal["C", "K"] = "C") -> Array:
    """A copy of an array in row-major order, or in the order of its memory."""
    if x.size < LARGE or type(x) is not np.ndarray:
        return np.array(x, order=order)
    out = np.empty_like(x, order=order)
    copy_into(out, x)
    return out


def copy_into(out: Array, x: Array) -> None:
    """Write an array, broadcast to the shape of `out`, into `out`, in whose dtype it is."""
    if _is_shared(out, x):
        provided.copy_into(out, x)
    else:
        np.copyto(out, x)


def apart(x: Value, out: Array) -> Value:
    """What is to be written to `out`, copied if NumPy would read it after it has been overwritten.

    That is a vector on the same memory with other steps: `a[1] = a[:, 2]`, of which NumPy thinks
    that one order of the elements is right.
    """
    if out.ndim == 1 and type(x) is np.ndarray and x.ndim and x.strides[-1] != out.strides[0]:
        return x.copy() if np.may_share_memory(x, out) else x
    return x


def add_into(out: Array, x: Array) -> None:
    """Add an array, broadcast to the shape of `out`, to `out`."""
    if _is_shared(out, x):
        provided.add_into(out, x)
    else:
        np.add(out, x, out)


def joined(arrays: Sequence[Array], axis: int) -> Array:
    """`np.concatenate`."""
    if sum([one.size for one in arrays]) < LARGE:
        return np.concatenate(arrays, axis)
    first = arrays[0]
    axis = axis % first.ndim
    like = (*first.shape[:axis], *first.shape[axis + 1 :]), first.dtype
    if any(((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype) != like for x in arrays):
        return np.concatenate(arrays, axis)  # which casts, or says what is wrong
    sizes = [one.shape[axis] for one in arrays]
    out = np.empty((*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :]), first.dtype)
    parts, begin = np.moveaxis(out, axis, 0), 0
    for one, size in zip(arrays, sizes, strict=True):
        copy_into(parts[begin : begin + size], np.moveaxis(one, axis, 0))
        begin += size
    return out


def _is_shared(out: Array, x: Array) -> bool:
    """Whether threads may share the work."""
    if out.size < LARGE or type(x) is not np.ndarray or COMPILE_LARGE_OPS.is_off:
        return False
    return out.dtype == x.dtype and not np.may_share_memory(out, x)
