"""Running totals of floats: loops in which each step depends on the one before it.

They are added up and multiplied in float64. NumPy's take three times as long.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.reference.copies import copied
from staticgraph.compiler.runtime.shared_units import SharedUnit

SOURCE = """
def running(
    out: p_{t}, x: p_{t}, totals: p_f64, rows: i64, count: i64, step: i64, group: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    widths = (step + {width} - 1) // {width}
    mine = chunk * {width}
    for task in range(first, last):
        begin = task // widths * group
        end = min(begin + group, rows)
        column = task % widths * {width}
        width = min(step - column, {width})
        for row in range(begin, end):
            for j in range(width):
                totals[mine + j] = f64({neutral})
            for i in range(count):
                base = (row * count + {at}) * step + column
                for j in range(width):
                    total = totals[mine + j] {sign} f64(x[base + j])
                    totals[mine + j] = total
                    out[base + j] = {t}(total)
    return 0
"""
ALONE = """
def running(
    out: p_{t}, x: p_{t}, step: i64, count: i64, first: i64, last: i64, chunk: i64
) -> i64:
    for some in range(0, (last - first) // {together}):
        begin = (first + some * {together}) * count
{begin_several}
        for i in range(count):
            place = begin + {at}
{add_several}
    for row in range(first + (last - first) // {together} * {together}, last):
        total = f64({neutral})
        for i in range(count):
            place = row * count + {at}
            total = total {sign} f64(x[place * step])
            out[place] = {t}(total)
    return 0
"""
"""Where the elements along the axis lie side by side, totals are in registers: those of several
rows, for each addition waits for the one before it.
"""

WIDTH = 2048
"""The columns of a task: their totals stay in the cache."""

TASK = 1 << 16
"""The elements of a task, where rows are shorter."""

TOGETHER = 4
"""The rows whose totals are found at once."""

MOST_CHUNKS = 16

NAMES = {"float32": "f32", "float64": "f64"}
NEUTRAL = {"+": "-0.0", "*": "1.0"}
"""What changes no number."""


def running(out: Array, x: Array, axis: int, sign: str, back: bool) -> None:
    """Write the sums ("+") or products ("*") up to each element along an axis; `out` is row-major.

    `back`: those of it and all that come after it, added from the end.
    """
    count, step = x.shape[axis], prod(x.shape[axis + 1 :])
    if not x.size:
        return
    repeats = step == 1 and not any(x.strides)  # one number, as the cotangents of sums are
    if not (repeats or x.flags.c_contiguous):
        x = copied(x)
    unit = _unit(NAMES[x.dtype.name], sign, step == 1, back)
    places, rows = (out.ctypes.data, x.ctypes.data), x.size // (count * step)
    if step == 1:
        unit(rows, _chunks(rows, x.size), *places, int(not repeats), count)
        return
    group = max(1, TASK // (count * min(step, WIDTH)))  # of rows
    tasks = -(-rows // group) * -(-step // WIDTH)
    chunks = _chunks(tasks, x.size)
    totals = np.empty(chunks * WIDTH)
    unit(tasks, chunks, *places, totals.ctypes.data, rows, count, step, group)


def _chunks(parts: int, size: int) -> int:
    """In how many chunks threads share these parts of so many elements in all."""
    return max(1, min(parts, MOST_CHUNKS, size // TASK))


@cache
def _unit(dtype: str, sign: str, alone: bool, back: bool) -> SharedUnit:
    numbers = range(TOGETHER)
    begin = [f"        total{i} = f64({NEUTRAL[sign]})" for i in numbers]
    add = [
        f"            total{i} = total{i} {sign} f64(x[(place + {i} * count) * step])\n"
        f"            out[place + {i} * count] = {dtype}(total{i})"
        for i in numbers
    ]
    source = (ALONE if alone else SOURCE).format(
        t=dtype, sign=sign, neutral=NEUTRAL[sign], at="count - 1 - i" if back else "i",
        width=WIDTH, together=TOGETHER,
        begin_several="\n".join(begin), add_several="\n".join(add),
    )  # fmt: skip
    return SharedUnit(source)
