"""Print one group as the body of a function, with what it takes as parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler import dims
from compiler.dims import Size, Unknown
from compiler.emit.body import Body, Check, Memory
from compiler.emit.loops import INDENT, print_body
from compiler.emit.matmul import print_matmul
from compiler.emit.scalar import pointer_type
from compiler.graph.view import Node
from compiler.passes.groups import Group, LoopGroup, MatmulGroup
from compiler.passes.memory import MemoryPlan
from compiler.types import TensorType

_NAME = re.compile(r"[a-z_]\w*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a unit takes: `role` is slot, unknown, gemm, failed, node or entry.

    A slot's pointer is that of its element `first`; an entry is one of the table, for an address.
    """

    name: str
    type: str
    role: str
    key: int | str | Unknown
    first: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """The lines of a unit's body, its parameters, and whether it may fail."""

    lines: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    fallible: bool = False


class UnitPrinter:
    """Prints one group; names are given in the order of use, so that equal loops have one text."""

    def __init__(
        self, nodes: Mapping[int, Node], memory: MemoryPlan, labels: Mapping[Unknown, str]
    ) -> None:
        self.nodes = nodes
        self.memory = memory
        self.labels = labels
        self.parameters: dict[tuple[str, object, int], Parameter] = {}
        self.pointers = 0

    def group(self, group: Group, body: Body | None, index: int) -> Unit:
        """The unit of a group of the fusion, the `index`-th."""
        if isinstance(group, MatmulGroup):
            lines = list(print_matmul(self.nodes, group, self.size, self._node_pointer, self._gemm))
            return self._made(lines)
        assert isinstance(group, LoopGroup) and body is not None
        lines = [
            *self._fills(body),
            *print_body(body, self.size, lambda memory: self._slot(index, memory), self.pointer),
            *(line for check in body.checks for line in self._check(check)),
        ]
        return self._made(lines, bool(body.checks))

    def copy(self, target: int, source: int, length: str) -> Unit:
        """The unit that copies the value of one node over that of another."""
        pair = (self._node_pointer(node, 0) for node in (target, source))
        lines = [f"for i in range({length}):", "{}{}[i] = {}[i]".format(INDENT, *pair)]
        return self._made(lines)

    def copy_entry(self, target: int, source: int, type: TensorType) -> Unit:
        """The unit that copies an array, of which entries of the table hold the addresses."""
        kind = pointer_type(type.dtype)
        pair = (self._parameter("entry", entry, kind) for entry in (target, source))
        lines = [
            f"for i in range({self.size(type.size)}):",
            "{}{}[i] = {}[i]".format(INDENT, *pair),
        ]
        return self._made(lines)

    def size(self, value: Size) -> str:
        """The text of a size."""
        return dims.source(value, self.labels)

    def pointer(self, slot: int, first: int) -> str:
        """The name of the address of element `first` of a piece of memory."""
        type = pointer_type(self.memory.slots[slot].dtype)
        return self._parameter("slot", slot, type, first)

    def _made(self, lines: list[str], fallible: bool = False) -> Unit:
        names = set(_NAME.findall("\n".join(lines)))
        for atom, label in self.labels.items():
            if label in names:
                key = ("unknown", atom, 0)
                self.parameters[key] = Parameter(label, "i64", "unknown", atom)
        return Unit(tuple(lines), tuple(self.parameters.values()), fallible)

    def _parameter(self, role: str, key: int | str, type: str, first: int = 0) -> str:
        found = self.parameters.get((role, key, first))
        if found is None:
            name = role
            if role in ("slot", "node", "entry"):
                name = f"{'node' if role == 'node' else 'b'}{self.pointers}"
                self.pointers += 1
            found = Parameter(name, type, role, key, first)
            self.parameters[role, key, first] = found
        return found.name

    def _slot(self, index: int, memory: Memory) -> int:
        kind, node = memory
        return self.memory.scratch[index, node] if kind == "scratch" else self.memory.place[node]

    def _node_pointer(self, node: int, first: int) -> str:
        return self.pointer(self.memory.place[node], first)

    def _gemm(self, dtype: str) -> str:
        return self._parameter("gemm", dtype, "i64")

    def _fills(self, body: Body) -> Iterator[str]:
        for node, code in dict.fromkeys(body.fills):
            yield f"for i in range({self.size(self.nodes[node].type.size)}):"
            yield INDENT + code.replace("{m}", f"{self._node_pointer(node, 0)}[i]")

    def _check(self, check: Check) -> Iterator[str]:
        bound = self.size(check.size)
        least = f"-({bound})" if check.wrap else "0"
        failed = self._parameter("failed", 0, "p_i64")
        node = self._parameter("node", check.node, "i64")
        yield f"if ({check.least} < {least}) | ({check.most} >= {bound}):"
        yield f"{INDENT}{failed}[0] = select({check.least} < {least}, {check.least}, {check.most})"
        yield f"{INDENT}return {node} + 1"
