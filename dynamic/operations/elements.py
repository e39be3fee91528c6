"""Further functions of the elements at the same place."""

from __future__ import annotations

import math
from typing import Any

from compiler import ops
from compiler.core.op import Operand
from dynamic.core import eager_ops
from dynamic.core.dtypes import F64
from dynamic.core.errors import AutogradError
from dynamic.tensors.creation import as_tensor
from dynamic.tensors.tensor import Tensor, as_one_node, require_number

__all__ = [
    "float_power", "heaviside", "isneginf", "isposinf", "isreal", "ldexp", "rsub", "signbit",
    "threshold",
]  # fmt: skip


def heaviside(input: Any, values: object) -> Any:
    """0 below 0, 1 above, and `values` at 0; RuntimeError for tensors of two dtypes."""
    if isinstance(values, Tensor) and input.dtype != values.dtype:
        raise AutogradError("heaviside is not yet implemented for tensors with different dtypes.")
    return ops.heaviside(input, values)


def isposinf(input: object) -> Any:
    """Whether an element is inf."""
    return ops.equal(input, math.inf)


def isneginf(input: object) -> Any:
    """Whether an element is -inf."""
    return ops.equal(input, -math.inf)


def signbit(input: object) -> Any:
    """Whether the sign is negative, of -0.0 too."""
    return ops.less(ops.copysign(1.0, input), 0)


def isreal(input: object) -> Any:
    """Whether an element is real: all are."""
    return ops.logical_or(ops.isnan(input), True)


def float_power(input: Any, exponent: Any) -> Any:
    """The power in float64."""
    first, second = (one.to(F64) if isinstance(one, Tensor) else one for one in (input, exponent))
    return first**second


def ldexp(input: Any, other: object) -> Any:
    """input * 2**other."""
    return input * ops.power(2.0, as_tensor(other).to(input.dtype))


def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """other - alpha * input."""
    number = not isinstance(other, Operand)
    if number:
        return other - (input if alpha == 1 else input * alpha)
    return other.sub(input, alpha=alpha)


def threshold(input: object, threshold: float, value: float) -> Any:
    """The elements above a threshold, `value` elsewhere."""
    require_number("threshold", "threshold", 2, threshold, "Number")
    require_number("threshold", "value", 3, value, "Number")
    return as_one_node(eager_ops.threshold, input, least=threshold, value=value)
