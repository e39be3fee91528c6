"""Where a kernel is that is stepped through: at which line of the user's, with what computed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from staticgraph.compiler.core.source import mark_of
from staticgraph.compiler.export.plain import Plain
from staticgraph.compiler.export.prompt import END, Place
from staticgraph.compiler.graph.definition import LEAVES

_ASSIGNS = re.compile(r"\s*(\w+) = ")
_CALLS = re.compile(r"\b(unit_\d+)\(")


class Whereabouts:
    """The places of the lines of a text, which count from 1."""

    def __init__(self, made: Plain) -> None:
        self._made = made
        self._units = {
            row.line.split("(")[0].removeprefix("def "): at
            for at, row in enumerate(made.rows)
            if row.line.startswith("def unit_")
        }

    def place(self, innermost: int, own: int) -> Place:
        """The place of a frame.

        Args:
            innermost: the line at which the kernel is.
            own: the line at which the frame is.
        """
        found = self._following(innermost - 1)
        return Place(next(found, END), self._fresh(own - 1))

    def _following(self, at: int) -> Iterator[int]:
        """The marks of the statements from a line on in its function, then of those before."""
        rows = self._made.rows
        is_unit = self._is_in_unit(at)
        for row in rows[at:]:
            line = row.line
            if line.startswith("def ") and row is not rows[at]:
                break
            called = _CALLS.search(line)
            if called and not is_unit:
                yield from self._following(self._units[called[1]])
            if (mark := self._mark(row.node)) is not None:
                yield mark
        if is_unit:  # it returns
            marks = (self._mark(row.node) for row in rows[at::-1])
            yield from (mark for mark in marks if mark is not None)

    def _is_in_unit(self, at: int) -> bool:
        heads = (row.line for row in self._made.rows[at::-1] if row.line.startswith("def "))
        return next(heads, "").startswith("def unit_")

    def _mark(self, node: int | None) -> int | None:
        """The mark of what a statement computes."""
        if node is None or self._made.nodes[node].op in LEAVES:
            return None
        return mark_of(self._made.nodes[node].source)

    def _fresh(self, at: int) -> dict[str, tuple[int | None, bool]]:
        """What has been assigned in this turn of the loops around a line."""
        rows = self._made.rows
        found: dict[str, tuple[int | None, bool]] = {}
        depth = _depth(rows[at].line)
        for line, _, node in rows[at - 1 :: -1]:
            if line.startswith("def "):
                break
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            depth = min(depth, _depth(line))
            assigned = _ASSIGNS.match(line)
            if assigned and _depth(line) == depth:
                reads = node is not None and self._made.nodes[node].op in LEAVES
                found.setdefault(assigned[1], (self._mark(node), reads))
        return dict(reversed(found.items()))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
