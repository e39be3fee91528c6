"""The exponential of matrices, composed of shared ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["expm"]

_DEGREE = 13
_REACH = 5.37
"""The norm up to which the approximant is exact in float64 (Higham 2005, table 2.3)."""
_SQUARINGS = 16
_COEFFICIENTS = tuple(
    math.comb(_DEGREE, k) * math.factorial(2 * _DEGREE - k) / math.factorial(2 * _DEGREE)
    for k in range(_DEGREE + 1)
)


def expm(a: Value) -> Value:
    """The exponentials of square matrices (..., n, n).

    The Pade approximant of degree 13 of the matrix scaled by a power of 2, squared as often
    (Higham, The scaling and squaring method for the matrix exponential revisited, 2005). nan where
    the norm is above 3.5e5.

    Raises:
        ShapeError: the matrices are not square.

    Example:
        >>> sg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
        array([[1., 1.],
               [0., 1.]])
    """
    a = as_operand(a)
    if a.ndim < 2 or unify(a.shape[-1], a.shape[-2]) is None:
        raise ShapeError(f"expm: {tuple(a.shape)} are no square matrices")
    if not is_inexact(a.dtype):
        a = ops.astype(a, "float64")
    sizes = ops.absolute(ops.stop_gradient(a))
    norm = ops.max(ops.sum(sizes, axis=-2, keepdims=True), axis=-1, keepdims=True, initial=0.0)
    times = ops.maximum(ops.ceil(ops.log2(ops.maximum(norm / _REACH, 1.0))), 0.0)
    found = _approximant(a * ops.astype(ops.exp2(-times), a.dtype))
    for k in range(_SQUARINGS):
        again = ops.greater(times, k)
        base = ops.where(again, found, 0.0)  # what is squared in vain may not overflow
        found = ops.where(again, ops.matmul(base, base), found)
    return ops.where(ops.less_equal(times, _SQUARINGS), found, math.nan)


def _approximant(a: Any) -> Any:
    """The quotient of the approximant's polynomials."""
    second = ops.matmul(a, a)
    fourth = ops.matmul(second, second)
    powers = (None, second, fourth, ops.matmul(fourth, second))
    odd = ops.matmul(a, _polynomial(powers, _COEFFICIENTS[1::2], a))
    even = _polynomial(powers, _COEFFICIENTS[0::2], a)
    return ops.solve(even - odd, even + odd)


def _polynomial(powers: Any, coefficients: Any, a: Any) -> Any:
    """The sum of seven even powers times their coefficients, by Horner's rule in the sixth."""
    identity = _identity(a)
    high = sum(one * c for one, c in zip(powers[1:], coefficients[4:], strict=True))
    low = sum(one * c for one, c in zip(powers[1:], coefficients[1:4], strict=True))
    return ops.matmul(powers[3], high) + low + identity * coefficients[0]


def _identity(a: Any) -> Any:
    """The identity, of a's dtype and size."""
    size = a.shape[-1]
    if isinstance(size, int):
        return np.eye(size, dtype=a.dtype)
    places = a.apply(ops.op_named("iota"), (), {"size": size})
    return ops.astype(ops.equal(ops.expand_dims(places, 1), places), a.dtype)
