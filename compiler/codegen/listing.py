"""A kernel as readable Python: its units, and the function that does what its program says.

The argument of `kernel` is the table. `p_f32(t, 3)` is the address that entry 3 holds, and
`offset(x, 2)` that of the element 2 places further on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from staticgraph.compiler.codegen.bytecode import (
    NOT_FINITE,
    Branch,
    Call,
    Change,
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
from staticgraph.compiler.codegen.naming import Names, array_names, calls_of, named, words
from staticgraph.compiler.codegen.scalar import BYTES, pointer_type
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.ir.text import INDENT, expression

RESERVED = ("chunk", "host", "inf", "kernel", "nan", "offset", "status", "t", *BYTES)
# two lines of our own: in a line of the user's there, Python would look for an encoding
HEAD = """# A compiled graph: units, each a function of loops, and the kernel that calls them.
# A statement is followed by the op that it computes, and your line: `op  <- file:line`.
"""


class Line(NamedTuple):
    """A line of a listing, and the numbers of the nodes that it computes a part of."""

    text: str
    nodes: tuple[int, ...] = ()


def listing(kernel: Kernel) -> str:
    """Readable Python: the units and the kernel that calls them, with the user's names."""
    return "".join(f"{line.text}\n" for line in listed(kernel))


def listed(kernel: Kernel) -> list[Line]:
    """The lines of the text of a kernel.

    Groups that compute alike share a unit: its statements belong to the nodes of all of them, as
    far as the same op is at the same place.
    """
    return list(_Listing(kernel).lines())


class _Listing:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.table = kernel.table
        self.nodes = kernel.nodes()
        self.comments = Comments(kernel)
        units = (one.name for one in kernel.units)
        names = Names([*RESERVED, *words(kernel), *kernel.labels.values(), *units])
        self.arrays = dict(zip(self.table.address, array_names(kernel, names), strict=True))
        self.sizes = {entry: kernel.labels[atom] for atom, entry in self.table.unknown.items()}

    def lines(self) -> Iterator[Line]:
        """All lines, in order."""
        yield from map(Line, HEAD.splitlines())
        calls = calls_of(self.kernel.program)
        for number, unit in enumerate(self.kernel.units):
            shown = named(self.kernel, unit, calls[number], self.arrays, self.comments.names)
            nodes = tuple(node for call in calls[number] for node in call.nodes)
            alike = self._alike(calls[number])
            yield from (Line(""), Line(""))
            for text, node, _ in self.comments.rows(shown, nodes):
                if node is not None:
                    yield Line(text, alike.get(node, (node,)))
                else:
                    yield Line(text, nodes if text.startswith("def ") else ())
        yield from (Line(""), Line(""))
        yield from self._kernel()

    def _alike(self, calls: Sequence[Call | Share]) -> dict[int, tuple[int, ...]]:
        """Per node of the first call of a unit, those at its place in all the calls."""
        found: dict[int, dict[int, None]] = {}
        first = calls[0].nodes
        ops = [self.nodes[node].op for node in first]
        for call in calls:
            if [self.nodes[node].op for node in call.nodes] == ops:
                for one, other in zip(first, call.nodes, strict=True):
                    found.setdefault(one, {})[other] = None
        return {node: tuple(others) for node, others in found.items()}

    def _kernel(self) -> Iterator[Line]:
        told = "# What runs when. The table t has addresses and sizes: p_f32(t, 3) is that in t[3]."
        yield Line(told)
        yield Line("def kernel(t):")
        for entry, label in self.sizes.items():
            yield Line(f"{INDENT}{label} = t[{entry}]")
        for entry, slot in zip(self.table.address, self.kernel.memory.slots, strict=True):
            labels = self.kernel.labels
            shape = ", ".join(expression(size_expression(size, labels)) for size in slot.shape)
            address = f"{pointer_type(slot.dtype)}(t, {entry})"
            kind = f"{slot.kind} {slot.dtype.name}[{shape}]"
            yield Line(f"{INDENT}{self.arrays[entry]} = {address}  # {kind}")
        yield from self._inside(self.kernel.program, -1)
        yield Line(f"{INDENT}return 0")

    def _body(self, program: Sequence[Instruction], depth: int) -> Iterator[Line]:
        """The lines of instructions, those of one group below what the user wrote."""
        shown: tuple[int, ...] | None = None
        for one in program:
            if one.nodes != shown:
                yield Line("")
                head = self.comments.step(one.nodes) if one.nodes else "# inf and nan"
                yield Line(head, one.nodes)
                shown = one.nodes
            for line in self._instruction(one, depth):
                yield line if isinstance(line, Line) else Line(line, one.nodes)

    def _inside(self, program: Sequence[Instruction], depth: int) -> list[Line]:
        return [
            Line(INDENT + text if text else text, nodes)
            for text, nodes in self._body(program, depth + 1)
        ]

    def _instruction(self, one: Instruction, depth: int) -> Iterator[str | Line]:
        match one:
            case Call():
                yield from self._called(one, depth, ())
            case Share():
                count, extent = f"t[{one.chunks}]", f"t[{one.extent}]"
                first, last = (f"{part} * {extent} // {count}" for part in ("chunk", "(chunk + 1)"))
                yield f"for chunk in range({count}):"
                called = self._called(one, depth, (first, last, "chunk"))
                yield from (INDENT + line for line in called)
            case HostCall():
                given = ", ".join(f"t[{each.place.entry}]" for each in one.operands)
                made = ", ".join(
                    "_" if each is None else f"t[{each.place.entry}]" for each in one.results
                )
                yield f"status = host(t, {one.at})  # {made} = {one.op}({given})"
                yield from _returned()
            case Set():
                yield from (f"t[{a}] = t[{b}] + t[{c}]" for a, b, c in one.sums)
            case Repeat():
                yield f"for _ in range(t[{one.count}]):"
                yield from self._inside(one.body, depth)
                yield from (f"{INDENT}t[{at}] = t[{at}] + t[{by}]" for at, by in one.moves)
                yield from _swaps(one.swaps)
            case While():
                yield "while True:"
                yield from self._inside(one.test, depth)
                yield f"{INDENT}if p_u8(t, {one.flag})[0] == 0:"
                yield f"{INDENT * 2}break"
                yield from self._inside(one.body, depth)
                yield from _swaps(one.swaps)
            case Branch():
                yield f"if p_u8(t, {one.flag})[0] != 0:"
                yield from self._inside(one.yes, depth) or [Line(f"{INDENT}pass")]
                yield "else:"
                yield from self._inside(one.no, depth) or [Line(f"{INDENT}pass")]
            case Change():
                pass
            case Stop():
                yield f"if t[{one.lost}] != 0 and t[{one.lost + 1}] == 0:"
                yield from self._inside(one.undo, depth)
                yield f"{INDENT}return {NOT_FINITE}"

    def _called(self, one: Call | Share, depth: int, chunk: Sequence[str]) -> Iterator[str]:
        unit = self.kernel.units[one.unit]
        given = [
            self._operand(operand, parameter.type, depth)
            for operand, parameter in zip(one.operands, unit.parameters, strict=False)
        ]
        called = f"{unit.name}({', '.join([*given, *chunk])})"
        if any(operand.entry == self.table.own for operand in one.operands):
            yield f"status = {called}"
            yield from _returned()
        else:
            yield called

    def _operand(self, operand: TableOperand, type: str, depth: int) -> str:
        entry, addend = operand.entry, operand.addend
        if entry == self.table.zero:
            return str(addend)
        if entry in self.sizes:
            return self.sizes[entry]
        if not type.startswith("p_"):
            return f"t[{entry}]"
        # in a body, addresses change from step to step
        address = f"{type}(t, {entry})"
        if entry in self.arrays and not depth:
            address = self.arrays[entry]
        first = addend // BYTES[type]
        return f"offset({address}, {first})" if first else address


def _returned() -> Iterator[str]:
    yield "if status != 0:"
    yield f"{INDENT}return status"


def _swaps(swaps: Sequence[tuple[int, int]]) -> Iterator[str]:
    for old, new in swaps:
        yield f"{INDENT}t[{old}], t[{new}] = t[{new}], t[{old}]"
