"""Packing windows of an image between margins: of zeros, which no memory has.

A line of a place in the window is one of the image, moved: what it has of the margins are a few
columns at its ends, a known number for each place, and whole lines. Where lines lie one behind the
other, in the image and in what is packed, all of them are moved at once; then the columns of the
margins, which got the ends of other lines, are set to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from staticgraph.compiler.codegen.scalar import literal
from staticgraph.compiler.codegen.short_rows import whole_vectors
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.ir.records import (
    ZERO,
    Assign,
    Call,
    Const,
    Expr,
    For,
    Load,
    Name,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.packing import Pieces
    from staticgraph.compiler.codegen.statements import Memory


@record
class Axis(Record):
    """Along one axis: place `o` of the result and `i` of the window meet `first + step * o +
    apart * i` of the image, which has `size` elements.

    Attributes:
        taps: the axis of the rows that is that of the window, or None if it has size 1.
    """

    first: int
    step: int
    apart: int
    taps: int | None
    size: int

    def inside(self, tap: int, places: int) -> tuple[int, int]:
        """The places that meet the image at a place of the window: from the first to the second."""
        first = self.first + self.apart * tap
        low = min(places, max(0, -(first // self.step)))
        return low, max(low, min(places, -((first - self.size) // self.step)))

    def between(self, tap: Expr) -> tuple[Expr, Expr]:
        """The same where the place of the window is not known; the second one may be less."""
        moved = times(tap, Const(self.apart))

        def until(end: int) -> Expr:
            whole: Expr = Call("max", (ZERO, Const(end - self.first) - moved))
            if self.step == 1:
                return whole
            return (whole + Const(self.step - 1)) // Const(self.step)

        return until(0), until(self.size)


@record
class Margins(Record):
    """How windows of an image between margins are packed.

    Attributes:
        down, across: the axes of lines and of columns.
        line: the elements from a line of the image to the next one that a result meets.
        width: the places of a line.
        taps: those of a line of the window.
    """

    down: Axis
    across: Axis
    line: int
    width: int
    taps: int


def margins_of(packed: Pieces) -> Margins | None:
    """Those of an image, if it has some."""
    pack = packed.pack
    if not pack.margins:
        return None
    split = pack.split
    down, across = (
        _axis(packed, axis, place) for axis, place in ((-2, split + 1), (-1, split + 2))
    )
    width, columns = packed.shape[split + 2], packed.base[-1]
    taps = 1 if across.taps is None else packed.shape[across.taps]
    assert isinstance(width, int)
    assert isinstance(columns, int)
    assert isinstance(taps, int)
    return Margins(down, across, down.step * columns, width, taps)


def _axis(packed: Pieces, axis: int, place: int) -> Axis:
    form, size = packed.pack.index[axis], packed.base[axis]
    rows = range(packed.pack.lead, packed.pack.split)
    taps = next((one for one in rows if form.coefficient(one)), None)
    apart = 0 if taps is None else form.coefficient(taps)
    first, step = form.constant, form.coefficient(place) or 1
    assert isinstance(first, int)
    assert isinstance(step, int)
    assert isinstance(apart, int)
    assert isinstance(size, int)
    return Axis(first, step, apart, taps, size)


@record
class Moved(Record):
    """The lines `first` to `last` of one image for a line of the window, which are packed.

    Attributes:
        to, source: terms of where the first line is put, and of where the element is that its first
            place meets, but for those of the axes of the rows.
        target, place: the forms that have these.
        apart: how far it is from one line to the next one where they are put.
        meeting: the lines that meet the image; the others are zeros.
    """

    to: tuple[Expr, ...]
    source: tuple[Expr, ...]
    target: Affine
    place: Affine
    apart: Expr
    first: Expr
    last: Expr
    meeting: tuple[Expr, Expr]


Put: TypeAlias = "Callable[[Expr, Expr | None], Store]"

ABOVE, BELOW, LINE, COLUMN = map(Name, ("upper", "lower", "packed", "jn"))


def moved_lines(
    packed: Pieces,
    margins: Margins,
    moved: Moved,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> tuple[Stmt, ...]:
    """What packs the lines of an image, for each place of a line of the window."""
    pack, taps = packed.pack, margins.across.taps
    image, target = pointer(("node", pack.base), 0), pointer(("packed", pack.value), 0)

    def put(to: Expr, source: Expr | None) -> Store:
        value = literal(0, packed.dtype) if source is None else Load(image, source)
        return Store(target, to, value, node=pack.value)

    def start(terms: tuple[Expr, ...], form: Affine, tap: Expr) -> Expr:
        steps = [(axis, step) for axis, step in form.terms if pack.lead <= axis < pack.split]
        return total_of((
            *terms,
            *(times(tap if axis == taps else Name(f"i{axis}"), size(step)) for axis, step in steps),
        ))  # fmt: skip

    first, last = moved.meeting
    upper = Call("min", (moved.last, Call("max", (moved.first, first))))
    lower = Call("max", (ABOVE, Call("min", (moved.last, last))))
    found: list[Stmt] = [Assign(ABOVE.name, upper), Assign(BELOW.name, lower)]
    found += _whole_lines(margins, moved, start(moved.to, moved.target, Name(f"i{taps}")), put)
    for tap in range(margins.taps):
        to, source = (
            start(terms, form, Const(tap))
            for terms, form in ((moved.to, moved.target), (moved.source, moved.place))
        )
        found += _moved(margins, moved.apart, tap, (to, source), put)
    return tuple(found)


def _whole_lines(margins: Margins, moved: Moved, to: Expr, put: Put) -> Iterator[Stmt]:
    """What puts zeros at the lines that do not meet the image."""
    place = total_of((to, times(LINE, moved.apart), COLUMN))
    body: Stmt = For(COLUMN.name, ZERO, Const(margins.width), (put(place, None),))
    if margins.across.taps is not None:
        body = For(f"i{margins.across.taps}", ZERO, Const(margins.taps), (body,))
    for start, end in ((moved.first, ABOVE), (BELOW, moved.last)):
        yield For(LINE.name, start, end, (body,))


def _moved(
    margins: Margins, apart: Expr, tap: int, starts: tuple[Expr, Expr], put: Put
) -> Iterator[Stmt]:
    """What moves the lines that meet the image, for one place of a line of the window."""
    low, high = margins.across.inside(tap, margins.width)
    begin, source = starts
    to = total_of((begin, times(LINE, apart), COLUMN))
    lines: list[Stmt] = []
    is_dense = margins.across.step == 1 and margins.line == margins.width == margins.across.size
    if low == high:  # what lies where the columns would be is no part of the image
        pass
    elif is_dense and apart == Const(margins.width):
        at, last = Name("at"), Const(margins.width - high)
        first = times(ABOVE, apart) + Const(low)
        yield For("at", first, times(BELOW, apart) - last, (put(begin + at, source + at),))
    else:
        column = times(COLUMN, Const(margins.across.step))
        found = total_of((source, times(LINE, Const(margins.line)), column))
        for start, end in whole_vectors(high - low):
            assert isinstance(start, int)
            assert isinstance(end, int)
            lines.append(For(COLUMN.name, Const(low + start), Const(low + end), (put(to, found),)))
    for start, end in ((0, low), (high, margins.width)):
        if start < end:
            lines.append(For(COLUMN.name, Const(start), Const(end), (put(to, None),)))
    if lines:
        yield For(LINE.name, ABOVE, BELOW, tuple(lines))


__all__ = ["Axis", "Margins", "Moved", "margins_of", "moved_lines"]
