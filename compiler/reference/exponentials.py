"""Exponentials of matrices by scaling and squaring.

N. J. Higham, The scaling and squaring method for the matrix exponential revisited, SIAM Journal on
Matrix Analysis and Applications 26 (2005), algorithm 2.3 with the approximant of degree 13.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DEGREE = 13
# The coefficients of the numerator of the diagonal Padé approximant to exp, from the constant on,
# which is 1: the exponential of 0 is the identity, without rounding.
_PADE = [
    math.comb(DEGREE, k) * math.factorial(2 * DEGREE - k) / math.factorial(2 * DEGREE)
    for k in range(DEGREE + 1)
]
_LARGEST = 5.371920351148152  # the norm up to which the approximant is exact to float64's rounding


def expm(a: Any) -> Any:
    """The exponentials of square matrices (..., n, n), computed in double precision."""
    wide = a.astype(np.result_type(a.dtype, np.float64), copy=False)
    norms = np.abs(wide).sum(-2).max(-1, initial=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        powers = np.ceil(np.log2(norms / _LARGEST))
        halvings = np.where(np.isfinite(powers), np.maximum(powers, 0), 0).astype(int)
        result = _approximant(np.ldexp(1.0, -halvings)[..., None, None] * wide)
        for done in range(halvings.max(initial=0)):
            result = np.where((done < halvings)[..., None, None], result @ result, result)
        return result.astype(a.dtype, copy=False)


def _approximant(a: Any) -> Any:
    """p(a) / p(-a): powers of even degree make the sum, those of odd degree the difference."""
    square = a @ a
    even: Any = 0
    odd: Any = 0
    power = np.eye(a.shape[-1], dtype=a.dtype)
    for k in range(0, DEGREE, 2):
        even, odd = even + _PADE[k] * power, odd + _PADE[k + 1] * power
        power = power @ square
    odd = a @ odd
    return np.linalg.solve(even - odd, even + odd)


def expm_frechet(a: Any, e: Any) -> Any:
    """The derivatives of exp at a in the directions e: the corners of exp([[a, e], [0, a]]).

    R. Mathias, A chain rule for matrix functions and applications, SIAM Journal on Matrix Analysis
    and Applications 17 (1996), theorem 2.1.
    """
    size = a.shape[-1]
    return expm(np.block([[a, e], [np.zeros_like(a), a]]))[..., :size, size:]
