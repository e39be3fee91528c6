"""Writes at indices, with PyTorch's gradient where an index names a place more than once.

Each of the values that were written there gets the whole gradient of the place, as PyTorch reads
it back at the index; the shared ops give it to the value that stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.ops.declare import unbroadcast
from staticgraph.compiler.ops.indexing.scattering import cotangents_at, gathered
from staticgraph.compiler.ops.reductions.last_places import grid, in_order

Key = Callable[..., Any]


def _put_by_values(g: Any, o: object, a: object, b: Any, c: Any) -> Any:
    part = ops.take(ops.reshape(g, (-1,)), ops.reshape(c, (-1,)), 0)
    return unbroadcast(ops.reshape(part, tuple(c.shape)), b)


def _scatter_by_values(
    g: object, o: object, a: object, b: Any, c: object, *, axis: int, wrap: bool
) -> Any:
    return unbroadcast(gathered(g, c, axis, wrap), b)


def _slices_by_values(
    g: object, o: object, a: object, b: Any, c: object, *, axis: int, wrap: bool
) -> Any:
    return unbroadcast(ops.take(g, c, axis), b)


def _slices_key(c: Any, *, axis: int, wrap: bool) -> Any:
    return (slice(None),) * axis + (in_order(c),)


def _element_key(c: Any, *, axis: int, wrap: bool) -> Any:
    return grid(c, axis)


def _written(op: Op, by_values: Any, key: Key, flat: bool = False) -> Op:
    """A write whose values all get the cotangents at its key, of the flat array if `flat`."""

    def arrays(
        positions: Sequence[int], g: Any, o: object, a: object, b: object, c: Any, **attrs: Any
    ) -> Sequence[Any]:
        whole = g.reshape(-1) if flat else g
        parts = cotangents_at(positions, whole, b, key(c, **attrs), lambda: np.True_)
        return [
            part.reshape(g.shape) if position == 0 else part
            for position, part in zip(positions, parts, strict=True)
        ]

    by_x = op.rule_of(0, False)
    return replace(op, vjp=(by_x, by_values, None), vjp_arrays=arrays)


put = _written(ops.put, _put_by_values, in_order, flat=True)
scatter = _written(ops.scatter, _scatter_by_values, _element_key)
index_copy = _written(ops.index_copy, _slices_by_values, _slices_key)
