"""Parameters as one vector, and one vector as parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.nn.parameter import type_name
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All elements of all parameters as one vector, recorded.

    Example:
        >>> nn.utils.parameters_to_vector([dynamic.ones(2, 2), dynamic.zeros(1)])
        tensor([1., 1., 1., 1., 0.])
    """
    return ops.concatenate([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: object, parameters: Iterable[Any]) -> None:
    """Make the parameters views of consecutive parts of a vector's memory.

    Example:
        >>> w, b = dynamic.zeros(2), dynamic.zeros(1)
        >>> nn.utils.vector_to_parameters(dynamic.arange(3.0), [w, b])
        >>> w, b
        (tensor([0., 1.]), tensor([2.]))
    """
    if not isinstance(vec, Tensor):
        raise ArgumentError(f"expected torch.Tensor, but got: {type_name(vec)}")
    start = 0
    for parameter in parameters:
        stop = start + math.prod(parameter.shape)
        parameter.data = wrap(vec._array[start:stop].reshape(parameter.shape))
        start = stop
