"""Frames: which entries of the table a loop or a branch sets, moves and swaps.

A body reaches what it takes and gives through entries of its own: that of a slice of the xs or ys
moves along the stack, those of a carry's two states are swapped, the others are the entries of the
region around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from staticgraph.compiler.codegen.region import Region, is_inner, output_types
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.schedule.chunks import Cut


class TableEntries:
    """Gives out the entries of a table."""

    def __init__(self) -> None:
        self.count = 0
        self.of: dict[Size | Cut, int] = {}

    def new(self) -> int:
        """An entry for anything."""
        self.count += 1
        return self.count - 1

    def computed(self, value: Size | Cut) -> int:
        """The entry that holds a size, or a number of chunks, in every call."""
        if value not in self.of:
            self.of[value] = self.new()
        return self.of[value]

    def sizes(self) -> tuple[tuple[int, Size | Cut], ...]:
        """The computed entries and what they hold."""
        return tuple((entry, value) for value, entry in self.of.items())


@mutable(eq=False)
class Frame:
    """The entries of one loop or branch.

    Attributes:
        enter, leave: arrays to copy before and after: (type, target, source).
        starts: entries to set before: (target, stack, distance of the first slice).
        moves: entries that go on after each step, and by what.
        swaps: the two states of the carries.
        count: the entry of the number of steps.
        flag: the entry of the address of the bool that decides.
    """

    enter: list[tuple[TensorType, int, int]] = field(default_factory=list)
    leave: list[tuple[TensorType, int, int]] = field(default_factory=list)
    starts: list[tuple[int, int, int]] = field(default_factory=list)
    moves: list[tuple[int, int]] = field(default_factory=list)
    swaps: list[tuple[int, int]] = field(default_factory=list)
    count: int = 0
    flag: int = 0


class Binder:
    """Gives entries to the slots of all bodies."""

    def __init__(self, entries: TableEntries) -> None:
        self.entries = entries
        self.frames: dict[tuple[int, int], Frame] = {}

    def bind(self, region: Region) -> None:
        """Bind what is below a region whose own entries are known."""
        for index, regions in region.below.items():
            frame = self.frames[region.first, index] = Frame()
            inner = iter([region.entries[slot] for slot in region.memory.nested[index]])
            own = [[next(inner) for slot in one.memory.slots if is_inner(slot)] for one in regions]
            op = region.node(index).op
            if op is control.scan:
                taken = self._scan(frame, region, index, inner)
            elif op is control.while_loop:
                taken = self._while(frame, region, index, inner)
            else:
                taken = self._cond(frame, region, index, inner)
            for one, entries, (inputs, outputs) in zip(regions, own, taken, strict=True):
                _assign(one, iter(entries), inputs, outputs)
                self.bind(one)

    def _operands(self, region: Region, index: int) -> list[int]:
        place = region.memory.place
        return [region.entries[place[operand]] for operand in region.node(index).operands]

    def _item(self, region: Region, index: int, item: int) -> int | None:
        node = region.items(index).get(item)
        return None if node is None else region.entries[region.memory.place[node]]

    def _carries(
        self, frame: Frame, region: Region, index: int, first: list[int], inner: Iterator[int]
    ) -> list[tuple[int, int]]:
        """The entries of the old and the new state of each carry."""
        types = output_types(region.below[index][-1])
        for i, source in enumerate(first):
            old, new = next(inner), next(inner)
            frame.swaps.append((old, new))
            frame.enter.append((types[i], old, source))
            last = self._item(region, index, i)
            if last is not None:
                frame.leave.append((types[i], last, old))
        return frame.swaps

    def _scan(
        self, frame: Frame, region: Region, index: int, inner: Iterator[int]
    ) -> list[tuple[list[int], list[int]]]:
        node = region.node(index)
        operands, attrs = self._operands(region, index), node.attrs
        start = attrs["consts"] + attrs["carries"]
        states = self._carries(frame, region, index, operands[attrs["consts"] : start], inner)
        frame.count = self.entries.computed(attrs["length"])
        (body,) = region.below[index]
        inputs = operands[: attrs["consts"]] + [old for old, _ in states]
        for stack, place in zip(operands[start:], body.graph.inputs[start:], strict=True):
            type = body.graph.nodes[place].type
            inputs.append(self._slice(frame, type, stack, attrs["length"], attrs["reverse"]))
        outputs = [new for _, new in states]
        for i, type in enumerate(output_types(body)):
            if i < len(states):
                continue
            item = self._item(region, index, i)
            if item is None:
                outputs.append(next(inner))
            else:
                slices = self._slice(frame, type, item, attrs["length"], attrs["reverse"])
                outputs.append(slices)
        return [(inputs, outputs)]

    def _slice(
        self, frame: Frame, type: TensorType, stack: int, length: Size, reverse: bool
    ) -> int:
        """The entry of a slice, which moves along a stack."""
        entry = self.entries.new()
        step = type.size * type.dtype.itemsize
        frame.starts.append(
            (entry, stack, self.entries.computed((length - 1) * step if reverse else 0))
        )
        frame.moves.append((entry, self.entries.computed(-step if reverse else step)))
        return entry

    def _while(
        self, frame: Frame, region: Region, index: int, inner: Iterator[int]
    ) -> list[tuple[list[int], list[int]]]:
        consts = region.node(index).attrs["consts"]
        operands = self._operands(region, index)
        states = self._carries(frame, region, index, operands[consts:], inner)
        frame.flag = next(inner)
        inputs = operands[:consts] + [old for old, _ in states]
        return [(inputs, [frame.flag]), (inputs, [new for _, new in states])]

    def _cond(
        self, frame: Frame, region: Region, index: int, inner: Iterator[int]
    ) -> list[tuple[list[int], list[int]]]:
        frame.flag, *inputs = self._operands(region, index)
        outputs = []
        for i in range(len(output_types(region.below[index][0]))):
            item = self._item(region, index, i)
            outputs.append(next(inner) if item is None else item)
        return [(inputs, outputs)] * 2


def _assign(region: Region, own: Iterator[int], inputs: list[int], outputs: list[int]) -> None:
    """Give each slot of a body its entry."""
    for slot in region.memory.slots:
        if is_inner(slot):
            region.entries.append(next(own))
        else:
            region.entries.append((inputs if slot.kind == "input" else outputs)[slot.position])
