"""What runs a kernel: a table of int64 and a program over it.

The table holds addresses and sizes. A call runs one unit; each of its operands is an entry of the
table plus a constant, so that equal loops over other memory are the same code.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from staticgraph.compiler.core.record import Record, record

if TYPE_CHECKING:
    from staticgraph.compiler.core.dims import Size, Unknown
    from staticgraph.compiler.core.types import DType, Shape
    from staticgraph.compiler.schedule.chunks import Cut

NOT_FINITE = -4
"""The status of a program that `Stop` ends."""


def has_run(status: int) -> bool:
    """Whether a program ran and stopped: what it printed is not to be printed again."""
    return status > 0 or status == NOT_FINITE


OF_A_CHUNK = ("first", "last", "chunk")
"""What a unit that does one chunk of a loop takes at last: its iterations and its number."""


@record
class TableLayout(Record):
    """Where the kernel's table holds what.

    Attributes:
        address: per slot of the memory plan the entry of its address; the sizes of an input's or
            output's axes follow it.
        unknown: the entry of each unknown size.
        gemm: the entry of the address of the BLAS for each dtype that the kernel multiplies.
        zero: the entry that holds 0.
        own: the entry that holds the address of the table.
        failed: the entry that receives an index out of range.
        pool: the entry of the address of the threads' pool, 0 for none; the next one holds how many
            threads may work, 0 for as many as are set.
        unlocks: the entry that says whether the kernel begins without the interpreter's lock; the
            next one holds the address of the words of its variables, 0 for none.
        lost: the entry that says whether a value that is checked was not finite; the next one says
            whether the kernel goes on then. None if nothing is checked.
        computed: entries that hold what the sizes of a call determine: what loops count, how many
            bytes they go on, and in how many chunks they are cut.
        length: the number of entries.
    """

    address: tuple[int, ...]
    unknown: dict[Unknown, int]
    gemm: dict[str, int]
    zero: int
    own: int
    failed: int
    pool: int
    unlocks: int
    computed: tuple[tuple[int, Size | Cut], ...]
    length: int
    lost: int | None = None


@record
class Step(Record):
    """A part of a program; `nodes` are the numbers in the kernel of what it computes."""

    nodes: tuple[int, ...] = field(default=(), kw_only=True)


@record
class TableOperand(Record):
    """The value of an entry of the table plus a constant: an address in bytes, a size, a number."""

    entry: int
    addend: int = 0


@record
class Call(Step):
    """One call of a unit."""

    unit: int
    operands: tuple[TableOperand, ...]


@record
class Share(Step):
    """Calls of one unit for the chunks of a loop, which threads share.

    `chunks` and `extent` are the entries of the number of chunks and of iterations.
    """

    unit: int
    operands: tuple[TableOperand, ...]
    chunks: int
    extent: int


@record
class HostArray(Record):
    """An operand or a result of a host step: where it lies, and its type."""

    place: TableOperand
    shape: Shape
    dtype: DType


@record
class HostCall(Step):
    """A call of the NumPy function of an op; `node` is the op's number in the kernel.

    Of several results, those that nothing reads are None. The entry `at` holds the address of the
    Python object that does it, the next one that of the words of the process.
    """

    at: int
    node: int
    op: str
    attrs: tuple[tuple[str, Any], ...]
    operands: tuple[HostArray, ...]
    results: tuple[HostArray | None, ...]


@record
class Set(Step):
    """Entries of the table become the sum of two: triples (target, entry, entry)."""

    sums: tuple[tuple[int, int, int], ...]


@record
class Change(Step):
    """From here on variables change: nothing stops the program any more."""


@record
class Stop(Step):
    """The end of the program if the entry `lost` is not 0, and the next one is.

    What `undo` does is done before: it gives variables the values that they had.
    """

    lost: int
    undo: tuple[Instruction, ...]


@record
class Repeat(Step):
    """A body that runs as often as the entry `count` says.

    After each iteration `moves` (entry, entry of the step in bytes) go on along arrays, and `swaps`
    exchange the memory of a state's old and new value.
    """

    count: int
    moves: tuple[tuple[int, int], ...]
    swaps: tuple[tuple[int, int], ...]
    body: tuple[Instruction, ...]


@record
class While(Step):
    """A body that runs, and `swaps` that happen, as long as `test` leaves true in its bool.

    `flag` is the entry of the bool's address.
    """

    flag: int
    swaps: tuple[tuple[int, int], ...]
    test: tuple[Instruction, ...]
    body: tuple[Instruction, ...]


@record
class Branch(Step):
    """One of two bodies, by the bool whose address the entry `flag` holds."""

    flag: int
    yes: tuple[Instruction, ...]
    no: tuple[Instruction, ...]


Instruction: TypeAlias = "Call | Share | HostCall | Set | Change | Stop | Repeat | While | Branch"
