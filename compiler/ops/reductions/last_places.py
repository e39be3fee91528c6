"""The inverse of an index along an axis: where it names each place last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.op import Attrs, Op, op_named, register
from staticgraph.compiler.core.types import Shape, TensorType
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.ops.batching import shifted_one
from staticgraph.compiler.ops.declare import INT64, as_operand
from staticgraph.compiler.ops.elementwise.arithmetic import maximum
from staticgraph.compiler.ops.indexing.take import (
    require_element,
    require_index,
)
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.ops.shapes.shape import broadcast_to
from staticgraph.compiler.reference.indices import check_range, coordinates


def in_order(index: object) -> Array:
    """An index whose last element of several is the one that NumPy writes last.

    NumPy writes in the order in which index and values lie in memory.
    """
    return np.asarray(index, order="C")


def grid(index: Array, axis: int) -> tuple[Array, ...]:
    """NumPy's key of the places that an index along an axis names."""
    others = coordinates(index.shape, axis)
    return (*others[:axis], in_order(index), *others[axis + 1 :])


def resized(shape: Shape, axis: int, size: Size) -> Shape:
    """A shape with another size of one axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def _last_type(index: TensorType, *, axis: int, size: Size, wrap: bool) -> TensorType:
    require_index("last_positions", index)
    result = TensorType(resized(index.shape, axis, size), INT64)
    require_element("last_positions", result, axis, index)
    return result


def _last_numpy(index: Any, *, axis: int, size: int, wrap: bool) -> Any:
    index = check_range("last_positions", np.asarray(index), size, wrap)
    result = np.full(resized(index.shape, axis, size), -1, INT64)
    result[grid(index, axis)] = positions(index, axis)  # of several, NumPy leaves the last
    return result


def _last_bind(
    index: object, axis: int, size: Size, wrap: bool = True
) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(index),), {"axis": axis, "size": size, "wrap": wrap}


def _last(index: Any, *, axis: int, size: Size, wrap: bool) -> Any:
    places = broadcast_to(positions(index, axis), tuple(index.shape))
    attrs = {"axis": axis, "size": size, "wrap": wrap, "largest": True}
    return maximum(op_named("along_extremum").bound((places, index), attrs), -1)


last_positions: Op = register(
    Op(
        name="last_positions",
        infer_type=_last_type,
        evaluate=_last_numpy,
        vjp=(None,),
        bind=_last_bind,
        expand=_last,
        batching=shifted_one,
        exact=True,
        doc="The inverse of an index along `axis`: per place of an axis of `size` the last "
        "position at which the index names it, -1 if none does. int64.",
    )
)
