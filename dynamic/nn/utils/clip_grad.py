"""Gradients that are too large, limited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.layers.distances import norm_along
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.inplace import touch
from staticgraph.dynamic.tensors.tensor import Tensor, has_values, wrap


def _gradients(parameters: Any) -> list[Any]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter.grad for parameter in listed if parameter.grad is not None]


def get_total_norm(
    tensors: Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all elements of all tensors; RuntimeError if it is to be finite and is not.

    Example:
        >>> nn.utils.get_total_norm([dynamic.tensor([3.0]), dynamic.tensor([4.0])])
        tensor(5.)
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    order = float(norm_type)
    if not all(map(has_values, listed)):
        if error_if_nonfinite:
            refuse("error_if_nonfinite needs the values of gradients", "check the norm outside")
        rows = [norm_along(ops.reshape(one, -1), order, 0) for one in listed]
        return norm_along(ops.stack(rows), order, 0)
    norms = [np.linalg.norm(one._array.reshape(-1), order) for one in listed if one.numel()]
    total = np.asarray(np.linalg.norm(np.array(norms), order) if norms else 0.0)
    if error_if_nonfinite and not np.isfinite(total):
        raise AutogradError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so "
            "it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return wrap(total.astype(listed[0]._array.dtype if listed else np.float32))


def clip_grads_with_norm_(parameters: object, max_norm: float, total_norm: Any) -> None:
    """Multiply the gradients in place by max_norm / (total_norm + 1e-6), if that is below 1.

    Example:
        >>> w = dynamic.tensor([1.0], requires_grad=True)
        >>> w.grad = dynamic.tensor([3.0])
        >>> nn.utils.clip_grads_with_norm_(w, 1.0, total_norm=dynamic.tensor(6.0))
        >>> w.grad
        tensor([0.5000])
    """
    if not has_values(total_norm):
        scale = ops.minimum(float(max_norm) / (total_norm + 1e-6), 1.0)
        for grad in _gradients(parameters):
            grad.mul_(scale)
        return
    factor = min(1.0, float(max_norm) / (float(total_norm.item()) + 1e-6))
    for grad in _gradients(parameters):
        grad._array *= grad._array.dtype.type(factor)
        touch(grad)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm as one vector is at most `max_norm`.

    Returns the norm before (Pascanu, Mikolov, Bengio 2013).

    Example:
        >>> w = dynamic.tensor([1.0, 1.0], requires_grad=True)
        >>> w.grad = dynamic.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_(w, 1.0)  # the norm before
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(listed, max_norm, total)
    return total


def clip_grad_value_(parameters: object, clip_value: float, foreach: bool | None = None) -> None:
    """Limit the elements of the gradients in place to [-clip_value, clip_value].

    Example:
        >>> w = dynamic.tensor([1.0, 1.0], requires_grad=True)
        >>> w.grad = dynamic.tensor([3.0, -0.5])
        >>> nn.utils.clip_grad_value_(w, 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.5000])
    """
    for grad in _gradients(parameters):
        if not has_values(grad):
            grad.clamp_(-clip_value, clip_value)
            continue
        np.clip(grad._array, -clip_value, clip_value, out=grad._array)
        touch(grad)
