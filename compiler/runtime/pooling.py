"""Pooling: a number for each of the windows of arrays, whose last three axes windows slide over.

One loop serves all sizes and options, window by window in the order of memory: where windows begin
and end stands in a table. Small windows at equal distances have a loop without one, written out
per size of the window. NumPy's functions take a pass over the array per element of a window.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import product
from textwrap import indent
from typing import Any

from staticgraph.compiler.core.bounds import Even, Windows
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.shared_units import SharedUnit

TASK = 1 << 12
"""The elements of windows in a chunk at least."""
MOST_CHUNKS = 16

_NAMES = {4: "f32", 8: "f64"}
"""By the bytes of an element."""


@frozen
class _Pool:
    """What is done with each window, in the emitted language.

    `place` is that of an element in its image, `window` that of the window among all.
    """

    parameters: str
    begin: str
    each: str
    end: str


_MAXIMA = _Pool(
    "out: p_{t}, places: p_i32, x: p_{t}",
    "best = x[base + place]\nfound = i32(place)",
    """one = x[base + place]
wins = (one != one) | (one > best)
best = select(wins, one, best)
found = select(wins, i32(place), found)""",
    "out[window] = best\nplaces[window] = found",
)
_MEANS = _Pool(
    "out: p_{t}, x: p_{t}",
    "total = {t}(0.0)",
    "total = total + x[base + place]",
    "out[window] = total / {t}(counted)",
)
_SHARES = _Pool(
    "out: p_{t}, g: p_{t}",
    "share = g[window] / {t}(counted)",
    "out[base + place] = {added}share",
    "",
)
_POOLS = {"largest": _MAXIMA, "means": _MEANS, "shares": _SHARES}

_ROWS = """
def pooled(
    {parameters}, table: p_i64, depth: i64, height: i64, width: i64, slices: i64, lines: i64,
    columns: i64, along: i64, down: i64, right: i64, begin: i64, even: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    starts = slices * 3
    across = starts + lines * 3
    for item in range(first, last):
{images}
    return 0
"""
_BY_ROW = """
row = item
piece = item // lines % slices
line = item % lines
base = item // lines // slices * (depth * height * width)
"""
"""Threads share rows of windows, or images where windows may share elements that are written."""
_BY_IMAGE = """
base = item * (depth * height * width)
for i in range(base, base + depth * height * width):
    out[i] = {t}(0.0)
for left in range(slices * lines):
    row = (item + 1) * slices * lines - 1 - left
    piece = row // lines % slices
    line = row % lines
"""
_A_ROW = """
d0 = table[piece * 3]
d1 = table[piece * 3 + 1]
h0 = table[starts + line * 3]
h1 = table[starts + line * 3 + 1]
several = table[piece * 3 + 2] * table[starts + line * 3 + 2]
{windows}
"""
_IN_ANY_ORDER = """
{skipped}
{even}
for some in range(columns - skipped):
    column = some + select(some >= begin, skipped, i64(0))
{one}
"""
_LAST_FIRST = """
{skipped}
for some in range(columns - begin - skipped):
    column = columns - 1 - some
{one}
{even}
for some in range(begin):
    column = begin - 1 - some
{one}
"""
"""Of windows that add to what they share: an element gets its parts in the order of its places in
them, as in compiled kernels."""
_ONE = """
    window = row * columns + column
    w0 = table[across + column * 3]
    w1 = table[across + column * 3 + 1]
    counted = several * table[across + column * 3 + 2]
    place = (d0 * height + h0) * width + w0
{begin}
    for d in range(d0, d1, along):
        for h in range(h0, h1, down):
            line_at = (d * height + h) * width
            for w in range(w0, w1, right):
                place = line_at + w
{each}
{end}
"""
_SKIPPED = "skipped = select((d1 - d0 == {deep}) & (h1 - h0 == {high}), even, i64(0))"
_EVEN = """
counted = several * table[across + begin * 3 + 2]
start = (d0 * height + h0) * width + table[across + begin * 3] - begin * {step}
for some in range(skipped):
    whole = begin + {number}
    window = row * columns + whole
    corner = start + whole * {step}
    place = corner
{begin}
{each}
{end}
"""
"""The windows of a row that have all elements; equally many of them count in each."""
_PUT = """
def put(
    out: p_{t}, places: p_i32, g: p_{t}, size: i64, count: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    for item in range(first, last):
        for i in range(item * size, item * size + size):
            out[i] = {t}(0.0)
        for i in range(count):
            window = item * count + {number}
            place = item * size + i64(places[window])
            out[place] = out[place] + g[window]
    return 0
"""
"""Of windows that may overlap the last first: an element gets its parts in the order of its places
in them, as in compiled kernels. Of others the first: that takes two thirds of the time."""


def over_windows(kind: str, windows: Windows, out: Array, *given: Array) -> None:
    """Fill `out`, from row-major arrays of floats of its dtype.

    Args:
        kind: "largest" of (places, x), which fills int32 places in the flat last axes too; "put" of
            (places, g), each g added at its place among zeros; "means" of (x,); "shares" of (g,),
            the adjoint of the means.
        windows: those of each of the images that follow one another.
    """
    back = kind == "put" or kind == "shares"
    planes = (out if back else given[-1]).size // windows.size
    extent = planes if back else planes * windows.rows
    tasks = planes * (windows.count if kind == "put" else windows.work) // TASK
    chunks = max(1, min(extent, MOST_CHUNKS, tasks)) if tasks > 1 else 1
    addresses = [address_of(out), *map(address_of, given)]
    if kind == "put":
        apart = windows.even is not None and windows.even.apart
        _put(out.itemsize, apart)(extent, chunks, *addresses, windows.size, windows.count)
    else:
        unit = _unit(kind, out.itemsize, windows.even)
        unit(extent, chunks, *addresses, *windows.numbers)


def address_of(x: Any) -> int:
    """Where a row-major array begins: a quarter of the time that `x.ctypes` takes."""
    if x.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(x))
    return int(x.ctypes.data)


@cache
def _put(itemsize: int, apart: bool) -> Callable[..., None]:
    return SharedUnit(_PUT.format(t=_NAMES[itemsize], number="i" if apart else "count - 1 - i"))


@cache
def _unit(kind: str, itemsize: int, even: Even | None) -> Callable[..., None]:
    pool, back = _POOLS[kind], kind == "shares"
    images, depth = (_BY_IMAGE, 12) if back else (_BY_ROW, 8)
    one = _ONE.format(
        begin=indent(pool.begin, " " * 4), each=indent(pool.each, " " * 16),
        end=indent(pool.end, " " * 4),
    )  # fmt: skip
    skipped, whole = ("skipped = i64(0)", "") if even is None else _written_out(pool, even, back)
    windows = (_LAST_FIRST if back else _IN_ANY_ORDER).format(skipped=skipped, even=whole, one=one)
    inside = indent(images, " " * 8) + indent(_A_ROW.format(windows=windows), " " * depth)
    source = _ROWS.format(parameters=pool.parameters, images=inside)
    added = "" if even is not None and even.apart else "out[base + place] + "
    return SharedUnit(source.format(added=added, t=_NAMES[itemsize]))


def _written_out(pool: _Pool, even: Even, back: bool) -> tuple[str, str]:
    """How many windows of a row have this size, and the loop over them, the last first or not."""
    deep, high, _ = even.size
    steps = [
        f"place = corner + ({d} * height + {h}) * width + {w}\n{pool.each}"
        for d, h, w in product(*map(range, even.size))
    ]
    return _SKIPPED.format(deep=deep, high=high), _EVEN.format(
        step=even.step, number="skipped - 1 - some" if back else "some",
        begin=indent(pool.begin, " " * 4), each=indent("\n".join(steps), " " * 4),
        end=indent(pool.end, " " * 4),
    )  # fmt: skip
