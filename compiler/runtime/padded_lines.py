"""Lines with some of their own elements on both sides, and the adjoint: one loop over lines."""

from __future__ import annotations

from functools import cache

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.shared_units import SharedUnit

TASK = 1 << 15
"""The elements of a chunk at least."""
MOST_CHUNKS = 16

_NAMES = {"float32": "f32", "float64": "f64"}

_LINES = """
def padded(
    out: p_{t}, x: p_{t}, places: p_i64, elements: p_i64, count: i64, size: i64, begin: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    for line in range(first, last):
        whole = line * (size + count)
        own = line * size
        for i in range(size):
            {row}
        for i in range(count):
            {side}
    return 0
"""
_VALUE = (
    "out[whole + begin + i] = x[own + i]",
    "out[whole + places[i]] = x[own + elements[i]]",
)
_SUMS = (
    "out[own + i] = x[whole + begin + i]",
    "out[own + elements[i]] = out[own + elements[i]] + x[whole + places[i]]",
)


def padded_lines(
    out: Array, x: Array, places: Array, elements: Array, begin: int, back: bool
) -> None:
    """Write lines that have all elements of others from `begin` on, and some of them elsewhere.

    Args:
        out: row-major, of floats of the dtype of x, which is row-major, too.
        places: where in a line the others are, int64, and `elements` which elements these are.
        back: write the adjoint: sums of what comes from an element, in this order.
    """
    size = min(out.shape[-1], x.shape[-1])
    lines = out.size // out.shape[-1]
    chunks = max(1, min(lines, MOST_CHUNKS, out.size // TASK))
    addresses = [one.ctypes.data for one in (out, x, places, elements)]
    _unit(_NAMES[x.dtype.name], back)(lines, chunks, *addresses, len(places), size, begin)


@cache
def _unit(t: str, back: bool) -> SharedUnit:
    row, side = _SUMS if back else _VALUE
    return SharedUnit(_LINES.format(t=t, row=row, side=side))
