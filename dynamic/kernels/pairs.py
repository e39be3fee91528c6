"""Distances of all pairs of many short rows: loops along the pairs, not along the elements.

Loops over few elements have more beside them than in them. The other matrix is transposed before,
so that what a row is compared with lies side by side, for each of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.ops.declare import unbroadcast
from staticgraph.compiler.reference.copies import copied, copy_into
from staticgraph.compiler.reference.scratch import scratch
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.kernels import native

LEAST = 2
"""As how many times the elements of a row there are rows at least."""


def evaluate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """The value of an op by a kernel, an array; None where no kernel serves the call."""
    a, b = arrays
    if not _across(op, a, b):
        return native.evaluate(op, arrays, attrs)
    if a.shape[-2] <= b.shape[-2]:
        return _distances(a, b)
    found = _distances(b, a)
    return None if found is None else copied(_transposed(found))


def cotangents(
    op: Op, positions: Sequence[int], g: Any, out: Any, operands: Sequence[Any], attrs: Attrs
) -> Sequence[Any] | None:
    """The cotangents of the operands at `positions` by one kernel; None as in `evaluate`."""
    a, b = operands
    if not _across(op, a, b):
        return native.cotangents(op, positions, g, out, operands, attrs)
    if a.shape[-2] <= b.shape[-2]:
        return _cotangents(tuple(positions), g, out, a, b)
    swapped = tuple([1 - position for position in reversed(positions)])
    found = _cotangents(swapped, _transposed(g), _transposed(out), b, a)
    return None if found is None else found[::-1]


def _across(op: Op, a: Any, b: Any) -> bool:
    """Whether loops across rows take less time than those along them."""
    rows, others = a.shape[-2], b.shape[-2]
    if op is not eager_ops.distances or max(rows, others) < LEAST * a.shape[-1]:
        return False
    return native.is_much(op, (a, b), {})


def _distances(a: Any, b: Any) -> Any:
    given = a, _columns(b)
    found = native.compute("distances across rows", {}, _value, given, (), True)
    return None if found is None else found[0]


def _cotangents(
    positions: tuple[int, ...], g: Any, out: Any, a: Any, b: Any
) -> Sequence[Any] | None:
    given, name = (g, out, a, _columns(b)), ("distances across rows", positions)
    return native.compute(name, {}, _rules(positions), given, (), True)


def _columns(x: Any) -> Any:
    """The transposed copy. It begins a line of the cache: else each vector that is read would lie
    in two, which takes up to 1.8 times as long.
    """
    columns = _transposed(x)
    found = scratch(columns, 0)
    copy_into(found, columns)
    return found


def _transposed(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _differences(a: Any, columns: Any) -> Any:
    return ops.expand_dims(a, -1) - ops.expand_dims(columns, -3)


def _value(values: list[Any]) -> list[Any]:
    squares = ops.sum(ops.square(_differences(*values)), axis=-2)
    return [eager_ops.root_or_zero(squares)]


def _rules(positions: tuple[int, ...]) -> native.Make:
    def make(values: list[Any]) -> list[Any]:
        g, out, a, columns = values
        parts = ops.expand_dims(eager_ops.slope_of_distance(g, out), -2) * _differences(a, columns)
        found = []
        for position in positions:
            if position:
                by_columns = unbroadcast(-ops.sum(parts, axis=-3), columns)
                found.append(ops.swapaxes(by_columns, -1, -2))
            else:
                found.append(unbroadcast(ops.sum(parts, axis=-1), a))
        return found

    return make
