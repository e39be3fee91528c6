"""The source of a kernel: one readable Python function of explicit loops per graph.

Its argument is a table of int64: addresses, sizes, the BLAS. It returns 0, or 1 + the node of a
gather that met an index out of range, which it leaves in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx

from compiler import dims
from compiler.dims import Size, Unknown
from compiler.emit.body import Body, Memory, Names, build_body
from compiler.emit.loops import INDENT, print_body
from compiler.emit.matmul import print_matmul
from compiler.emit.scalar import CONSTRUCTORS
from compiler.passes.fuse import fuse
from compiler.passes.groups import Fusion, LoopGroup
from compiler.passes.memory import MemoryPlan, Slot, plan_memory

POINTERS = {"bool": "p_u8"} | {
    name: f"p_{constructor}" for name, constructor in CONSTRUCTORS.items() if name != "bool"
}


@dataclass(frozen=True, slots=True, eq=False)
class TableLayout:
    """Where the kernel's table holds what.

    Attributes:
        address: per slot of the memory plan the entry of its address; the sizes of an input's or
            output's axes follow it.
        unknown: the entry of each unknown size.
        gemm: the entry of the address of the BLAS for each dtype that the kernel multiplies.
        failed: the entry that receives an index out of range.
        length: the number of entries.
    """

    address: tuple[int, ...]
    unknown: dict[Unknown, int]
    gemm: dict[str, int]
    failed: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """What is known of a graph before it is compiled natively."""

    source: str
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

    names = Names(size)
    bodies = {
        i: build_body(fusion, group, names)
        for i, group in enumerate(fusion.groups)
        if isinstance(group, LoopGroup)
    }
    roots = graph.graph
    memory = plan_memory(
        fusion, bodies, roots["inputs"], roots["outputs"], roots["updates"], not separate
    )
    arguments = tuple(
        sorted(
            (slot for slot in memory.slots if slot.kind in ("input", "output")),
            key=lambda slot: (slot.kind, slot.position),
        )
    )
    table = _table(memory, unknowns, fusion)
    printer = _KernelPrinter(fusion, bodies, memory, table, labels)
    return Kernel("\n".join(printer.lines()) + "\n", arguments, memory, table, fusion, bodies)


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
    gemm = {name: at + i for i, name in enumerate(sorted(used & {"float32", "float64"}))}
    at += len(gemm)
    return TableLayout(tuple(address), unknown, gemm, at, at + 1)


class _KernelPrinter:
    def __init__(
        self,
        fusion: Fusion,
        bodies: dict[int, Body],
        memory: MemoryPlan,
        table: TableLayout,
        labels: dict[Unknown, str],
    ) -> None:
        self.fusion = fusion
        self.bodies = bodies
        self.memory = memory
        self.table = table
        self.labels = labels

    def size(self, value: Size) -> str:
        return dims.source(value, self.labels)

    def pointer(self, node: int) -> str:
        return f"b{self.memory.place[node]}"

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
                f"b{i} = {POINTERS[slot.dtype.name]}(t, {self.table.address[i]})"
                f"  # {slot.kind} {slot.dtype.name}[{shape}]"
            )
        for i, group in enumerate(self.fusion.groups):
            yield ""
            if isinstance(group, LoopGroup):
                yield from self._loops(i, group)
            else:
                yield self._comment([group.node])
                yield from print_matmul(
                    self.fusion.nodes, group, self.size, self.pointer, self.table.gemm
                )
        yield from self._commits()
        yield "return 0"

    def _comment(self, nodes: Sequence[int]) -> str:
        """What the user wrote: ops and lines; escaped, for file names may hold anything."""
        ops = ", ".join(f"%{node} {self.fusion.nodes[node].op.name}" for node in nodes)
        lines = ", ".join(dict.fromkeys(self.fusion.nodes[node].source for node in nodes))
        return f"# {ops}  <- {lines!a}"

    def _loops(self, index: int, group: LoopGroup) -> Iterator[str]:
        body = self.bodies[index]

        def pointer(memory: Memory) -> str:
            kind, node = memory
            if kind == "scratch":
                return f"b{self.memory.scratch[index, node]}"
            return self.pointer(node)

        yield self._comment([*group.members, *(store.target for store in group.stores)])
        for node, code in dict.fromkeys(body.fills):
            yield f"for i in range({self.size(self.fusion.nodes[node].type.size)}):"
            yield INDENT + code.replace("{m}", f"{self.pointer(node)}[i]")
        yield from print_body(body, self.size, pointer)
        for check in body.checks:
            bound = self.size(check.size)
            least = f"-({bound})" if check.wrap else "0"
            yield f"if ({check.least} < {least}) | ({check.most} >= {bound}):"
            worst = f"select({check.least} < {least}, {check.least}, {check.most})"
            yield f"{INDENT}t[{self.table.failed}] = {worst}"
            yield f"{INDENT}return {check.node + 1}"

    def _commits(self) -> Iterator[str]:
        for variable, new in self.memory.commits:
            yield ""
            yield self._comment([new])
            yield f"for i in range({self.size(self.fusion.nodes[new].type.size)}):"
            yield f"{INDENT}{self.pointer(variable)}[i] = {self.pointer(new)}[i]"
