"""The program of a kernel: which unit runs when, and on what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap

from staticgraph.compiler.codegen.bytecode import (
    OF_A_CHUNK,
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
    TableLayout,
    TableOperand,
    While,
)
from staticgraph.compiler.codegen.finite import NONE, Checks
from staticgraph.compiler.codegen.frame import Frame, TableEntries
from staticgraph.compiler.codegen.region import Region
from staticgraph.compiler.codegen.unit import (
    Parameter,
    Unit,
    UnitBuilder,
    attention_unit,
    loop_units,
    product_units,
)
from staticgraph.compiler.core.dims import Dim, Unknown
from staticgraph.compiler.core.types import TensorType, TupleType
from staticgraph.compiler.ir import records
from staticgraph.compiler.ir.records import Function
from staticgraph.compiler.ir.text import definition
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.schedule.chunks import Cut
from staticgraph.compiler.schedule.groups import (
    AttentionGroup,
    HostGroup,
    LoopGroup,
    NestedGroup,
    computed,
)


class Calls:
    """Finds what a kernel calls: its units and its program.

    Attributes:
        units: each unit once, or if they are not `shared` once per instruction that calls it.
        hosts: the calls of NumPy functions, those of bodies too.
    """

    def __init__(
        self,
        table: TableLayout,
        labels: dict[Unknown, str],
        frames: Mapping[tuple[int, int], Frame],
        entries: TableEntries,
        shared: bool = True,
        checks: Checks = NONE,
    ) -> None:
        self.table = table
        self.labels = labels
        self.frames = frames
        self.entries = entries
        self.shared = shared
        self.checks = checks
        self.units: list[Function] = []
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self.hosts: list[HostCall] = []
        self._is_changing = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each unit."""
        return tuple([f"def unit_{i}{text}" for i, text in enumerate(self._texts)])

    def program(self, root: Region) -> Iterator[Instruction]:
        """The instructions of the kernel's own groups, and those that update its variables."""
        lost, zero = self.table.lost, self.table.zero
        if lost is not None:
            yield Set(((lost, zero, zero),))
        yield from self._groups(root, self.checks)
        for node in self.checks.after:
            yield self._call(root, self._builder(root).check(node), (node,))
        if lost is not None:
            undo = starmap(partial(self._restore, root), root.memory.kept.items())
            yield Stop(lost, tuple(undo))
        for variable, new in root.memory.commits:
            yield from self._change(root, len(root.fusion.groups), (new,))
            yield self._call(root, self._builder(root).copy(variable, new), (new,))

    def _restore(self, region: Region, variable: int, kept: int) -> Instruction:
        """What gives a variable the value that was kept; both are slots."""
        node = region.memory.slots[variable].position - region.first
        return self._call(region, self._builder(region).copy_slot(variable, kept, node), (node,))

    def _groups(self, region: Region, checks: Checks = NONE) -> Iterator[Instruction]:
        for i, group in enumerate(region.fusion.groups):
            nodes = computed(group)
            yield from self._change(region, i, nodes)
            if isinstance(group, NestedGroup):
                yield from self._nested(region, i)
            elif isinstance(group, HostGroup):
                yield self._host(region, group)
            else:
                parts = region.fusion.nodes, region.memory, self.labels, i
                units: Iterable[Unit]
                checked = checks.within.get(i, ())
                if isinstance(group, LoopGroup):
                    if not checked and region.is_there(i):
                        continue
                    units = loop_units(*parts, region.loops[i], checked)
                elif isinstance(group, AttentionGroup):
                    units = [attention_unit(*parts, group)]
                else:
                    units = product_units(*parts, group, bool(checked))
                for unit in units:
                    yield self._call(region, unit, nodes)

    def _change(self, region: Region, index: int, computed: Sequence[int]) -> Iterator[Instruction]:
        """Say so, once, if variables change from this group on."""
        if region.memory.change == index and not self._is_changing:
            self._is_changing = True
            yield Change(nodes=_numbers(region, computed))

    def _builder(self, region: Region) -> UnitBuilder:
        return UnitBuilder(region.fusion.nodes, region.memory, self.labels)

    def _host(self, region: Region, group: HostGroup) -> HostCall:
        at, _ = self.entries.new(), self.entries.new()
        node = region.fusion.nodes[group.node]
        operands = [self._host_array(region, one) for one in node.operands]
        found: list[int | None] = [node.id]
        if isinstance(node.type, TupleType):
            found = [group.items.get(index) for index in range(len(node.type.items))]
        results = [None if one is None else self._host_array(region, one) for one in found]
        number = region.first + node.id
        call = HostCall(
            at,
            number,
            node.op.name,
            tuple(sorted(node.attrs.items())),
            tuple(operands),
            tuple(results),
            nodes=(number,),
        )
        self.hosts.append(call)
        return call

    def _host_array(self, region: Region, node: int) -> HostArray:
        type = region.fusion.nodes[node].type
        entry = region.entries[region.memory.place[node]]
        return HostArray(TableOperand(entry), type.shape, type.dtype)

    def _nested(self, region: Region, index: int) -> Iterator[Instruction]:
        frame = self.frames[region.first, index]
        node = region.node(index)
        nodes = (region.first + node.id,)
        swaps = tuple(frame.swaps)
        yield from self._copies(region, frame.enter, node.id)
        if frame.starts:
            yield Set(tuple(frame.starts), nodes=nodes)
        bodies = [tuple(self._groups(body)) for body in region.below[index]]
        if node.op is control.scan:
            yield Repeat(frame.count, tuple(frame.moves), swaps, *bodies, nodes=nodes)
        elif node.op is control.while_loop:
            yield While(frame.flag, swaps, *bodies, nodes=nodes)
        else:
            yield Branch(frame.flag, *bodies, nodes=nodes)
        yield from self._copies(region, frame.leave, node.id)

    def _copies(
        self, region: Region, copies: Iterable[tuple[TensorType, int, int]], node: int
    ) -> Iterator[Instruction]:
        for type, target, source in copies:
            unit = self._builder(region).copy_entry(target, source, type, node)
            yield self._call(region, unit, (node,))

    def _call(self, region: Region, unit: Unit, computed: Sequence[int]) -> Instruction:
        """The call of a unit, which is numbered here."""
        number = self._number(unit, region)
        operands = tuple([self._operand(region, one) for one in unit.parameters])
        nodes = _numbers(region, computed)
        if unit.chunks is None:
            return Call(number, operands, nodes=nodes)
        count, extent = map(self.entries.computed, (unit.chunks, unit.chunks.extent))
        return Share(number, operands, count, extent, nodes=nodes)

    def _number(self, unit: Unit, region: Region) -> int:
        """The number of a unit: the same for those that compute alike."""
        parameters = [records.Parameter(one.name, one.type) for one in unit.parameters]
        if unit.chunks is not None:
            parameters += [records.Parameter(name, "i64") for name in OF_A_CHUNK]
        text = definition(parameters, unit.body)
        number = self._numbers.setdefault(text, len(self.units)) if self.shared else len(self.units)
        if number == len(self.units):
            self._texts.append(text)
            name, origin = f"unit_{number}", {"first": region.first, "node": unit.node}
            self.units.append(Function(name, tuple(parameters), unit.body, **origin))
        return number

    def _operand(self, region: Region, one: Parameter) -> TableOperand:
        """What a unit gets for a parameter."""
        table, key = self.table, one.key
        if one.role == "unknown":
            assert isinstance(key, Unknown)
            return TableOperand(table.unknown[key])
        if isinstance(key, Dim | Cut):
            return TableOperand(self.entries.computed(key))
        if one.role == "gemm":
            return TableOperand(table.gemm[str(key)])
        assert isinstance(key, int)
        if one.role == "node":
            return TableOperand(table.zero, region.first + key)
        if one.role == "failed":
            return TableOperand(table.own, 8 * table.failed)
        if one.role == "lost":
            assert table.lost is not None
            return TableOperand(table.own, 8 * table.lost)
        if one.role == "entry":
            return TableOperand(key)
        # in a body, addresses change from step to step
        step = one.first * region.memory.slots[key].dtype.itemsize
        return TableOperand(region.entries[key], step)


def _numbers(region: Region, nodes: Sequence[int]) -> tuple[int, ...]:
    """The numbers in the kernel of nodes of a region."""
    return tuple([region.first + node for node in nodes])
