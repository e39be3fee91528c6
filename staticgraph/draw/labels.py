"""What is written on a node: its name or op, its type, its value and gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.definition import Node

LONGEST = 36  # characters of a line
NUMBERS = 4  # that are written out; of more, the range
KINDS = ("placeholder", "variable", "constant")


@frozen
class Line:
    """A line of text in the style of what it says: title, detail, value, gradient or role."""

    text: str
    style: str


def label(
    node: Node, roles: list[str], value: object = None, gradient: object = None
) -> tuple[Line, ...]:
    """The lines of a node.

    Args:
        node: the node.
        roles: what the graph does with it: `output`, `next value of w`.
        value, gradient: arrays, or None where there is none to show.
    """
    lines = [Line(one_line(_title(node)), "title")]
    detail = _detail(node)
    if detail:
        lines.append(Line(one_line(detail), "detail"))
    lines.append(Line(one_line(str(node.type)), "detail"))
    if value is not None:
        lines.append(Line(numbers(value), "value"))
    if gradient is not None:
        lines.append(Line(numbers(gradient), "gradient"))
    return (*lines, *(Line(one_line(role), "role") for role in roles))


def _title(node: Node) -> str:
    if node.name:
        return node.name
    if is_number(node):
        return numbers(node.attrs["value"].array)
    return node.op.name


def _detail(node: Node) -> str:
    if node.op.name in KINDS:
        return ""
    attrs = ", ".join(f"{key}={value}" for key, value in node.attrs.items())
    return f"{node.op.name} {attrs}" if node.name else attrs


def is_number(node: Node) -> bool:
    """Whether a node is a constant scalar."""
    return node.op.name == "constant" and not node.type.ndim


def roles_of(graph: Mapping[str, Any], nodes: Mapping[int, Node]) -> dict[int, list[str]]:
    """What the graph, of which the attributes are given, does with its nodes."""
    outputs, updates = graph.get("outputs", ()), graph.get("updates", ())
    roles: dict[int, list[str]] = {}
    for i, node in enumerate(outputs):
        roles.setdefault(node, []).append("output" if len(outputs) == 1 else f"output {i}")
    for variable, new in updates:
        name = nodes[variable].name or f"variable {variable}"
        roles.setdefault(new, []).append(f"next value of {name}")
    return roles


def numbers(value: object) -> str:
    """An array in one line: all of a few elements, else the range of many."""
    array = np.asarray(value)
    if not array.size:
        return f"no elements: {list(array.shape)}"
    if array.size <= NUMBERS:
        return one_line(_nested(array.tolist()))
    low, high = array.min(), array.max()
    return one_line(f"{_number(low.item())} … {_number(high.item())}")


def _nested(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    return _number(value)


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def one_line(text: str, longest: int = LONGEST) -> str:
    """`text` with line ends and invisible characters escaped, and the middle left out if long."""
    shown = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )
    if len(shown) <= longest:
        return shown
    half = (longest - 1) // 2
    return f"{shown[: longest - 1 - half]}…{shown[-half:]}"
