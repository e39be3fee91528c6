"""Launch plan: all that running a kernel takes beside its object code, without its graph.

Every start runs from a launch plan: one that was just made of a kernel (`runtime.launch_planning`),
or one out of the kernel cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from staticgraph.compiler.codegen.bytecode import HostCall
from staticgraph.compiler.core.dims import Size, Unknown, evaluate
from staticgraph.compiler.core.record import Record, frozen, record
from staticgraph.compiler.core.types import DType, Shape
from staticgraph.compiler.ops.leaves import Literal
from staticgraph.compiler.runtime.trampoline import Argument
from staticgraph.compiler.schedule.arena import arrange
from staticgraph.compiler.schedule.chunks import Cut


@record
class Array(Record):
    """An input or output: its address goes to the entry `at` of the table, its sizes follow."""

    at: int
    shape: Shape
    dtype: DType

    @property
    def argument(self) -> Argument:
        """What the code that calls kernels knows of it."""
        return Argument(self.at, len(self.shape), self.dtype)


@record
class Piece(Record):
    """A piece of the arena, whose address goes to the entry `at`.

    Its bytes are the product of `factors`, for each chunk if it is one of `chunks`. It lives
    from tick `first` to tick `last`.
    """

    at: int
    factors: tuple[Size, ...]
    chunks: Cut | None
    first: int
    last: int

    def bytes(self, sizes: Mapping[Unknown, int]) -> int:
        """The number of bytes, given the sizes that are unknown before run time."""
        total = self.chunks.count(sizes) if self.chunks else 1
        for factor in self.factors:
            total *= evaluate(factor, sizes)
        return total


@frozen(eq=False)
class Layout:
    """What the sizes of a call determine: the table's entries and the arena.

    `checked` are the entries that a call compares with the shapes of its inputs, `entries` all
    others; `shares` says that some loop is long enough for several threads; `outputs` are their
    shapes.
    """

    checked: tuple[tuple[int, int], ...]
    entries: tuple[tuple[int, int], ...]
    offsets: tuple[tuple[int, int], ...]
    arena: int
    shares: bool
    outputs: tuple[tuple[int, ...], ...]


@record
class LaunchPlan(Record):
    """How a kernel's units are run on a table of int64, whose entries are numbered.

    Attributes:
        words: the program, with the numbers of units in place of the addresses of their steps.
        links: where in `words` these are.
        units: how many units there are.
        length: of the table.
        own: the entry of the table's own address.
        failed: the entry that receives an index out of range.
        pool: the entry of the address of the threads' pool; the next is how many may work.
        unlocks: the entry that says whether the kernel begins without the interpreter's lock; the
            next is the address of the words of its variables.
        gemm: pairs of a dtype's name and the entry of the BLAS for it.
        unknowns: pairs of an unknown size and its entry.
        computed: pairs of an entry and the size that it holds.
        chunks: pairs of an entry and in how many chunks a loop is cut.
        variables, constants: pairs of an entry and the node of the definition whose array it holds
            the address of.
        folded: the same for constants that the passes made.
        hosts: the steps that call NumPy functions.
        lost: the entry that says whether a value that is checked was not finite; the next is
            whether the program goes on then. None if nothing is checked.
    """

    words: tuple[int, ...]
    links: tuple[int, ...]
    units: int
    length: int
    own: int
    failed: int
    pool: int
    unlocks: int
    gemm: tuple[tuple[str, int], ...]
    unknowns: tuple[tuple[Unknown, int], ...]
    computed: tuple[tuple[int, Size], ...]
    chunks: tuple[tuple[int, Cut], ...]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    variables: tuple[tuple[int, int], ...]
    constants: tuple[tuple[int, int], ...]
    folded: tuple[tuple[int, Literal], ...]
    arena: tuple[Piece, ...]
    hosts: tuple[HostCall, ...]
    lost: int | None = None

    def linked(self, addresses: Sequence[int]) -> list[int]:
        """The program's words with the addresses of the units' steps."""
        words = list(self.words)
        for at in self.links:
            words[at] = addresses[words[at]]
        return words

    def layout(self, sizes: Mapping[Unknown, int]) -> Layout:
        """What some sizes determine."""
        entries = [(at, sizes[atom]) for atom, at in self.unknowns]
        entries += [(at, evaluate(size, sizes)) for at, size in self.computed]
        counts = [(at, chunks.count(sizes)) for at, chunks in self.chunks]
        entries += counts
        shapes: list[tuple[int, ...]] = []
        checked: list[tuple[int, int]] = []
        for place, array in enumerate((*self.inputs, *self.outputs)):
            shapes.append(tuple([evaluate(size, sizes) for size in array.shape]))
            into = checked if place < len(self.inputs) else entries
            into += [(array.at + 1 + axis, size) for axis, size in enumerate(shapes[-1])]
        pieces = [(piece.bytes(sizes), piece.first, piece.last) for piece in self.arena]
        offsets, length = arrange(pieces)
        return Layout(
            tuple(checked),
            tuple(entries),
            tuple((piece.at, offset) for piece, offset in zip(self.arena, offsets, strict=True)),
            length,
            any(count > 1 for _, count in counts),
            tuple(shapes[len(self.inputs) :]),
        )
