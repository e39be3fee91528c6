"""Plan: what memory an executable uses, known before its first run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from staticgraph.compiler.codegen.memory import MemoryPlan
from staticgraph.compiler.core.dims import Unknown, atoms
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.schedule.groups import Fusion, computed

NOMINAL = 1024  # what str(plan) takes for a size that is unknown
SHOWN = 5  # buffers of the peak that str(plan) lists


@frozen
class Buffer:
    """A piece of the arena while a group runs.

    Attributes:
        slot: its number in `str(plan)`.
        bytes: its size.
        op: the op whose value it holds.
        source: the user's `file:line` of that op.
    """

    slot: int
    bytes: int
    op: str
    source: str


@frozen
class Peak:
    """Where an executable needs most memory.

    Attributes:
        group: which of the groups of loops and products, counted from 0.
        ops: what it computes.
        source: the user's `file:line` of its last op.
        bytes: of the arena, what is in use while it runs.
        buffers: what that is, the largest first.
    """

    group: int
    ops: tuple[str, ...]
    source: str
    bytes: int
    buffers: tuple[Buffer, ...]


@frozen(eq=False)
class Plan:
    """The buffers of an executable and how many bytes they take.

    `str(plan)` lists the buffers; sizes that are unknown appear by name, and the methods take
    their values: a mapping from the names in `sizes`, or keywords.
    """

    memory: MemoryPlan
    fusion: Fusion

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that are unknown before a call."""
        return tuple(sorted(str(atom) for atom in self._unknowns()))

    def arena_bytes(self, sizes: Mapping[str, int] | None = None, **named: int) -> int:
        """The bytes of the arena, which holds every intermediate value."""
        return self.memory.layout(self.values(sizes, named))[1]

    def peak_bytes(self, sizes: Mapping[str, int] | None = None, **named: int) -> int:
        """The bytes that a call uses beside its inputs: arena, outputs, variables, constants.

        The process uses them, and nothing else that grows with the sizes, but for the workspaces
        of the BLAS (tens of MB at most, once), a copy of each input that is not row-major, and an
        arena for each further call that runs at the same time.
        """
        values = self.values(sizes, named)
        held = sum(
            slot.bytes(values) for slot in self.memory.slots if slot.kind not in ("arena", "input")
        )
        return held + self.memory.layout(values)[1]

    def peak(self, sizes: Mapping[str, int] | None = None, **named: int) -> Peak | None:
        """The group that needs most of the arena, and what is live there; None without groups."""
        return self._peak(self.values(sizes, named))

    def _peak(self, values: Mapping[Unknown, int]) -> Peak | None:
        slots = self.memory.slots
        sizes = {i: slot.bytes(values) for i, slot in enumerate(slots) if slot.kind == "arena"}
        groups, ticks = self.fusion.groups, self.memory.ticks
        live = [
            [i for i in sizes if slots[i].begin <= tick <= slots[i].end]
            for tick in range(ticks[-1])
        ]
        if not live:
            return None
        most = max(range(len(live)), key=lambda tick: sum(sizes[i] for i in live[tick]))
        worst = bisect_right(ticks, most) - 1
        largest = sorted(live[most], key=lambda i: -sizes[i])
        nodes = [self.fusion.nodes[node] for node in computed(groups[worst])]
        return Peak(
            worst,
            tuple(node.op.name for node in nodes),
            nodes[-1].source,
            sum(sizes[i] for i in largest),
            tuple(Buffer(i, sizes[i], *self._held(i, worst)) for i in largest),
        )

    def _held(self, slot: int, group: int) -> tuple[str, str]:
        """The op whose value a slot holds while a group runs, and its line."""
        for (at, (kind, number)), own in self.memory.own.items():
            if own == slot and at == group:
                if kind == "total":
                    number = max(computed(self.fusion.groups[group]))
                return self.fusion.nodes[number].op.name, self.fusion.nodes[number].source
        order = {id(one): i for i, one in enumerate(self.fusion.groups)}
        held = [
            node
            for node, place in self.memory.place.items()
            if place == slot and node in self.fusion.home
        ]
        before = [node for node in held if order[id(self.fusion.home[node])] <= group]
        # what no value of the graph lies in, a loop uses inside
        inside = computed(self.fusion.groups[group])
        latest = self.fusion.nodes[max(before or held or inside)]
        return latest.op.name, latest.source

    def _unknowns(self) -> set[Unknown]:
        return atoms([size for slot in self.memory.slots for size in slot.shape])

    def values(
        self, sizes: Mapping[str, int] | None, named: Mapping[str, int]
    ) -> dict[Unknown, int]:
        """The unknown sizes by what they are, of those by name.

        Raises:
            OptionError: one is missing, or is none of them, or no size.
        """
        if not isinstance(sizes, Mapping | None):
            raise OptionError(f"plan: sizes is a dict by names, not {sizes!r:.80}")
        given = {**(sizes or {}), **named}
        known = {str(atom): atom for atom in self._unknowns()}
        if given.keys() != known.keys():
            raise OptionError(
                f"plan: sizes {sorted(given)} given, {sorted(known)} expected, as a dict"
            )
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(f"plan: size {name!r} is an int from 0, not {value!r}")
        return {known[name]: value for name, value in given.items()}

    _repr_html_ = as_printed

    def __str__(self) -> str:
        lines = [f"{'slot':<5} {'kind':<9} {'holds':<28} lives"]
        for i, slot in enumerate(self.memory.slots):
            arena = slot.kind == "arena"
            span = f"groups {slot.first}-{slot.last}" if arena else "outside of calls"
            type = TensorType(slot.shape, slot.dtype)
            lines.append(f"b{i:<4} {slot.kind:<9} {type!s:<28} {span}")
        lines.append(f"{len(self.fusion.groups)} groups of loops and products, in this order")
        return "\n".join([*lines, *self._totals()])

    def _totals(self) -> Iterator[str]:
        sizes = dict.fromkeys(self.sizes, NOMINAL)
        given = "".join(f", {name} = {NOMINAL}" for name in self.sizes)
        arena = self.arena_bytes(sizes)
        yield f"arena {arena} bytes, in all {self.peak_bytes(sizes)} bytes{given}"
        peak = self.peak(sizes)
        if peak is None or not peak.bytes:
            return
        yield f"most is in use in group {peak.group} ({peak.ops[-1]}, {peak.source}): {peak.bytes}"
        yield f"{'slot':<5} {'bytes':>12} value"
        for one in peak.buffers[:SHOWN]:
            yield f"b{one.slot:<4} {one.bytes:>12} {one.op} ({one.source})"

    __repr__ = __str__
