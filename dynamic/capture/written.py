"""What a traced tensor becomes when a view of it is overwritten: the views' ops turned round."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import construct
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.indexing.at import inside_of
from staticgraph.compiler.ops.indexing.keys import slice_bounds, without_ellipsis
from staticgraph.compiler.ops.shapes.slicing import embed
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.tape.grad_mode import mode

_TRANSPOSES = (ops.transpose, eager_ops.swap, eager_ops.transpose_2d)
_SAME_ORDER = (ops.reshape, ops.expand_dims, ops.squeeze, eager_ops.squeeze_dim)


def written(tensor: Any, op: Op | None, attrs: Attrs, value: object) -> Any:
    """The value of `tensor` with `value` in place of what `op` takes of it.

    CaptureError for an op that takes elements more than once, or where a tensor tells it to.
    """
    if op is eager_ops.select:
        result = _overlaid(tensor, attrs["key"], value)
    elif op in _TRANSPOSES:
        result = ops.transpose(value, tuple(np.argsort(attrs["axes"]).tolist()))
    elif op in _SAME_ORDER:
        result = ops.reshape(value, tensor.shape)
    else:
        refuse(
            "changes a view whose place in the memory of the other tensor is not known",
            "use where, or clone() it first",
        )
    return result._current()


def _overlaid(tensor: Any, key: object, value: Any) -> Any:
    """`tensor` with `value` at a basic index, of whatever sizes: element by element, one of both.

    So writes that follow each other are one loop, without a copy for each.
    """
    keys = without_ellipsis(key if isinstance(key, tuple) else (key,), tensor.shape)
    shape: list[Any] = []
    masks: list[Any] = []
    placed: list[tuple[int, Any, int]] = []  # axes along which the value has other places
    taken, ndim = 0, tensor.ndim
    for one in keys:
        if one is None:
            taken += 1
            continue
        axis = len(shape)
        size = tensor.shape[axis]
        along = mode.capture.made(construct(leaves.iota, (), {"size": size}))
        if not isinstance(one, slice):
            shape.append(1)
            masks.append(_on_axis(ops.equal(along, along[one]), axis, ndim))
            continue
        shape.append(value.shape[taken])
        taken += 1
        start, length, step = slice_bounds(one, size)
        if (start, length, step) != (0, size, 1):
            masks.append(_on_axis(inside_of(along, start, length, step), axis, ndim))
            if not (isinstance(shape[-1], int) and shape[-1] == 1):
                placed.append((axis, start, step))
    value = ops.reshape(value, tuple(shape))
    for axis, start, step in placed:
        starts, steps, whole = [0] * ndim, [1] * ndim, [*value.shape]
        starts[axis], steps[axis], whole[axis] = start, step, tensor.shape[axis]
        value = embed(value, starts, whole, steps)
    if not masks:
        return ops.broadcast_to(value, tensor.shape)
    mask = masks[0]
    for one in masks[1:]:
        mask = ops.logical_and(mask, one)
    return ops.where(mask, value, tensor)


def _on_axis(mask: Any, axis: int, ndim: int) -> Any:
    return ops.reshape(mask, tuple(mask.shape[0] if i == axis else 1 for i in range(ndim)))
