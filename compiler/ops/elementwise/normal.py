"""The inverse of the normal distribution and of the error function, and cube roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.ops.declare import as_operand, composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, copysign, minimum, sign
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater,
    isnan,
    less,
    less_equal,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.exponential import exp, exp2, log, log2, sqrt

__all__ = ["cbrt", "ndtri"]

# Wichura 1988, algorithm AS 241 (PPND16): relative errors below 1e-16
_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_MIDDLE = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_TAIL = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _ratio(coefficients: Any, x: Any) -> Any:
    above, below = coefficients
    top: Any = above[-1]
    bottom: Any = below[-1]
    for one, other in zip(reversed(above[:-1]), reversed(below[:-1]), strict=True):
        top, bottom = top * x + one, bottom * x + other
    return top / bottom


def _quantile(q: Any, rest: Any) -> Any:
    """The normal quantile of 1/2 + q, of which `rest` is the smaller of 1/2 + q and 1/2 - q."""
    inner = minimum(absolute(q), 0.425)
    centre = q * _ratio(_CENTRE, 0.180625 - inner * inner)
    r = sqrt(-log(where(less(rest, 0.075), rest, 0.075)))
    middle = _ratio(_MIDDLE, minimum(r, 5.0) - 1.6)
    tail = _ratio(_TAIL, where(greater(r, 5.0), r, 5.0) - 5.0)
    outer = where(less_equal(r, 5.0), middle, tail)
    outer = where(equal(rest, 0), math.inf, outer)
    found = where(less_equal(absolute(q), 0.425), centre, sign(q) * outer)
    return where(logical_or(less(rest, 0), isnan(rest)), math.nan, found)


def _ndtri(x: Any) -> Any:
    return _quantile(x - 0.5, where(less(x, 0.5), x, 1 - x))


ndtri: Any = composite(
    "ndtri", _ndtri, vjp=(lambda g, o, a: g * (math.sqrt(2 * math.pi) * exp(o * o * 0.5)),),
    saves=("o",), elementwise=True, floating=True, domain="share",
    doc="The number below which a share x of the normal distribution lies: the inverse of ndtr. "
    "-inf at 0, inf at 1, nan beyond (Wichura 1988, AS 241).",
    example=">>> sg.special.ndtri(np.array([0.5, 0.975]))\narray([0.        , 1.95996398])",
)  # fmt: skip


def _cbrt(x: Any) -> Any:
    """By logarithms, and a step of Newton's method, which makes the error that of one rounding."""
    size = absolute(x)
    special = logical_or(equal(size, 0), logical_or(equal(size, math.inf), isnan(x)))
    size = where(special, 1.0, size)
    root = exp2(log2(size) / 3)
    root = root - (root - size / (root * root)) / 3
    return where(special, x, copysign(root, x))


def _cbrt_numpy(x: Any) -> Any:
    return np.cbrt(as_operand(x))


cbrt: Any = composite(
    "cbrt", _cbrt, evaluate=_cbrt_numpy, vjp=(lambda g, o, a: g / (3 * (o * o)),), saves=("o",),
    elementwise=True, floating=True, domain="positive",
    doc="The cube root, with the sign of x.",
    example=">>> sg.cbrt(np.array([8.0, -27.0]))\narray([ 2., -3.])",
)  # fmt: skip
