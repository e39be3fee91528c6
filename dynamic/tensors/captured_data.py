"""What tensors are made of in a function that is captured: tensors, numbers, arrays of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.core.dtypes import as_numpy_dtype, get_default_dtype
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


def is_outside(value: object) -> bool:
    """Whether it stands for an array of the surroundings in a function that is captured."""
    return bool(paused) and mode.capture is not None and isinstance(value, Expression)


def on_memory(data: object, array: Any) -> Tensor:
    """A tensor of an array; in a function that is captured it knows if the memory is another's."""
    capturing = paused and mode.capture is not None and isinstance(data, np.ndarray)
    if capturing and np.may_share_memory(data, array):
        found: Tensor = mode.capture.on_memory(array)
        return found
    return wrap(array)


def copied(data: Any, dtype: object, requires_grad: bool) -> Any:
    """A leaf with what a tensor has when a captured function runs."""
    lifted = mode.capture.lifted(data)
    if lifted._weak:
        return of_tensor(lifted, (), dtype, requires_grad)
    made = lifted.detach().clone() if dtype is None else lifted.detach().to(dtype, copy=True)
    return made.requires_grad_() if requires_grad else made


def of_tensor(number: Any, shape: Any, dtype: object, requires_grad: bool) -> Any:
    """A number of which a captured function learns the value when it runs, in a shape."""
    value = mode.capture.lifted(number).number().expression
    own = get_default_dtype().dtype if value.dtype.kind == "f" else value.dtype
    value = ops.astype(value, own if dtype is None else as_numpy_dtype(dtype))
    made = mode.capture.made(ops.broadcast_to(value, shape))
    return made.requires_grad_() if requires_grad else made
