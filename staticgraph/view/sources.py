"""The user's lines that nodes come from, with those around them."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.codegen.comments import readable_files
from staticgraph.compiler.core.source import Scope, gradient_of, place_of, scope_of

AROUND = 3
"""Lines that are shown before and after one that a node comes from."""
LONGEST = 400
"""Characters of a line."""


class Sources:
    """Numbers for what sources say, shared by all graphs of a page.

    Two nodes with the same number come from the same line, in the same scope, and are both of the
    same gradient, or of none.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, Scope], int] = {}
        self._files: dict[str, int] = {}
        self._lines: dict[str, set[int]] = {}
        self.records: list[dict[str, Any]] = []

    def number(self, source: str) -> int:
        """The number of what a source says."""
        key = str(source), scope_of(source)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.records)
            self.records.append(self._record(source))
        return found

    def _record(self, source: str) -> dict[str, Any]:
        file, _, line = place_of(source).rpartition(":")
        record: dict[str, Any] = {}
        if line.isdecimal():
            record = {"file": self._files.setdefault(file, len(self._files)), "line": int(line)}
            self._lines.setdefault(file, set()).add(int(line))
        if gradient_of(source):
            record["of"] = gradient_of(source)
        if scope_of(source):
            record["scope"] = [visible(name) for name in scope_of(source)]
        return record

    def files(self) -> list[dict[str, Any]]:
        """Per file its name, and the lines around those that nodes come from: number and text.

        Of a file that this process has not run, such as one that a loaded graph names, there are
        only the numbers.
        """
        readable = readable_files()
        return [
            {
                "name": visible(os.path.basename(file) or file),
                "path": visible(file),
                "lines": _around(file, self._lines[file], file in readable),
            }
            for file in self._files
        ]


def _around(file: str, lines: Iterable[int], readable: bool) -> list[list[Any]]:
    if not readable:
        return [[line, ""] for line in sorted(lines)]
    text = linecache.getlines(file)
    wanted = {near for line in lines for near in range(line - AROUND, line + AROUND + 1)}
    return [
        [line, visible(text[line - 1].rstrip("\n").expandtabs(4), LONGEST)]
        if 0 < line <= len(text)
        else [line, ""]
        for line in sorted(wanted)
        if 0 < line <= len(text) or line in lines
    ]


def visible(text: str, longest: int = 120) -> str:
    """A text with what does not show escaped, cut if it is long."""
    shown = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
