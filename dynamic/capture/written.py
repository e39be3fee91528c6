"""What a traced tensor becomes when a view of it is overwritten: the views' ops turned round."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Attrs, Op
from compiler.core.refusals import refuse
from dynamic.core import eager_ops

_TRANSPOSES = (ops.transpose, eager_ops.swap, eager_ops.transpose_2d)
_SAME_ORDER = (ops.reshape, ops.expand_dims, ops.squeeze, eager_ops.squeeze_dim)


def written(tensor: Any, op: Op | None, attrs: Attrs, value: object) -> Any:
    """The value of `tensor` with `value` in place of what `op` takes of it.

    CaptureError for an op that takes elements more than once, or where a tensor tells it to.
    """
    if op is eager_ops.select:
        shape = tuple(map(operator.index, tensor.shape))
        places = np.arange(int(np.prod(shape))).reshape(shape)[attrs["key"]]
        result = ops.put.bound((tensor, value, tensor.constant(places)), {})
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
