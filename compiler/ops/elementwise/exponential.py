"""Exponential, trigonometric and related functions: float32 and float64, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Cost, Domain, Meaning, Op
from staticgraph.compiler.ops.declare import elementwise
from staticgraph.compiler.ops.elementwise.comparison import equal, where
from staticgraph.compiler.reference import activation, error_function, inverse_error

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc",
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "rsqrt", "sigmoid", "sin",
    "sinh", "softplus", "sqrt", "tan", "tanh",
]  # fmt: skip

_ROOT_PI = math.sqrt(math.pi)
_TWO_BY_ROOT_PI = 2 / _ROOT_PI
_LN2, _LN10 = math.log(2), math.log(10)


def _unary(
    name: str,
    function: Any,
    rule: Any,
    saves: str,
    *,
    doc: str,
    example: str,
    code: str = "",
    arrays: Any = None,
    cost: Cost = "expensive",
    domain: Domain = "all",
    complex: Meaning = "",
    by_complex: Any = None,
) -> Any:
    return elementwise(
        name,
        function,
        code or f"{name}({{0}})",
        arity=1,
        floating=True,
        cost=cost,
        domain=domain,
        vjp=(rule,),
        vjp_arrays=arrays,
        saves=(saves,),
        complex=complex,
        complex_vjp=() if by_complex is None else (by_complex,),
        doc=doc,
        example=example,
    )


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


sqrt = _unary(
    "sqrt", np.sqrt, lambda g, o, a: g / (2 * o), "o",
    complex="holomorphic",
    doc="The square root; nan below 0.",
    example=">>> sg.sqrt(np.array([4.0, 2.25]))\narray([2. , 1.5])",
    cost="moderate", domain="positive",
)  # fmt: skip
rsqrt = _unary(
    "rsqrt", _rsqrt, lambda g, o, a: g * (-0.5 * (o * o * o)), "o",
    complex="holomorphic",
    doc="1 / sqrt(x).",
    example=">>> sg.rsqrt(np.array([4.0, 0.25]))\narray([0.5, 2. ])",
    cost="moderate", domain="positive",
)  # fmt: skip
exp = _unary(
    "exp", np.exp, lambda g, o, a: g * o, "o",
    complex="holomorphic",
    doc="e to the power of a.",
    example=">>> sg.exp(np.array([0.0, 1.0]))\narray([1.        , 2.71828183])",
    cost="moderate", domain="small",
)  # fmt: skip
exp2 = _unary(
    "exp2", np.exp2, lambda g, o, a: g * (o * _LN2), "o",
    complex="holomorphic",
    doc="2 to the power of a, exact where that is an integer.",
    example=">>> sg.exp2(np.array([3.0, -1.0]))\narray([8. , 0.5])",
    domain="small",
)  # fmt: skip
expm1 = _unary(
    "expm1", np.expm1, lambda g, o, a: g * (o + 1), "o",
    complex="holomorphic",
    doc="exp(a) - 1, exact near 0.",
    example=">>> sg.expm1(np.array([1e-20]))\narray([1.e-20])",
    domain="small",
)  # fmt: skip
log = _unary(
    "log", np.log, lambda g, o, a: g / a, "a",
    complex="holomorphic",
    doc="The natural logarithm.",
    example=">>> sg.log(np.array([1.0, np.e]))\narray([0., 1.])",
    domain="positive",
)  # fmt: skip
log2 = _unary(
    "log2", np.log2, lambda g, o, a: g / (a * _LN2), "a",
    complex="holomorphic",
    doc="The binary logarithm, exact at powers of two.",
    example=">>> sg.log2(np.array([8.0, 0.25]))\narray([ 3., -2.])",
    domain="positive",
)  # fmt: skip
log10 = _unary(
    "log10", np.log10, lambda g, o, a: g / (a * _LN10), "a",
    complex="holomorphic",
    doc="The decimal logarithm, exact at powers of ten.",
    example=">>> sg.log10(np.array([1000.0, 0.1]))\narray([ 3., -1.])",
    domain="positive",
)  # fmt: skip
log1p = _unary(
    "log1p", np.log1p, lambda g, o, a: g / (a + 1), "a",
    complex="holomorphic",
    doc="log(1 + a), exact near 0.",
    example=">>> sg.log1p(np.array([1e-20]))\narray([1.e-20])",
    domain="positive",
)  # fmt: skip
sin = _unary(
    "sin", np.sin, lambda g, o, a: g * cos(a), "a",
    complex="holomorphic",
    doc="The sine of a in radians.",
    example=">>> sg.sin(np.array([0.0, np.pi / 2]))\narray([0., 1.])",
)  # fmt: skip
cos: Op = _unary(
    "cos", np.cos, lambda g, o, a: -g * sin(a), "a",
    complex="holomorphic",
    doc="The cosine of a in radians.",
    example=">>> sg.cos(np.array([0.0, np.pi]))\narray([ 1., -1.])",
)  # fmt: skip
tan = _unary(
    "tan", np.tan, lambda g, o, a: g * (1 + o * o), "o",
    complex="holomorphic",
    doc="The tangent of a in radians.",
    example=">>> sg.tan(np.array([0.0, np.pi / 4]))\narray([0., 1.])",
    domain="unit",
)  # fmt: skip
asin = _unary(
    "asin", np.arcsin, lambda g, o, a: g * rsqrt(1 - a * a), "a",
    complex="holomorphic",
    doc="The inverse sine, in radians.",
    example=">>> sg.asin(np.array([0.0, 1.0]))\narray([0.        , 1.57079633])",
    domain="unit",
)  # fmt: skip
acos = _unary(
    "acos", np.arccos, lambda g, o, a: -g * rsqrt(1 - a * a), "a",
    complex="holomorphic",
    doc="The inverse cosine, in radians.",
    example=">>> sg.acos(np.array([1.0, -1.0]))\narray([0.        , 3.14159265])",
    domain="unit",
)  # fmt: skip
atan = _unary(
    "atan", np.arctan, lambda g, o, a: g / (a * a + 1), "a",
    complex="holomorphic",
    doc="The inverse tangent, in radians.",
    example=">>> sg.atan(np.array([0.0, 1.0]))\narray([0.        , 0.78539816])",
)  # fmt: skip
sinh = _unary(
    "sinh", np.sinh, lambda g, o, a: g * cosh(a), "a",
    complex="holomorphic",
    doc="The hyperbolic sine.",
    example=">>> sg.sinh(np.array([0.0, 1.0]))\narray([0.        , 1.17520119])",
    domain="small",
)  # fmt: skip
cosh: Op = _unary(
    "cosh", np.cosh, lambda g, o, a: g * sinh(a), "a",
    complex="holomorphic",
    doc="The hyperbolic cosine.",
    example=">>> sg.cosh(np.array([0.0, 1.0]))\narray([1.        , 1.54308063])",
    domain="small",
)  # fmt: skip
tanh = _unary(
    "tanh", np.tanh, lambda g, o, a: g * (1 - o * o), "o",
    complex="holomorphic",
    doc="The hyperbolic tangent.",
    example=">>> sg.tanh(np.array([0.0, 1.0]))\narray([0.        , 0.76159416])",
    arrays=activation.tanh_vjp, cost="moderate",
)  # fmt: skip


def _acosh_vjp(g: object, o: object, a: Any) -> Any:
    # 0.0, so that the root of 0 at -1 is not that of -0
    return g * rsqrt((a - 1) * (a + 1) + 0.0)


def _acosh_of_complex(g: Any, o: object, a: Any) -> Any:
    return g * rsqrt(a - 1) * rsqrt(a + 1)


asinh = _unary(
    "asinh", np.arcsinh, lambda g, o, a: g * rsqrt(a * a + 1), "a",
    complex="holomorphic",
    doc="The inverse hyperbolic sine.",
    example=">>> sg.asinh(np.array([0.0, np.sinh(2.0)]))\narray([0., 2.])",
)  # fmt: skip
acosh = _unary(
    "acosh", np.arccosh, _acosh_vjp, "a",
    complex="holomorphic", by_complex=_acosh_of_complex,
    doc="The inverse hyperbolic cosine, at least 0; nan below 1.",
    example=">>> sg.acosh(np.array([1.0, np.cosh(2.0)]))\narray([0., 2.])",
    domain="positive",
)  # fmt: skip
atanh = _unary(
    "atanh", np.arctanh, lambda g, o, a: g / ((1 - a) * (1 + a)), "a",
    complex="holomorphic",
    doc="The inverse hyperbolic tangent: inf at 1, nan beyond.",
    example=">>> sg.atanh(np.array([0.0, np.tanh(2.0)]))\narray([0., 2.])",
    domain="unit",
)  # fmt: skip
erf = _unary(
    "erf", error_function.erf, lambda g, o, a: g * (_TWO_BY_ROOT_PI * exp(-(a * a))), "a",
    doc="The error function.",
    example=">>> sg.erf(np.array([0.0, 1.0]))\narray([0.        , 0.84270079])",
)  # fmt: skip
erfc = _unary(
    "erfc", error_function.erfc, lambda g, o, a: g * (-_TWO_BY_ROOT_PI * exp(-(a * a))), "a",
    doc="1 - erf(x), as accurate where that is small.",
    example=">>> sg.erfc(np.array([0.0, 30.0]))\narray([1., 0.])",
)  # fmt: skip
erfinv = _unary(
    "erfinv", inverse_error.erfinv, lambda g, o, a: g * (0.5 * _ROOT_PI * exp(o * o)), "o",
    doc="The inverse of erf: inf at 1, -inf at -1, nan beyond.",
    example=">>> sg.special.erfinv(sg.erf(np.array([0.0, 0.5])))\narray([0. , 0.5])",
    domain="unit",
)  # fmt: skip
sigmoid = _unary(
    "sigmoid", activation.sigmoid, lambda g, o, a: g * (o * (1 - o)), "o",
    complex="holomorphic",
    doc="1 / (1 + exp(-x)).",
    example=">>> sg.sigmoid(np.array([0.0, 2.0]))\narray([0.5       , 0.88079708])",
    arrays=activation.sigmoid_vjp, cost="moderate",
)  # fmt: skip
softplus = _unary(
    "softplus", _softplus, lambda g, o, a: g * sigmoid(a), "a",
    doc="log(1 + exp(x)), without overflow.",
    example=">>> sg.softplus(np.array([0.0, 10.0]))\narray([ 0.69314718, 10.0000454 ])",
)  # fmt: skip


def _over_squared_radius(x: object, a: Any, b: Any) -> Any:
    square = a * a + b * b
    origin = equal(square, 0)
    return where(origin, 0, x / where(origin, 1, square))


def _atan2_by_y(g: object, o: object, a: object, b: object) -> Any:
    return g * _over_squared_radius(b, a, b)


def _atan2_by_x(g: object, o: object, a: Any, b: object) -> Any:
    return g * _over_squared_radius(-a, a, b)


atan2 = elementwise(
    "atan2", np.arctan2, "atan2({0}, {1})", arity=2, floating=True, cost="expensive",
    vjp=(_atan2_by_y, _atan2_by_x), saves=("ab", "ab"),
    smooth=False,
    doc="The angle of the point (b, a), in radians, in [-pi, pi]; derivatives at the origin are 0.",
    example=">>> sg.atan2(np.array([1.0, 0.0]), np.array([0.0, -1.0]))\n"
    "array([1.57079633, 3.14159265])",
)  # fmt: skip
