"""What a node's source says: the user's `file:line`, and of a gradient the op that it is of.

A source is a text. Every pass hands it on with what it makes of a node, and so the scope that the
line was run in goes with it: `in_scope` is the same text with the scope beside it.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Scope: TypeAlias = "tuple[str, ...]"
"""The names of nested scopes, the outermost first."""

_GRADIENT = re.compile(r"gradient of (\w+) at (.*)", re.DOTALL)


class _Scoped(str):
    """A source that knows its scope; equal to the text without it."""

    __slots__ = ("scope",)

    scope: Scope


def in_scope(source: str, scope: Scope) -> str:
    """The source, in a scope."""
    if not scope:
        return source
    made = _Scoped(source)
    made.scope = scope
    return made


def scope_of(source: str) -> Scope:
    """The scope of a source; empty if it has none."""
    return source.scope if isinstance(source, _Scoped) else ()


class _Marked(_Scoped):
    """A source that knows a number; equal to the text without it."""

    __slots__ = ("mark",)

    mark: int


def marked(source: str, mark: int) -> str:
    """The source with a number, by which a node is known again after the passes."""
    made = _Marked(source)
    made.scope = scope_of(source)
    made.mark = mark
    return made


def mark_of(source: str) -> int | None:
    """The number of a source; None if it has none."""
    return source.mark if isinstance(source, _Marked) else None


def of_gradient(op: str, source: str) -> str:
    """The source of what is computed for the gradient of an op."""
    made = in_scope(f"gradient of {op} at {place_of(source)}", scope_of(source))
    mark = mark_of(source)
    return made if mark is None else marked(made, mark)


def place_of(source: str) -> str:
    """The user's `file:line`."""
    found = _GRADIENT.fullmatch(source)
    return source if found is None else found[2]


def gradient_of(source: str) -> str:
    """The op of which a node computes the gradient; empty if it does not."""
    found = _GRADIENT.fullmatch(source)
    return "" if found is None else found[1]


def is_line(place: str, asked: str) -> bool:
    """Whether a `file:line` is the one asked for, by as much of its end as the user gives."""
    place, asked = place.replace("\\", "/"), asked.replace("\\", "/")
    return place == asked or place.endswith("/" + asked)
