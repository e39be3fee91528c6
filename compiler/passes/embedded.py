"""Sums of embedded slices, such as the gradient of what is indexed many times, as one tensor.

Each slice has a gradient of the whole's shape, zero but for its window. Written out and added, k of
them take 2k sweeps over all of it; joined, each window is written once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size, is_nonnegative
from staticgraph.compiler.core.reports import Report, collector
from staticgraph.compiler.core.types import Shape
from staticgraph.compiler.graph.definition import Definition, Node, rebuilt
from staticgraph.compiler.graph.expression import Expression, again, at_line, constant, constructing

MOST_PARTS = 8  # of a sum, with each of which a window may be joined
MOST_UNKNOWN = 16  # windows of a row that begin or end at unknown places: each is looked at

_Window: TypeAlias = "tuple[Shape, Shape]"
"""Where it begins, and its shape."""


def join_embedded(graph: Definition) -> Definition:
    """embed(x) + embed(y) = embed(x + y) in one window, concatenate(x, zeros, y) in windows apart.

    The terms of each element are added in the order in which they were; only -0 + 0 = 0 is not
    kept.
    """
    finder = _Finder(graph)
    sums = finder.sums()
    if not sums:
        return graph
    made: dict[int, Expression] = {}
    reports = collector()
    with constructing(Expression):
        for node in finder.nodes.values():
            parts = sums.get(node.id)
            if parts is None:
                made[node.id] = again(node, tuple(made[operand] for operand in node.operands))
                continue
            with at_line(node.source):
                result = _total([_value(part, made, node.type.shape) for part in parts])
            result.name = result.name or node.name
            made[node.id] = result
            if reports is not None:
                text = f"a sum of embedded slices -> {result.op.name}"
                by = join_embedded.__name__
                reports.append(Report("rewritten", node.source, node.op.name, by, text))
    return rebuilt(graph, made)


class _Row:
    """Windows that share no place, each with the terms in it; they differ along one axis, if there
    are several.
    """

    def __init__(self, window: _Window, term: int) -> None:
        self.windows: dict[_Window, list[int]] = {window: [term]}
        self.axis: int | None = None
        self._starts: list[int] = []
        self._at: dict[Size, _Window] = {}
        self._unknown: list[_Window] = []

    def is_apart(self, window: _Window) -> bool:
        """Whether a window is known to share no place with those here."""
        one = next(iter(self.windows))
        if self.axis is None:
            return any(_are_apart(one, window, axis) for axis in range(len(window[0])))
        others = (axis for axis in range(len(window[0])) if axis != self.axis)
        if any(_are_apart(one, window, axis) for axis in others):
            return True
        return all(_are_apart(near, window, self.axis) for near in self._near(window))

    def axis_beside(self, window: _Window) -> int | None:
        """The axis along which a window that is apart may be one of those here."""
        one = next(iter(self.windows))
        axes = range(len(window[0])) if self.axis is None else (self.axis,)
        if len(self._unknown) >= MOST_UNKNOWN:
            return None
        return next((axis for axis in axes if _differ_along(one, window) <= {axis}), None)

    def add(self, window: _Window, term: int, axis: int) -> None:
        """Add a window that lies beside those here along an axis."""
        if self.axis is None:
            self.axis = axis
            self._note(next(iter(self.windows)))
        self.windows[window] = [term]
        self._note(window)

    def in_order(self) -> list[_Window]:
        """The windows along the axis, one behind the other."""
        axis = self.axis
        if axis is None:
            return list(self.windows)

        def order(one: _Window, other: _Window) -> int:
            return 1 if _is_behind(one, other, axis) else -1

        return sorted(self.windows, key=cmp_to_key(order))

    def _note(self, window: _Window) -> None:
        starts, shape = window
        assert self.axis is not None
        start, size = starts[self.axis], shape[self.axis]
        if isinstance(start, int) and isinstance(size, int):
            insort(self._starts, start)
            self._at[start] = window
        else:
            self._unknown.append(window)

    def _near(self, window: _Window) -> Sequence[_Window]:
        """Those that a window may share places with."""
        assert self.axis is not None
        start, size = window[0][self.axis], window[1][self.axis]
        if not isinstance(start, int) or not isinstance(size, int):
            return list(self.windows)
        first = max(bisect_left(self._starts, start) - 1, 0)
        last = bisect_left(self._starts, start + size)
        return [*(self._at[one] for one in self._starts[first:last]), *self._unknown]


def _are_apart(one: _Window, other: _Window, axis: int) -> bool:
    return _is_behind(one, other, axis) or _is_behind(other, one, axis)


def _is_behind(one: _Window, other: _Window, axis: int) -> bool:
    """Whether a window is known to begin where another one ends, or behind."""
    return is_nonnegative(one[0][axis] - other[0][axis] - other[1][axis])


def _differ_along(one: _Window, other: _Window) -> set[int]:
    pairs = (zip(*window, strict=True) for window in (one, other))
    return {i for i, (left, right) in enumerate(zip(*pairs, strict=True)) if left != right}


class _Finder:
    def __init__(self, graph: Definition) -> None:
        self.nodes = graph.numbered()
        self.reads = dict.fromkeys(self.nodes, 0)
        for node in self.nodes.values():
            for operand in node.operands:
                self.reads[operand] += 1
        for root in (*graph.outputs, *(new for _, new in graph.updates)):
            self.reads[root] += 2  # whoever calls reads it, too

    def sums(self) -> dict[int, list[_Row | int]]:
        """The parts of each sum in which windows are joined: rows of them, and other terms."""
        found: dict[int, list[_Row | int]] = {}
        inner: set[int] = set()
        for node in reversed(self.nodes.values()):
            if node.op is not ops.add or node.id in inner:
                continue
            terms: list[Node] = []
            rest: Node | None = node
            while rest is not None:
                inner.add(rest.id)
                rest = self._split(rest, terms)
            if sum(map(self._is_window, terms)) > 1:
                parts = self._parts(terms[::-1])
                if len(parts) < len(terms):
                    found[node.id] = parts
        return found

    def _split(self, node: Node, terms: list[Node]) -> Node | None:
        """Append what is added last to a sum; what it is added to, if that is a part of the sum."""
        first, second = (self.nodes[operand] for operand in node.operands)
        for one, other in ((first, second), (second, first)):
            if one.op is ops.add and one.type == node.type and self.reads[one.id] == 1:
                terms.append(other)
                return one
        terms += [second, first]
        return None

    def _parts(self, terms: Sequence[Node]) -> list[_Row | int]:
        parts: list[_Row | int] = []
        for term in terms:
            if not self._is_window(term):
                parts.append(term.id)
                continue
            (operand,) = term.operands
            window = term.attrs["starts"], self.nodes[operand].type.shape
            if not _is_joined(parts, window, operand):
                parts.append(_Row(window, operand))
        return parts

    def _is_window(self, node: Node) -> bool:
        """Whether a node is zero but for one window, and nothing but the sum reads it.

        What has no element is none: along its empty axis it is beside all others, which overlap.
        """
        return (
            node.op is ops.embed
            and 0 not in self.nodes[node.operands[0]].type.shape
            and node.attrs["value"] == 0
            and set(node.attrs["steps"]) == {1}
            and self.reads[node.id] == 1
        )


def _is_joined(parts: Sequence[_Row | int], window: _Window, term: int) -> bool:
    """Join a window with a part of the sum, if each element is added up in the same order then:
    it shares no place with any part behind that, and where it adds to a window, with none before.
    """
    beside: tuple[_Row, int] | None = None
    for at in range(len(parts) - 1, max(len(parts) - 1 - MOST_PARTS, -1), -1):
        part = parts[at]
        if isinstance(part, int):
            break
        if window in part.windows:
            if at >= MOST_PARTS or not all(_is_apart(other, window) for other in parts[:at]):
                break
            part.windows[window].append(term)
            return True
        if not part.is_apart(window):
            break
        axis = part.axis_beside(window)
        if axis is not None and beside is None:
            beside = part, axis
    if beside is None:
        return False
    row, axis = beside
    row.add(window, term, axis)
    return True


def _is_apart(part: _Row | int, window: _Window) -> bool:
    return not isinstance(part, int) and part.is_apart(window)


def _value(part: _Row | int, made: Mapping[int, Expression], shape: Shape) -> Expression:
    """A part of a sum of this shape."""
    if isinstance(part, int):
        return made[part]
    windows = part.in_order()
    values = [_total([made[term] for term in part.windows[window]]) for window in windows]
    starts = windows[0][0]
    if part.axis is None:
        (value,) = values
    else:
        value, starts = _joined(windows, values, part.axis, shape)
    if value.shape == shape:
        return value
    return ops.embed(value, starts, shape, (1,) * len(shape))


def _total(terms: Sequence[Expression]) -> Expression:
    total, *others = terms
    for term in others:
        total = ops.add(total, term)
    return total


def _joined(
    windows: Sequence[_Window], values: Sequence[Expression], axis: int, shape: Shape
) -> tuple[Expression, Shape]:
    """The values in windows along an axis with zeros between them, and where that begins.

    There are zeros before and behind them, too, if that makes it the whole.
    """
    starts, first = windows[0]
    is_whole = all(first[i] == size for i, size in enumerate(shape) if i != axis)
    begin = 0 if is_whole else starts[axis]
    at: Size = begin
    parts: list[Expression] = []
    for (start, size), value in zip(windows, values, strict=True):
        parts += [*_zeros(value, axis, start[axis] - at), value]
        at = start[axis] + size[axis]
    if is_whole:
        parts += _zeros(values[-1], axis, shape[axis] - at)
    return ops.concatenate(parts, axis), (*starts[:axis], begin, *starts[axis + 1 :])


def _zeros(like: Expression, axis: int, size: Size) -> list[Expression]:
    """Zeros beside a value, with so many places along an axis: none if there is no place.

    Axes of size 1 are added as they are to the value, so that the loops over both are the same.
    """
    if size == 0:
        return []
    shape = tuple(size if i == axis else other for i, other in enumerate(like.shape))
    zero = constant(np.zeros((), like.dtype))
    added = like.attrs["axes"] if like.op is ops.expand_dims else ()
    if any(shape[i] != 1 for i in added):
        added = ()
    inner = tuple(size for i, size in enumerate(shape) if i not in added)
    zeros = ops.broadcast_to(zero, inner)
    return [ops.expand_dims(zeros, added) if added else zeros]
