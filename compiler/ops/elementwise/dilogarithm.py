"""The dilogarithm in the form of SciPy's spence.

Between 1/2 and 2 by Debye's series in log(z), whose coefficients are Bernoulli's numbers; below and
beyond by reflection and inversion (Zagier 2007, "The dilogarithm function", section I.2). Errors
are a few units in the last place.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, maximum, minimum
from staticgraph.compiler.ops.elementwise.bessel_waves import even_series
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    less,
    less_equal,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.exponential import log, log1p

__all__ = ["spence"]

_DEBYE = (
    1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000,
    1 / 1120863744000, -3617 / 181400588328960000, 43867 / 97072790126247936000,
    -174611 / 16860010916664115200000,
)  # fmt: skip
"""Bernoulli's numbers B(2k) / (2k + 1)!, k from 1 on."""
_BORDER = 0.3
_ATANH = tuple(1 / (2 * k + 1) for k in range(13))


def _of_log(u: Any) -> Any:
    """The dilogarithm of 1 - exp(-u), for |u| up to log(2)."""
    square = u * u
    return u - square * 0.25 + u * square * even_series(_DEBYE, u)


def _spence(x: Any) -> Any:
    low, high = minimum(x, 0.5), maximum(x, 2)
    middle = _of_log(0 - log(maximum(minimum(x, 2), 0.5)))  # 0 of 1, not -0
    logs = log1p(-low)
    products = where(equal(low, 0), 0, logs * log(where(equal(low, 0), 1, low)))
    below = math.pi**2 / 6 - products - _of_log(-logs)
    size = log(high - 1)
    above = -(math.pi**2 / 6) - 0.5 * size * size - _of_log(-log1p(1 / (high - 1)))
    found = where(less(x, 0.5), below, where(less_equal(x, 2), middle, above))
    return where(less(x, 0), math.nan, found)


def _slope(a: Any) -> Any:
    """log(x) / (1 - x); near 1, where derivatives of the quotient cancel, a series."""
    near = less_equal(absolute(a - 1), _BORDER)
    inside = where(near, a, 1)
    series = even_series(_ATANH, (inside - 1) / (inside + 1)) * (-2 / (inside + 1))
    endless = equal(a, math.inf)
    beyond = where(logical_or(near, endless), 2, a)
    far = log(beyond) / (1 - beyond)
    return where(near, series, where(endless, 0, far))


spence: Any = composite(
    "spence", _spence, vjp=(lambda g, o, a: g * _slope(a),), saves=("a",), elementwise=True,
    floating=True, domain="positive",
    doc="The integral of log(t) / (1 - t) from 1 to x, the dilogarithm of 1 - x; nan below 0.",
    example=">>> sg.special.spence(np.array([0.0, 1.0, 2.0]))\n"
    "array([ 1.64493407,  0.        , -0.82246703])",
)  # fmt: skip
