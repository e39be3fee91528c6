"""Exponential, trigonometric and related functions: float32 and float64, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.core.op import Cost, Op
from compiler.ops.comparison import equal, where
from compiler.ops.declare import elementwise
from compiler.reference import activation, error_function

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "log", "log1p", "log2", "log10", "rsqrt", "sigmoid", "sin", "sinh", "softplus",
    "sqrt", "tan", "tanh",
]  # fmt: skip

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
_LN2, _LN10 = math.log(2), math.log(10)


def _unary(
    name: str,
    function: Any,
    rule: Any,
    saves: str,
    doc: str,
    code: str = "",
    arrays: Any = None,
    cost: Cost = "expensive",
) -> Any:
    return elementwise(
        name,
        function,
        code or f"{name}({{0}})",
        arity=1,
        floating=True,
        cost=cost,
        vjp=(rule,),
        vjp_arrays=arrays,
        saves=(saves,),
        doc=doc,
    )


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


sqrt = _unary(
    "sqrt",
    np.sqrt,
    lambda g, o, a: g / (2 * o),
    "o",
    "The square root; nan below 0.",
    cost="moderate",
)
rsqrt = _unary(
    "rsqrt", _rsqrt, lambda g, o, a: g * (-0.5 * (o * o * o)), "o", "1 / sqrt(a).",
    cost="moderate",
)  # fmt: skip
exp = _unary("exp", np.exp, lambda g, o, a: g * o, "o", "e to the power of a.", cost="moderate")
exp2 = _unary(
    "exp2", np.exp2, lambda g, o, a: g * (o * _LN2), "o",
    """2 to the power of a, exact where that is an integer.

    >>> sg.exp2(np.array([3.0, -1.0]))
    array([8. , 0.5])""",
)  # fmt: skip
expm1 = _unary("expm1", np.expm1, lambda g, o, a: g * (o + 1), "o", "exp(a) - 1, exact near 0.")
log = _unary("log", np.log, lambda g, o, a: g / a, "a", "The natural logarithm.")
log2 = _unary(
    "log2", np.log2, lambda g, o, a: g / (a * _LN2), "a",
    """The binary logarithm, exact at powers of two.

    >>> sg.log2(np.array([8.0, 0.25]))
    array([ 3., -2.])""",
)  # fmt: skip
log10 = _unary(
    "log10", np.log10, lambda g, o, a: g / (a * _LN10), "a",
    """The decimal logarithm, exact at powers of ten.

    >>> sg.log10(np.array([1000.0, 0.1]))
    array([ 3., -1.])""",
)  # fmt: skip
log1p = _unary("log1p", np.log1p, lambda g, o, a: g / (a + 1), "a", "log(1 + a), exact near 0.")
sin = _unary("sin", np.sin, lambda g, o, a: g * cos(a), "a", "The sine of a in radians.")
cos: Op = _unary("cos", np.cos, lambda g, o, a: -g * sin(a), "a", "The cosine of a in radians.")
tan = _unary("tan", np.tan, lambda g, o, a: g * (1 + o * o), "o", "The tangent of a in radians.")
asin = _unary(
    "asin", np.arcsin, lambda g, o, a: g * rsqrt(1 - a * a), "a", "The inverse sine, in radians."
)
acos = _unary(
    "acos", np.arccos, lambda g, o, a: -g * rsqrt(1 - a * a), "a",
    "The inverse cosine, in radians.",
)  # fmt: skip
atan = _unary(
    "atan", np.arctan, lambda g, o, a: g / (a * a + 1), "a", "The inverse tangent, in radians."
)
sinh = _unary("sinh", np.sinh, lambda g, o, a: g * cosh(a), "a", "The hyperbolic sine.")
cosh: Op = _unary("cosh", np.cosh, lambda g, o, a: g * sinh(a), "a", "The hyperbolic cosine.")
tanh = _unary(
    "tanh", np.tanh, lambda g, o, a: g * (1 - o * o), "o", "The hyperbolic tangent.",
    arrays=activation.tanh_vjp, cost="moderate",
)  # fmt: skip


def _acosh_vjp(g: Any, o: Any, a: Any) -> Any:
    # 0.0, so that the root of 0 at -1 is not that of -0
    return g * rsqrt((a - 1) * (a + 1) + 0.0)


asinh = _unary(
    "asinh", np.arcsinh, lambda g, o, a: g * rsqrt(a * a + 1), "a",
    """The inverse hyperbolic sine.

    >>> sg.asinh(np.array([0.0, np.sinh(2.0)]))
    array([0., 2.])""",
)  # fmt: skip
acosh = _unary(
    "acosh", np.arccosh, _acosh_vjp, "a",
    """The inverse hyperbolic cosine, at least 0; nan below 1.

    >>> sg.acosh(np.array([1.0, np.cosh(2.0)]))
    array([0., 2.])""",
)  # fmt: skip
atanh = _unary(
    "atanh", np.arctanh, lambda g, o, a: g / ((1 - a) * (1 + a)), "a",
    """The inverse hyperbolic tangent: inf at 1, nan beyond.

    >>> sg.atanh(np.array([0.0, np.tanh(2.0)]))
    array([0., 2.])""",
)  # fmt: skip
erf = _unary(
    "erf",
    error_function.erf,
    lambda g, o, a: g * (_TWO_BY_ROOT_PI * exp(-(a * a))),
    "a",
    "The error function.",
)
erfc = _unary(
    "erfc", error_function.erfc, lambda g, o, a: g * (-_TWO_BY_ROOT_PI * exp(-(a * a))), "a",
    """1 - erf(a), as accurate where that is small.

    >>> sg.erfc(np.array([0.0, 30.0]))
    array([1., 0.])""",
)  # fmt: skip
sigmoid = _unary(
    "sigmoid", activation.sigmoid, lambda g, o, a: g * (o * (1 - o)), "o", "1 / (1 + exp(-a)).",
    arrays=activation.sigmoid_vjp, cost="moderate",
)  # fmt: skip
softplus = _unary(
    "softplus", _softplus, lambda g, o, a: g * sigmoid(a), "a",
    "log(1 + exp(a)), without overflow.",
)  # fmt: skip


def _squared_radius(a: Any, b: Any) -> Any:
    square = a * a + b * b
    return where(equal(square, 0), 1, square)


def _atan2_by_y(g: Any, o: Any, a: Any, b: Any) -> Any:
    return g * (b / _squared_radius(a, b))


def _atan2_by_x(g: Any, o: Any, a: Any, b: Any) -> Any:
    return g * (-a / _squared_radius(a, b))


atan2 = elementwise(
    "atan2", np.arctan2, "atan2({0}, {1})", arity=2, floating=True, cost="expensive",
    vjp=(_atan2_by_y, _atan2_by_x), saves=("ab", "ab"),
    doc="The angle of the point (b, a), in radians, in [-pi, pi]; the gradient at the origin is 0.",
)  # fmt: skip
