"""A product with a matrix of windows, such as a convolution: in blocks that stay in the cache.

A block are the columns of a few images, or of a few lines of one. As the right operand, it is
multiplied at once, and gives these columns of the result. As the left one, such as for the gradient
of a weight, its columns are what the product sums over: the blocks' products are added, for some
channels at a time, so that what they are added to is in the cache as well.

gemm does not copy what fits the cache, so small blocks cost no more than large ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from staticgraph.compiler.codegen.cells import Arguments
from staticgraph.compiler.codegen.chunks import FEW_CHUNKS, MOST, MOST_GATHERED, ChunkPlan, padded
from staticgraph.compiler.codegen.packing import MOST_PACKED, Pieces, copy_of
from staticgraph.compiler.codegen.scalar import CONSTRUCTORS, literal
from staticgraph.compiler.codegen.statements import Memory
from staticgraph.compiler.core.dims import Size, floor_divide, product
from staticgraph.compiler.core.record import record
from staticgraph.compiler.ir.records import (
    ONE,
    ZERO,
    Assign,
    Binary,
    Call,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Load,
    Name,
    Select,
    Stmt,
    Store,
)
from staticgraph.compiler.ir.sizes import times, total_of
from staticgraph.compiler.schedule.chunks import PROCESSORS, PRODUCT_GRAIN, TILE, Chunks

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.product import Product

WIDTH = TILE[1]  # columns of a tile: two vectors of 16 float32
MOST_COLUMNS = 512  # of a block
LEAST_ROWS = 32  # of the result that a chunk computes at least
MOST_PARTS = 8  # chunks that share a block
SLAB = 576  # rows of windows, which are added to a part of the result, at a time
SUMMED = 1 << 18  # elements of that part, unless it has few rows: it stays in the second cache
FEW_ROWS = 144  # for which the other operand is worth packing
SHARES = 4  # chunks for each processor: one may be held up


@record
class Windows(Pieces):
    """A matrix of windows that is an operand of a product.

    Attributes:
        is_left: whether it is the left one, and its columns are summed over.
        other: the rows of the left operand, or the columns of the right one, that it meets.
        by_piece: whether the result has the pieces first, and then the rows.
        apart: how far from each other the pieces of the other operand are, if that lies by piece.
    """

    is_left: bool
    other: Size
    by_piece: bool
    apart: Size | None

    @property
    def matrices(self) -> int:
        """How many such matrices there are, one for each group."""
        matrices = product(self.shape[: self.pack.lead])
        assert isinstance(matrices, int)
        return matrices

    @property
    def channels(self) -> int:
        """The extent of the first axis of the rows."""
        channels = self.shape[self.pack.lead]
        assert isinstance(channels, int)
        return channels

    @property
    def each(self) -> int:
        """The rows of a channel."""
        return self.rows // max(1, self.channels)

    @property
    def slab(self) -> int:
        """How many channels are packed at a time."""
        if not self.is_left:
            return self.channels
        rows = SLAB
        if isinstance(self.other, int):
            rows = min(SLAB, max(FEW_ROWS, SUMMED // max(1, self.other)))
        slabs = -(-self.channels // max(1, rows // max(1, self.each)))
        if not self._is_small:  # so that no processor has one more than the others
            even = -(-PROCESSORS * 2 // max(1, self.matrices))
            slabs = -(-slabs // even) * even
        return -(-self.channels // min(self.channels, slabs))

    @property
    def slabs(self) -> int:
        """How many slabs a matrix has."""
        return -(-self.channels // self.slab)

    @property
    def height(self) -> int:
        """How many rows are packed at a time."""
        return self.slab * self.each

    @property
    def together(self) -> int:
        """How many pieces a block has."""
        size, most = self.lines * self.width, self._most()
        if not isinstance(size, int) or 2 * size > most:
            return 1
        return self._best(max(1, size), most)

    @property
    def part(self) -> Size:
        """How many lines a block has, if a piece is divided."""
        lines, width = self.lines, self.width
        if self.together > 1 or not isinstance(width, int):
            return lines if self.together > 1 else 1
        best = self._best(max(1, width), self._most())
        return min(lines, best) if isinstance(lines, int) else best

    @property
    def parts(self) -> Size:
        """How many blocks a piece has, if it is divided."""
        return floor_divide(self.lines + self.part - 1, self.part)

    @property
    def blocks(self) -> Size:
        """How many blocks there are."""
        if self.together == 1:
            return self.count * self.parts
        return floor_divide(self.count + (self.together - 1), self.together)

    @property
    def block(self) -> Size:
        """The columns that there are room for."""
        return self.width * (self.part if self.together == 1 else self.together * self.lines)

    @property
    def columns(self) -> Size:
        """The columns of the result that a block gives at most."""
        return self.block

    @property
    def row_parts(self) -> int:
        """In how many parts the rows of the result are divided, where a block gives columns."""
        if self.is_left or not isinstance(self.other, int):
            return 1
        return max(1, min(MOST_PARTS, self.other // LEAST_ROWS))

    @property
    def part_rows(self) -> Size:
        """How many rows of the result a part has, unless it is the last one."""
        parts, rows = self.row_parts, self.other
        return rows if parts == 1 or not isinstance(rows, int) else -(-rows // parts // 8) * 8

    @property
    def is_gathered(self) -> bool:
        """Whether a block's columns are computed side by side, and then put piece by piece."""
        return self.by_piece and self.together > 1

    @property
    def cut(self) -> str:
        """What threads share: parts of blocks, slabs, or blocks, whose results are added."""
        if not self.is_left:
            return "parts"
        return "blocks" if self._is_small or self.slabs * self.matrices < PROCESSORS else "slabs"

    @property
    def _is_small(self) -> bool:
        size = self.other * self.rows * self.matrices
        return isinstance(size, int) and size <= MOST_GATHERED

    def plan(self, node: int, products: Size) -> ChunkPlan:
        """The chunks of products of so many multiplications, and their memory."""
        memory: dict[Memory, Size] = {("packed", self.pack.value): padded(self.height * self.block)}
        # a block that two chunks have a part of is packed by both
        extent, most = self.blocks * (self.row_parts * self.matrices), SHARES * PROCESSORS
        if self.cut == "slabs":
            extent = self.slabs * self.matrices
        elif self.cut == "blocks":
            extent, most = self.blocks, MOST if self._is_small else FEW_CHUNKS
        if self.is_gathered:
            memory["block", node] = padded(self.part_rows * self.columns)
        sums = self.cut == "blocks"
        if sums:
            memory["partial", node] = padded(self.other * (self.rows * self.matrices))
        chunks = Chunks(extent, products, 1, PRODUCT_GRAIN, most)
        return ChunkPlan(chunks, (), memory, (node,) if sums else ())

    def _most(self) -> int:
        """The most columns of a block, unless one piece or line has more."""
        rows = self.height
        if self.is_left:  # the block of the other operand is in the cache as well
            rows = (rows + (self.other if isinstance(self.other, int) else rows)) * 2 // 3
        return max(WIDTH, min(MOST_COLUMNS, MOST_PACKED // max(1, rows)))

    def _best(self, unit: int, most: int) -> int:
        """How many units of so many columns: as many as there are, in whole tiles."""
        count = max(1, most // unit)
        if self.is_left:
            return count

        def waste(number: int) -> float:
            columns = number * unit
            return round(-(-columns // WIDTH) * WIDTH / columns, 2)

        return min(range(max(1, count // 2), count + 1), key=lambda one: (waste(one), -one))


Multiply: TypeAlias = "Callable[[Expr, Expr, Expr, Expr], Stmt]"


def multiplier(
    of: Product,
    call: Arguments,
    gemm: Callable[[str], Name],
    turned: bool,
    right_turned: bool = False,
) -> Multiply:
    """What makes a call with the sizes that `call` has then, of (left, right, beta, result)."""

    def multiplied(left: Expr, right: Expr, beta: Expr, result: Expr) -> Stmt:
        sizes = call.m, call.n, call.k, literal(1, of.dtype)
        operands = left, call.lda, right, call.ldb, beta, result, call.ldc
        flags = Const(int(turned)), Const(int(right_turned))
        name = f"gemm_{CONSTRUCTORS[of.dtype.name]}"
        return Evaluate(Call(name, (gemm(of.dtype.name), *flags, *sizes, *operands)))

    return multiplied


def packed_address(
    windows: Windows,
    own: Expr,
    pointer: Callable[[Memory, int], Name],
    further: Expr = ZERO,
) -> Expr:
    """Where a chunk packs, or a place further on; it has `own` elements for that."""
    place = total_of((times(Name("chunk"), own), further))
    return Call("address", (pointer(("packed", windows.pack.value), 0), place))


def windows_product(
    of: Product,
    call: Arguments,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
    gemm: Callable[[str], Name],
) -> list[Stmt]:
    """What computes a chunk of a product with windows; `call` is that of the whole product."""
    windows = of.windows
    assert windows is not None
    turned = call.left_transposed and not windows.is_left
    multiplied = multiplier(of, call, gemm, turned, windows.apart is not None)
    if windows.is_left:
        return _summed(of, windows, call, multiplied, size, pointer)
    return _columns(of, windows, call, multiplied, size, pointer)


def _columns(
    of: Product,
    windows: Windows,
    call: Arguments,
    multiplied: Multiply,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> list[Stmt]:
    """The columns of the result that blocks give, or some rows of them."""
    assert of.plan is not None
    own = of.plan.memory["packed", windows.pack.value]
    copy = copy_of(windows, windows.block, own, (), size, pointer)
    found = in_block(windows, call, size, [copy])
    call.n, call.b, call.ldb = _length(windows, size), ZERO, size(windows.block)
    after: list[Stmt] = []
    memory = of.target
    if windows.is_gathered:
        memory = ("block", of.node)
        start = times(Name("chunk"), size(of.plan.memory[memory]))
        after.append(_by_piece(windows, call, (of.target, memory), start, size, pointer))
        call.c, call.ldc = start, call.ldb
    left = Call("address", (pointer(("node", of.left.base), of.left.first), call.a))
    result = Call("address", (pointer(memory, 0), call.c))
    packed = packed_address(windows, size(own), pointer)
    found += [multiplied(left, packed, literal(0, of.dtype), result), *after]
    return [For("unit", Name("first"), Name("last"), tuple(found))]


def in_block(
    windows: Windows,
    call: Arguments,
    size: Callable[[Size], Expr],
    packs: Sequence[Stmt],
    before: Sequence[Stmt] = (),
) -> list[Stmt]:
    """What finds the block of a unit and `packs` it, after what is `before` that; and narrows
    `call` to its rows and to where its columns of the result begin.
    """
    parts, first, unit = windows.row_parts, Name("first"), Name("unit")
    found, at = _found_matrix(windows, unit, times(size(windows.blocks), Const(parts)))
    found += [*_found_block(windows, at if parts == 1 else at // Const(parts), size), *before]
    if windows.by_piece:
        call.c, call.ldc = _place_by_piece(windows, size), size(windows.lines * windows.width)
    else:
        call.c = total_of((call.c, _start(windows, size)))
    if parts == 1:
        return [*found, *packs]
    number, rows, each = at % Const(parts), windows.other, windows.part_rows
    assert isinstance(rows, int)
    assert isinstance(each, int)
    is_new = Binary("|", Binary("==", number, ZERO), Binary("==", unit, first))
    found += [If(is_new, tuple(packs)), Assign("top", number * Const(each))]
    call.rows(Name("top"), Call("max", (ZERO, least(Const(each), Const(rows) - Name("top")))))
    return found


def _place_by_piece(windows: Windows, size: Callable[[Size], Expr]) -> Expr:
    """Where the first row of a block begins in a result that has the pieces first."""
    piece = windows.lines * windows.width
    terms = [times(Name("piece"), size(windows.other * windows.matrices * piece))]
    if windows.pack.lead:
        terms.append(times(Name("i0"), size(windows.other * piece)))
    return total_of((*terms, times(Name("line"), size(windows.width))))


def _by_piece(
    windows: Windows,
    call: Arguments,
    memory: tuple[Memory, Memory],
    start: Expr,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> Stmt:
    """What puts the columns of a block, which begins at `start`, where `call` has the result."""
    image, row, column = map(Name, ("image", "im", "jn"))
    result, block = (pointer(one, 0) for one in memory)
    piece = windows.lines * windows.width
    step = size(windows.other * windows.matrices * piece)
    to = total_of((call.c, times(image, step), times(row, call.ldc), column))
    place = total_of((start, times(row, call.ldb), times(image, size(piece)), column))
    along = For("jn", ZERO, size(piece), (Store(result, to, Load(block, place)),))
    return For("image", ZERO, Name("count"), (For("im", ZERO, call.m, (along,)),))


def _summed(
    of: Product,
    windows: Windows,
    call: Arguments,
    multiplied: Multiply,
    size: Callable[[Size], Expr],
    pointer: Callable[[Memory, int], Name],
) -> list[Stmt]:
    """The sum over blocks, for some channels after the others."""
    assert of.plan is not None
    own = of.plan.memory["packed", windows.pack.value]
    first: Expr = ZERO
    last = size(windows.blocks)
    start: Expr = ZERO
    stop: Expr = Const(windows.slabs * windows.matrices)
    if windows.cut == "slabs":
        start, stop = Name("first"), Name("last")
    else:
        first, last = Name("first"), Name("last")
    # without blocks, the result is zero as well
    last = Call("max", (last, first + ONE))
    channel, block, end = Name("channel"), Name("block"), Name("end")
    before, at = _found_matrix(windows, Name("slab"), Const(windows.slabs))
    each = Const(windows.each)
    before.append(Assign("channel", times(at, Const(windows.slab))))
    before.append(Assign("end", least(channel + Const(windows.slab), Const(windows.channels))))
    found = _found_block(windows, block, size)
    found.append(copy_of(windows, windows.block, own, (channel, end), size, pointer))
    call.a, call.lda = ZERO, size(windows.block)
    call.rows(times(channel, each), times(end - channel, each))
    is_new: Expr = Binary("==", block, first)
    further: Expr = ZERO
    if windows.apart is None:
        call.depth(_start(windows, size), _length(windows, size))
    else:
        further, is_first = _by_each_piece(windows, call, size)
        is_new = Binary("&", is_new, is_first)
    right = Call("address", (pointer(("node", of.right.base), of.right.first), call.b))
    zero, one = (literal(factor, of.dtype) for factor in (0, 1))
    beta = Select(is_new, zero, one)
    packed = packed_address(windows, size(own), pointer, further)

    def into(memory: Memory, place: Expr) -> Stmt:
        result = Call("address", (pointer(memory, 0), place))
        return multiplied(packed, right, beta, result)

    added = into(of.target, call.c)
    if windows.cut == "blocks":
        part = ("partial", of.node)
        place = total_of((call.c, times(Name("chunk"), size(of.plan.memory[part]))))
        is_own = Binary("==", Name("chunk"), ZERO)
        added = If(is_own, (added,), (into(part, place),))
    if windows.apart is not None:
        # without pieces, the result is zero as well
        added = For("image", ZERO, Call("max", (Name("count"), ONE)), (added,))
    found.append(added)
    return [For("slab", start, stop, (*before, For("block", first, last, tuple(found))))]


def _by_each_piece(
    windows: Windows, call: Arguments, size: Callable[[Size], Expr]
) -> tuple[Expr, Expr]:
    """Narrow `call` to a piece of a block: where it begins in what is packed; whether it is the
    first one.
    """
    assert windows.apart is not None
    image, width = Name("image"), size(windows.width)
    columns = times(Name("lines"), width)
    piece = times(Name("piece") + image, size(windows.apart))
    call.b = total_of((call.b, piece, times(Name("line"), width)))
    call.k = Select(Binary("<", image, Name("count")), columns, ZERO)
    return times(image, columns), Binary("==", image, ZERO)


def _found_matrix(windows: Windows, unit: Expr, units: Expr) -> tuple[list[Stmt], Expr]:
    """What finds the matrix that a unit is one of, and the number of the unit in it."""
    if windows.pack.lead == 0:
        return [], unit
    return [Assign("i0", unit // units)], unit % units


def _found_block(windows: Windows, block: Expr, size: Callable[[Size], Expr]) -> list[Stmt]:
    """What finds the pieces of a block and their lines."""
    piece, line, count = Name("piece"), Name("line"), size(windows.count)
    if windows.together > 1:
        together = Const(windows.together)
        where = [Assign("piece", block * together), Assign("line", ZERO)]
        lines = size(windows.lines)
    else:
        together, parts, part = ONE, size(windows.parts), size(windows.part)
        where = [Assign("piece", block // parts), Assign("line", block % parts * part)]
        lines = least(part, size(windows.lines) - line)
    return [*where, Assign("count", least(together, count - piece)), Assign("lines", lines)]


def _start(windows: Windows, size: Callable[[Size], Expr]) -> Expr:
    """The first column of a block."""
    whole = size(windows.lines * windows.width)
    return times(Name("piece"), whole) + times(Name("line"), size(windows.width))


def _length(windows: Windows, size: Callable[[Size], Expr]) -> Expr:
    """How many columns a block has."""
    return times(Name("count") * Name("lines"), size(windows.width))


def least(one: Expr, other: Expr) -> Expr:
    """The lesser of two integers."""
    return Call("min", (one, other))
