"""The source of a kernel: one readable Python function of explicit loops per group, a *unit*, and
the function that calls them.

The kernel's argument is a table of int64: addresses, sizes, the BLAS. It returns 0, or 1 + the node
of a gather that met an index out of range, which it leaves in the table. Groups that compute the
same way, such as repeated layers, share a unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import networkx as nx

from compiler import dims
from compiler.dims import Size, Unknown
from compiler.emit.body import Body, Names, build_body
from compiler.emit.chunks import Chunks, plan_chunks
from compiler.emit.loops import INDENT, nest_of
from compiler.emit.matmul import BLAS_DTYPES
from compiler.emit.program import Call, Instruction, Operand, Share, TableLayout
from compiler.emit.scalar import pointer_type
from compiler.emit.unit import GroupLoops, Parameter, Unit, UnitPrinter, loop_units
from compiler.passes.fuse import fuse
from compiler.passes.groups import Fusion, Group, LoopGroup
from compiler.passes.memory import MemoryPlan, Slot, plan_memory


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """What is known of a graph before it is compiled natively.

    Attributes:
        source: readable Python: the units and the kernel that calls them.
        units: the source of each unit.
        program: which unit runs when, and on what.
    """

    source: str
    units: tuple[str, ...]
    program: tuple[Instruction, ...]
    arguments: tuple[Slot, ...]
    memory: MemoryPlan
    table: TableLayout
    fusion: Fusion
    bodies: dict[int, Body]


def emit(graph: nx.MultiDiGraph[int], separate: bool = False) -> Kernel:
    """Fuse, plan and print a graph of primitive ops; `separate` keeps every node on its own."""
    fusion = fuse(graph, separate)
    unknowns = _unknowns(fusion)
    labels = {atom: f"n{i}" for i, atom in enumerate(unknowns)}

    def size(value: Size) -> str:
        return dims.source(value, labels)

    loops = {
        i: _loops(fusion, build_body(fusion, group, Names(size)))
        for i, group in enumerate(fusion.groups)
        if isinstance(group, LoopGroup)
    }
    bodies = {i: part.body for i, part in loops.items()}
    chunked = {i: part.plan for i, part in loops.items() if part.plan is not None}
    roots = graph.graph
    memory = plan_memory(
        fusion, bodies, chunked, roots["inputs"], roots["outputs"], roots["updates"], not separate
    )
    arguments = tuple(
        sorted(
            (slot for slot in memory.slots if slot.kind in ("input", "output")),
            key=lambda slot: (slot.kind, slot.position),
        )
    )
    table = _table(memory, unknowns, fusion)
    printer = _KernelPrinter(fusion, loops, memory, table, labels)
    main = list(printer.lines())
    table = replace(table, derived=printer.derived)
    units = tuple(f"def unit_{i}{text}\n" for i, text in enumerate(printer.units))
    source = "\n\n".join([*units, "\n".join(main) + "\n"])
    program = tuple(printer.program)
    return Kernel(source, units, program, arguments, memory, table, fusion, bodies)


def _loops(fusion: Fusion, body: Body) -> GroupLoops:
    nest = nest_of(body)
    return GroupLoops(body, nest, plan_chunks(fusion.nodes, body, nest))


def _unknowns(fusion: Fusion) -> list[Unknown]:
    """Every unknown size in the order in which the nodes mention them."""
    found: dict[Unknown, None] = {}
    for node in fusion.nodes.values():
        shapes = [node.type.shape, tuple(v for v in node.attrs.values() if isinstance(v, dims.Dim))]
        shapes += [v for v in node.attrs.values() if isinstance(v, tuple)]
        for shape in shapes:
            for part in shape:
                if isinstance(part, dims.Dim):
                    found.update(dict.fromkeys(sorted(part.atoms(), key=lambda a: a.order())))
    return list(found)


def _table(memory: MemoryPlan, unknowns: Sequence[Unknown], fusion: Fusion) -> TableLayout:
    address, at = [], 0
    for slot in memory.slots:
        address.append(at)
        at += 1 + (len(slot.shape) if slot.kind in ("input", "output") else 0)
    unknown = {atom: at + i for i, atom in enumerate(unknowns)}
    at += len(unknowns)
    used = {
        fusion.nodes[group.node].type.dtype.name
        for group in fusion.groups
        if not isinstance(group, LoopGroup)
    }
    gemm = {name: at + i for i, name in enumerate(sorted(used & set(BLAS_DTYPES)))}
    at += len(gemm)
    return TableLayout(tuple(address), unknown, gemm, {}, zero=at, own=at + 1, failed=at + 2)


class _KernelPrinter:
    """Prints the kernel's lines; finds its units and program on the way."""

    def __init__(
        self,
        fusion: Fusion,
        loops: dict[int, GroupLoops],
        memory: MemoryPlan,
        table: TableLayout,
        labels: dict[Unknown, str],
    ) -> None:
        self.fusion = fusion
        self.loops = loops
        self.memory = memory
        self.table = table
        self.labels = labels
        self.units: dict[str, int] = {}
        self.program: list[Instruction] = []
        self.derived: dict[Size | Chunks, int] = {}

    def size(self, value: Size) -> str:
        return dims.source(value, self.labels)

    def lines(self) -> Iterator[str]:
        yield "def kernel(t):"
        for line in self._body():
            yield INDENT + line if line else line

    def _body(self) -> Iterator[str]:
        for atom, label in self.labels.items():
            yield f"{label} = t[{self.table.unknown[atom]}]"
        for i, slot in enumerate(self.memory.slots):
            shape = ", ".join(self.size(size) for size in slot.shape)
            yield (
                f"b{i} = {pointer_type(slot.dtype)}(t, {self.table.address[i]})"
                f"  # {slot.kind} {slot.dtype.name}[{shape}]"
            )
        for i, group in enumerate(self.fusion.groups):
            yield ""
            yield self._comment(self._nodes(group))
            for unit in self._units(i, group):
                yield from self._call(unit)
        for variable, new in self.memory.commits:
            yield ""
            yield self._comment([new])
            yield from self._call(self._printer().copy(variable, new))
        yield "return 0"

    def _printer(self) -> UnitPrinter:
        return UnitPrinter(self.fusion.nodes, self.memory, self.labels)

    def _units(self, index: int, group: Group) -> Iterator[Unit]:
        if isinstance(group, LoopGroup):
            parts = self.fusion.nodes, self.memory, self.labels
            yield from loop_units(*parts, index, self.loops[index])
        else:
            yield self._printer().matmul(group)

    def _nodes(self, group: Group) -> list[int]:
        if isinstance(group, LoopGroup):
            return [*group.members, *(store.target for store in group.stores)]
        return [group.node]

    def _comment(self, nodes: Sequence[int]) -> str:
        """What the user wrote: ops and lines; escaped, for file names may hold anything."""
        ops = ", ".join(f"%{node} {self.fusion.nodes[node].op.name}" for node in nodes)
        lines = ", ".join(dict.fromkeys(self.fusion.nodes[node].source for node in nodes))
        return f"# {ops}  <- {lines!a}"

    def _call(self, unit: Unit) -> Iterator[str]:
        """The lines that call a unit, which is numbered here."""
        own = ("first", "last", "chunk") if unit.chunks else ()
        parameters = [f"{one.name}: {one.type}" for one in unit.parameters]
        parameters += [f"{name}: i64" for name in own]
        body = "\n".join(INDENT + line for line in (*unit.lines, "return 0"))
        text = f"({', '.join(parameters)}) -> i64:\n{body}"
        number = self.units.setdefault(text, len(self.units))
        operands = tuple(self._operand(one) for one in unit.parameters)
        words = [self._text(one) for one in unit.parameters]
        pad = ""
        if unit.chunks is None:
            self.program.append(Call(number, operands))
        else:
            chunks, extent = self._derived(unit.chunks), self._derived(unit.chunks.extent)
            self.program.append(Share(number, operands, chunks, extent))
            yield f"for chunk in range(t[{chunks}]):"
            pad = INDENT
            bounds = (f"{part} * t[{extent}] // t[{chunks}]" for part in ("chunk", "(chunk + 1)"))
            words += [*bounds, "chunk"]
        called = f"unit_{number}({', '.join(words)})"
        if not unit.fallible:
            yield pad + called
            return
        yield f"{pad}status = {called}"
        yield f"{pad}if status != 0:"
        yield f"{pad}{INDENT}return status"

    def _derived(self, value: Size | Chunks) -> int:
        """The entry of what the sizes of a call determine."""
        return self.derived.setdefault(value, self.table.fixed + len(self.derived))

    def _operand(self, one: Parameter) -> Operand:
        """What a unit gets for a parameter."""
        table, key = self.table, one.key
        if isinstance(key, Unknown):
            return Operand(table.unknown[key])
        if isinstance(key, Chunks):
            return Operand(self._derived(key))
        if isinstance(key, str):
            return Operand(table.gemm[key])
        if one.role == "node":
            return Operand(table.zero, key)
        if one.role == "failed":
            return Operand(table.own, 8 * table.failed)
        return Operand(table.address[key], one.first * self.memory.slots[key].dtype.itemsize)

    def _text(self, one: Parameter) -> str:
        """The same as text."""
        table, key = self.table, one.key
        if isinstance(key, Unknown):
            return one.name
        if isinstance(key, Chunks | str):
            return f"t[{self._operand(one).entry}]"
        if one.role == "node":
            return str(key)
        if one.role == "failed":
            return f"offset(p_i64(t, {table.own}), {table.failed})"
        return f"offset(b{key}, {one.first})" if one.first else f"b{key}"
