"""Copies of arrays: small ones by NumPy, large ones by threads in any order of memory.

The bits are the same. DYNAMIC_COMPILE_LARGE_OPS=0 in the environment leaves all to NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.settings import COMPILE_LARGE_OPS
from staticgraph.compiler.core.values import Array

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
    rest = (slice(None),) * (axis % first.ndim)
    like = first[(*rest, 0)].shape, first.dtype
    if any((one[(*rest, 0)].shape, one.dtype) != like for one in arrays):
        return np.concatenate(arrays, axis)  # which casts, or says what is wrong
    shape = list(first.shape)
    shape[axis] = sum([one.shape[axis] for one in arrays])
    out = np.empty(shape, first.dtype)
    begin = 0
    for one in arrays:
        end = begin + one.shape[axis]
        copy_into(out[(*rest, slice(begin, end))], one)
        begin = end
    return out


def _is_shared(out: Array, x: Array) -> bool:
    """Whether threads may share the work."""
    if out.size < LARGE or type(x) is not np.ndarray or COMPILE_LARGE_OPS.is_off:
        return False
    return out.dtype == x.dtype and not np.may_share_memory(out, x)
