"""The error function with NumPy, which has none: within 2 ulp in float64 and 4 ulp in float32.

In float64 it is made of two polynomials. Their coefficients interpolate at the Chebyshev nodes,
computed with 50 digits:

    erf(x) / x - 1           in t = x^2, 0 <= t <= 1, error below 1e-17
    exp(x^2) erfc(x)         in u = (x - 3) / (x + 3), 1 <= x <= 6, error below 4e-18 exp(x^2)

The variable u is that of Shepherd and Laframboise (Mathematics of Computation 36, 1981).

In float32 it is tanh(x P(x^2)), since NumPy's tanh is fast: P approximates atanh(erf(x)) / x for
0 <= x <= 4, in the sense of the largest relative error of erf, which is 9.5e-8 (Lawson's
algorithm), and makes tanh 1 beyond.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.reference.scratch import floats, scratch

_NEAR = (
    0.12837916709551256,
    -0.37612638903183543,
    0.11283791670945006,
    -0.02686617064323777,
    0.0052239776071164225,
    -0.0008548325975389692,
    0.00012055294904839707,
    -1.492473690741966e-05,
    1.6447424703317362e-06,
    -1.6208483801871705e-07,
    1.3720064546777686e-08,
    -7.795898827002142e-10,
)
_FAR = (
    0.17900115118138996,
    -0.32623356004303716,
    0.24560380171233195,
    -0.15011593650078744,
    0.07166583719774874,
    -0.024392499318273194,
    0.004269136347508256,
    0.0007077464443901538,
    -0.0005970623517093284,
    4.525472635483354e-05,
    6.406182073530546e-05,
    -1.284889451252353e-05,
    -8.008021319412685e-06,
    2.023603179641757e-06,
    1.2801900862962662e-06,
)
_SINGLE = np.array(
    (
        1.1283792743068304,
        0.10276905579239302,
        -0.00019183081320317953,
        -0.0006197846405299204,
        8.763731741763574e-05,
        -5.668473548031477e-06,
        1.4185208400316227e-07,
    ),
    np.float32,
)
_NEXT = [_SINGLE[i : i + 1].reshape(()) for i in range(len(_SINGLE) - 2, -1, -1)]
"""All but the last, backwards, as arrays without axes, with which NumPy is fast."""
_LAST = _SINGLE[-1:].reshape(())
_MOST, _LEAST = np.array(8, np.float32), np.array(-8, np.float32)
_LIMIT = 6.0  # erf is 1 in float64 from here on
_BLOCK = 4096  # elements at a time, so that the temporaries stay in the cache
# one column per step of Horner's scheme, so that both polynomials advance in one call
_STEPS = np.array([[*_NEAR, *[0.0] * (len(_FAR) - len(_NEAR))], _FAR]).T[::-1, :, None]


def erfc(x: Any) -> Any:
    """1 - erf(x) of a float32 or float64 array, by the C library."""
    x = floats(np.asarray(x))
    values = [math.erfc(one) for one in x.ravel().tolist()]
    return np.array(values, np.float64).astype(x.dtype).reshape(x.shape)


def erf(x: Any) -> Any:
    """The error function of a float32 or float64 array, element by element."""
    x = floats(np.asanyarray(x))
    result = np.empty(x.shape, x.dtype)
    if x.dtype == np.float32:
        return _single(x, result)
    flat = x.astype(np.float64).ravel()
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        np.copysign(_positive(np.abs(block)), block, out=block)
    np.copyto(result, flat.reshape(x.shape))
    return result


def _single(x: Any, sums: Any) -> Any:
    bounded = np.minimum(x, _MOST, out=scratch(x, 1))  # beyond, powers may overflow
    np.maximum(bounded, _LEAST, out=bounded)
    square = np.multiply(bounded, bounded, scratch(x, 2))
    sums = np.multiply(square, _LAST, sums)
    sums = np.add(sums, _NEXT[0], sums)
    for coefficient in _NEXT[1:]:
        np.multiply(sums, square, sums)
        np.add(sums, coefficient, sums)
    np.multiply(sums, bounded, sums)
    return np.tanh(sums, sums)


def _positive(a: Any) -> Any:
    a = np.minimum(a, _LIMIT)
    square = a * a
    variables = np.array([square, (a - 3) / (a + 3)])
    sums = np.repeat(_STEPS[0], a.size, axis=1)
    for step in _STEPS[1:]:
        sums *= variables
        sums += step
    return np.where(a < 1, a + a * sums[0], 1 - np.exp(-square) * sums[1])
