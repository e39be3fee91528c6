"""Large arrays copied, or added to another, in any order of memory: threads share the work.

NumPy's loops run in one thread, and read a transposed array line by line for single elements. These
go over blocks that stay in the cache, and write the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from math import prod
from textwrap import indent

import numpy as np

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.runtime.shared_units import SharedUnit

GRAIN = 1 << 15
"""The elements of a chunk at least."""
MOST_CHUNKS = 16
MOST_OUTER = 4
"""The axes that a unit goes over beside the last one, and the one that it has blocks of."""
ROWS, COLUMNS = 16, 8
"""The sizes of a block, which is read along the first: as fast whether or not the rows of an array
are a power of two long, where larger blocks lose lines of the cache before they are read whole."""
SPAN = 4096
"""The elements that long rows are cut into."""
PLANS = 256
"""For how many layouts it is kept how arrays are gone over."""

WORDS = {1: "u8", 2: "u16", 4: "f32", 8: "f64"}
"""What elements of so many bytes are copied as."""
NUMBERS = {"float32": "f32", "float64": "f64"}
"""What is added up."""

_HEAD = """
def {name}(
    out: p_{t}, x: p_{t}, n1: i64, n2: i64, n3: i64, o0: i64, o1: i64, o2: i64, o3: i64,
    s0: i64, s1: i64, s2: i64, s3: i64, n: i64, so: i64, s: i64, m: i64, mo: i64, ms: i64,
    first: i64, last: i64, chunk: i64
) -> i64:
"""
_BEGIN = """
    i3 = row % n3
    rest = row // n3
    i2 = rest % n2
    rest = rest // n2
    i1 = rest % n1
    i0 = rest // n1
    to = i0 * o0 + i1 * o1 + i2 * o2 + i3 * o3
    of = i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3
"""
_NEXT = """
to += o3
of += s3
i3 += 1
if i3 == n3:
    to += o2 - n3 * o3
    of += s2 - n3 * s3
    i3 = i64(0)
    i2 += 1
    if i2 == n2:
        to += o1 - n2 * o2
        of += s1 - n2 * s2
        i2 = i64(0)
        i1 += 1
        if i1 == n1:
            to += o0 - n1 * o1
            of += s0 - n1 * s1
            i1 = i64(0)
"""
_ALONG = f"""{_HEAD}
    row = first{_BEGIN}
    for item in range(first, last):
        if (so == 1) & (s == 1):
            for i in range(n):
                out[to + i] = {{near}}x[of + i]
        elif (so == 1) & (s == 0):
            value = x[of]
            for i in range(n):
                out[to + i] = {{near}}value
        elif so == 1:
            for i in range(n):
                out[to + i] = {{near}}x[of + i * s]
        else:
            for i in range(n):
                out[to + i * so] = {{far}}x[of + i * s]
{indent(_NEXT, " " * 8)}
    return 0
"""
"""Row by row, where elements follow one another in the same order."""
_BLOCK = "\n".join(
    f"                out[at + {i}] = {{at_{i}}}x[of + i * ms + (start + {i}) * s]"
    for i in range(COLUMNS)
)
_ACROSS = f"""{_HEAD}
    blocks = (m + {ROWS - 1}) // {ROWS}
    row = first // blocks
    begin = first % blocks * {ROWS}
    {_BEGIN}
    for item in range(first, last):
        end = min(begin + {ROWS}, m)
        for start in range(0, n - {COLUMNS - 1}, {COLUMNS}):
            for i in range(begin, end):
                at = to + i * mo + start
{_BLOCK}
        for i in range(begin, end):
            for j in range(n // {COLUMNS} * {COLUMNS}, n):
                out[to + i * mo + j] = {{rest}}x[of + i * ms + j * s]
        begin += {ROWS}
        if begin >= m:
            begin = i64(0)
{indent(_NEXT, " " * 12)}
    return 0
"""
"""Block by block, where neighbours of either array lie far apart in the other."""


@frozen
class _Axis:
    """An axis of both arrays: its size, and how far apart neighbours are, in elements."""

    size: int
    out: int
    x: int

    def after(self, other: _Axis) -> bool:
        """Whether it follows on another one in both arrays."""
        return (other.out, other.x) == (self.out * self.size, self.x * self.size)


@frozen
class _Call:
    """A call of a unit on memory so many elements behind the first of either array."""

    unit: SharedUnit
    extent: int
    chunks: int
    out: int
    x: int
    numbers: tuple[int, ...]


def copy_into(out: Array, x: Array) -> None:
    """Write x, broadcast to the shape of `out`, into `out` of its dtype, which lies elsewhere."""
    if not _done(out, x, ""):
        np.copyto(out, x)


def add_into(out: Array, x: Array) -> None:
    """Add x, broadcast to the shape of `out`, to `out` of its dtype, which lies elsewhere."""
    kind = NUMBERS.get(out.dtype.name) if out.dtype.isnative else None
    if kind is None or not _done(out, x, kind):
        np.add(out, x, out)


def _done(out: Array, x: Array, added: str) -> bool:
    """Copy, or add numbers of a type; whether these arrays can be gone over."""
    if not (out.flags.aligned and x.flags.aligned and out.flags.writeable):
        return False
    kind = added or ("" if out.dtype.hasobject else WORDS.get(out.itemsize, ""))
    if not kind:
        return False
    if x.shape != out.shape:
        x = np.broadcast_to(x, out.shape)
    calls = _calls(out.shape, out.strides, x.strides, out.itemsize, kind, bool(added))
    to, of, itemsize = out.ctypes.data, x.ctypes.data, out.itemsize
    for one in calls:
        places = to + one.out * itemsize, of + one.x * itemsize
        one.unit(one.extent, one.chunks, *places, *one.numbers)
    return bool(calls)


@lru_cache(PLANS)
def _calls(
    shape: Sequence[int], out: Sequence[int], x: Sequence[int], itemsize: int, kind: str, adds: bool
) -> tuple[_Call, ...]:
    """How arrays with these strides are gone over; none if they cannot be."""
    if any(stride % itemsize for stride in (*out, *x)):
        return ()
    triples = zip(shape, out, x, strict=True)
    axes = [_Axis(n, to // itemsize, of // itemsize) for n, to, of in triples if n != 1]
    if not axes or any(axis.out <= 0 for axis in axes):
        return ()
    return tuple(_of_axes(_merged(axes), 0, 0, kind, adds))


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """The axes in the order of the memory that is written, those that follow on in both as one."""
    found: list[_Axis] = []
    for axis in sorted(axes, key=lambda axis: -axis.out):
        if found and axis.after(found[-1]):
            found[-1] = _Axis(found[-1].size * axis.size, axis.out, axis.x)
        else:
            found.append(axis)
    return found


def _of_axes(axes: list[_Axis], to: int, of: int, kind: str, adds: bool) -> Iterator[_Call]:
    """What goes over axes from these elements on."""
    *outer, row = axes
    if not outer and row.size >= 2 * SPAN:  # a long row, whose end is one of its own
        count, rest = divmod(row.size, SPAN)
        outer, row = [_Axis(count, SPAN * row.out, SPAN * row.x)], _Axis(SPAN, row.out, row.x)
        if rest:
            done = count * SPAN
            tail = [_Axis(rest, row.out, row.x)]
            yield from _of_axes(tail, to + done * row.out, of + done * row.x, kind, adds)
    if len(axes) > MOST_OUTER + 1:
        for i in range(axes[0].size):
            place = to + i * axes[0].out, of + i * axes[0].x
            yield from _of_axes(axes[1:], *place, kind, adds)
        return
    nearest = min(outer, key=lambda axis: abs(axis.x) or 1 << 62, default=row)
    across = nearest if row.out == 1 and 0 < abs(nearest.x) < abs(row.x) else None
    block = across or _Axis(1, 0, 0)
    outer = [axis for axis in outer if axis is not across]
    rows = prod([axis.size for axis in outer])
    extent = rows * -(-block.size // ROWS)
    chunks = max(1, min(extent, MOST_CHUNKS, rows * block.size * row.size // GRAIN))
    given = [*[_Axis(1, 0, 0)] * (MOST_OUTER - len(outer)), *outer]
    numbers = (
        *(axis.size for axis in given[1:]), *(axis.out for axis in given),
        *(axis.x for axis in given), row.size, row.out, row.x, block.size, block.out, block.x,
    )  # fmt: skip
    yield _Call(_unit(across is not None, kind, adds), extent, chunks, to, of, numbers)


@cache
def _unit(in_blocks: bool, kind: str, adds: bool) -> SharedUnit:
    before = {"near": "to + i", "far": "to + i * so", "rest": "to + i * mo + j"}
    before |= {f"at_{i}": f"at + {i}" for i in range(COLUMNS)}
    texts = {place: f"out[{index}] + " if adds else "" for place, index in before.items()}
    name = "added" if adds else "copied"
    return SharedUnit((_ACROSS if in_blocks else _ALONG).format(name=name, t=kind, **texts))
