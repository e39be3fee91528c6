"""Comments in what is printed for people: of each statement its op, and the user's line.

A file or a line of the user's may hold anything: what is not printable ASCII is escaped, so
that a comment ends where its line does. Of a name only letters, digits, `_` and `.` are taken.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from compiler.core.source import gradient_of, place_of
from compiler.graph.definition import Node
from compiler.ir.records import NOWHERE, Assign, Evaluate, Function, Load, Store
from compiler.ir.text import INDENT, lines, signature

COLUMN = 44  # where the comments of statements begin, if these are not longer
LONGEST = 72  # characters of a statement beside which there is a comment; else it is above
NAME = 40  # characters of a name of the user's
MOST = 8  # lines of the user's, or ops, that are listed
WIDTH = 100  # characters of a line of the user's
_OTHERS = re.compile(r"[^A-Za-z0-9_.]+")


class Comments:
    """Tells of nodes, by their numbers in the kernel."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self.nodes = nodes
        self.readable = readable_files()

    def unit(self, unit: Function, nodes: Sequence[int], head: str = "") -> str:
        """A unit, each statement with its op and line, below the user's lines that it computes.

        Args:
            nodes: the numbers of the nodes that all its calls compute.
            head: what is between, such as a decorator.
        """
        return "\n".join(line for line, _ in self.unit_lines(unit, nodes, head)) + "\n"

    def unit_lines(
        self, unit: Function, nodes: Sequence[int], head: str = ""
    ) -> list[tuple[str, int]]:
        """The lines of `unit`, each with the number of the node of its statement, or `NOWHERE`."""
        known: dict[int, str] = {}
        computed: list[int] = []
        found = [(f"def {unit.name}{signature(unit.parameters)}:", NOWHERE)]
        for line, one in lines(unit.body, INDENT):
            if not isinstance(one, Assign | Store | Evaluate):
                found.append((line, NOWHERE))
                continue
            node = unit.first + (unit.node if one.node == NOWHERE else one.node)
            if node not in known:
                known[node] = self.node(node)
            if not isinstance(one.value, Load):
                computed.append(node)
            if len(line) > LONGEST:
                above = f"{line[: -len(line.lstrip())]}# {known[node]}"
                found += [(above, node), (line, node)]
            else:
                found.append((f"{line:<{COLUMN}}  # {known[node]}", node))
        legend = [*self.legend([*computed, *nodes]), *([head] if head else [])]
        return [*((line, NOWHERE) for line in legend), *found]

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
            yield f"# {escaped(place)[-2 * WIDTH :]}  {escaped(self._text(place))}".rstrip()
        if len(places) > MOST:
            yield f"# and {len(places) - MOST} more"

    def _text(self, place: str) -> str:
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


def escaped(text: str) -> str:
    """A text on one line, in ASCII."""
    return ascii(text)[1:-1].replace("\\'", "'").replace("\\\\", "\\")


def _short(source: str) -> str:
    return escaped(os.path.basename(place_of(source)))[-WIDTH:]


def _listed(words: Sequence[str]) -> str:
    more = [f"{len(words) - MOST} more"] if len(words) > MOST else []
    return ", ".join([*words[:MOST], *more])
