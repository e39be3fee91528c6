"""The gates of recurrent cells: one loop, where NumPy makes a dozen passes over few elements."""

from __future__ import annotations

from functools import cache
from math import prod

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.pooling import address_of
from staticgraph.compiler.runtime.shared_units import SharedUnit

TASK = 1 << 12
"""The elements of a chunk at least."""
MOST_CHUNKS = 16

_NAMES = {4: "f32", 8: "f64"}
"""By the bytes of an element."""

_ROWS = """
def gru(
    {parameters}, x: p_{t}, own: p_{t}, h: p_{t}, size: i64, first: i64, last: i64, chunk: i64
) -> i64:
    for row in range(first, last):
        gates = row * 3 * size
        states = row * size
        for i in range(size):
            r = gates + i
            z = r + size
            n = z + size
            s = states + i
            reset = {t}(1.0) / ({t}(1.0) + exp(-(x[r] + own[r])))
            update = {t}(1.0) / ({t}(1.0) + exp(-(x[z] + own[z])))
            proposal = tanh(x[n] + reset * own[n])
{each}
    return 0
"""
_VALUE = "out: p_{t}", "            out[s] = proposal + update * (h[s] - proposal)"
_SLOPES = (
    "by_x: p_{t}, by_own: p_{t}, by_h: p_{t}, g: p_{t}",
    """\
            kept = g[s] * update
            slope = (g[s] - kept) * ({t}(1.0) - proposal * proposal)
            opened = slope * own[n] * reset * ({t}(1.0) - reset)
            passed = (h[s] - proposal) * kept * ({t}(1.0) - update)
            by_x[r] = opened
            by_x[z] = passed
            by_x[n] = slope
            by_own[r] = opened
            by_own[z] = passed
            by_own[n] = slope * reset
            by_h[s] = kept""",
)
"""Parameters in front, and what is done with the gates of an element."""


def gru(out: tuple[Array, ...], *given: Array) -> None:
    """Fill arrays; all are row-major, of floats of one dtype.

    Args:
        out: the next states, of (x, own, h), what the gates get of the input and of the state, and
            the states; or the cotangents of these three, of (g, x, own, h).
    """
    h = given[-1]
    size = h.shape[-1]
    rows = prod(h.shape[:-1])
    chunks = max(1, min(rows, MOST_CHUNKS, h.size // TASK))
    _unit(h.itemsize, len(out) > 1)(rows, chunks, *map(address_of, (*out, *given)), size)


@cache
def _unit(itemsize: int, back: bool) -> SharedUnit:
    t = _NAMES[itemsize]
    parameters, each = (text.format(t=t) for text in (_SLOPES if back else _VALUE))
    return SharedUnit(_ROWS.format(t=t, parameters=parameters, each=each))
