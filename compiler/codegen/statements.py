"""The records of a group's statements: those of the kernel before its loops are known."""

from __future__ import annotations

from dataclasses import field

from staticgraph.compiler.codegen.scalar import ELEMENT
from staticgraph.compiler.core.affine import Affine
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import Record, frozen, mutable, record
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.ir.records import NOWHERE, Expr, Name
from staticgraph.compiler.ir.walk import parts
from staticgraph.compiler.schedule.groups import LoopGroup

Memory = tuple[str, int]
"""What memory holds: a kind, and the number of a value or total.

("node", a value); or what a row or chunk has of its own: ("scratch", a row of a value),
("partial", its part of a value that all chunks add to), ("total", a total), ("spill", what a
tile keeps of each row), ("index", indices of a block), ("packed", columns of a matrix), ("block",
columns of a product). ("product", a value) is what is added to that value.
"""

ORIGIN = Affine()
INDICES = 512  # of a block: 4 KB, an eighth of the first level of the cache
SIGN = -(1 << 63)  # the bit that tells which int64 are negative


@frozen(eq=False)
class Statement:
    """One assignment of the kernel: of `value` to the variable `name`, to `accumulator`, that of a
    sum of floats, or, without either, to the element of `memory` at `place`.

    `value` has the hole `ELEMENT` where that element is read, `INDEX` where `index` stands and
    `ACCUMULATOR` where the accumulator does. `axes` are the loops that the statement must stand
    inside, and `dtype` is that of what is assigned, if it is not memory. It is a part of what
    computes `node`, or reads that.
    """

    name: str
    value: Expr
    axes: frozenset[int]
    memory: Memory | None = None
    place: Affine = ORIGIN
    index: Affine = ORIGIN
    accumulator: str = ""
    dtype: DType | None = None
    node: int = NOWHERE

    @property
    def writes(self) -> bool:
        """Whether the statement writes to memory."""
        return not self.name and not self.accumulator

    @property
    def copies(self) -> bool:
        """Whether it hands on an element as it is."""
        return not self.accumulator and (self.value == ELEMENT or isinstance(self.value, Name))

    @property
    def accesses(self) -> int:
        """How often the statement reads and writes the element of memory."""
        return self.writes + sum(part == ELEMENT for part in parts(self.value))


@frozen(eq=False)
class Access:
    """A read or write of a node's memory in one pass, for the memory plan."""

    node: int
    place: Affine
    row_pass: int
    write: bool
    whole: bool = True


@frozen(eq=False)
class Check:
    """The largest index that a gather met, and its bound.

    `most` is a kernel variable: of the indices, counted from the front where they `wrap`, the
    largest one without its sign, which is that of a negative index if there is one; its first bit
    is the other one, as numbers with a sign compare so.
    """

    node: int
    most: str
    size: Size
    wrap: bool


@frozen(eq=False)
class Total:
    """A kernel variable into which a reduction, the `node`, combines values."""

    name: str
    kind: str
    dtype: DType
    node: int


@record
class Spill(Record):
    """A kernel variable of a row, a part of `node`, of which a tile keeps one for each row."""

    name: str
    dtype: DType
    node: int


@frozen(eq=False)
class Segment:
    """A loop over the rows of a tile.

    Attributes:
        row_passes: the statements of a row, and those of the pass over its columns that follows.
        read: the spills that an earlier segment has left.
        left: the spills that it leaves.
    """

    row_passes: tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]
    read: tuple[int, ...]
    left: tuple[int, ...]


@frozen(eq=False)
class Tile:
    """How many rows are computed together, in which loops, and what is kept between those.

    There are at most `most` rows, and they have at most `room` elements: where their number is not
    known, it is the least one, or they fit into the cache.
    """

    rows: Size
    most: int
    room: Size
    segments: tuple[Segment, ...]
    spills: tuple[Spill, ...]


@frozen(eq=False)
class Blocks:
    """How a loop that indices name the places of is cut into blocks, of two loops each.

    Attributes:
        level: which of the loops over columns it is.
        indices: what assigns the checked indices, which a row of memory keeps for the second loop.
        first: what the first loop does.
        left_out: what the second one does not do again.
    """

    level: int
    indices: tuple[Statement, ...]
    first: tuple[Statement, ...]
    left_out: frozenset[Statement]


@mutable(eq=False)
class Body:
    """A group's statements: `fills` and `before` once, then per row, pass by pass, `rows[s]` and
    the pass `passes[s]` over its columns, at last `rows[-1]`; and `after` once.

    Attributes:
        sums: what the passes over a row combine.
        totals: what is combined over all rows, and written in `after`.
        gathered: per node the kind of a reduction that combines in memory.
        placed: nodes of which an element may be written more than once, by way of an index.
        tile: how rows are computed together, if they are.
        blocks: how indices are checked block by block, if they are.
    """

    group: LoopGroup
    split: int
    fills: list[tuple[int, Expr]] = field(default_factory=list)
    before: list[Statement] = field(default_factory=list)
    rows: list[list[Statement]] = field(default_factory=list)
    passes: list[list[Statement]] = field(default_factory=list)
    after: list[Statement] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    scratch: dict[int, Size] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    sums: list[Total] = field(default_factory=list)
    totals: list[Total] = field(default_factory=list)
    gathered: dict[int, str] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)
    tile: Tile | None = None
    blocks: Blocks | None = None
