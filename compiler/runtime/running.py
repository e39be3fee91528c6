"""Running totals of floats: loops in which each step depends on the one before it.

They are added up and multiplied in float64. NumPy's take three times as long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from math import prod

import numpy as np

from staticgraph.compiler.core.provided import share
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime.cache.loader import load_unit

SOURCE = """
def running(
    out: p_{t}, x: p_{t}, totals: p_f64, start: i64, rows: i64, count: i64, step: i64, width: i64
) -> i64:
    for row in range(rows):
        for j in range(width):
            totals[j] = f64({first})
        for i in range(count):
            base = start + (row * count + {at}) * step
            for j in range(width):
                total = totals[j] {sign} f64(x[base + j])
                totals[j] = total
                out[base + j] = {t}(total)
    return 0
"""
ALONE = """
def running(
    out: p_{t}, x: p_{t}, totals: p_f64, start: i64, rows: i64, count: i64, step: i64, width: i64
) -> i64:
    for row in range(rows):
        first = start + row * count
        total = f64({first})
        for i in range(count):
            place = first + {at}
            total = total {sign} f64(x[place])
            out[place] = {t}(total)
    return 0
"""
"""Where the elements along the axis lie side by side, the total is in a register."""

WIDTH = 2048
"""The columns of a task: their totals stay in the cache."""

TASK = 1 << 16
"""The elements of a task, where rows are shorter."""

NAMES = {"float32": "f32", "float64": "f64"}
FIRST = {"+": "-0.0", "*": "1.0"}
"""What changes no number."""


def running(out: Array, x: Array, axis: int, sign: str, back: bool) -> None:
    """Write the sums ("+") or products ("*") up to each element along an axis; both row-major.

    `back`: those of it and all that come after it, added from the end.
    """
    count, step = x.shape[axis], prod(x.shape[axis + 1 :])
    if not x.size:
        return
    call = _kernel(NAMES[x.dtype.name], sign, step == 1, back)
    rows, widths = x.size // (count * step), -(-step // WIDTH)
    group = max(1, TASK // (count * min(step, WIDTH)))  # of rows
    groups = -(-rows // group)

    def some(task: int) -> None:
        row, column = task // widths * group, task % widths * WIDTH
        start = row * count * step + column
        call(out, x, start, min(group, rows - row), count, step, min(WIDTH, step - column))

    share(some, groups * widths)


@cache
def _kernel(dtype: str, sign: str, alone: bool, back: bool) -> Callable[..., None]:
    at = "count - 1 - i" if back else "i"
    source = (ALONE if alone else SOURCE).format(t=dtype, sign=sign, first=FIRST[sign], at=at)
    loaded = load_unit(parsed_function(source), source)
    step = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)(
        loaded.addresses[0]
    )
    operands = np.array([pair for i in range(8) for pair in (i, 0)], np.int64)

    def run(out: Array, x: Array, *numbers: int) -> None:
        totals = np.empty(1 if alone else numbers[-1])
        places = (out.ctypes.data, x.ctypes.data, totals.ctypes.data)
        table = np.array([*places, *numbers], np.int64)
        step(table.ctypes.data, operands.ctypes.data, 0, 0, 0)

    run.__dict__["owner"] = loaded.owner
    return run
