"""Operands of products that are packed piece by piece: see `compiler.schedule.products`.

A chunk packs some pieces, such as the windows of an image each, side by side into memory of its
own, multiplies, and goes on. That is done here for the BLAS, for a right operand that is turned:
its pieces are what the product sums over, every chunk has a result of its own, and they are added.
`compiler.codegen.windows` does the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.codegen.chunks import (
    FEW_CHUNKS,
    MOST,
    MOST_GATHERED,
    ChunkPlan,
    padded,
)
from staticgraph.compiler.codegen.loops import NestedLoop, merge_loops
from staticgraph.compiler.codegen.margins import Margins, Moved, margins_of, moved_lines
from staticgraph.compiler.codegen.scalar import ELEMENT
from staticgraph.compiler.codegen.short_rows import whole_vectors
from staticgraph.compiler.codegen.statements import Memory, Statement
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import DType, Shape
from staticgraph.compiler.ir.records import (
    ONE,
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
from staticgraph.compiler.schedule.access import contiguous_strides, offset_of
from staticgraph.compiler.schedule.chunks import PRODUCT_GRAIN, Chunks
from staticgraph.compiler.schedule.groups import Pack

MOST_PACKED = 1 << 17  # elements: a quarter of a second level of the cache of 2 MB, in float32
DEEP = 256  # columns that are packed at least


@record
class Pieces(Record):
    """A matrix whose columns are packed piece by piece.

    Attributes:
        pack: what it is.
        shape: of `pack.source`.
        base: that of what is read.
        dtype: that of the elements.
    """

    pack: Pack
    shape: Shape
    base: Shape
    dtype: DType

    @property
    def count(self) -> Size:
        """How many pieces there are."""
        return self.shape[self.pack.split]

    @property
    def rows(self) -> int:
        """The rows of the matrix."""
        rows = product(self.shape[self.pack.lead : self.pack.split])
        assert isinstance(rows, int)
        return rows

    @property
    def together(self) -> int:
        """How many pieces are packed at a time: one of many columns is divided."""
        return 1

    @property
    def lines(self) -> Size:
        """The lines of a piece, such as those of an image: pieces of more columns are divided."""
        return product(self.shape[self.pack.split + 1 : self.pack.split + 2])

    @property
    def width(self) -> Size:
        """The columns of a line."""
        return product(self.shape[self.pack.split + 2 :])


@record
class Packed(Pieces):
    """A right operand that is packed for the BLAS: its columns are what the product sums over."""

    @property
    def together(self) -> int:
        """How many pieces are packed at a time."""
        size = self.lines * self.width
        if not isinstance(size, int):
            return 1
        return max(1, self._most() // max(1, size))

    @property
    def part(self) -> Size:
        """How many lines of a piece are packed at a time."""
        lines, width = self.lines, self.width
        if not isinstance(lines, int) or not isinstance(width, int):
            return 1
        return max(1, min(lines, self._most() // max(1, width)))

    @property
    def block(self) -> Size:
        """The columns that there are room for."""
        return self.width * (self.part if self.together == 1 else self.together * self.lines)

    def _most(self) -> int:
        """The most columns that are packed at a time, unless one piece or line has more."""
        return max(MOST_PACKED // max(1, self.rows), DEEP)


def packed_plan(packed: Packed, node: int, sizes: tuple[Size, Size, Size]) -> ChunkPlan:
    """The chunks of a product with a packed operand, and their memory."""
    m, n, _ = sizes
    few = isinstance(m, int) and isinstance(n, int) and m * n <= MOST_GATHERED
    most = MOST if few else FEW_CHUNKS
    chunks = Chunks(packed.count, product(sizes), 1, PRODUCT_GRAIN, most)
    memory: dict[Memory, Size] = {
        ("packed", packed.pack.value): padded(packed.rows * packed.block),
        ("partial", node): padded(m * n),
    }
    return ChunkPlan(chunks, (), memory, (node,))


def over_pieces(
    packed: Packed,
    own: Size,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Callable[[Sequence[Stmt]], Stmt]:
    """The loops over pieces and their parts: given what follows, with it after one is packed.

    That is `count` pieces from the `piece`-th on, and of each `lines` lines from the `line`-th on.
    `own` is the number of elements that a chunk has for that.
    """
    piece, line, last = Name("piece"), Name("line"), Name("last")
    together, part, lines = Const(packed.together), size(packed.part), size(packed.lines)
    copy = copy_of(packed, packed.block, own, (), size, pointer)
    counted = Assign("count", _least(together, last - piece))
    lined = Assign("lines", _least(part, lines - line))

    def around(block: Sequence[Stmt]) -> Stmt:
        # without pieces or lines, the result is zero as well
        is_some = isinstance(packed.lines, int) and packed.lines > 0
        until = lines if is_some else Call("max", (lines, ONE))
        over_lines = For("line", ZERO, until, (lined, copy, *block), part)
        end = Call("max", (last, Name("first") + ONE))
        return For("piece", Name("first"), end, (counted, over_lines), together)

    return around


def copy_of(
    packed: Pieces,
    block: Size,
    own: Size,
    rows: tuple[Expr, ...],
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """The loops that pack some pieces, or a part of one: see `over_pieces`.

    `block` is the number of columns that there are room for; `rows` where those begin and end on
    the first axis of rows that are packed, if they are not all. The matrix is the `i0`-th if there
    are several.
    """
    margins = margins_of(packed)
    if margins is not None:
        return _between_margins(packed, margins, block, own, rows, size, pointer)
    pack, split = packed.pack, packed.pack.split
    place = offset_of(pack.index, contiguous_strides(packed.base))
    target = _target(packed, block)
    loops = _loops(packed, place, target, bool(rows))
    kept = {loop.axes[-1] for loop in loops}
    to, source = (_terms(form, kept | set(range(pack.lead)), size) for form in (target, place))
    piece, line = Name("piece"), Name("line")
    before = times(piece, size(packed.lines * packed.width))
    start = times(Name("chunk"), size(own)) - before - times(line, size(packed.width))
    bounds: dict[tuple[int, ...], tuple[Expr, Expr]]
    bounds = {(split,): (piece, piece + Name("count")), (split + 1,): (line, line + Name("lines"))}
    if packed.together > 1:  # whole pieces: loops of known length are unrolled
        bounds[split + 1,] = ZERO, size(packed.lines)
    if rows:
        bounds[pack.lead,] = rows[0], rows[1]
        start = start - times(rows[0], size(target.coefficient(pack.lead)))
    value_pointer = pointer(("packed", pack.value), 0)
    read = Load(pointer(("node", pack.base), 0), total_of(source))
    found: Stmt = Store(value_pointer, total_of([start, *to]), read, node=pack.value)
    *outer, last = loops
    inner: tuple[Stmt, ...] = (found,)
    if last.axes in bounds:
        outer = loops
    else:
        spans = whole_vectors(last.extent)
        inner = tuple(For(last.variable, size(start), size(end), inner) for start, end in spans)
    for loop in reversed(outer):
        between = bounds.get(loop.axes, (ZERO, size(loop.extent)))
        inner = (For(loop.variable, *between, inner),)
    (whole,) = inner
    return whole


def _between_margins(
    packed: Pieces,
    margins: Margins,
    block: Size,
    own: Size,
    rows: tuple[Expr, ...],
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """The loops of `copy_of` where an image lies between margins."""
    pack, lead, split = packed.pack, packed.pack.lead, packed.pack.split
    place = offset_of(pack.index, contiguous_strides(packed.base))
    target = _target(packed, block)
    image, line = Name("image"), Name("line")
    to = [times(Name("chunk"), size(own)), times(image, size(target.coefficient(split)))]
    if rows:
        to.append(ZERO - times(rows[0], size(target.coefficient(lead))))
    source = (
        times(Name("piece") + image, size(place.coefficient(split))),
        times(line, size(place.coefficient(split + 1))),
        *(times(Name(f"i{axis}"), size(place.coefficient(axis))) for axis in range(lead)),
        size(place.constant),
    )
    down = margins.down.taps
    first, last = margins.down.between(ZERO if down is None else Name(f"i{down}"))
    meeting, lines = (first - line, last - line), Name("lines")
    forms = tuple(to), source, target, place
    moved = Moved(*forms, size(packed.width), ZERO, lines, meeting)
    body = moved_lines(packed, margins, moved, size, pointer)
    body = (For("image", ZERO, Name("count"), body),)
    for axis in reversed(range(lead, split)):
        if axis != margins.across.taps:
            begin, end = rows if rows and axis == lead else (ZERO, size(packed.shape[axis]))
            body = (For(f"i{axis}", begin, end, body),)
    (whole,) = body
    return whole


def _least(one: Expr, other: Expr) -> Expr:
    return Call("min", (one, other))


def _target(packed: Pieces, block: Size) -> Affine:
    """The place of an element in what is packed, but for where its pieces and lines begin."""
    shape, split = packed.shape, packed.pack.split
    lead = packed.pack.lead
    down = tuple(step * block for step in contiguous_strides(shape[lead:split]))
    across = (packed.lines * packed.width, *contiguous_strides(shape[split + 1 :]))
    index = tuple(Affine(0, ((axis, 1),)) for axis in range(lead, len(shape)))
    return offset_of(index, (*down, *across))


def _loops(packed: Pieces, place: Affine, target: Affine, slabs: bool) -> list[NestedLoop]:
    """The loops over rows, pieces, lines and columns; over the first axis by itself for `slabs`."""
    shape, split = packed.shape, packed.pack.split
    copy = Statement("", ELEMENT, frozenset(), ("node", packed.pack.base), place, target)
    domain = list(enumerate(shape))
    lead = packed.pack.lead
    apart = lead + 1 if slabs else lead
    return [
        *(NestedLoop((axis,), extent) for axis, extent in domain[lead:apart]),
        *merge_loops([copy], domain[apart:split]),
        *(NestedLoop((axis,), extent) for axis, extent in domain[split : split + 2]),
        *merge_loops([copy], domain[split + 2 :]),
    ]


def _terms(form: Affine, kept: set[int], size: Callable[[Size], Expr]) -> list[Expr]:
    """What a place is the sum of."""
    terms = [times(Name(f"i{axis}"), size(step)) for axis, step in form.terms if axis in kept]
    return [*terms, size(form.constant)]
