"""Faddeeva's function, the error function of complex numbers, composed of shared ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["wofz"]

_ROOT_PI = math.sqrt(math.pi)
_STEP = math.sqrt(math.pi / 12)
_FAR = 1e8


def wofz(z: Value) -> Value:
    """exp(-z**2) erfc(-i z): Faddeeva's function, complex of real numbers too.

    By the trapezoidal and the midpoint rule with what their poles add (Al Azah and Chandler-Wilde,
    SIAM J. Numer. Anal. 59, 2021): errors are some 1e-15 of |w|, so that a part which is much
    smaller has fewer digits, as has all of it near its zeros below the real axis; inf or nan where
    exp(-z**2) overflows there.

    Example:
        >>> sg.special.wofz(np.array([0.0, 1.0])).round(4)
        array([1.    +0.j    , 0.3679+0.6072j])
    """
    z = as_operand(z)
    dtype = np.result_type(z.dtype if np.dtype(z.dtype).kind in "fc" else "float64", "complex64")
    z = ops.astype(z, "complex128")
    below = ops.less(ops.imaginary_part(z), 0)
    upper = ops.where(below, -z, z)
    x, y = ops.real_part(upper), ops.imaginary_part(upper)
    left = ops.less(x, 0)
    x = ops.where(left, -x, x)
    found = _faddeeva(x, y)
    found = ops.where(left, ops.conjugate(found), found)
    distant = ops.greater(x + y, _FAR)
    other = ops.where(ops.logical_and(below, ops.logical_not(distant)), z, 0)
    of_gauss = ops.where(distant, ops.where(ops.less(y, x), 0, math.nan), ops.exp(-other * other))
    return ops.astype(ops.where(below, 2 * of_gauss - found, found), str(dtype))


def _faddeeva(x: Any, y: Any) -> Any:
    """Of x + i y in the first quadrant: 2 i h z / pi times a sum of exp(-t**2) / (z**2 - t**2)."""
    z = ops.make_complex(x, y)
    size = x + y
    far = ops.greater(size, _FAR)
    inside = ops.where(ops.less_equal(size, _FAR), z, _FAR)
    places = ops.real_part(inside) / _STEP
    parts = places - ops.floor(places)
    apart = ops.logical_and(ops.greater_equal(parts, 0.25), ops.less_equal(parts, 0.75))
    whole = ops.logical_and(apart, ops.less(y, x))
    # of tensors, numbers alone are float32
    shift = ops.astype(ops.where(whole, 1.0, 0.5), "float64")
    square = inside * inside
    t = (ops.expand_dims(shift, -1) + np.arange(12.0)) * _STEP
    terms = ops.exp(-t * t) / (ops.expand_dims(square, -1) - t * t)
    total = ops.sum(terms, axis=-1)
    total = total * inside * (2j * _STEP / math.pi)
    first = ops.where(whole, inside, 1)
    total = total + ops.where(whole, 1j * _STEP / math.pi / first, 0)
    low = ops.less(ops.imaginary_part(inside), math.pi / _STEP)
    near = ops.where(low, inside, 0)
    turn = ops.exp(near * (-2j * math.pi / _STEP)) * ops.where(whole, -1.0, 1.0)
    turn = ops.where(low, turn, 1)
    total = total + ops.where(low, 2 * ops.exp(-near * near) / (1 + turn), 0)
    distant = ops.logical_and(far, ops.isfinite(size))
    edge = ops.where(ops.isinf(size), 0, 1j / _ROOT_PI / ops.where(distant, z, 1))
    return ops.where(ops.isnan(size), ops.make_complex(size, size), ops.where(far, edge, total))
