"""What a node's source says: the user's `file:line`, and of a gradient the op that it is of."""

from __future__ import annotations

import re

_GRADIENT = re.compile(r"gradient of (\w+) at (.*)", re.DOTALL)


def of_gradient(op: str, source: str) -> str:
    """The source of what is computed for the gradient of an op."""
    return f"gradient of {op} at {place_of(source)}"


def place_of(source: str) -> str:
    """The user's `file:line`."""
    found = _GRADIENT.fullmatch(source)
    return source if found is None else found[2]


def gradient_of(source: str) -> str:
    """The op of which a node computes the gradient; empty if it does not."""
    found = _GRADIENT.fullmatch(source)
    return "" if found is None else found[1]
