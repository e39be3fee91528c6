"""Branches of a source file that read the value of a variable."""

from __future__ import annotations

import ast
import linecache
from typing import Any

_branches: dict[tuple[str, int], list[tuple[str, int, int]]] = {}


def branches_at(file: str, line: int) -> list[tuple[str, int, int]]:
    """Branches of which the test reads `.value` in a line: their kind, first and last line."""
    key = (file, line)
    if key not in _branches:
        text = linecache.getline(file, line)
        could = any(word in text for word in ("if", "while", "and", "or")) or ".value" not in text
        _branches[key] = _parsed(file, line) if could else []
    return _branches[key]


def _parsed(file: str, line: int) -> list[tuple[str, int, int]]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp) and _reads_value(node.test, line):
            kind = "while" if isinstance(node, ast.While) else "if"
            body: Any = node.body
            first = node.lineno if isinstance(node, ast.IfExp) else body[0].lineno
            found.append((kind, first, node.end_lineno or node.lineno))
    return found


_STATIC = ("dtype", "ndim", "shape", "size", "itemsize", "nbytes")


def _reads_value(test: ast.expr, line: int) -> bool:
    """Whether a test reads `.value` in this line, and of that more than its shape or dtype."""
    static = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and node.attr in _STATIC:
            static.add(id(node.value))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("len", "isinstance"):
            static.update(map(id, node.args))
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "value"
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and id(node) not in static
        for node in ast.walk(test)
    )
