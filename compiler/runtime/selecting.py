"""The places of the few first elements of rows in order: one loop, whose rows threads share.

An element becomes a whole number in the order that is asked for. Each of the best parts of a row
has an element as good as the worst of their bests: so what is worse than that is not among the
first, and few elements are left to be put in order.
"""

from __future__ import annotations

from functools import cache
from textwrap import indent

import numpy as np

from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.shared_units import SharedUnit

MOST = 64
"""How many places are looked for at most: each that is found may move the others."""
PART = 64
"""The elements of a part of a row at most."""
BLOCK = 32
"""The elements that are looked at together: most blocks have none that is good enough."""
LEAST = 32
"""How many elements a row has at least per place that is looked for: one block, or 8 parts."""
TASK = 1 << 15
"""The elements of a chunk at least."""
MOST_CHUNKS = 16

_SOURCE = """
def first_places(
    out: p_i64, x: p_{t}, memory: p_{t}, size: i64, count: i64, part: i64, block: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
    parts = size // part
    bests = chunk * (parts + count + 1)
    keys = bests + parts
    memory[keys] = {t}({most})
    for row in range(first, last):
        base = row * size
        to = row * count - 1
        for i in range(parts):
            memory[bests + i] = {t}({least})
        for j in range(part):
            for i in range(parts):
                bits = x[base + j * parts + i]
{deep}
                memory[bests + i] = max(memory[bests + i], key)
        for i in range(1, count + 1):
            memory[keys + i] = {t}({least})
        for i in range(parts):
            key = memory[bests + i]
            if key > memory[keys + count]:
                at = keys + count
                while memory[at - 1] < key:
                    memory[at] = memory[at - 1]
                    at = at - 1
                memory[at] = key
        bound = memory[keys + count]
        for i in range(1, count + 1):
            memory[keys + i] = {t}({least})
        held = i64(0)
        for begin in range(0, size, block):
            start = base + min(begin, size - block)
            best = {t}({least})
            for i in range(block):
                bits = x[start + i]
{deep}
                best = {t}(max(best, key))
            if (best > bound) | ((best == bound) & (held < count)):
                for i in range(begin, min(begin + block, size)):
                    bits = x[base + i]
{deeper}
                    if (key > bound) | ((key == bound) & (held < count)):
                        held = min(held + 1, count)
                        at = held
                        while memory[keys + at - 1] < key:
                            memory[keys + at] = memory[keys + at - 1]
                            out[to + at] = out[to + at - 1]
                            at = at - 1
                        memory[keys + at] = key
                        out[to + at] = i
                        if held == count:
                            bound = memory[keys + count]
    return 0
"""
"""`memory` has for each chunk the bests of all parts, a number above all others, and the keys of
the places that are held, the best first. Parts have elements that lie apart, so that the parts are
gone through at once, by vectors."""
_FLOAT = """size_of = bits & {t}({greatest})
number = select(bits < {t}(0), {t}(-size_of), size_of)
key = {t}({ordered}select(size_of > {t}({inf}), {t}({greatest}), number))"""
"""Zeros of both signs are 0, and every nan is above all numbers."""
_WHOLE = "key = {t}({ordered}bits)"

_KINDS = {np.dtype(kind): kind for kind in ("f4", "f8", "i4", "i8")}
_INF = {4: 0x7F800000, 8: 0x7FF0000000000000}


def first_places(x: Array, count: int, axis: int, descending: bool) -> Array | None:
    """The first `count` places of a stable sort along an axis, nan last, or first if descending.

    None of other elements than floats and integers of 32 and 64 bits, and where many are asked for.
    """
    kind = _KINDS.get(x.dtype)
    if kind is None or not 0 < count <= min(MOST, x.shape[axis] // LEAST):
        return None
    rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    size = rows.shape[-1]
    part = min(PART, size // (4 * count))
    extent = x.size // size
    out = np.empty((*rows.shape[:-1], count), np.int64)
    chunks = max(1, min(extent, MOST_CHUNKS, x.size // TASK))
    memory = np.empty(chunks * (size // part + count + 1), f"i{x.dtype.itemsize}")
    unit = _unit(kind, descending)
    addresses = out.ctypes.data, rows.ctypes.data, memory.ctypes.data
    unit(extent, chunks, *addresses, size, count, part, BLOCK)
    return np.ascontiguousarray(np.moveaxis(out, -1, axis))


@cache
def _unit(kind: str, descending: bool) -> SharedUnit:
    width = int(kind[1])
    t, greatest = f"i{8 * width}", (1 << 8 * width - 1) - 1
    key = _FLOAT if kind[0] == "f" else _WHOLE
    reverse = "-" if kind[0] == "f" else f"{t}(-1) ^ "
    key = key.format(
        t=t, greatest=greatest, inf=_INF[width], ordered="" if descending else reverse
    )  # fmt: skip
    words = {
        "t": t,
        "most": greatest,
        "least": -greatest - 1,
    }
    deep, deeper = (indent(key, " " * depth) for depth in (16, 20))
    return SharedUnit(_SOURCE.format(deep=deep, deeper=deeper, **words))
