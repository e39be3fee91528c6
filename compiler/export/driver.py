"""The driver of an exported kernel: Python that calls the units in their order, on arrays.

It is printed from the program (`compiler.codegen.bytecode`), whose operands are entries of a table
of addresses. Here they are arrays by name, each the elements of a value in a row; a slice that a
loop moves along a stack is the stack and the place where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from staticgraph.compiler.codegen.bytecode import (
    Branch,
    Call,
    Change,
    HostArray,
    HostCall,
    Instruction,
    Repeat,
    Set,
    Share,
    Stop,
    TableOperand,
    While,
)
from staticgraph.compiler.codegen.comments import Comments
from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.core.dims import Size, Unknown
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.export.stored import viewed
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.ir.text import INDENT, factor
from staticgraph.compiler.schedule.chunks import Cells, Chunks, Cut


@frozen
class Moving:
    """A slice that moves along a stack: the names of the stack and of the slice's first element."""

    stack: str
    first: str


@mutable
class Driver:
    """Prints the calls of a kernel.

    Attributes:
        arrays: per slot of the memory plan the name of its elements.
        labels: the names of the unknown sizes.
        comments: what tells of nodes.
        hosts: the text of the call of a host step, by its entry; {} is the operands.
        placed: per unit the operands that it takes as a whole array and a place.
        failure: the name of the error that an index out of range raises.
        failing: the nodes that may be given an index out of range.
    """

    kernel: Kernel
    arrays: Sequence[str]
    labels: Mapping[Unknown, str]
    comments: Comments
    hosts: Mapping[int, str]
    placed: Mapping[int, Sequence[int]]
    failure: str = "IndexError"
    failing: set[int] = field(default_factory=set)
    _slots: dict[int, int] = field(init=False)
    _values: dict[int, str] = field(init=False)
    _dtypes: dict[int, DType] = field(init=False)
    _moving: dict[int, Moving] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table, slots = self.kernel.table, self.kernel.memory.slots
        self._slots = {entry: i for i, entry in enumerate(table.address)}
        self._dtypes = {entry: slots[i].dtype for entry, i in self._slots.items()}
        self._values = {entry: self.labels[atom] for atom, entry in table.unknown.items()}
        for entry, value in table.computed:
            if isinstance(value, Chunks | Cells):
                self._values[entry] = self.count(value)
            else:
                self._values[entry] = self.size(value)

    def size(self, value: Size) -> str:
        """The text of a size."""
        return factor(size_expression(value, self.labels))

    def count(self, cut: Cut) -> str:
        """In how many chunks something is cut: a product is whole, for one thread computes it."""
        if isinstance(cut, Cells):
            return "1"
        numbers = (self.size(cut.extent), self.size(cut.work), cut.least, cut.grain, cut.most)
        return f"parts({', '.join(map(str, numbers))})"

    def lines(self) -> Iterator[str]:
        """The lines of the whole program."""
        shown: tuple[int, ...] | None = None
        for one in self.kernel.program:
            lines = list(self._instruction(one))
            if lines and one.nodes != shown:
                yield ""
                yield self.comments.step(one.nodes)
                shown = one.nodes
            yield from lines

    def _body(self, program: Sequence[Instruction]) -> Iterator[str]:
        lines = [line for one in program for line in self._instruction(one)]
        yield from (INDENT + line for line in lines or ["pass"])

    def _instruction(self, one: Instruction) -> Iterator[str]:
        match one:
            case Call():
                yield from self._called(one.unit, one.operands, ())
            case Share():
                yield from self._share(one)
            case HostCall():
                yield from self._host(one)
            case Set():
                yield from (self._start(*each) for each in one.sums)
            case Repeat():
                yield f"for _ in range({self._values[one.count]}):"
                yield from self._body(one.body)
                for entry, by in one.moves:
                    step = self._elements(by, self._dtypes[entry])
                    yield f"{INDENT}{self._moving[entry].first} += {step}"
                yield from self._swaps(one.swaps)
            case While():
                yield "while True:"
                yield from self._body(one.test)
                yield f"{INDENT}if not {self._array(one.flag)}[0]:"
                yield f"{INDENT * 2}break"
                if one.body:
                    yield from self._body(one.body)
                yield from self._swaps(one.swaps)
            case Branch():
                yield f"if {self._array(one.flag)}[0]:"
                yield from self._body(one.yes)
                yield "else:"
                yield from self._body(one.no)
            case Change() | Stop():  # of a kernel without checks: see `CompiledRunner.unchecked`
                pass

    def _share(self, one: Share) -> Iterator[str]:
        cut = dict(self.kernel.table.computed)[one.chunks]
        if isinstance(cut, Cells):
            yield from self._called(one.unit, one.operands, ("0", "1", "0"))
            return
        extent, chunks = self._values[one.extent], self._values[one.chunks]
        yield f"extent, chunks = {extent}, {chunks}"
        yield "for chunk in range(chunks):"
        yield f"{INDENT}first, last = chunk * extent // chunks, (chunk + 1) * extent // chunks"
        called = self._called(one.unit, one.operands, ("first", "last", "chunk"))
        yield from (INDENT + line for line in called)

    def _called(
        self, unit: int, operands: Sequence[TableOperand], chunk: Sequence[str]
    ) -> Iterator[str]:
        table = self.kernel.table
        gemm = set(table.gemm.values())
        placed = self.placed.get(unit, ())
        given = [
            self._whole(each)[0] if i in placed else self._operand(each)
            for i, each in enumerate(operands)
            if each.entry not in gemm
        ]
        places = [self._whole(operands[i])[1] for i in placed]
        call = f"unit_{unit}({', '.join([*given, *chunk, *places])})"
        if not any(each.entry == table.own for each in operands):
            yield call
            return
        self.failing |= {each.addend for each in operands if each.entry == table.zero}
        yield f"status = {call}"
        yield "if status:"
        yield f'{INDENT}raise {self.failure}(f"{{FAILURES[status]}}: no index {{failed[0]}}")'

    def _operand(self, operand: TableOperand) -> str:
        if operand.entry == self.kernel.table.own:
            return "failed"
        if operand.entry in self._dtypes:
            first = operand.addend // self._dtypes[operand.entry].itemsize
            return self._array(operand.entry, first)
        value = self._values[operand.entry]
        if value.isdecimal():
            return str(int(value) + operand.addend)
        return f"{value} + {operand.addend}" if operand.addend else value

    def _whole(self, operand: TableOperand) -> tuple[str, str]:
        """The array in which an operand begins, and the place there."""
        first = operand.addend // self._dtypes[operand.entry].itemsize
        moving = self._moving.get(operand.entry)
        if moving is not None:
            return moving.stack, f"{moving.first} + {first}" if first else moving.first
        return self.arrays[self._slots[operand.entry]], str(first)

    def _array(self, entry: int, first: int = 0) -> str:
        """The elements from one on of what lies at an entry."""
        moving = self._moving.get(entry)
        if moving is not None:
            place = f"{moving.first} + {first}" if first else moving.first
            return f"{moving.stack}[{place}:]"
        name = self.arrays[self._slots[entry]]
        return f"{name}[{first}:]" if first else name

    def _start(self, target: int, stack: int, distance: int) -> str:
        """Where a slice begins, a distance in bytes from the first element of a stack."""
        dtype = self._dtypes[target] = self._dtypes[stack]
        given = self._array(stack)
        moving = self._moving[target] = Moving(f"stack_{target}", f"place_{target}")
        return f"{moving.stack}, {moving.first} = {given}, {self._elements(distance, dtype)}"

    def _elements(self, entry: int, dtype: DType) -> str:
        """A distance in bytes, counted in elements."""
        value = self._values[entry]
        try:
            return str(int(value) // dtype.itemsize)
        except ValueError:
            return value if dtype.itemsize == 1 else f"({value}) // {dtype.itemsize}"

    def _swaps(self, swaps: Sequence[tuple[int, int]]) -> Iterator[str]:
        for old, new in swaps:
            pair = self._array(old), self._array(new)
            yield f"{INDENT}{', '.join(pair)} = {', '.join(reversed(pair))}"

    def _host(self, one: HostCall) -> Iterator[str]:
        operands = ", ".join(self._shaped(each) for each in one.operands)
        call = self.hosts[one.at].format(operands)
        if len(one.results) == 1:
            (result,) = one.results
            yield f"{self._shaped(result)}[...] = {call}" if result is not None else call
            return
        yield f"found = {call}"
        for i, each in enumerate(one.results):
            if each is not None:
                yield f"{self._shaped(each)}[...] = found[{i}]"

    def _shaped(self, array: HostArray) -> str:
        """An array in its shape; a view of its memory."""
        shape = [self.size(size) for size in array.shape]
        text = self._array(array.place.entry)
        count = " * ".join(shape) or "1"
        text = f"{text}[:{count}].reshape({', '.join(shape) or '()'})"
        return viewed(text, array.dtype)
