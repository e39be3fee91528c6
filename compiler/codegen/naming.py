"""Names in what is printed for people: the user's, where they can be names.

A name of the user's may be any text. Of it only letters, digits and `_` are taken, and never one
that means something else where it is printed: see `Names`. The text that tells equal units in the
kernel cache has none of these names.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.bytecode import (
    Branch,
    Call,
    Instruction,
    Repeat,
    Share,
    Stop,
    While,
)
from staticgraph.compiler.codegen.scalar import BYTES
from staticgraph.compiler.ir.records import NOWHERE, Assign, Function, Load, Name
from staticgraph.compiler.ir.walk import expressions, functions, renamed, statements, variables

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.graph.definition import Node

LONGEST = 40  # characters of a user's name
OF_NODES = ("scratch", "partial", "product", "packed", "block")  # what memory holds of a node
_OTHERS = re.compile(r"[^A-Za-z0-9_]+")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Names:
    """Gives out names, each once, none of which is Python's or one of `taken`."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *taken}

    def new(self, wanted: str | None, otherwise: str) -> str:
        """A new name: like the wanted one, if that has a letter to begin with."""
        name = _taken(wanted or "") or otherwise
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _taken(wanted: str) -> str:
    """What is taken of a user's name: nothing if it has no letter to begin with."""
    name = _OTHERS.sub("_", wanted)[:LONGEST].strip("_")
    return name if _IDENTIFIER.fullmatch(name) else ""


def array_names(kernel: Kernel, names: Names) -> list[str]:
    """Per slot of the memory plan the name of its array: the user's, or the op's that made it."""
    made = makers(kernel)
    found = []
    for i, slot in enumerate(kernel.memory.slots):
        node = made.get(i)
        if slot.kind == "output":
            found.append(names.new(f"output_{slot.position}", "output"))
        elif slot.kind in ("input", "variable", "constant"):
            found.append(names.new(node.name if node else None, f"{slot.kind}_{i}"))
        else:
            found.append(names.new(made_name(node, i), f"memory_{i}"))
    return found


def makers(kernel: Kernel) -> dict[int, Node]:
    """Per slot of the memory plan the first node that lies there, or of which a part does."""
    memory, nodes = kernel.memory, kernel.fusion.nodes
    parts = {
        slot: nodes[number] for (_, (kind, number)), slot in memory.own.items() if kind in OF_NODES
    }
    whole = {slot: nodes[number] for number, slot in sorted(memory.place.items(), reverse=True)}
    return parts | whole


def made_name(node: Node | None, slot: int) -> str:
    """The name of memory after what is computed there: the user's name for it, or its op."""
    return f"{(node.name or node.op.name) if node else 'memory'}_{slot}"


def calls_of(program: Iterable[Instruction]) -> dict[int, list[Call | Share]]:
    """The calls of each unit, those in loops and branches too."""
    found: dict[int, list[Call | Share]] = {}
    pending = list(program)[::-1]
    while pending:
        one = pending.pop()
        if isinstance(one, Call | Share):
            found.setdefault(one.unit, []).append(one)
        elif isinstance(one, Repeat):
            pending += one.body[::-1]
        elif isinstance(one, While):
            pending += [*one.body[::-1], *one.test[::-1]]
        elif isinstance(one, Branch):
            pending += [*one.no[::-1], *one.yes[::-1]]
        elif isinstance(one, Stop):
            pending += one.undo[::-1]
    return found


def named(
    kernel: Kernel,
    unit: Function,
    given: Sequence[Call | Share],
    arrays: Mapping[int, str],
    values: Mapping[int, str],
) -> Function:
    """A unit with the names of its arrays, of which `arrays` has those at entries of the table.

    A variable that is read from a user's array has its name too, and what computes a node the name
    that `values` has for it. A unit that is called on several arrays keeps its own names.
    """
    if len({one.operands for one in given}) != 1:
        return unit
    wanted: dict[str, str] = {}
    users: set[str] = set()
    leaves = {
        at
        for at, slot in zip(kernel.table.address, kernel.memory.slots, strict=True)
        if slot.kind in ("input", "variable", "constant")
    }
    for parameter, operand in zip(unit.parameters, given[0].operands, strict=False):
        if parameter.type in BYTES and operand.entry in arrays:
            name = arrays[operand.entry]
            if name in wanted.values():
                name += f"_from_{operand.addend // BYTES[parameter.type]}"
            wanted[parameter.name] = name
            if operand.entry in leaves:
                users.add(parameter.name)
    for one in statements(unit.body):
        if isinstance(one, Assign) and one.name.startswith("v"):
            read = one.value.pointer if isinstance(one.value, Load) else None
            node = unit.first + (unit.node if one.node == NOWHERE else one.node)
            if isinstance(read, Name) and read.name in users:
                wanted[one.name] = f"{wanted[read.name]}_{one.name[1:]}"
            elif name := _taken(values.get(node, "")):
                wanted[one.name] = f"{name}_{one.name[1:]}"
    return _renamed(unit, wanted)


def _renamed(unit: Function, wanted: Mapping[str, str]) -> Function:
    """A unit with other names for some of its variables, but for those that would be two's."""
    own, names = variables(unit), dict(wanted)
    while True:
        kept, count = own - names.keys(), Counter(names.values())
        wrong = [old for old, new in names.items() if new in kept or count[new] > 1]
        if not wrong:
            return renamed(unit, names)
        for old in wrong:
            del names[old]


def words(kernel: Kernel) -> set[str]:
    """The types and functions of the text of a kernel's units."""
    found: set[str] = set()
    for unit in kernel.units:
        found |= {one.type for one in unit.parameters}
        for one in statements(unit.body):
            for part in expressions(one):
                found |= functions(part)
    return found
