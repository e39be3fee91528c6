"""Bessel functions of orders 0 and 1, which oscillate: J, Y and the spherical j.

Up to 8 by Chebyshev series in x**2, of J divided by its zeros there, of Y less its logarithm;
beyond by Hankel's expansion (Abramowitz and Stegun 9.2.5), whose two sums are Chebyshev series in
(8 / x)**2. They are fitted to 50 digits with mpmath; what is left out is below 1e-18 of the largest
coefficient. Errors are a few units in the last place of the envelope, sqrt(2 / (pi x)), or
of the value where that is larger.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, maximum, minimum, sign
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    less,
    less_equal,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.exponential import cos, log, sin, sqrt

__all__ = ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"]

_BORDER = 8.0
# zeros below the border, each as a float and the rest
_J0_ZEROS = (
    (2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17),
)  # fmt: skip
_J1_ZEROS = (
    (3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17),
)  # fmt: skip
_J0_NEAR = (
    0.0019903555001601486, -0.002620939138497025, 0.0008687721472062577,
    -0.00017040584951557357, 2.204908639454817e-05, -2.0248894980012834e-06,
    1.3898025173428905e-07, -7.406701254344167e-09, 3.1559927583611334e-10,
    -1.1003860827939697e-11, 3.1989232970233477e-13, -7.875041254709154e-15,
    1.6632588015211278e-16, -3.0475993756698376e-18, 4.8912290055811176e-20,
)  # fmt: skip
_J1_NEAR = (
    0.00027895709887613106, -0.0003115684036643562, 8.553646588540538e-05,
    -1.4149356425623485e-05, 1.576470099225889e-06, -1.269075502369425e-07,
    7.747614077073057e-09, -3.716577146675772e-10, 1.4395417669312554e-11,
    -4.60007822413452e-13, 1.2341465589619718e-14, -2.8205466239524856e-16,
    5.558821065951572e-18, -9.546930865755219e-20, 1.4418291781315051e-21,
)  # fmt: skip
_Y0_NEAR = (
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663,
    -0.17730201278114358, 0.04719668959576339, -0.007287962479552079, 0.0007531135932577742,
    -5.632079141056987e-05, 3.206532537654801e-06, -1.44072332740187e-07,
    5.248794787330516e-09, -1.5837552541812015e-10, 4.02633081830612e-12,
    -8.747341203310769e-14, 1.6434898714919468e-15, -2.6977881152566837e-17,
    3.9032584173475982e-19,
)  # fmt: skip
_Y1_NEAR = (
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346,
    -0.028328123944594365, 0.005289897544167113, -0.0006414551451326356, 5.505982873338744e-05,
    -3.53808001868935e-06, 1.7707804556154404e-07, -7.11055004989928e-09,
    2.344337905911516e-10, -6.4651518414115946e-12, 1.51429151205002e-13,
    -3.0511859694473254e-15, 5.34668038572867e-17, -8.224911372021585e-19,
)  # fmt: skip
_P0 = (
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06,
    -5.1705945376060975e-08, 1.6306464635151382e-09, -7.86409137723707e-11,
    5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14,
    -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16,
    1.6305919233744186e-17, -2.880866169482871e-18,
)  # fmt: skip
_Q0 = (
    -0.12444683684269607, 0.0005470815954089319, -5.9315987288485175e-06,
    1.4377965798375193e-07, -5.817532749493056e-09, 3.376097523734991e-10,
    -2.565397936797308e-11, 2.404916100281365e-12, -2.6690625482579414e-13,
    3.4041800321963686e-14, -4.87994410531204e-15, 7.729703176242605e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.952892629886516e-18,
    1.0473158973776097e-18, -2.336930172211422e-19,
)  # fmt: skip
_P1 = (
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12,
    4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16, -1.7312313216116335e-17,
    3.0492991197665872e-18,
)  # fmt: skip
_Q1 = (
    0.3742222965562826, -0.0007702178839325664, 7.3108922063643636e-06, -1.676782510726674e-07,
    6.583354662120443e-09, -3.749090950541556e-10, 2.8121750359748866e-11,
    -2.61145253946232e-12, 2.8774212663332235e-13, -3.649001916061838e-14,
    5.206626366226707e-15, -8.215318025458595e-16, 1.4141084390211833e-16,
    -2.626761589838529e-17, 5.2192649196714085e-18, -1.101261718787959e-18,
)  # fmt: skip


def _position(size: Any) -> Any:
    """Where x is in the series up to the border."""
    inside = minimum(size, _BORDER)
    return inside * inside / (_BORDER * _BORDER / 2) - 1


def _near(zeros: tuple[tuple[float, float], ...], series: tuple[float, ...], size: Any) -> Any:
    """The series, times the zeros as accurate as x is."""
    found = chebyshev_sum(series, _position(size))
    inside = minimum(size, _BORDER)
    for zero, rest in zeros:
        found = found * (((inside - zero) - rest) * (inside + zero))
    return found


def _far(size: Any, p: tuple[float, ...], q: tuple[float, ...]) -> tuple[Any, Any, Any, Any]:
    """Beyond the border: both sums times the envelope, and the cosine and sine of x."""
    beyond = maximum(size, _BORDER)
    share = _BORDER / beyond
    t = 2 * share * share - 1
    envelope = 1 / sqrt(beyond * math.pi)
    turning = where(equal(size, math.inf), _BORDER, beyond)
    even, odd = chebyshev_sum(p, t) * envelope, chebyshev_sum(q, t) / beyond * envelope
    return even, odd, cos(turning), sin(turning)


def _j0(x: Any) -> Any:
    size = absolute(x)
    even, odd, c, s = _far(size, _P0, _Q0)
    far = even * (c + s) - odd * (s - c)
    return where(less_equal(size, _BORDER), _near(_J0_ZEROS, _J0_NEAR, size), far)


def _j1(x: Any) -> Any:
    size = absolute(x)
    even, odd, c, s = _far(size, _P1, _Q1)
    far = sign(x) * (even * (s - c) + odd * (s + c))
    return where(less_equal(size, _BORDER), _near(_J1_ZEROS, _J1_NEAR, size) * x, far)


def _y0(x: Any) -> Any:
    even, odd, c, s = _far(x, _P0, _Q0)
    far = even * (s - c) + odd * (c + s)
    inside = minimum(x, _BORDER)
    near = chebyshev_sum(_Y0_NEAR, _position(x))
    near = near + 2 / math.pi * log(inside) * _near(_J0_ZEROS, _J0_NEAR, inside)
    return where(less_equal(x, _BORDER), near, far)


def _y1(x: Any) -> Any:
    even, odd, c, s = _far(x, _P1, _Q1)
    far = odd * (s - c) - even * (s + c)
    inside = minimum(x, _BORDER)
    j1 = _near(_J1_ZEROS, _J1_NEAR, inside) * inside
    near = chebyshev_sum(_Y1_NEAR, _position(x)) * inside
    near = near + 2 / math.pi * (log(inside) * j1 - 1 / inside)
    near = where(equal(x, 0), -math.inf, near)  # there the logarithm times 0 is nan
    return where(less(x, 0), math.nan, where(less_equal(x, _BORDER), near, far))


def even_series(coefficients: tuple[float, ...], x: Any) -> Any:
    """A power series in x**2."""
    square, found = x * x, 0.0
    for coefficient in reversed(coefficients):
        found = found * square + coefficient
    return found


def at_pole(slope: Any, a: Any, value: float) -> Any:
    """The slope, at 0 an infinite value, where its terms are infinities of both signs."""
    return where(equal(a, 0), value, slope)


def over_x(value: object, a: Any, series: tuple[float, ...], border: float) -> Any:
    """value / a; near 0 by its power series in a**2, since derivatives of a quotient cancel."""
    near = less_equal(absolute(a), border)
    found = even_series(series, where(near, a, 0))
    return where(near, found, value / where(near, 1, a))


_J1_SERIES = tuple(
    (-1) ** k * 0.5 / (4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(9)
)
_SPHERICAL = tuple((-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) for k in range(9))
"""Of the spherical j of order 1, divided by x."""

bessel_j0: Any = composite(
    "bessel_j0", _j0, vjp=(lambda g, o, a: -g * bessel_j1(a),), saves=("a",),
    elementwise=True, floating=True,
    doc="The Bessel function of the first kind of order 0.",
    example=">>> sg.special.bessel_j0(np.array([0.0, 1.0]))\narray([1.        , 0.76519769])",
)  # fmt: skip
bessel_j1: Any = composite(
    "bessel_j1", _j1,
    vjp=(lambda g, o, a: g * (bessel_j0(a) - over_x(o, a, _J1_SERIES, 1.0)),), saves=("ao",),
    elementwise=True, floating=True,
    doc="The Bessel function of the first kind of order 1.",
    example=">>> sg.special.bessel_j1(np.array([0.0, 1.0]))\narray([0.        , 0.44005059])",
)  # fmt: skip
bessel_y0: Any = composite(
    "bessel_y0", _y0, vjp=(lambda g, o, a: -g * bessel_y1(a),), saves=("a",),
    elementwise=True, floating=True, domain="positive",
    doc="The Bessel function of the second kind of order 0: -inf at 0, nan below.",
    example=">>> sg.special.bessel_y0(np.array([1.0, 2.0]))\narray([0.08825696, 0.51037567])",
)  # fmt: skip
bessel_y1: Any = composite(
    "bessel_y1", _y1,
    vjp=(lambda g, o, a: g * at_pole(bessel_y0(a) - o / a, a, math.inf),), saves=("ao",),
    elementwise=True, floating=True, domain="positive",
    doc="The Bessel function of the second kind of order 1: -inf at 0, nan below.",
    example=">>> sg.special.bessel_y1(np.array([1.0, 2.0]))\narray([-0.78121282, -0.10703243])",
)  # fmt: skip


def _spherical_j0(x: Any) -> Any:
    zero, endless = equal(x, 0), equal(absolute(x), math.inf)
    inside = where(logical_or(zero, endless), 1, x)
    return where(endless, 0, where(zero, 1, sin(inside) / inside))


def _spherical_j1(x: Any) -> Any:
    near, endless = less_equal(absolute(x), 1.0), equal(absolute(x), math.inf)
    inside = where(logical_or(near, endless), 1, x)
    far = (sin(inside) / inside - cos(inside)) / inside
    return where(near, x * even_series(_SPHERICAL, where(near, x, 0)), where(endless, 0, far))


spherical_bessel_j0: Any = composite(
    "spherical_bessel_j0", _spherical_j0, vjp=(lambda g, o, a: -g * spherical_j1(a),),
    saves=("a",), elementwise=True, floating=True,
    doc="The spherical Bessel function of order 0, sin(x) / x: 1 at 0.",
    example=">>> sg.special.spherical_bessel_j0(np.array([0.0, 1.0]))\n"
    "array([1.        , 0.84147098])",
)  # fmt: skip
spherical_j1: Any = composite(
    "spherical_j1", _spherical_j1,
    vjp=(lambda g, o, a: g * (spherical_bessel_j0(a) - 2 * over_x(o, a, _SPHERICAL, 1.0)),),
    saves=("ao",), elementwise=True, floating=True,
    doc="The slope of spherical_bessel_j0, with the other sign.",
)  # fmt: skip
