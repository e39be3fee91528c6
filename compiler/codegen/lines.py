"""A product with windows that slide along lines: a line of the image is packed once.

Where the first axis of the rows, such as that of a window's height, moves to other lines, what it
reads at one place it reads again further up at the next one. So a block has the lines themselves,
each with what the other axes of the rows make of it, and is multiplied once for each place on the
first axis, from another line on: of 3 x 3 windows a third is packed. The lines of all pieces of a
block lie side by side, so that those from one line on are columns side by side. Lines of a strided
convolution are packed by the places that read them: the even ones, and then the odd ones.

Lines of padding are neither packed nor multiplied: they add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import gcd, prod
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.cells import Arguments
from staticgraph.compiler.codegen.margins import Axis, Margins, Moved, margins_of, moved_lines
from staticgraph.compiler.codegen.packing import MOST_PACKED
from staticgraph.compiler.codegen.scalar import literal
from staticgraph.compiler.codegen.short_rows import whole_vectors
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.codegen.windows import (
    MOST_COLUMNS,
    WIDTH,
    Windows,
    in_block,
    least,
    multiplier,
    packed_address,
)
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.ir.records import (
    ZERO,
    Assign,
    Binary,
    Call,
    Const,
    Expr,
    For,
    Load,
    Name,
    Select,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.schedule.access import contiguous_strides, offset_of

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.product import Product

MOST_SPARE = 0.1
"""Of the columns: if more are computed in vain for one piece, two are a block that fits no cache.
Measured on a Zen 5, 14 x 14 of 64 channels, 5 x 5: 1.15 times as fast; without spare ones slower.
"""


@record
class Turn(Record):
    """Places on the first axis of the rows that read the same lines, shifted.

    Attributes:
        first: the first of them; the others are `step` apart, `count` in all.
        shift: how many lines further each reads than the one before.
    """

    first: int
    step: int
    count: int
    shift: int

    @property
    def span(self) -> int:
        """How many lines further the last one reads than the first."""
        return (self.count - 1) * self.shift


@record
class Lines(Windows):
    """A matrix of windows that slide along lines, as the right operand of a product by piece.

    Attributes:
        length, across: the lines of a piece and the columns of a line.
        inside: of the line that the first place reads first, how many lines before it padding ends,
            and how many behind it padding begins again, in lines of the result and by turn; nothing
            if all are read.
    """

    length: int
    across: int
    turns: tuple[Turn, ...]
    inside: tuple[tuple[int, int], ...]

    def packed(self, lines: int) -> int:
        """How many lines are packed for so many of the result."""
        return sum(lines + turn.span for turn in self.turns)

    @property
    def together(self) -> int:
        """How many pieces a block has."""
        most = self._most_pieces(self.length)
        unit = self.length * self.across
        if most == 1 and 2 * unit <= MOST_COLUMNS and -unit % WIDTH > MOST_SPARE * unit:
            most = 2
        return self._best(unit, most * unit) if most > 1 else 1

    @property
    def part(self) -> int:
        """How many lines a block has, if a piece is divided."""
        if self.together > 1:
            return self.length
        fitting = (one for one in range(1, self.length + 1) if self._most_pieces(one))
        return self._best(self.across, max(fitting, default=1) * self.across)

    @property
    def block(self) -> int:
        """The columns that there is room for."""
        return self.packed(self.part) * self.together * self.across

    @property
    def columns(self) -> int:
        """The columns of the result that a block gives at most."""
        return self.part * self.together * self.across

    @property
    def height(self) -> int:
        """How many rows are packed: those of one place."""
        return self.each

    def _most_pieces(self, lines: int) -> int:
        """How many pieces fit a block with so many of their lines."""
        packed = self.each * self.packed(lines) * self.across
        return min(MOST_COLUMNS // (lines * self.across), MOST_PACKED // packed)


def lines_of(windows: Windows, skips: bool) -> Windows:
    """The same, but that lines are packed once, if so there are fewer to pack.

    Args:
        windows: those of a right operand.
        skips: whether lines of margins may be skipped.
    """
    lead, split = windows.pack.lead, windows.pack.split
    sizes = windows.shape[split + 1 :]
    place = offset_of(windows.pack.index, contiguous_strides(windows.base))
    given = place.coefficient(lead), place.coefficient(split + 1), *sizes
    numbers = [one for one in given if isinstance(one, int) and one > 0]
    if not windows.by_piece or len(numbers) < len(given):
        return windows
    down, along, length, *widths = numbers
    turns = _turns(windows.channels, down, along)
    if sum(length + turn.span for turn in turns) >= windows.channels * length or not windows.each:
        return windows
    margins = margins_of(windows)
    if margins is not None and margins.down.taps != lead:
        return windows
    inside = _inside(margins.down, turns) if skips and margins is not None else ()
    pack, shape, base, dtype = windows.pack, windows.shape, windows.base, windows.dtype
    return Lines(
        pack,
        shape,
        base,
        dtype,
        False,
        windows.other,
        True,
        None,
        length,
        prod(widths),
        turns,
        inside,
    )


def _turns(places: int, down: int, along: int) -> tuple[Turn, ...]:
    common = gcd(down, along)
    step, shift = along // common, down // common
    firsts = range(min(step, places))
    return tuple(Turn(one, step, len(range(one, places, step)), shift) for one in firsts)


def _inside(axis: Axis, turns: Sequence[Turn]) -> tuple[tuple[int, int], ...]:
    """For each turn the lines of the result from which on, and up to which, its first place reads
    no padding.
    """
    starts = [axis.first + axis.apart * turn.first for turn in turns]
    return tuple((-(one // axis.step), -((one - axis.size) // axis.step)) for one in starts)


def lines_product(
    of: Product,
    windows: Lines,
    call: Arguments,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
    gemm: Callable[[str], Name],
) -> list[Stmt]:
    """What computes a chunk of the product; `call` is that of the whole product."""
    assert of.plan is not None
    own = size(of.plan.memory["packed", windows.pack.value])
    regions = _regions(windows)
    before = _finite(of, windows, size, pointer) if windows.inside else []
    bounds: list[Stmt] = [Assign("across", times(Name("count"), Const(windows.across)))]
    packs: list[Stmt] = []
    for number, turn in enumerate(windows.turns):
        bounds += _bounds(windows, number)
        start = total_of((times(Name("chunk"), own), Const(regions[number])))
        packs.append(_packed_lines(windows, number, turn, start, size, pointer))
    found = in_block(windows, call, size, packs, bounds)
    memory = of.target
    after: list[Stmt] = []
    if windows.together > 1:
        memory = ("block", of.node)
        begin = times(Name("chunk"), size(of.plan.memory[memory]))
        after.append(_by_piece(windows, call, (of.target, memory), begin, size, pointer))
        call.c, call.ldc = begin, Const(windows.columns)
    whole = _whole(windows)
    if whole is None:
        found.append(_zeros(call, pointer(memory, 0), literal(0, of.dtype)))
    call.k, call.n, call.ldb = Const(windows.each), Name("n"), Const(windows.block)
    multiplied = multiplier(of, call, gemm, call.left_transposed)

    def products(number: int, places: tuple[int, int], weight: int) -> Stmt:
        turn = windows.turns[number]
        left, right, to = _operands(windows, call, turn, regions[number])
        one = Call("address", (pointer(("node", of.left.base), of.left.first), left))
        other = packed_address(windows, own, pointer, right)
        result = Call("address", (pointer(memory, 0), to))
        body = (*_met(number, turn), multiplied(one, other, literal(weight, of.dtype), result))
        return For("place", Const(places[0]), Const(places[1]), body)

    if whole is not None:
        found.append(products(whole[0], (whole[1], whole[1] + 1), 0))
    for number, turn in enumerate(windows.turns):
        at = whole[1] if whole is not None and whole[0] == number else turn.count
        spans = (0, at), (at + 1, turn.count)
        found += [products(number, span, 1) for span in spans if span[0] < span[1]]
    return [*before, For("unit", Name("first"), Name("last"), (*found, *after))]


def _whole(windows: Lines) -> tuple[int, int] | None:
    """A turn and a place of it that no line of the result reads padding for, if there is one: its
    product is the first, to which the others are added.
    """
    if not windows.inside:
        return 0, 0
    for number, (turn, (begin, end)) in enumerate(zip(windows.turns, windows.inside, strict=True)):
        for place in range(turn.count):
            if begin <= place * turn.shift <= end - windows.length:
                return number, place
    return None


def _finite(
    of: Product,
    windows: Lines,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> list[Stmt]:
    """Whether the left operand is finite: then zero times it is zero, and padding adds nothing."""
    zero, total = literal(0, of.dtype), Name("total")
    value = Load(pointer(("node", of.left.base), of.left.first), size(of.left.offset) + Name("i"))
    count = size(windows.other * (windows.rows * windows.matrices))
    added = Assign("total", Call("fsum", (total, value * zero)))
    return [
        Assign("total", zero),
        For("i", ZERO, count, (added,)),
        Assign("finite", Binary("==", total, zero)),
    ]


def _met(number: int, turn: Turn) -> list[Stmt]:
    """The lines of the result that a place of a turn reads no padding for."""
    moved = times(Name("place"), Const(turn.shift))
    lines = least(Name("lines"), Name(f"high{number}") - moved) - Name("above")
    return [
        Assign("above", Call("max", (ZERO, Name(f"low{number}") - moved))),
        Assign("n", times(Call("max", (ZERO, lines)), Name("across"))),
    ]


def _operands(windows: Lines, call: Arguments, turn: Turn, region: int) -> tuple[Expr, Expr, Expr]:
    """Where the operands of a place's product begin, and its result: the left one in its memory,
    the right one in what is packed.
    """
    place, above = Name("place"), times(Name("above"), Name("across"))
    depth = times(times(place, Const(turn.step)) + Const(turn.first), Const(windows.each))
    left = call.a + (times(depth, call.lda) if call.left_transposed else depth)
    moved = times(place, Const(turn.shift))
    return left, times(moved, Name("across")) + above + Const(region), call.c + above


def _regions(windows: Lines) -> list[int]:
    """The column that the lines of each turn begin at."""
    room = windows.together * windows.across
    sizes = [(windows.part + turn.span) * room for turn in windows.turns]
    return list(accumulate(sizes[:-1], initial=0))


def _bounds(windows: Lines, number: int) -> list[Stmt]:
    """The lines of a turn that are packed: all but those of padding."""
    low: Expr = ZERO
    high: Expr = Name("lines") + Const(windows.turns[number].span)
    if windows.inside:
        begin, end = windows.inside[number]
        within = Call("max", (low, Const(begin) - Name("line")))
        low = Select(Name("finite"), within, low)
        high = Select(Name("finite"), least(high, Const(end) - Name("line")), high)
    return [Assign(f"low{number}", low), Assign(f"high{number}", high)]


def _packed_lines(
    windows: Lines,
    number: int,
    turn: Turn,
    start: Expr,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """The loops that pack the lines of a turn, from `start` on."""
    margins = margins_of(windows)
    if margins is not None:
        return _between_margins(windows, margins, number, turn, start, size, pointer)
    lead, split = windows.pack.lead, windows.pack.split
    place = offset_of(windows.pack.index, contiguous_strides(windows.base))
    inside = range(lead + 1, split)
    columns = range(split + 2, len(windows.shape))

    def moved(forms: Iterable[tuple[int, Size]]) -> list[Expr]:
        return [times(Name(f"i{axis}"), size(step)) for axis, step in forms]

    down = contiguous_strides(windows.shape[lead + 1 : split])
    rows = [(axis, step * windows.block) for axis, step in zip(inside, down, strict=True)]
    along = zip(columns, contiguous_strides(windows.shape[split + 2 :]), strict=True)
    image, line = Name("image"), Name("packed")
    to = (start, *moved(rows), times(line, Name("across")), times(image, Const(windows.across)))
    source = [
        *moved((axis, step) for axis, step in place.terms if axis not in (lead, split, split + 1)),
        times(Name("piece") + image, size(place.coefficient(split))),
        times(Name("line") + line, size(place.coefficient(split + 1))),
        size(place.constant + place.coefficient(lead) * turn.first),
    ]
    value = windows.pack.value
    read = Load(pointer(("node", windows.pack.base), 0), total_of(source))
    target = pointer(("packed", value), 0)
    found: Stmt = Store(target, total_of((*to, *moved(along))), read, node=value)
    body: tuple[Stmt, ...] = (found,)
    for axis in reversed(columns):
        extent = windows.shape[axis]
        spans = whole_vectors(extent) if axis == len(windows.shape) - 1 else [(0, extent)]
        body = tuple(For(f"i{axis}", size(begin), size(end), body) for begin, end in spans)
    body = (For("image", ZERO, Name("count"), body),)
    body = (For("packed", Name(f"low{number}"), Name(f"high{number}"), body),)
    for axis in reversed(inside):
        body = (For(f"i{axis}", ZERO, size(windows.shape[axis]), body),)
    (whole,) = body
    return whole


def _between_margins(
    windows: Lines,
    margins: Margins,
    number: int,
    turn: Turn,
    start: Expr,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """The same where an image lies between margins."""
    lead, split = windows.pack.lead, windows.pack.split
    place = offset_of(windows.pack.index, contiguous_strides(windows.base))
    inside = range(lead + 1, split)
    down = contiguous_strides(windows.shape[lead + 1 : split])
    rows = tuple((axis, step * windows.block) for axis, step in zip(inside, down, strict=True))
    without_lead = Affine(0, tuple(term for term in place.terms if term[0] != lead))
    image, line, across = Name("image"), Name("line"), Const(windows.across)
    source = (
        times(Name("piece") + image, size(place.coefficient(split))),
        times(line, size(place.coefficient(split + 1))),
        size(place.constant + place.coefficient(lead) * turn.first),
        *(times(Name(f"i{axis}"), size(place.coefficient(axis))) for axis in range(lead)),
    )
    first, last = margins.down.between(Const(turn.first))
    forms = (start, times(image, across)), source, Affine(0, rows), without_lead
    apart = across if windows.together == 1 else Name("across")
    packed = Name(f"low{number}"), Name(f"high{number}")
    moved = Moved(*forms, apart, *packed, (first - line, last - line))
    body = moved_lines(windows, margins, moved, size, pointer)
    body = (For("image", ZERO, Name("count"), body),)
    for axis in reversed(inside):
        if axis != margins.across.taps:
            body = (For(f"i{axis}", ZERO, size(windows.shape[axis]), body),)
    (whole,) = body
    return whole


def _zeros(call: Arguments, result: Name, zero: Expr) -> Stmt:
    """What the products are added to."""
    place = total_of((call.c, times(Name("im"), call.ldc), Name("jn")))
    columns = times(Name("lines"), Name("across"))
    along = For("jn", ZERO, columns, (Store(result, place, zero),))
    return For("im", ZERO, call.m, (along,))


def _by_piece(
    windows: Lines,
    call: Arguments,
    memory: tuple[Memory, Memory],
    start: Expr,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """What puts the lines of all pieces of a block, which begins at `start`, where `call` has the
    result, piece by piece.
    """
    image, row, line, column = map(Name, ("image", "im", "packed", "jn"))
    result, block = (pointer(one, 0) for one in memory)
    across, piece = Const(windows.across), windows.length * windows.across
    step = size(windows.other * (windows.matrices * piece))
    inside = total_of((times(line, across), column))
    to = total_of((call.c, times(image, step), times(row, call.ldc), inside))
    below = total_of((times(line, Name("across")), times(image, across), column))
    place = total_of((start, times(row, Const(windows.columns)), below))
    body: tuple[Stmt, ...] = (Store(result, to, Load(block, place)),)
    body = tuple(
        For("jn", size(begin), size(end), body) for begin, end in whole_vectors(windows.across)
    )
    body = (For("packed", ZERO, Const(windows.length), body),)
    return For("image", ZERO, Name("count"), (For("im", ZERO, call.m, body),))
