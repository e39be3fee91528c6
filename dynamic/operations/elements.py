"""Further functions of the elements at the same place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, is_inexact
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.dtypes import BOOL, F64, get_default_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.fast_paths.options import as_one_node
from staticgraph.dynamic.tensors.creation import as_tensor
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.required import require_number
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor
from staticgraph.dynamic.tensors.underived import not_derived, refused_later

__all__ = [
    "float_power", "heaviside", "isneginf", "isposinf", "isreal", "ldexp", "prelu", "rsub",
    "signbit", "threshold",
]  # fmt: skip


def heaviside(input: Any, values: object) -> Any:
    """0 below 0, 1 above, and `values` at 0; RuntimeError for tensors of two dtypes.

    Differentiating it is a RuntimeError, too.

    Example:
        >>> dynamic.heaviside(dynamic.tensor([-2.0, 0.0, 3.0]), 0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(values, Tensor) and input.dtype != values.dtype:
        raise AutogradError("heaviside is not yet implemented for tensors with different dtypes.")
    error = not_derived("heaviside")
    return refused_later(ops.heaviside(input, values), (input, values), error, "detach() it")


def isposinf(input: object) -> Any:
    """Whether an element is inf.

    Example:
        >>> dynamic.isposinf(dynamic.tensor([np.inf, -np.inf]))
        tensor([ True, False])
    """
    return ops.equal(input, math.inf)


def isneginf(input: object) -> Any:
    """Whether an element is -inf.

    Example:
        >>> dynamic.isneginf(dynamic.tensor([np.inf, -np.inf]))
        tensor([False,  True])
    """
    return ops.equal(input, -math.inf)


def signbit(input: object) -> Any:
    """Whether the sign is negative, of -0.0 too.

    Of nan it is the bit that the element has. Which one a nan has that was computed no standard
    says (IEEE 754, 6.3): an eager op and a compiled one may give it another.

    Example:
        >>> dynamic.signbit(dynamic.tensor([-0.0, 1.0]))
        tensor([ True, False])
    """
    return ops.less(ops.copysign(1.0, input), 0)


def isreal(input: object) -> Any:
    """Whether an element is real: all are.

    Example:
        >>> dynamic.isreal(dynamic.tensor([1 + 0j, 2j]))
        tensor([True, True])
    """
    return ops.logical_or(ops.isnan(input), True)


def float_power(input: Any, exponent: Any) -> Any:
    """The power in float64.

    Example:
        >>> dynamic.float_power(dynamic.tensor([2]), 3)
        tensor([8.], dtype=torch.float64)
    """
    first, second = (one.to(F64) if isinstance(one, Tensor) else one for one in (input, exponent))
    return first**second


@called("Ldexp")
def ldexp(input: Any, other: object) -> Any:
    """input * 2**other, whose exponents may be floats, in the dtype that both have in common.

    Example:
        >>> dynamic.ldexp(dynamic.tensor([3.0]), dynamic.tensor([2]))
        tensor([12.])
    """
    exponent = as_tensor(other)
    if not is_inexact(np.dtype(exponent.dtype)):
        of_bools = input.dtype == BOOL
        exponent = exponent.to(get_default_dtype() if of_bools else input.dtype)
    return input * ops.power(2.0, exponent)


def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """other - alpha * input.

    Example:
        >>> dynamic.rsub(dynamic.tensor([1.0, 2.0]), 5)
        tensor([4., 3.])
    """
    number = not isinstance(other, Operand)
    if number:
        return other - (input if alpha == 1 else input * alpha)
    return other.sub(input, alpha=alpha)


def threshold(input: object, threshold: float, value: float) -> Any:
    """The elements above a threshold, `value` elsewhere.

    Example:
        >>> dynamic.threshold(dynamic.tensor([-1.0, 0.5, 2.0]), 0.5, 9.0)
        tensor([9., 9., 2.])
    """
    require_number("threshold", "threshold", 2, threshold, "Number")
    require_number("threshold", "value", 3, value, "Number")
    return as_one_node(ops.threshold, input, threshold=threshold, value=value)


def prelu(input: Any, weight: Any) -> Any:
    """x above 0, weight * x below; one weight, or one for each index of axis 1.

    Example:
        >>> nn.functional.prelu(dynamic.tensor([[-1.0, -1.0]]), dynamic.tensor([0.5, 0.25]))
        tensor([[-0.5000, -0.2500]])
    """
    slopes, number = weight, math.prod(weight.shape)
    if number != 1:
        if not input.ndim:
            raise AutogradError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if differ((number,), (channels,)):
            raise AutogradError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{number} and channel size = {channels}."
            )
        slopes = ops.reshape(weight, (-1,) + (1,) * (input.ndim - 2))
    elif not input.ndim:
        slopes = ops.reshape(weight, ())
    return sloped(input, slopes)


def sloped(input: Any, slopes: Any) -> Any:
    """x above 0, slopes * x below; the slopes are a number or broadcast."""
    if type(input) in PLAIN and is_float(input._array.dtype):
        if isinstance(slopes, float):
            slopes = input._constant(np.asarray(slopes, input._array.dtype))
        if type(slopes) in PLAIN and slopes.dtype == input.dtype:
            return input._apply(ops.prelu, (input, slopes), {})
    return ops.where(ops.greater(input, 0), input, slopes * input)
