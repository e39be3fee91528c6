"""Modified Bessel functions of the second kind, of orders 0 and 1, and by exp(x) larger.

Up to 2 by their power series (Abramowitz and Stegun 9.6.11), beyond by Chebyshev series of
sqrt(x) exp(x) K(x) in 2 / x, fitted to 50 digits with mpmath; what is left out is below 1e-18 of
the largest coefficient. Errors are a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import maximum, minimum
from staticgraph.compiler.ops.elementwise.bessel_waves import at_pole
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import equal, less, less_equal, where
from staticgraph.compiler.ops.elementwise.exponential import exp, log, sqrt

__all__ = [
    "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
]  # fmt: skip

_BORDER = 2.0
_K0_FAR = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07,
    -4.660489897687948e-08, 8.574034017414225e-09, -1.6975345093890614e-09,
    3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13,
    8.032890775068375e-14, -2.2275133267462965e-14, 6.340076476276646e-15,
    -1.848593377920907e-15, 5.5120559994043335e-16, -1.6782311257549006e-16,
    5.2103917776435543e-17, -1.6475805939842632e-17, 5.3004337711773354e-18,
    -1.7331712005821001e-18,
)  # fmt: skip
_K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07,
    5.7410841254500495e-08, -1.0345762465678097e-08, 2.0150497551970347e-09,
    -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13,
    -8.976705182010146e-14, 2.4771544242195988e-14, -7.0198370892147685e-15,
    2.038703166239861e-15, -6.057047270643018e-16, 1.8380935752430455e-16,
    -5.689462849193648e-17, 1.7940510478863572e-17, -5.7567444820733025e-18,
    1.8778651901623268e-18,
)  # fmt: skip
_TERMS = 14


def _psi(n: int) -> float:
    """digamma of a whole number."""
    return sum(1 / k for k in range(1, n)) - np.euler_gamma


_I0 = tuple(1 / math.factorial(k) ** 2 for k in range(_TERMS))
_K0 = tuple(_psi(k + 1) * _I0[k] for k in range(_TERMS))
_I1 = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(_TERMS))
_K1 = tuple((_psi(k + 1) + _psi(k + 2)) * 0.5 * _I1[k] for k in range(_TERMS))


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    found: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = found * x + coefficient
    return found


def _near(x: Any, order: int) -> Any:
    inside = minimum(x, _BORDER)
    square = inside * inside * 0.25
    logs = log(inside * 0.5)
    if order == 0:
        return _polynomial(_K0, square) - logs * _polynomial(_I0, square)
    waves = logs * _polynomial(_I1, square) - _polynomial(_K1, square)
    found = where(equal(x, 0), math.inf, 1 / inside + inside * waves)  # 0 log(0) is nan
    return where(less(x, 0), math.nan, found)


def _far(x: Any, order: int) -> Any:
    """Beyond the border, without the factor exp(-x)."""
    beyond = maximum(x, _BORDER)
    series = chebyshev_sum(_K1_FAR if order else _K0_FAR, 2 * _BORDER / beyond - 1)
    return series / sqrt(beyond)


def _plain(order: int) -> Callable[[Any], Any]:
    def k(x: Any) -> Any:
        far = _far(x, order) * exp(-maximum(x, _BORDER))
        return where(less_equal(x, _BORDER), _near(x, order), far)

    return k


def _scaled(order: int) -> Callable[[Any], Any]:
    def k(x: Any) -> Any:
        near = _near(x, order) * exp(minimum(x, _BORDER))
        return where(less_equal(x, _BORDER), near, _far(x, order))

    return k


modified_bessel_k0: Any = composite(
    "modified_bessel_k0", _plain(0), vjp=(lambda g, o, a: -g * modified_bessel_k1(a),),
    saves=("a",), elementwise=True, floating=True, domain="positive",
    doc="The modified Bessel function of the second kind of order 0: inf at 0, nan below.",
    example=">>> sg.special.modified_bessel_k0(np.array([1.0, 2.0]))\n"
    "array([0.42102444, 0.11389387])",
)  # fmt: skip
modified_bessel_k1: Any = composite(
    "modified_bessel_k1", _plain(1),
    vjp=(lambda g, o, a: -g * (modified_bessel_k0(a) + o / a),),
    saves=("ao",), elementwise=True, floating=True, domain="positive",
    doc="The modified Bessel function of the second kind of order 1: inf at 0, nan below.",
    example=">>> sg.special.modified_bessel_k1(np.array([1.0, 2.0]))\n"
    "array([0.60190723, 0.13986588])",
)  # fmt: skip
scaled_modified_bessel_k0: Any = composite(
    "scaled_modified_bessel_k0", _scaled(0),
    vjp=(lambda g, o, a: g * at_pole(o - scaled_modified_bessel_k1(a), a, -math.inf),),
    saves=("ao",), elementwise=True, floating=True, domain="positive",
    doc="exp(x) times the modified Bessel function of the second kind of order 0.",
    example=">>> sg.special.scaled_modified_bessel_k0(np.array([1.0, 1e3])).round(6)\n"
    "array([1.144463, 0.039628])",
)  # fmt: skip
scaled_modified_bessel_k1: Any = composite(
    "scaled_modified_bessel_k1", _scaled(1),
    vjp=(lambda g, o, a: g * at_pole(o - scaled_modified_bessel_k0(a) - o / a, a, -math.inf),),
    saves=("ao",), elementwise=True, floating=True, domain="positive",
    doc="exp(x) times the modified Bessel function of the second kind of order 1.",
    example=">>> sg.special.scaled_modified_bessel_k1(np.array([1.0, 1e3])).round(6)\n"
    "array([1.636153, 0.039648])",
)  # fmt: skip
