"""The inverse of the error function with NumPy, which has none.

It is a quantile of the normal distribution, by Wichura, Algorithm AS 241 (PPND16), Applied
Statistics 37(3), 1988: quotients of polynomials, to about 1e-16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.reference.scratch import floats

# numerator and denominator, constant term first, in 0.180625 - q^2 for |q| <= 0.425 ...
_CENTRE = (
    (
        3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
        13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
        33430.575583588128105, 2509.0809287301226727,
    ),
    (
        1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
        21213.794301586595867, 39307.895800092710610, 28729.085735721942674,
        5226.4952788528545610,
    ),
)  # fmt: skip
# ... and with r = sqrt(-log of the smaller tail), in r - 1.6 up to r = 5, in r - 5 beyond
_TAIL = (
    (
        1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
        3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
        0.0227238449892691845833, 7.74545014278341407640e-4,
    ),
    (
        1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
        0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)  # fmt: skip
_FAR_TAIL = (
    (
        6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
        0.296560571828504891230, 0.0265321895265761230930, 0.00124266094738807843860,
        2.71155556874348757815e-5, 2.01033439929228813265e-7,
    ),
    (
        1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
        7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)  # fmt: skip
_ROOT_HALF = math.sqrt(0.5)


def _quotient(x: Any, coefficients: Sequence[Sequence[float]]) -> Any:
    above, below = (np.polynomial.polynomial.polyval(x, np.array(one)) for one in coefficients)
    return above / below


def erfinv(x: Any) -> Any:
    """The inverse of erf of a float32 or float64 array: inf at 1, -inf at -1, nan beyond."""
    x = floats(np.asarray(x))
    size = np.abs(x.astype(np.float64))
    q = size * 0.5
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        r = np.sqrt(-np.log(0.5 - q))
        centre = size * (0.5 * _quotient(0.180625 - q * q, _CENTRE))  # half the smallest is 0
        tail = np.where(r <= 5, _quotient(r - 1.6, _TAIL), _quotient(r - 5, _FAR_TAIL))
        found = np.where(q <= 0.425, centre, np.where(q == 0.5, np.inf, tail))
    return np.copysign(found * _ROOT_HALF, x).astype(x.dtype)
