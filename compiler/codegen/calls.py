"""The calls of units: the program of a kernel, and the same as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from compiler.codegen.frame import Entries, Frame
from compiler.codegen.program import (
    OF_A_CHUNK,
    Branch,
    Call,
    Change,
    HostArray,
    HostCall,
    Instruction,
    Loop,
    Operand,
    Origin,
    Set,
    Share,
    TableLayout,
    While,
)
from compiler.codegen.region import Region
from compiler.codegen.unit import Parameter, Unit, UnitBuilder, loop_units, product_units
from compiler.core.dims import Unknown
from compiler.core.types import TensorType, TupleType
from compiler.graph.view import Node
from compiler.ir import records
from compiler.ir.records import Function
from compiler.ir.text import INDENT, definition
from compiler.ops import control
from compiler.schedule.chunks import Cut
from compiler.schedule.groups import Group, HostGroup, LoopGroup, NestedGroup


class Calls:
    """Prints what a kernel calls; finds its units and its program on the way.

    Attributes:
        units: by its text after its name, the number of each unit, and the unit.
        program: the instructions so far; those of a body while it is printed.
        hosts: the calls of NumPy functions, those of bodies too.
        origins: what each instruction, those of bodies aside, comes from.
    """

    def __init__(
        self,
        table: TableLayout,
        labels: dict[Unknown, str],
        frames: Mapping[tuple[int, int], Frame],
        entries: Entries,
    ) -> None:
        self.table = table
        self.labels = labels
        self.frames = frames
        self.entries = entries
        self.units: dict[str, tuple[int, Function]] = {}
        self.program: list[Instruction] = []
        self.hosts: list[HostCall] = []
        self.depth = 0
        self.origin = Origin((), ())
        self.origins: list[Origin] = []

    def kernel(self, root: Region) -> Iterator[str]:
        """The lines of the kernel's own groups."""
        yield from self._groups(root)
        for variable, new in root.memory.commits:
            yield ""
            yield self._comment(root.fusion.nodes, [new])
            self._change(root, len(root.fusion.groups))
            yield from self._call(root, self._builder(root).copy(variable, new))
            self._note()

    def _groups(self, region: Region) -> Iterator[str]:
        for i, group in enumerate(region.fusion.groups):
            yield ""
            yield self._comment(region.fusion.nodes, _shown(group))
            self._change(region, i)
            if isinstance(group, NestedGroup):
                yield from self._nested(region, i)
            elif isinstance(group, HostGroup):
                yield from self._host(region, group)
            else:
                parts = region.fusion.nodes, region.memory, self.labels, i
                if isinstance(group, LoopGroup):
                    units = loop_units(*parts, region.loops[i])
                else:
                    units = product_units(*parts, group)
                for unit in units:
                    yield from self._call(region, unit)
            self._note()

    def _change(self, region: Region, index: int) -> None:
        """Say so in the program if variables change from this group on."""
        if region.memory.change == index and Change() not in self.program:
            self.program.append(Change())

    def _comment(self, nodes: Mapping[int, Node], shown: Sequence[int]) -> str:
        """What the user wrote: ops and lines; escaped, for file names may hold anything."""
        self.origin = Origin(
            tuple(nodes[node].op.name for node in shown),
            tuple(dict.fromkeys(nodes[node].source for node in shown)),
        )
        ops = ", ".join(f"%{node} {nodes[node].op.name}" for node in shown)
        return f"# {ops}  <- {', '.join(self.origin.lines)!a}"

    def _note(self) -> None:
        """Say of the instructions since the last time what they come from."""
        if not self.depth:
            self.origins += [self.origin] * (len(self.program) - len(self.origins))

    def _builder(self, region: Region) -> UnitBuilder:
        return UnitBuilder(region.fusion.nodes, region.memory, self.labels)

    def _host(self, region: Region, group: HostGroup) -> Iterator[str]:
        """The lines of a host step."""
        at, _ = self.entries.new(), self.entries.new()
        node = region.fusion.nodes[group.node]
        operands = [self._host_array(region, one) for one in node.operands]
        found: list[int | None] = [node.id]
        if isinstance(node.type, TupleType):
            found = [group.items.get(index) for index in range(len(node.type.items))]
        results = [None if one is None else self._host_array(region, one) for one in found]
        call = HostCall(
            at,
            region.first + node.id,
            node.op.name,
            tuple(sorted(node.attrs.items())),
            tuple(operands),
            tuple(results),
        )
        self.hosts.append(call)
        self.program.append(call)
        given = ", ".join(f"t[{one.place.entry}]" for one in operands)
        made = ", ".join("_" if one is None else f"t[{one.place.entry}]" for one in results)
        yield f"status = host(t, {at})  # {made} = {node.op.name}({given})"
        yield "if status != 0:"
        yield f"{INDENT}return status"

    def _host_array(self, region: Region, node: int) -> HostArray:
        type = region.fusion.nodes[node].type
        entry = region.entries[region.memory.place[node]]
        return HostArray(Operand(entry), type.shape, type.dtype)

    def _nested(self, region: Region, index: int) -> Iterator[str]:
        frame = self.frames[region.first, index]
        regions = region.below[index]
        op = region.node(index).op
        yield from self._copies(region, frame.enter)
        if frame.starts:
            self.program.append(Set(tuple(frame.starts)))
            yield from (f"t[{a}] = t[{b}] + t[{c}]" for a, b, c in frame.starts)
        if op is control.scan:
            yield from self._scan(frame, regions[0])
        elif op is control.while_loop:
            yield from self._while(frame, *regions)
        else:
            yield from self._cond(frame, *regions)
        yield from self._copies(region, frame.leave)

    def _inside(self, region: Region) -> tuple[list[str], tuple[Instruction, ...]]:
        """The lines and the instructions of a body."""
        outer, self.program = self.program, []
        origin = self.origin
        self.depth += 1
        lines = [INDENT + line if line else line for line in self._groups(region)]
        self.depth -= 1
        inner, self.program = tuple(self.program), outer
        self.origin = origin
        return lines, inner

    def _scan(self, frame: Frame, body: Region) -> Iterator[str]:
        lines, inside = self._inside(body)
        self.program.append(Loop(frame.count, tuple(frame.moves), tuple(frame.swaps), inside))
        yield f"for step{self.depth} in range(t[{frame.count}]):"
        yield from lines
        yield from (f"{INDENT}t[{entry}] = t[{entry}] + t[{by}]" for entry, by in frame.moves)
        yield from _swaps(frame)

    def _while(self, frame: Frame, test: Region, body: Region) -> Iterator[str]:
        (asking, test_inside), (lines, inside) = self._inside(test), self._inside(body)
        self.program.append(While(frame.flag, tuple(frame.swaps), test_inside, inside))
        yield "while True:"
        yield from asking
        yield f"{INDENT}if p_u8(t, {frame.flag})[0] == 0:"
        yield f"{INDENT * 2}break"
        yield from lines
        yield from _swaps(frame)

    def _cond(self, frame: Frame, on_true: Region, on_false: Region) -> Iterator[str]:
        (yes, yes_inside), (no, no_inside) = self._inside(on_true), self._inside(on_false)
        self.program.append(Branch(frame.flag, yes_inside, no_inside))
        yield f"if p_u8(t, {frame.flag})[0] != 0:"
        yield from yes or [f"{INDENT}pass"]
        yield "else:"
        yield from no or [f"{INDENT}pass"]

    def _copies(
        self, region: Region, copies: Iterable[tuple[TensorType, int, int]]
    ) -> Iterator[str]:
        for type, target, source in copies:
            yield from self._call(region, self._builder(region).copy_entry(target, source, type))

    def _call(self, region: Region, unit: Unit) -> Iterator[str]:
        """The lines that call a unit, which is numbered here."""
        number = self._number(unit)
        pairs = [self._operand(region, one) for one in unit.parameters]
        operands, words = tuple(one for one, _ in pairs), [word for _, word in pairs]
        pad = ""
        if unit.chunks is None:
            self.program.append(Call(number, operands))
        else:
            count, extent = map(self.entries.computed, (unit.chunks, unit.chunks.extent))
            self.program.append(Share(number, operands, count, extent))
            yield f"for chunk in range(t[{count}]):"
            pad = INDENT
            words += [f"{part} * t[{extent}] // t[{count}]" for part in ("chunk", "(chunk + 1)")]
            words.append("chunk")
        called = f"unit_{number}({', '.join(words)})"
        if not unit.fallible:
            yield pad + called
            return
        yield f"{pad}status = {called}"
        yield f"{pad}if status != 0:"
        yield f"{pad}{INDENT}return status"

    def _number(self, unit: Unit) -> int:
        """The number of a unit: the same for those that compute alike."""
        parameters = [records.Parameter(one.name, one.type) for one in unit.parameters]
        if unit.chunks is not None:
            parameters += [records.Parameter(name, "i64") for name in OF_A_CHUNK]
        text = definition(parameters, unit.body)
        found = self.units.get(text)
        if found is None:
            made = Function(f"unit_{len(self.units)}", tuple(parameters), unit.body)
            found = self.units[text] = len(self.units), made
        return found[0]

    def _operand(self, region: Region, one: Parameter) -> tuple[Operand, str]:
        """What a unit gets for a parameter: for the program, and as text."""
        table, key = self.table, one.key
        if one.role == "unknown":
            assert isinstance(key, Unknown)
            return Operand(table.unknown[key]), one.name
        if one.role == "gemm" or isinstance(key, Cut):
            entry = self.entries.computed(key) if isinstance(key, Cut) else table.gemm[str(key)]
            return Operand(entry), f"t[{entry}]"
        assert isinstance(key, int)
        if one.role == "node":
            return Operand(table.zero, region.first + key), str(region.first + key)
        if one.role == "failed":
            text = f"offset(p_i64(t, {table.own}), {table.failed})"
            return Operand(table.own, 8 * table.failed), text
        if one.role == "entry":
            return Operand(key), f"{one.type}(t, {key})"
        step = one.first * region.memory.slots[key].dtype.itemsize
        # in a body, addresses change from step to step
        entry = region.entries[key]
        text = f"b{key}" if not self.depth else f"{one.type}(t, {entry})"
        return Operand(entry, step), f"offset({text}, {one.first})" if one.first else text


def _swaps(frame: Frame) -> Iterator[str]:
    for old, new in frame.swaps:
        yield f"{INDENT}t[{old}], t[{new}] = t[{new}], t[{old}]"


def _shown(group: Group) -> list[int]:
    if isinstance(group, LoopGroup):
        return [*group.members, *(store.target for store in group.stores)]
    return [group.node]
