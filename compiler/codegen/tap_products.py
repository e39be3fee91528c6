"""A product with windows of images that lie side by side: no window is packed.

Where the images are the last axis, what one place of a window, a *tap*, meets of all channels is a
matrix in memory, for as many places of a line as lie inside the image. So there is a product for
each tap and line, which is added to the result; zeros around an image are neither there nor
multiplied, and of small images that is up to a half of all products. The results are those of
whole windows: a weight that is not finite makes nan of zeros, and few images, of which such a
matrix has too few columns, are packed tap by tap: an image has the same bits among any others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.cells import Arguments
from staticgraph.compiler.codegen.margins import Axis
from staticgraph.compiler.codegen.scalar import literal
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.codegen.taps import Taps
from staticgraph.compiler.codegen.windows import least, multiplier
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Const,
    Expr,
    For,
    If,
    Load,
    Name,
    Select,
    Stmt,
    Store,
    Unary,
)
from staticgraph.compiler.ir.sizes import times, total_of

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.product import Product

ROWS = 12  # of a tile, at most
LINE, TAP, CHANNEL, PACKED = map(Name, ("line", "down", "channel", "packed"))
LOW, HIGH, TOTAL = map(Name, ("low", "high", "total"))


def taps_product(
    of: Product,
    taps: Taps,
    call: Arguments,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
    gemm: Callable[[str], Name],
) -> list[Stmt]:
    """What computes a chunk of a product with windows of images side by side."""
    return _Writer(of, taps, call, size, pointer, gemm).statements()


class _Writer:
    """The statements of a chunk: of some lines of the result or, of few images, of some rows of it;
    where places are summed over, of some lines of the window and channels.
    """

    def __init__(
        self,
        of: Product,
        taps: Taps,
        call: Arguments,
        size: Callable[[Size], Expr],
        pointer: Callable[[Memory, int], Name],
        gemm: Callable[[str], Name],
    ) -> None:
        assert of.plan is not None
        self.taps, self.call, self.start = taps, call, (call.a, call.c)
        self.left = pointer(("node", of.left.base), of.left.first)
        self.image = pointer(("node", taps.base), 0)
        self.room = pointer(("packed", taps.value), 0)
        self.result = pointer(of.target, 0)
        self.own = size(of.plan.memory["packed", taps.value])
        self.images, self.rows, self.extent = size(taps.images), call.m, size(taps.extent)
        self.zero, self.one = (literal(number, of.dtype) for number in (0, 1))
        self.multiplied = multiplier(of, call, gemm, call.left_transposed, taps.is_summed)
        self.width = times(Const(taps.places[1]), self.images)
        self.channel = times(Const(taps.down.size * taps.across.size), self.images)

    def statements(self) -> list[Stmt]:
        """All of them."""
        few, many = (
            (self._few_summed, self._many_summed)
            if self.taps.is_summed
            else (self._few_lines, self._many_lines)
        )
        if isinstance(self.taps.images, int):
            return few() if self.taps.images < self.taps.least else many()
        is_few = Binary("<", self.images, Const(self.taps.least))
        return [If(is_few, tuple(few()), tuple(many()))]

    # -- lines of the result -------------------------------------------------------------------

    def _many_lines(self) -> list[Stmt]:
        """A product for each line and tap."""
        line = times(LINE, self.width)
        self.call.m = self.rows
        self._sizes(self.channel, Const(self.taps.channels))
        product = self._for_places(self.one, lambda low: line + times(low, self.images))
        met = If(Binary("<", LOW, HIGH), tuple(product))
        over_line = If(self._is_inside(), (self._along([*self._columns(), met]),))
        over_taps = For("down", ZERO, Const(self.taps.taps[0]), (over_line,))
        rows = ZERO, self.rows
        body = (self._zeros(line, rows, self.width), over_taps, *self._not_finite(line, rows))
        return [For("line", Name("first"), Name("last"), body)]

    def _few_lines(self) -> list[Stmt]:
        """Some rows of the product: for each tap, of what is packed for the lines that it meets.

        The sums have the order that they have of many images, so that bits are the same.
        """
        taps, call = self.taps, self.call
        self._sizes(Name("room"), Const(taps.channels))
        low, high = self._within(taps.down, TAP, 0)
        lines = Name("above"), Name("below")
        bounds = [Assign("above", low), Assign("below", Call("max", (lines[0], high)))]
        call.m, call.n = Name("bottom") - Name("top"), Name("room")
        parts = times(self.extent, Const(ROWS))
        each = times((self.rows + (parts - ONE)) // parts, Const(ROWS))
        ends = (least(self.rows, times(Name(one), each)) for one in ("first", "last"))
        rows = [Assign(*one) for one in zip(("top", "bottom"), ends, strict=True)]
        left = Name("top"), times(Name("tap"), Const(taps.channels))
        multiplied = self._multiplied(
            self.start[0] + self._of_left(*left),
            self._packed(),
            self.one,
            total_of((
                self.start[1], times(Name("top"), call.ldc), times(lines[0], self.width)
            )),
        )  # fmt: skip
        packs = self._packs((ZERO, Const(taps.channels)), lines)
        room = Assign("room", times(lines[1] - lines[0], self.width))
        body = (*bounds, room, self._along([*self._columns(), packs, multiplied]))
        whole = times(Const(taps.places[0]), self.width)
        found: list[Stmt] = [*rows, self._zeros(ZERO, (Name("top"), Name("bottom")), whole)]
        found.append(For("down", ZERO, Const(taps.taps[0]), body))
        spoilt = self._not_finite(times(LINE, self.width), (Name("top"), Name("bottom")))
        if spoilt:
            found.append(For("line", ZERO, Const(taps.places[0]), tuple(spoilt)))
        return found

    def _zeros(self, start: Expr, rows: tuple[Expr, Expr], width: Expr) -> Stmt:
        """What products are added to."""
        place = total_of((self.start[1], start, times(Name("im"), self.call.ldc), Name("jn")))
        zeros = For("jn", ZERO, width, (Store(self.result, place, self.zero),))
        return For("im", *rows, (zeros,))

    def _not_finite(self, line: Expr, rows: tuple[Expr, Expr]) -> list[Stmt]:
        """What adds zeros times the weights of the taps where they meet no image.

        Only a row that may have weights that are not finite is looked at: its results are not, or
        weights that nothing of the line meets.
        """
        if self._is_whole():
            return []
        taps, row, depth = self.taps, Name("im"), Name("k")
        place = total_of((self.start[1], line, times(row, self.call.ldc), Name("jn")))
        found = Load(self.result, place)

        def summed(value: Expr) -> tuple[Stmt, ...]:
            return (Assign("total", Call("fsum", (TOTAL, value * self.zero))),)

        def weight(first: Expr) -> Load:
            start = times(first, self.call.lda) if self.call.left_transposed else first
            return Load(self.left, total_of((self.start[0], start, self._of_left(row, depth))))

        across, channels = taps.taps[1] * taps.channels, Const(taps.channels)
        line_of = For("k", ZERO, Const(across), summed(weight(times(TAP, Const(across)))))
        unmet = _unless(self._is_inside(), line_of)
        looked: list[Stmt] = [
            For("jn", ZERO, self.width, summed(found)),
            For("down", ZERO, Const(taps.taps[0]), (unmet,)),
        ]
        of_tap = For("k", ZERO, channels, summed(weight(times(Name("tap"), channels))))
        if any(low == high for low, high in taps.met):
            empty = _unless(Binary("<", LOW, HIGH), of_tap)
            looked.append(self._each_tap([*self._columns(), empty]))
        ends = (ZERO, Name("start")), (Name("stop"), Const(taps.places[1]))
        spoilt = [
            For(
                "jn",
                times(begin, self.images),
                times(end, self.images),
                (Store(self.result, place, found + TOTAL),),
            )
            for begin, end in ends
        ]
        added = [
            *self._columns(),
            Assign("start", Select(self._is_inside(), LOW, ZERO)),
            Assign("stop", Select(self._is_inside(), HIGH, ZERO)),
            Assign("total", self.zero),
            of_tap,
            _unless(Binary("==", TOTAL, self.zero), *spoilt),
        ]
        is_finite = Binary("==", TOTAL, self.zero)
        every = _unless(is_finite, self._each_tap(added))
        body = (Assign("total", self.zero), *looked, every)
        return [For("im", *rows, body)]

    # -- sums over places ----------------------------------------------------------------------

    def _many_summed(self) -> list[Stmt]:
        """A product for each tap and line, of whole lines for all of them."""
        taps, slab = self.taps, self._slab()
        self.call.ldb = self.channel
        start = times(CHANNEL, self.channel)
        below, high = self._within(taps.down, TAP, 0)
        some = Binary("&", Binary("<", LOW, HIGH), Binary("<", Name("below"), Name("until")))
        bounds = [Assign("below", below), Assign("until", high), *self._columns()]
        bounds.append(Assign("lines", Select(some, Name("until") - Name("below"), ZERO)))
        bounds.append(Assign("long", Select(some, HIGH - LOW, ZERO)))
        number = Name("number")
        column: Expr = LOW
        lines, length = Name("lines"), Name("long")
        if taps.across.step == 1:
            each: tuple[Expr, Expr] = lines, least(ONE, lines)
            if taps.joins:
                whole = Binary("==", length, Const(taps.places[1]))
                each = Select(whole, ONE, each[0]), Select(whole, lines, each[1])
            bounds.append(Assign("calls", each[0]))
            bounds.append(Assign("deep", each[1] * length))
            at: Expr = number
        else:
            bounds.append(Assign("calls", lines * length))
            bounds.append(Assign("deep", least(ONE, lines)))
            bounds.append(Assign("long", Call("max", (ONE, length))))
            at, column = number // length, LOW + number % length
        where = [Assign("line", Name("below") + at), Assign("column", column)]
        self.call.k = times(Name("deep"), self.images)
        place = times(times(LINE, Const(taps.places[1])) + Name("column"), self.images)
        multiplied = self._multiplied(
            self.start[0] + (times(place, self.call.lda) if self.call.left_transposed else place),
            Call("address", (self.image, start + self._met(Name("column")))),
            Select(Binary("==", number, ZERO), self.zero, self.one),
            self._tap_of_result(),
        )
        # without places, the result is zero as well
        over = For("number", ZERO, Call("max", (ONE, Name("calls"))), (*where, multiplied))
        body = (*slab, self._along([*bounds, over]), *self._not_finite_summed())
        return [*self._finite(), For("unit", Name("first"), Name("last"), body)]

    def _few_summed(self) -> list[Stmt]:
        """A product for each tap, of what is packed for all lines."""
        lines, slab = Const(self.taps.places[0]), self._slab()
        self._sizes(Name("room"), times(lines, self.width))
        first = CHANNEL, CHANNEL + Name("channels")
        multiplied = self._multiplied(
            self.start[0], self._packed(), self.zero, self._tap_of_result()
        )
        body = [*self._columns(), self._packs(first, (ZERO, lines)), multiplied]
        whole = Assign("room", times(lines, self.width))
        over = For("unit", Name("first"), Name("last"), (*slab, self._along(body)))
        return [whole, over]

    def _slab(self) -> list[Stmt]:
        """The line of the window and the channels that a unit has."""
        self.call.n = Name("channels")
        rest = Const(self.taps.channels) - CHANNEL
        return [
            Assign("down", Name("unit") // Const(self.taps.slabs)),
            Assign("channel", times(Name("unit") % Const(self.taps.slabs), Const(self.taps.slab))),
            Assign("channels", least(Const(self.taps.slab), rest)),
        ]

    def _tap_of_result(self) -> Expr:
        return total_of((self.start[1], times(Name("tap"), Const(self.taps.channels)), CHANNEL))

    def _finite(self) -> list[Stmt]:
        """Whether the left operand is finite: then zero times it is zero."""
        if self._is_whole():
            return []
        lines = Const(self.taps.places[0])
        value = Load(self.left, self.start[0] + self._of_left(Name("im"), Name("k")))
        summed = Assign("total", Call("fsum", (TOTAL, value * self.zero)))
        row = For("k", ZERO, times(lines, self.width), (summed,))
        return [
            Assign("total", self.zero),
            For("im", ZERO, self.rows, (row,)),
            Assign("finite", Binary("==", TOTAL, self.zero)),
        ]

    def _not_finite_summed(self) -> list[Stmt]:
        """What adds zeros times what the places have where a tap meets no image."""
        if self._is_whole():
            return []
        row, taps = Name("im"), self.taps
        place = times(LINE, self.width) + Name("jn")
        value = Load(self.left, self.start[0] + self._of_left(row, place))
        summed = Assign("total", Call("fsum", (TOTAL, value * self.zero)))
        to = total_of((self._tap_of_result(), times(row, self.call.ldc), Name("jn")))
        add = Store(self.result, to, Load(self.result, to) + TOTAL)
        ends = (ZERO, Name("start")), (Name("stop"), Const(taps.places[1]))
        over_line = [
            Assign("inside", self._is_inside()),
            Assign("start", Select(Name("inside"), LOW, ZERO)),
            Assign("stop", Select(Name("inside"), HIGH, ZERO)),
            *(
                For("jn", times(begin, self.images), times(end, self.images), (summed,))
                for begin, end in ends
            ),
        ]
        over_row = (
            Assign("total", self.zero),
            For("line", ZERO, Const(taps.places[0]), tuple(over_line)),
            For("jn", ZERO, Name("channels"), (add,)),
        )
        spoilt = self._along([*self._columns(), For("im", ZERO, self.rows, over_row)])
        return [_unless(Name("finite"), spoilt)]

    # -- parts ---------------------------------------------------------------------------------

    def _each_tap(self, body: list[Stmt]) -> Stmt:
        return For("down", ZERO, Const(self.taps.taps[0]), (self._along(body),))

    def _along(self, body: list[Stmt]) -> Stmt:
        """A loop over the taps of a line."""
        number = Assign("tap", times(TAP, Const(self.taps.taps[1])) + Name("right"))
        return For("right", ZERO, Const(self.taps.taps[1]), (number, *body))

    def _is_whole(self) -> bool:
        """Whether every tap meets the image at every place."""
        return all(
            axis.inside(tap, places) == (0, places)
            for axis, taps, places in zip(
                (self.taps.down, self.taps.across), self.taps.taps, self.taps.places, strict=True
            )
            for tap in range(taps)
        )

    def _columns(self) -> list[Stmt]:
        """The places of a line from which on, and up to which, a tap meets the image."""
        low, high = self._within(self.taps.across, Name("right"), 1)
        return [Assign("low", low), Assign("high", Call("max", (LOW, high)))]

    def _within(self, axis: Axis, tap: Expr, number: int) -> tuple[Expr, Expr]:
        places = Const(self.taps.places[number])
        low, high = (least(places, one) for one in axis.between(tap))
        return low, high

    def _is_inside(self) -> Expr:
        """Whether a tap of a line is a line of the image."""
        line = self._line_met()
        return Binary("&", Binary("<=", ZERO, line), Binary("<", line, Const(self.taps.down.size)))

    def _line_met(self, line: Expr = LINE) -> Expr:
        return _met(self.taps.down, TAP, line)

    def _met(self, column: Expr, line: Expr = LINE) -> Expr:
        """Where the element of the first channel is that a place of a line meets."""
        across = _met(self.taps.across, Name("right"), column)
        line = times(self._line_met(line), Const(self.taps.across.size))
        return times(total_of((line, across)), self.images)

    def _sizes(self, apart: Expr, depth: Expr) -> None:
        """Set how far channels are apart, and the depth of a product."""
        self.call.ldb, self.call.k = apart, depth

    def _of_left(self, row: Expr, depth: Expr) -> Expr:
        """Where an element of the left operand is."""
        one, other = (depth, row) if self.call.left_transposed else (row, depth)
        return total_of((times(one, self.call.lda), other))

    def _tap_of_left(self) -> Expr:
        depth = times(Name("tap"), Const(self.taps.channels))
        if self.call.left_transposed:
            depth = times(depth, self.call.lda)
        return total_of((self.start[0], depth))

    def _for_places(self, beta: Expr, to: Callable[[Expr], Expr]) -> list[Stmt]:
        """The products of the places of a line: one of all, unless they meet every so many."""

        def of(first: Expr) -> Stmt:
            right = Call("address", (self.image, self._met(first)))
            return self._multiplied(self._tap_of_left(), right, beta, self.start[1] + to(first))

        if self.taps.across.step == 1:
            self.call.n = times(HIGH - LOW, self.images)
            return [of(LOW)]
        self.call.n = self.images
        return [For("column", LOW, HIGH, (of(Name("column")),))]

    def _multiplied(self, left: Expr, right: Expr, beta: Expr, result: Expr) -> Stmt:
        one = Call("address", (self.left, left))
        return self.multiplied(one, right, beta, Call("address", (self.result, result)))

    def _packed(self) -> Expr:
        return Call("address", (self.room, times(Name("chunk"), self.own)))

    def _packs(self, channels: tuple[Expr, Expr], lines: tuple[Expr, Expr]) -> Stmt:
        """What packs a tap of some channels and lines."""
        taps, (first, last) = self.taps, lines
        before = times(PACKED - channels[0], Name("room"))
        begin = total_of((times(Name("chunk"), self.own), before))
        place = begin + Name("jn")
        zero = Store(self.room, place, self.zero)

        def zeros(line: Expr, end: Expr) -> Stmt:
            start, stop = (times(one - first, self.width) for one in (line, end))
            return For("jn", start, stop, (zero,))

        low, high = self._within(taps.down, TAP, 0)
        edges: list[Stmt] = [
            Assign("upper", Call("max", (first, least(last, low)))),
            Assign("lower", Call("max", (Name("upper"), least(last, high)))),
        ]
        start, stop = Name("upper"), Name("lower")
        moved: tuple[Stmt, ...] = ()
        if taps.joins:
            met = total_of((times(PACKED, self.channel), self._met(ZERO, first), Name("jn")))
            ends = (
                times(start - first, self.width) + times(LOW, self.images),
                times(stop - first, self.width) - times(self._behind(), self.images),
            )
            copy = For("jn", *ends, (Store(self.room, place, Load(self.image, met)),))
            # a tap that meets no column would read what lies before or behind the image
            moved = (If(Binary("<", LOW, HIGH), (copy,)),)
            within: list[Stmt] = []
        else:
            within = self._moved_line(begin, first)
        row = times(LINE - first, self.width)
        for one, other in ((ZERO, LOW), (HIGH, Const(taps.places[1]))):
            bounds = row + times(one, self.images), row + times(other, self.images)
            within.append(For("jn", *bounds, (zero,)))
        over_lines = For("line", start, stop, tuple(within))
        body = (zeros(first, start), zeros(stop, last), *moved, over_lines)
        return For("packed", *channels, (*edges, *body))

    def _moved_line(self, begin: Expr, first: Expr) -> list[Stmt]:
        """What packs the places of one line that meet the image."""
        if self.taps.across.step == 1:
            met = total_of((times(PACKED, self.channel), self._met(ZERO), Name("jn")))
            to = total_of((begin, times(LINE - first, self.width), Name("jn")))
            ends = times(LOW, self.images), times(HIGH, self.images)
            return [For("jn", *ends, (Store(self.room, to, Load(self.image, met)),))]
        column = Name("column")
        met = total_of((times(PACKED, self.channel), self._met(column), Name("jn")))
        row = times(LINE - first, self.width)
        to = total_of((begin, row, times(column, self.images), Name("jn")))
        each = For("jn", ZERO, self.images, (Store(self.room, to, Load(self.image, met)),))
        return [For("column", LOW, HIGH, (each,))]

    def _behind(self) -> Expr:
        return Const(self.taps.places[1]) - HIGH


def _unless(test: Expr, *block: Stmt) -> Stmt:
    return If(Unary("not", test), block)


def _met(axis: Axis, tap: Expr, place: Expr) -> Expr:
    moved = times(place, Const(axis.step)), times(tap, Const(axis.apart))
    return total_of((Const(axis.first), *moved))
