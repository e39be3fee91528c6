"""Complex numbers in NumPy's names: their parts, and what makes them."""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.elements import floats, signbit
from staticgraph.compiler.ops.declare import as_operand, zeros_like

__all__ = ["angle", "conj", "conjugate", "imag", "iscomplex", "isreal", "polar", "real"]


def is_complex(x: Value) -> bool:
    """Whether the dtype of an operand is complex."""
    return np.dtype(x.dtype).kind == "c"


def isreal(x: Value) -> Value:
    """Whether an element has no imaginary part.

    Example:
        >>> sg.isreal(np.array([1 + 0j, 2j]))
        array([ True, False])
    """
    return ops.logical_not(iscomplex(x))


def iscomplex(x: Value) -> Value:
    """Whether an element has an imaginary part.

    Example:
        >>> sg.iscomplex(np.array([1 + 0j, 2j]))
        array([False,  True])
    """
    x = as_operand(x)
    if is_complex(x):
        return ops.not_equal(ops.imaginary_part(x), 0)
    return ops.logical_and(ops.equal(x, x), False)


def real(x: Value) -> Value:
    """The real part; of real numbers x itself.

    Example:
        >>> sg.real(np.array([1 + 2j]))
        array([1.])
    """
    x = as_operand(x)
    return ops.real_part(x) if is_complex(x) else x


def imag(x: Value) -> Value:
    """The imaginary part; of real numbers 0.

    Example:
        >>> sg.imag(np.array([1 + 2j]))
        array([2.])
    """
    x = as_operand(x)
    return ops.imaginary_part(x) if is_complex(x) else zeros_like(x)


def conj(x: Value) -> Value:
    """The complex conjugate; of real numbers x itself.

    Example:
        >>> sg.conj(np.array([1 + 2j]))
        array([1.-2.j])
    """
    x = as_operand(x)
    return ops.conjugate(x) if is_complex(x) else x


def conjugate(x: Value) -> Value:
    """NumPy's other name of `conj`.

    Example:
        >>> sg.conjugate(np.array([1 + 2j]))
        array([1.-2.j])
    """
    return conj(x)


def angle(x: Value, deg: bool = False) -> Value:
    """The angle in the complex plane, in (-pi, pi], or in degrees if `deg`.

    The gradient at 0 is 0.

    Example:
        >>> sg.angle(np.array([1j, -1.0]), deg=True)
        array([ 90., 180.])
    """
    x = as_operand(x)
    if is_complex(x):
        found = ops.atan2(ops.imaginary_part(x), ops.real_part(x))
        return found * (180 / math.pi) if deg else found
    x = floats(x)
    found = ops.where(signbit(x), 180.0 if deg else math.pi, zeros_like(x))
    return ops.where(ops.isnan(x), x, found)


def polar(abs: Value, angle: Value) -> Value:
    """The complex numbers of these absolute values and angles: abs (cos(angle) + i sin(angle)).

    Example:
        >>> sg.real(sg.polar(np.array([2.0]), np.array([0.0])))
        array([2.])
    """
    return ops.make_complex(abs * ops.cos(angle), abs * ops.sin(angle))
