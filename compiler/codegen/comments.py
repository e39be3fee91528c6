"""Comments in what is printed for people: of each statement its op, and the user's line.

A file or a line of the user's may hold anything: what is not printable ASCII is escaped, so
that a comment ends where its line does. Of a name only letters, digits, `_` and `.` are taken.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from staticgraph.compiler.core.lowering import Nested
from staticgraph.compiler.core.source import gradient_of, mark_of, place_of
from staticgraph.compiler.graph.definition import LEAVES, Definition
from staticgraph.compiler.ir.records import (
    NOWHERE,
    Assign,
    Cast,
    Const,
    Evaluate,
    Function,
    Load,
    Store,
)
from staticgraph.compiler.ir.text import INDENT, lines, signature
from staticgraph.compiler.ops.elementwise.arithmetic import copy

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.kernel import Kernel

COLUMN = 44  # where the comments of statements begin, if these are not longer
LONGEST = 72  # characters of a statement beside which there is a comment; else it is above
NAME = 40  # characters of a name of the user's
MOST = 8  # lines of the user's, or ops, that are listed
WIDTH = 100  # characters of a line of the user's
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*[-+*/@]?=(?!=)", re.ASCII)
_OTHERS = re.compile(r"[^A-Za-z0-9_.]+")


class Row(NamedTuple):
    """A line of a text.

    Attributes:
        line: the text.
        node: the number of the node of which it computes a part, or the input, variable or constant
            that it reads; None for others.
        of: the same, or the node whose value it reads or begins.
    """

    line: str
    node: int | None = None
    of: int | None = None


class Comments:
    """Tells of nodes, by their numbers in the kernel.

    Attributes:
        names: what the user calls the values of nodes: the names that they were given, or else that
            of the variable which the line in the program assigns.
    """

    def __init__(self, kernel: Kernel, turns: bool = False) -> None:
        """`turns`: marks tell when a line is run again, so that it assigns its name again."""
        self._turns = turns
        nodes = self.nodes = kernel.nodes()
        self.readable = readable_files()
        self.names: dict[int, str] = {}
        loops = {node.source for node in nodes.values() if isinstance(node.op.lowering, Nested)}
        for first, graph in kernel.graphs:
            found = self.assigned_in(graph, loops)
            self.names |= {first + number: name for number, name in found.items()}
        self.names |= {number: node.name for number, node in nodes.items() if node.name}

    def assigned_in(self, graph: Definition, loops: Collection[str] = ()) -> dict[int, str]:
        """The names of the variables that lines assign, each for the last node of its line.

        What the line of a loop, of a branch or of an optimizer assigns is no value in a kernel. A
        copy, as of what a loop hands on, is not what the line computes.

        `loops`: the lines of loops and branches.
        """
        without = {*loops, *(graph.nodes[new].source for _, new in graph.updates)}
        last: dict[tuple[str, int | None], int] = {}
        for number, node in enumerate(graph.nodes):
            if node.op not in LEAVES and node.op is not copy and node.source not in without:
                last[node.source, mark_of(node.source) if self._turns else None] = number
        found = {number: self.assigned(source) for (source, _), number in last.items()}
        return {number: name for number, name in found.items() if name}

    def assigned(self, place: str) -> str:
        """The variable that the user's line at a place assigns; empty if it assigns none.

        What a line puts into a tuple, list or dict is not the variable's value, nor is that of the
        last of several statements.
        """
        text = self.text(place)
        match = _ASSIGNED.match(text)
        return match[1] if match and not _assigns_other(text) else ""

    def unit(self, unit: Function, nodes: Sequence[int], head: str = "") -> str:
        """The text of `rows`."""
        return "\n".join([row.line for row in self.rows(unit, nodes, head)]) + "\n"

    def rows(self, unit: Function, nodes: Sequence[int], head: str = "") -> list[Row]:
        """A unit, each statement with its op and line, below the user's lines that it computes.

        Args:
            nodes: the numbers of the nodes that all its calls compute.
            head: what is between, such as a decorator.
        """
        known: dict[int, str] = {}
        computed: list[int] = []
        found = [Row(f"def {unit.name}{signature(unit.parameters)}:")]
        for line, one in lines(unit.body, INDENT):
            if not isinstance(one, Assign | Store | Evaluate):
                found.append(Row(line))
                continue
            node = unit.first + (unit.node if one.node == NOWHERE else one.node)
            if node not in known:
                known[node] = self.node(node)
            if not isinstance(one.value, Load):
                computed.append(node)
            if len(line) > LONGEST:
                above = f"{line[: -len(line.lstrip())]}# {known[node]}"
                found += [Row(above), Row(line, node if self._computes(one, node) else None, node)]
            else:
                line = f"{line:<{COLUMN}}  # {known[node]}"
                found.append(Row(line, node if self._computes(one, node) else None, node))
        legend = [*self.legend([*computed, *nodes]), *([head] if head else [])]
        return [*map(Row, legend), *found]

    def _computes(self, one: Assign | Store | Evaluate, node: int) -> bool:
        """Whether a statement is more than the beginning of a sum, or what was computed before."""
        value = one.value.operand if isinstance(one.value, Cast) else one.value
        if isinstance(value, Load):
            return self.nodes[node].op in LEAVES
        return not isinstance(value, Const)

    def node(self, number: int) -> str:
        """The user's name for a node, or its op, and the line."""
        node = self.nodes[number]
        gradient = gradient_of(node.source)
        what = node.op.name + (f", gradient of {gradient}" if gradient else "")
        name = _OTHERS.sub("_", node.name or "")[:NAME]
        return f"{name or what}  <- {_short(node.source)}"

    def step(self, numbers: Sequence[int]) -> str:
        """The ops and lines of a step of the program."""
        nodes = [self.nodes[number] for number in numbers]
        ops = Counter(node.op.name for node in nodes)
        counted = [f"{count} {op}" if count > 1 else op for op, count in ops.items()]
        places = list(dict.fromkeys(_short(node.source) for node in nodes))
        return f"# {escaped(_listed(counted))}  <- {_listed(places)}"

    def legend(self, numbers: Sequence[int]) -> Iterator[str]:
        """The user's lines that some nodes come from, with their text where it can be read."""
        nodes = (self.nodes[number] for number in sorted(set(numbers)))
        places = list(dict.fromkeys(place_of(node.source) for node in nodes))
        for place in places[:MOST]:
            yield f"# {escaped(place)[-2 * WIDTH :]}  {escaped(self.text(place))}".rstrip()
        if len(places) > MOST:
            yield f"# and {len(places) - MOST} more"

    def text(self, place: str) -> str:
        """What the user wrote at a `file:line`; empty where it cannot be read."""
        file, _, number = place.rpartition(":")
        if file not in self.readable or not number.isdecimal():
            return ""
        return linecache.getline(file, int(number)).strip()[:WIDTH]


def readable_files() -> set[str]:
    """The files whose lines may be shown: those that this process has run.

    Others that a file of a graph names may be anything: a device, or somebody's secrets.
    """
    modules = (getattr(one, "__dict__", {}) for one in list(sys.modules.values()))
    files = (one.get("__file__") for one in modules)
    return {*linecache.cache, *(one for one in files if isinstance(one, str))}


def _assigns_other(line: str) -> bool:
    """Whether a line assigns something else than the last value that it computes.

    That is a tuple, list, dict or set that it makes; or it is of several statements.
    """
    try:
        statements = ast.parse(line).body
    except (SyntaxError, ValueError):  # a part of a statement
        return False
    value = getattr(statements[0], "value", None)
    return len(statements) > 1 or isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.Set)


def escaped(text: str) -> str:
    """A text on one line, in ASCII."""
    return ascii(text)[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _short(source: str) -> str:
    return escaped(os.path.basename(place_of(source)))[-WIDTH:]


def _listed(words: Sequence[str]) -> str:
    more = [f"{len(words) - MOST} more"] if len(words) > MOST else []
    return ", ".join([*words[:MOST], *more])
