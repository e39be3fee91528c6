"""In-place steps over large arrays of floats that threads share, in parts that stay in the cache.

Every part is computed by itself, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.dynamic.kernels.parallel import run

_PART = 1 << 15
"""Elements per part: few enough for the cache, enough that the calls do not count."""


def add_scaled(ufunc: Any, x: Any, y: Any, factor: float) -> None:
    """Overwrite x by `ufunc` of it and factor * y, of its shape and dtype."""
    apart = x.ctypes.data == y.ctypes.data or not np.may_share_memory(x, y)
    if not (apart and x.flags.c_contiguous and y.flags.c_contiguous):
        ufunc(x, y * factor, x)
        return
    flat, other = x.reshape(-1), y.reshape(-1)

    def part(here: slice) -> None:
        ufunc(flat[here], other[here] * factor, flat[here])

    _in_parts(part, x.size)


def put(x: Any, mask: Any, value: float) -> None:
    """Write a number where a mask of the shape of x holds.

    By bits, without a branch, which a processor guesses wrong for every second element of a mask
    that has no pattern.
    """
    if not (x.flags.c_contiguous and mask.flags.c_contiguous):
        x[mask] = value
        return
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    flat, chosen = x.view(unsigned).reshape(-1), mask.reshape(-1)
    written = np.asarray(value, x.dtype).view(unsigned)[()]

    def part(here: slice) -> None:
        kept = chosen[here].astype(unsigned)
        np.subtract(kept, 1, kept)  # all bits where nothing is written
        np.bitwise_and(flat[here], kept, flat[here])
        if written:
            np.bitwise_or(flat[here], ~kept & written, flat[here])

    _in_parts(part, x.size)


def _in_parts(part: Callable[[slice], None], size: int) -> None:
    run(lambda i: part(slice(i * _PART, (i + 1) * _PART)), -(-size // _PART))
