"""Owen's T function.

Of |a| up to 1 its integral (Owen 1956, "Tables for computing bivariate normal probabilities") by
Gauss's rule of 24 points, over what does not vanish of it; beyond by that of 1 / a. All terms are
positive, so errors are a few units in the last place, and (a h)**2 of them at most.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum
from staticgraph.compiler.ops.elementwise.comparison import equal, greater, less, logical_and, where
from staticgraph.compiler.ops.elementwise.exponential import erf, erfc, exp
from staticgraph.compiler.ops.elementwise.twofold import product_and_rest

__all__ = ["owens_t"]

_GAUSS = (
    (0.06405689286260563, 0.12793819534675216), (0.1911188674736163, 0.1258374563468283),
    (0.3150426796961634, 0.12167047292780339), (0.4337935076260451, 0.1155056680537256),
    (0.5454214713888396, 0.10744427011596563), (0.6480936519369755, 0.09761865210411388),
    (0.7401241915785544, 0.08619016153195327), (0.820001985973903, 0.0733464814110803),
    (0.8864155270044011, 0.05929858491543678), (0.9382745520027328, 0.04427743881741981),
    (0.9747285559713095, 0.028531388628933663), (0.9951872199970213, 0.0123412297999872),
)  # fmt: skip
"""Places and weights on [-1, 1], those above 0."""
_SPAN = 8.6
"""Beyond it exp(-x**2 / 2) adds nothing."""
_MOST = 40.0
"""exp(-x**2 / 2) is 0 here."""
_ROOT_HALF = math.sqrt(0.5)


def _within(h: Any, a: Any) -> Any:
    """T of h from 0 on and a from 0 to 1."""
    inside = minimum(h, _MOST)
    length = minimum(a, _SPAN / maximum(inside, 1e-30))
    total: Any = 0.0
    for place, weight in _GAUSS:
        for share in ((1 - place) / 2, (1 + place) / 2):
            x = length * share
            angle = inside * x
            total = total + weight * (exp(angle * angle * -0.5) / (x * x + 1))
    square, rest = product_and_rest(inside, inside)
    outside = exp(square * -0.5) * (1 - rest * 0.5) * (1 / (4 * math.pi))
    return total * length * outside


def _owens_t(h: Any, a: Any) -> Any:
    h, size = absolute(h), absolute(a)
    far = greater(size, 1)
    scaled = _times(h, size)
    found = _within(where(far, scaled, h), where(far, 1 / maximum(size, 1), size))
    both = 0.25 - 0.25 * erf(h * _ROOT_HALF) * erf(scaled * _ROOT_HALF)
    above, beyond = 0.5 * erfc(h * _ROOT_HALF), 0.5 * erfc(scaled * _ROOT_HALF)
    tails = 0.5 * (above + beyond) - above * beyond
    rest = where(less(h, 0.67), both, tails) - found
    return copysign(where(far, rest, found), a)


def _times(h: Any, a: Any) -> Any:
    """h a, and 0 of 0 and inf."""
    of_zero = logical_and(equal(h, 0), equal(absolute(a), math.inf))
    of_endless = logical_and(equal(absolute(h), math.inf), equal(a, 0))
    return where(of_endless, 1, h) * where(of_zero, 1, a)


def _by_h(g: Any, o: object, h: Any, a: Any) -> Any:
    scaled = _times(h, a)
    return g * (exp(h * h * -0.5) * erf(scaled * _ROOT_HALF) * (-0.5 / math.sqrt(2 * math.pi)))


def _by_a(g: Any, o: object, h: Any, a: Any) -> Any:
    scaled = _times(h, a)
    return g * (exp((h * h + scaled * scaled) * -0.5) / ((a * a + 1) * (2 * math.pi)))


owens_t: Any = composite(
    "owens_t", _owens_t, vjp=(_by_h, _by_a), saves=("ab", "ab"), elementwise=True,
    promotes=slice(None), floating=True,
    doc="Owen's T(h, a), of exp(-h**2 (1 + x**2) / 2) / (1 + x**2) / (2 pi) the integral over x "
    "from 0 to a: the chance that one normal number is above h, and another between 0 and a of it.",
    example=">>> sg.special.owens_t(np.array([0.0, 1.0]), 1.0)\narray([0.125     , 0.06674188])",
)  # fmt: skip
