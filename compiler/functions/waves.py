"""Special functions in SciPy's names that are families or pairs, composed of shared ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.elements import of_one_dtype
from staticgraph.compiler.functions.special import _floats, _widely
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["bessel_jn", "fresnel", "sici", "sph_harm_y"]


def fresnel(x: Value) -> tuple[Value, Value]:
    """Fresnel's integrals S and C: of sin(pi t**2 / 2), and of its cosine, from 0 to x.

    Example:
        >>> sg.special.fresnel(np.array([1.0]))
        (array([0.43825915]), array([0.7798934]))
    """
    return ops.fresnel_sine(x), ops.fresnel_cosine(x)


def sici(x: Value) -> tuple[Value, Value]:
    """The sine and the cosine integral, Si and Ci; Ci of negative numbers is its real part.

    Example:
        >>> sg.special.sici(np.array([1.0]))
        (array([0.94608307]), array([0.33740392]))
    """
    return ops.sine_integral(x), ops.cosine_integral(x)


@_widely
def bessel_jn(z: Value, *, v: int) -> Value:
    """The Bessel functions of the first kind of the orders 0 to v: float (v + 1, *z.shape).

    From orders 0 and 1 upwards as long as the order is not above |z|, and beyond by the quotients
    of neighbours, a continued fraction (Gautschi 1967). Errors are those of orders 0 and 1, some
    units in the last place of the envelope or, beyond, of the value.

    Example:
        >>> sg.special.bessel_jn(np.array(1.0), v=2)
        array([0.76519769, 0.44005059, 0.11490348])
    """
    if not isinstance(v, int) or v < 0:
        raise OptionError(f"bessel_jn: v={v!r} is no whole number from 0 on")
    x = _floats(z)
    size = ops.abs(x)
    quotients: list[Any] = [0.0] * (v + 1)
    quotient: Any = 0.0
    for n in range(v + 10 + int(8 * v ** (1 / 3)), 1, -1):
        inside = ops.where(ops.less(size, n), x, 0)
        quotient = inside / (2 * n - inside * quotient)
        if n <= v:
            quotients[n] = quotient
    found = [ops.bessel_j0(x), ops.bessel_j1(x)]
    for n in range(2, v + 1):
        below = ops.less(size, n)
        upwards = found[n - 1] * (2 * (n - 1)) / ops.where(below, 1, x) - found[n - 2]
        found.append(ops.where(below, found[n - 1] * quotients[n], upwards))
    return ops.stack(found[: v + 1])


def sph_harm_y(n: Value, m: Value, theta: Value, phi: Value, *, n_max: int | None = None) -> Value:
    """Spherical harmonics of degree n and order m at the polar angle theta and the azimuth phi.

    Degrees and orders are integers that broadcast with the angles, theta from 0 to pi; `n_max`, the
    largest degree, is needed where they are neither numbers nor arrays. Complex, with the phase of
    Condon and Shortley; 0 for |m| > n, nan for n < 0 and n > n_max. By recurrence over degrees
    (Abramowitz and Stegun 8.5.3) of normalised functions: the time is proportional to the largest.

    Example:
        >>> sg.special.sph_harm_y(1, 0, np.array([0.0]), 0.0)
        array([0.48860251+0.j])
    """
    for name, given in (("n", n), ("m", m)):
        kind = np.dtype(getattr(given, "dtype", None) or np.asarray(given).dtype).kind
        if kind not in "iu":
            raise OptionError(f"sph_harm_y: {name} is an integer, got {given!r}")
    if n_max is None:
        if not isinstance(n, int | np.ndarray | np.generic):
            raise OptionError("sph_harm_y: n_max= is needed for degrees that are no numbers yet")
        n_max = int(np.max(n, initial=0))
    theta, phi = of_one_dtype(theta, phi)
    if is_narrow(theta.dtype):
        theta, phi = ops.astype(theta, "float32"), ops.astype(phi, "float32")
    degree, signed = (ops.astype(as_operand(one), theta.dtype) for one in (n, m))
    values = _legendre(degree, ops.abs(signed), theta, n_max)
    odd = ops.not_equal(ops.remainder(signed, 2), 0)
    values = ops.where(ops.logical_and(ops.less(signed, 0), odd), -values, values)
    turn = signed * phi
    return ops.make_complex(values * ops.cos(turn), values * ops.sin(turn))


def _legendre(degree: Any, order: Any, theta: Any, n_max: int) -> Any:
    """The normalised associated Legendre function of cos(theta)."""
    cosine, sine = ops.cos(theta), ops.sin(theta)
    current = cosine * 0 + (degree + order) * 0 + math.sqrt(0.25 / math.pi)
    before: Any = current * 0
    squares = order * order
    for k in range(1, n_max + 1):
        rising, inside = ops.less_equal(k, order), ops.less_equal(k, degree)
        by_order = current * sine * -math.sqrt((2 * k + 1) / (2 * k))
        low = ops.maximum((k - 1) ** 2 - squares, 0) / (4 * (k - 1) ** 2 - 1)
        high = (4 * k * k - 1) / ops.where(rising, 1, k * k - squares)
        by_degree = ops.sqrt(high) * (cosine * current - ops.sqrt(low) * before)
        kept = ops.where(inside, by_degree, current)
        before = ops.where(rising, 0, ops.where(inside, current, before))
        current = ops.where(rising, by_order, kept)
    current = ops.where(ops.greater(order, degree), 0, current)
    unknown = ops.logical_or(ops.less(degree, 0), ops.greater(degree, n_max))
    return ops.where(unknown, math.nan, current)
