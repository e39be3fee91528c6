"""Pooling: a number for each of the windows of arrays, whose last three axes windows slide over.

One loop serves all sizes and options, window by window in the order of memory: where windows begin
and end stands in a table. NumPy's functions take a pass over the array per element of a window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from staticgraph.compiler.core.bounds import Windows
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.shared_units import SharedUnit

TASK = 1 << 12
"""The elements of windows in a chunk at least."""
MOST_CHUNKS = 16

_NAMES = {"float32": "f32", "float64": "f64"}
_SIZES = """table: p_i64, depth: i64, height: i64, width: i64,
    slices: i64, lines: i64, columns: i64, along: i64, down: i64, right: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    starts = slices * 3
    across = starts + lines * 3
"""
_ROWS = """
    line = first % lines
    piece = first // lines % slices
    base = first // lines // slices * (depth * height * width)
    for row in range(first, last):
        d0 = table[piece * 3]
        d1 = table[piece * 3 + 1]
        h0 = table[starts + line * 3]
        h1 = table[starts + line * 3 + 1]
        counted = table[piece * 3 + 2] * table[starts + line * 3 + 2]
        for column in range(columns):
            w0 = table[across + column * 3]
            w1 = table[across + column * 3 + 1]
            {begin}
            for d in range(d0, d1, along):
                for h in range(h0, h1, down):
                    at = (d * height + h) * width
                    for w in range(w0, w1, right):
                        {each}
            {end}
        line += 1
        if line == lines:
            line = i64(0)
            piece += 1
            if piece == slices:
                piece = i64(0)
                base += depth * height * width
    return 0
"""


def _rows(begin: str, each: str, end: str) -> str:
    def inside(text: str, columns: int) -> str:
        return text.replace("\n", "\n" + " " * columns)

    return _ROWS.format(begin=inside(begin, 12), each=inside(each, 24), end=inside(end, 12))


_MAXIMA = (
    "\ndef largest(\n    out: p_{t}, places: p_i32, x: p_{t}, "
    + _SIZES
    + _rows(
        "place = (d0 * height + h0) * width + w0\nbest = x[base + place]",
        "one = x[base + at + w]\n"
        "wins = (one > best) | ((one != one) & (best == best))\n"
        "best = select(wins, one, best)\n"
        "place = select(wins, at + w, place)",
        "out[row * columns + column] = best\nplaces[row * columns + column] = i32(place)",
    )
)
_PUT = """
def put(
    out: p_{t}, places: p_i32, g: p_{t}, size: i64, count: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    for item in range(first, last):
        for i in range(item * size, item * size + size):
            out[i] = {t}(0.0)
        for i in range(item * count, item * count + count):
            place = item * size + i64(places[i])
            out[place] = out[place] + g[i]
    return 0
"""
_MEANS = (
    "\ndef means(\n    out: p_{t}, x: p_{t}, "
    + _SIZES
    + _rows(
        "total = f64(0.0)",
        "total = total + f64(x[base + at + w])",
        "out[row * columns + column] = "
        "{t}(total / f64(counted * table[across + column * 3 + 2]))",
    )
)
_SHARES = (
    "\ndef shares(\n    out: p_{t}, g: p_{t}, "
    + _SIZES
    + """
    size = depth * height * width
    for item in range(first, last):
        base = item * size
        for i in range(base, base + size):
            out[i] = {t}(0.0)
        for piece in range(slices):
            for line in range(lines):
                counted = table[piece * 3 + 2] * table[starts + line * 3 + 2]
                row = ((item * slices + piece) * lines + line) * columns
                for column in range(columns):
                    w0 = table[across + column * 3]
                    w1 = table[across + column * 3 + 1]
                    share = g[row + column] / {t}(counted * table[across + column * 3 + 2])
                    for d in range(table[piece * 3], table[piece * 3 + 1], along):
                        for h in range(
                            table[starts + line * 3], table[starts + line * 3 + 1], down
                        ):
                            at = base + (d * height + h) * width
                            for w in range(w0, w1, right):
                                out[at + w] = out[at + w] + share
    return 0
"""
)


def over_windows(kind: str, windows: Windows, out: Array, *given: Array) -> None:
    """Fill `out`, from row-major arrays of floats of its dtype.

    Args:
        kind: "largest" of (places, x), which fills int32 places in the flat last axes too; "put" of
            (places, g), each g added at its place among zeros; "means" of (x,); "shares" of (g,),
            the adjoint of the means.
        windows: those of each of the images that follow one another.
    """
    back = kind in ("put", "shares")
    whole = out if back else given[-1]
    planes = whole.size // windows.size
    extent = planes if back else planes * windows.rows
    work = planes * windows.count * (1 if kind == "put" else windows.volume)
    chunks = max(1, min(extent, MOST_CHUNKS, work // TASK))
    addresses = [one.__array_interface__["data"][0] for one in (out, *given)]
    sizes = (windows.size, windows.count) if kind == "put" else windows.numbers
    _unit(kind, out.dtype.name)(extent, chunks, *addresses, *sizes)


_SOURCES = {"largest": _MAXIMA, "put": _PUT, "means": _MEANS, "shares": _SHARES}


@cache
def _unit(kind: str, dtype: str) -> Callable[..., None]:
    return SharedUnit(_SOURCES[kind].format(t=_NAMES[dtype]))
