"""Kernels: a function of explicit loops per group, a *unit*, and the program that calls them.

The kernel's argument is a table of int64: addresses, sizes, the BLAS. It returns 0, or 1 + the node
of a gather that met an index out of range, which it leaves in the table. Groups that compute the
same way, such as repeated layers, share a unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.bytecode import HostCall, Instruction, TableLayout
from staticgraph.compiler.codegen.calls import Calls
from staticgraph.compiler.codegen.finite import NONE, plan_checks
from staticgraph.compiler.codegen.frame import Binder, TableEntries
from staticgraph.compiler.codegen.memory import MemoryPlan, Slot
from staticgraph.compiler.codegen.region import Region, place_region, region_of
from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size, Unknown
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import mapped
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.ir.records import ZERO, Expr, Function
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.schedule.groups import AttentionGroup, Fusion, MatmulGroup
from staticgraph.compiler.schedule.products import BLAS_DTYPES


@frozen(eq=False)
class Kernel:
    """What is known of a graph before it is compiled natively.

    Attributes:
        units: each unit, and `texts` its text, which is the same whatever things are named.
        program: which unit runs when, and on what.
        labels: the names of the unknown sizes.
        hosts: the instructions that call NumPy functions, those of bodies too.
        root: the graph in groups, and below it the bodies of its loops and branches.
        blas_alone: whether the BLAS keeps the threads that it has in eager calls: with another
            number of them it gives other bits.
    """

    units: tuple[Function, ...]
    texts: tuple[str, ...]
    program: tuple[Instruction, ...]
    hosts: tuple[HostCall, ...]
    arguments: tuple[Slot, ...]
    table: TableLayout
    labels: dict[Unknown, str]
    root: Region
    blas_alone: bool = False

    @property
    def memory(self) -> MemoryPlan:
        """Where values lie."""
        return self.root.memory

    @property
    def fusion(self) -> Fusion:
        """The groups of the graph, without those of bodies."""
        return self.root.fusion

    @property
    def graphs(self) -> tuple[tuple[int, Definition], ...]:
        """The graph and the bodies below it, each with the number of its first node."""
        return tuple((region.first, region.graph) for region in self.root.all())

    @property
    def calls_blas(self) -> bool:
        """Whether a step may call the BLAS, which then uses one thread."""
        return not self.blas_alone and bool(self.table.gemm or self.hosts)

    def located(self, number: int) -> tuple[Definition, Node]:
        """The graph in which a node of the kernel is, and the node."""
        first, graph = max(
            (pair for pair in self.graphs if pair[0] <= number), key=lambda pair: pair[0]
        )
        return graph, graph.nodes[number - first]

    def nodes(self) -> dict[int, Node]:
        """All nodes by their numbers in the kernel, those of bodies too."""
        return {
            first + number: node
            for first, graph in self.graphs
            for number, node in enumerate(graph.nodes)
        }


def emit(
    graph: Definition,
    separate: bool = False,
    shared: bool = True,
    checks: bool = False,
    blas_alone: bool = False,
    fusion: Fusion | None = None,
) -> Kernel:
    """Fuse and plan a graph of primitive ops.

    Args:
        separate: keeps every node on its own.
        shared: whether groups that compute the same way share a unit; else each has its own, whose
            statements all have one line of the user's, and one name for each array.
        checks: whether the kernel stops, and updates nothing, where an output or the new value of a
            variable is not finite.
        blas_alone: see `Kernel`.
        fusion: the groups of the graph, if it is not to be fused.
    """
    root = region_of(graph, separate, fusion=fusion)
    unknowns = _unknowns(root)
    labels = {atom: f"n{i}" for i, atom in enumerate(unknowns)}

    def size(value: Size) -> Expr:
        return size_expression(value, labels)

    place_region(root, size, separate, keeps=checks)
    arguments = tuple(
        sorted(
            (slot for slot in root.memory.slots if slot.kind in ("input", "output")),
            key=lambda slot: (slot.kind, slot.position),
        )
    )
    entries = TableEntries()
    table = _table(root, unknowns, entries)
    binder = Binder(entries)
    binder.bind(root)
    watched = NONE
    if checks:
        table = replace(table, lost=entries.new())
        entries.new()
        loops = {i: (one.body, one.nest, one.plan) for i, one in root.loops.items()}
        added = {
            i: group.node
            for i, group in enumerate(root.fusion.groups)
            if isinstance(group, MatmulGroup) and group.onto is not None
        }
        roots = graph.outputs, [new for _, new in graph.updates]
        watched = plan_checks([*roots[0], *roots[1]], root.fusion.nodes, loops, added)
    calls = Calls(table, labels, binder.frames, entries, shared, watched)
    program = tuple(calls.program(root))
    table = replace(table, computed=entries.sizes(), length=entries.new())
    return Kernel(
        tuple(calls.units),
        calls.texts,
        program,
        tuple(calls.hosts),
        arguments,
        table,
        labels,
        root,
        blas_alone,
    )


def arena_bytes(graph: Definition, separate: bool, size: int) -> int:
    """The bytes of the arena of a graph of primitive ops, each unknown size being `size`."""
    root = region_of(graph, separate)
    place_region(root, lambda _: ZERO, separate)
    _, length = root.memory.layout(dict.fromkeys(_unknowns(root), size))
    return length


def _unknowns(root: Region) -> list[Unknown]:
    """Every unknown size in the order in which the nodes mention them."""
    found: dict[Unknown, None] = {}

    def note(size: dims.Dim) -> Size:
        found.update(dict.fromkeys(sorted(size.atoms(), key=lambda atom: atom.order())))
        return size

    for region in root.all():
        for node in region.fusion.nodes.values():
            held = [value for value in node.attrs.values() if isinstance(value, dims.Dim)]
            several = [value for value in node.attrs.values() if isinstance(value, tuple)]
            mapped((node.type, *held, *several), note)
    return list(found)


def _table(root: Region, unknowns: Sequence[Unknown], entries: TableEntries) -> TableLayout:
    """The layout, of which what the program computes is not known yet."""
    for slot in root.memory.slots:
        root.entries.append(entries.new())
        for _ in slot.shape if slot.kind in ("input", "output") else ():
            entries.new()
    unknown = {atom: entries.new() for atom in unknowns}
    used = {
        region.fusion.nodes[region.fusion.nodes[group.node].operands[0]].type.dtype.name
        for region in root.all()
        for group in region.fusion.groups
        if isinstance(group, MatmulGroup | AttentionGroup)
    }
    gemm = {name: entries.new() for name in sorted(used & set(BLAS_DTYPES))}
    own, failed, pool, _, unlocks, _ = (entries.new() for _ in range(6))
    address, zero = tuple(root.entries), entries.computed(0)
    return TableLayout(address, unknown, gemm, zero, own, failed, pool, unlocks, (), length=0)
