"""Values of nodes for some inputs, summed up so that they fit on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.source import mark_of
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.state import holding
from staticgraph.compiler.inspect.bodies import Iteration, observed
from staticgraph.compiler.inspect.explain import Marks
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.ops import leaves
from staticgraph.view.sources import visible

TABLE = 64
"""Elements of arrays that are shown one by one; of larger ones the range and a histogram are."""
MOST = 20
"""Iterations of a loop that are looked at."""
COLUMNS = 12
BINS = 24
DIGITS = 6

Summary = dict[str, Any]


def values_of(definition: Definition, arrays: Sequence[Value], inside: bool) -> dict[int, Summary]:
    """What the nodes of a definition are on some inputs, evaluated op by op with NumPy.

    Nothing is updated. Of an op with several results there is none.

    Args:
        inside: whether to look into loops and branches, at their first `MOST` iterations. Their
            nodes have the numbers that follow, in the order of `compiler.viz.levels`; of each,
            that value is taken which is not finite first, or else the last.
    """
    marks = Marks()
    made = marks.definition(definition).expressions()
    states = [node.attrs["key"] for node in made if node.op is leaves.variable]
    found: dict[int, Summary] = {}

    def observe(node: Expression, operands: Sequence[object], value: object) -> None:
        _put(found, node.source, value)

    def observe_inside(
        node: Node, operands: Sequence[object], value: object, path: tuple[Iteration, ...]
    ) -> None:
        before = found.get(mark_of(node.source) or 0, {})
        if "nan" not in before and "inf" not in before:
            _put(found, node.source, value, path[-1])

    feeds = dict(zip((made[node] for node in definition.inputs), arrays, strict=True))
    roots = [*definition.outputs, *(new for _, new in definition.updates)]
    run = observed(observe_inside, MOST) if inside else None
    with holding(states, changes=False):
        feeds |= {node: node.attrs["key"].array for node in made if node.op is leaves.variable}
        for node, array in feeds.items():
            _put(found, node.source, array)
        interpret([made[node] for node in roots], feeds, observe, run)
    return found


def _put(
    found: dict[int, Summary], source: str, value: object, at: Iteration | None = None
) -> None:
    number = mark_of(source)
    if number is not None and not isinstance(value, tuple):
        found[number] = summary(np.asarray(value))
        if at is not None:
            found[number]["at"] = visible(str(at), 200)


def summary(array: Any) -> Summary:
    """An array as what JSON has: its sizes, its range and moments, and its elements or their bins.

    What is not finite is counted, and is in no range; numbers are texts where JSON has none.
    """
    made: Summary = {"shape": list(array.shape), "bytes": int(array.nbytes)}
    if not array.size:
        return made
    kind = array.dtype.kind
    finite = array
    if kind == "f":
        finite = array[np.isfinite(array)]
        for name, count in (("nan", np.isnan(array)), ("inf", np.isinf(array))):
            if count.any():
                made[name] = int(count.sum())
    if array.size <= TABLE:
        made["rows"] = _rows(array)
    if finite.size:
        low, high = finite.min(), finite.max()
        made["low"], made["high"] = _number(low), _number(high)
        if array.size > 1:
            wide = finite.astype(np.float64)
            made["zeros"] = int(finite.size - np.count_nonzero(finite))
            with np.errstate(over="ignore", invalid="ignore"):
                made["mean"], made["std"] = _number(wide.mean()), _number(wide.std())
                # the top of the colours' scale; no range of float64 overflows it
                made["size"] = _plain(max(abs(float(low)), abs(float(high))))
            if array.size > TABLE and low != high:
                made["bins"] = _bins(wide)
        else:
            made["size"] = _plain(abs(float(low)))
    return made


def _bins(wide: Any) -> list[int]:
    low, high = float(wide.min()), float(wide.max())
    if not math.isfinite(high - low):
        wide, low, high = wide / 4, low / 4, high / 4
    return [int(count) for count in np.histogram(wide, BINS, (low, high))[0]]


def _rows(array: Any) -> list[list[str]]:
    """The elements as texts, a row per place on all axes but the last."""
    flat = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    if flat.shape[1] > COLUMNS:
        flat = array.reshape(-1)
        return [[_number(x) for x in flat[i : i + COLUMNS]] for i in range(0, flat.size, COLUMNS)]
    return [[_number(x) for x in row] for row in flat]


def _number(value: Any) -> str:
    plain = value.item()
    return f"{plain:.{DIGITS}g}" if isinstance(plain, float) else str(plain)


def _plain(value: float) -> float:
    """A number that JSON has."""
    return value if math.isfinite(value) else 1.7e308
