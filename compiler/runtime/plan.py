"""Plan: what memory an executable uses, known before its first run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.dims import Unknown, atoms
from compiler.errors import OptionError
from compiler.passes.memory import MemoryPlan
from compiler.types import TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The buffers of an executable and how many bytes they take.

    `str(plan)` lists the buffers; sizes that are unknown appear by name, and the methods take
    their values: a mapping from the names in `sizes`, or keywords.
    """

    memory: MemoryPlan
    groups: int

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that are unknown before a call."""
        return tuple(sorted(str(atom) for atom in self._unknowns()))

    def arena_bytes(self, sizes: Mapping[str, int] | None = None, **named: int) -> int:
        """The bytes of the arena, which holds every intermediate value."""
        return self.memory.layout(self._values(sizes, named))[1]

    def peak_bytes(self, sizes: Mapping[str, int] | None = None, **named: int) -> int:
        """The bytes that a call uses beside its inputs: arena, outputs, variables, constants."""
        values = self._values(sizes, named)
        held = sum(
            slot.bytes(values) for slot in self.memory.slots if slot.kind not in ("arena", "input")
        )
        return held + self.memory.layout(values)[1]

    def _unknowns(self) -> set[Unknown]:
        return atoms([size for slot in self.memory.slots for size in slot.shape])

    def _values(
        self, sizes: Mapping[str, int] | None, named: Mapping[str, int]
    ) -> dict[Unknown, int]:
        given = {**(sizes or {}), **named}
        known = {str(atom): atom for atom in self._unknowns()}
        if given.keys() != known.keys():
            raise OptionError(f"plan: sizes {sorted(given)} given, {sorted(known)} expected")
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(f"plan: size {name!r} is an int from 0, not {value!r}")
        return {known[name]: value for name, value in given.items()}

    def __str__(self) -> str:
        lines = []
        for i, slot in enumerate(self.memory.slots):
            span = f"groups {slot.first}-{slot.last}" if slot.kind == "arena" else ""
            type = TensorType(slot.shape, slot.dtype)
            lines.append(f"b{i:<4} {slot.kind:<9} {type!s:<28} {span}".rstrip())
        lines.append(f"{self.groups} groups of loops and products, in this order")
        if not self.sizes:
            lines.append(f"arena {self.arena_bytes()} bytes, in all {self.peak_bytes()} bytes")
        return "\n".join(lines)

    __repr__ = __str__
