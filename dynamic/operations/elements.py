"""Further functions of the elements at the same place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import ops
from compiler.op import refuse_more
from dynamic.creation import as_tensor
from dynamic.dtypes import F64
from dynamic.errors import AutogradError
from dynamic.operations.pointwise import _binary, _unary
from dynamic.tensor import Tensor, wrap

__all__ = [
    "copysign", "erfc", "float_power", "fmax", "fmin", "gcd", "heaviside", "isneginf", "isposinf",
    "isreal", "lcm", "ldexp", "lgamma", "rsub", "signbit", "sinc", "threshold",
]  # fmt: skip

_vector_erfc = np.frompyfunc(math.erfc, 1, 1)
_vector_lgamma = np.frompyfunc(lambda x: math.inf if x == 0 else math.lgamma(x), 1, 1)

erfc = _unary(
    "erfc", lambda x: np.asarray(_vector_erfc(x), x.dtype),
    lambda g, o, a: g * (-2 / math.sqrt(math.pi) * ops.exp(-ops.square(a))), "a", "1 - erf(x).",
)  # fmt: skip


def _sinc_vjp(g: Any, o: Any, a: Any) -> Any:
    angle = a * math.pi
    zero = ops.equal(a, 0)
    slope = (angle * ops.cos(angle) - ops.sin(angle)) / ops.where(zero, 1, angle * a)
    return g * ops.where(zero, 0, slope)


sinc = _unary("sinc", np.sinc, _sinc_vjp, "a", "sin(pi x) / (pi x), 1 at 0.")


def _digamma(x: Any) -> Any:
    """The slope of lgamma: an asymptotic series (Abramowitz and Stegun 6.3.18) from 10 on."""
    total = np.zeros_like(x)
    x = np.array(x)
    negative = x < 0
    reflected = np.where(negative, math.pi / np.tan(math.pi * np.where(negative, x, 0.5)), 0)
    x = np.where(negative, 1 - x, x)
    while (small := x < 10).any():
        total -= np.where(small, 1 / np.where(small, x, 1), 0)
        x = np.where(small, x + 1, x)
    inverse = 1 / (x * x)
    coefficients = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 5 / 660, -691 / 32760, 1 / 12)
    series = 0
    for coefficient in reversed(coefficients):
        series = (series + coefficient) * inverse
    return total + np.log(x) - 0.5 / x - series - reflected


_digamma_op = _unary("digamma", _digamma, None, "", "The logarithmic derivative of gamma.")
lgamma = _unary(
    "lgamma", lambda x: np.asarray(_vector_lgamma(x), x.dtype),
    lambda g, o, a: g * _digamma_op(a), "a", "log|gamma(x)|; differentiable once.",
)  # fmt: skip


def _toward(loses: Any) -> tuple[Any, Any]:
    """The rules of fmax and fmin: where one is nan the other is chosen, and a tie is the first's.

    PyTorch gives a tie to the first operand.
    """

    def chosen(a: Any, b: Any) -> Any:
        return ops.logical_or(ops.logical_not(loses(a, b)), ops.isnan(b))

    def by_first(g: Any, o: Any, a: Any, b: Any) -> Any:
        return ops.where(ops.logical_and(chosen(a, b), ops.logical_not(ops.isnan(a))), g, 0)

    def by_second(g: Any, o: Any, a: Any, b: Any) -> Any:
        return ops.where(ops.logical_and(chosen(a, b), ops.logical_not(ops.isnan(a))), 0, g)

    return by_first, by_second


fmax = _binary(
    "fmax", np.fmax, _toward(ops.less), ("ab", "ab"), False,
    "The larger of a and b, or that which is not nan.",
)  # fmt: skip
fmin = _binary(
    "fmin", np.fmin, _toward(ops.greater), ("ab", "ab"), False,
    "The smaller of a and b, or that which is not nan.",
)  # fmt: skip


def _copysign_by_x(g: Any, o: Any, a: Any, b: Any) -> Any:
    return ops.where(ops.equal(a, 0), 0, g * ops.sign(a) * ops.sign(o))


copysign = _binary(
    "copysign", np.copysign, (_copysign_by_x, lambda g, o, a, b: g * 0), ("ao", ""), True,
    "The magnitude of a with the sign of b.",
)  # fmt: skip


def _whole(function: Any) -> Any:
    """A function of arrays, without a gradient; named as NumPy's."""

    def apply(*operands: Any) -> Any:
        refuse_more(function.__name__, function, len(operands))
        arrays = [one._array if isinstance(one, Tensor) else np.asarray(one) for one in operands]
        return wrap(np.asarray(function(*arrays)))

    apply.__name__ = apply.__qualname__ = function.__name__
    return apply


def heaviside(input: Any, values: Any) -> Any:
    """0 below 0, 1 above, and `values` at 0; RuntimeError for tensors of two dtypes."""
    x, y = (one._array if isinstance(one, Tensor) else np.asarray(one) for one in (input, values))
    if x.dtype != y.dtype and isinstance(values, Tensor):
        raise AutogradError("heaviside is not yet implemented for tensors with different dtypes.")
    return wrap(np.asarray(np.heaviside(x, y), x.dtype))


gcd, lcm = _whole(np.gcd), _whole(np.lcm)
signbit, isposinf, isneginf = _whole(np.signbit), _whole(np.isposinf), _whole(np.isneginf)
isreal = _whole(np.isreal)
for _function, _doc in (
    (gcd, "The greatest common divisors of integers."),
    (lcm, "The least common multiples of integers."),
    (signbit, "Whether the sign is negative, of -0.0 too."),
    (isposinf, "Whether an element is inf."),
    (isneginf, "Whether an element is -inf."),
    (isreal, "Whether an element is real: all are."),
):
    _function.__doc__ = _doc


def float_power(input: Any, exponent: Any) -> Any:
    """The power in float64."""
    first, second = (one.to(F64) if isinstance(one, Tensor) else one for one in (input, exponent))
    return first**second


def ldexp(input: Any, other: Any) -> Any:
    """input * 2**other."""
    return input * ops.power(2.0, as_tensor(other).to(input.dtype))


def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """other - alpha * input."""
    return other - (input if alpha == 1 else input * alpha)


def threshold(input: Any, threshold: float, value: float) -> Any:
    """The elements above a threshold, `value` elsewhere."""
    return ops.where(ops.greater(input, threshold), input, value)
