"""Special functions in SciPy's names, composed of shared ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, is_narrow
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.elements import of_one_dtype
from staticgraph.compiler.ops.declare import as_operand, common_dtype

__all__ = [
    "bernoulli", "beta", "betaln", "boxcox", "boxcox1p", "comb", "entr", "erfcx", "expit",
    "factorial", "gamma", "gammaln", "gammasgn", "kl_div", "log_expit", "log_ndtr",
    "log_softmax", "loggamma", "logsumexp", "multigammaln", "ndtr", "poch", "rel_entr",
    "softmax", "xlog1py", "zeta",
]  # fmt: skip

expit, gammaln, loggamma = ops.sigmoid, ops.lgamma, ops.lgamma

_ROOT_HALF = math.sqrt(0.5)
_ROOT_PI = math.sqrt(math.pi)


def _floats(x: Value) -> Any:
    x = as_operand(x)
    return x if is_float(x.dtype) else ops.astype(x, "float64")


def _widely(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of floats of 16 bits computed in float32: its terms leave their range."""

    @functools.wraps(function)
    def widened(*operands: Value, **named: Value) -> Value:
        given = [one for one in (*operands, *named.values()) if hasattr(one, "dtype")]
        dtype = common_dtype(*given) if given else np.dtype(np.float64)
        if not is_narrow(dtype):
            return function(*operands, **named)
        operands = tuple(map(_single, operands))
        found = function(*operands, **{name: _single(one) for name, one in named.items()})
        return ops.astype(found, dtype)

    return widened


def _single(x: Value) -> Value:
    return ops.astype(x, "float32") if hasattr(x, "dtype") else x


def _where(condition: object, x: object, other: object) -> Any:
    """x where a condition holds; elsewhere a number for which a function is harmless."""
    return ops.where(condition, x, other)


def _either(condition: object, one: float, other: float, like: Any) -> Any:
    """One of two numbers, in the dtype of an operand: by themselves they are float64."""
    return ops.astype(ops.where(condition, one, other), like.dtype)


# -- sums of exponentials --------------------------------------------------------------------------


def logsumexp(
    x: Value, axis: int | Sequence[int] | None = None, b: Value = None, keepdims: bool = False
) -> Value:
    """log(sum(b exp(x))) over axes, without overflow; b is 1 if None.

    Example:
        >>> sg.special.logsumexp(np.array([1000.0, 1000.0]))
        array(1000.69314718)
    """
    x = _floats(x)
    if b is None:
        return ops.logsumexp(x, axis=axis, keepdims=keepdims)
    largest = ops.stop_gradient(ops.max(x, axis=axis, keepdims=True))
    shift = ops.where(ops.isfinite(largest), largest, 0)
    total = ops.log(ops.sum(b * ops.exp(x - shift), axis=axis, keepdims=True)) + shift
    return total if keepdims else ops.sum(total, axis=axis)


def softmax(x: Value, axis: int = -1) -> Value:
    """exp(x) / sum(exp(x)) along an axis.

    Example:
        >>> sg.special.softmax(np.array([0.0, np.log(3.0)]))
        array([0.25, 0.75])
    """
    return ops.softmax(x, axis)


def log_softmax(x: Value, axis: int = -1) -> Value:
    """log(softmax(x)) along an axis.

    Example:
        >>> sg.special.log_softmax(np.array([0.0, 0.0]))
        array([-0.69314718, -0.69314718])
    """
    return ops.log_softmax(x, axis)


def log_expit(x: Value) -> Value:
    """log(expit(x)), without underflow.

    Example:
        >>> sg.special.log_expit(np.array([0.0, -1000.0]))
        array([-6.93147181e-01, -1.00000000e+03])
    """
    return -ops.softplus(-_floats(x))


# -- products with logarithms ----------------------------------------------------------------------


def xlog1py(x: Value, y: Value) -> Value:
    """x log(1 + y), 0 where x is 0 unless y is nan.

    Example:
        >>> sg.special.xlog1py(np.array([0.0, 2.0]), np.array([-1.0, 0.0]))
        array([0., 0.])
    """
    x, y = of_one_dtype(x, y)
    flat = ops.logical_and(ops.equal(x, 0), ops.logical_not(ops.isnan(y)))
    # where x is 0 the slope by it is the logarithm all the same
    endless = ops.logical_or(ops.less_equal(y, -1), ops.equal(y, math.inf))
    harmless = _where(ops.logical_and(flat, endless), 0.0, y)
    return x * ops.log1p(harmless)


def entr(x: Value) -> Value:
    """-x log(x): 0 at 0, -inf below.

    Example:
        >>> sg.special.entr(np.array([1.0, 0.0, -1.0]))
        array([ -0.,   0., -inf])
    """
    x = _floats(x)
    outside = ops.less_equal(x, 0)  # nan is inside, so that its slope is nan too
    found = -(x * ops.log(_where(outside, 1.0, x)))
    return ops.where(outside, _either(ops.less(x, 0), -math.inf, 0.0, x), found)


def rel_entr(x: Value, y: Value) -> Value:
    """x log(x / y): 0 where x is 0 and y at least 0, inf where either is negative or y is 0.

    Example:
        >>> sg.special.rel_entr(np.array([1.0, 0.0]), np.array([2.0, 1.0]))
        array([-0.69314718,  0.        ])
    """
    x, y = of_one_dtype(x, y)
    inside = ops.logical_and(ops.greater(x, 0), ops.greater(y, 0))
    found = x * (ops.log(_where(inside, x, 1.0)) - ops.log(_where(inside, y, 1.0)))
    zero = ops.logical_and(ops.equal(x, 0), ops.greater_equal(y, 0))
    found = ops.where(inside, found, _either(zero, 0.0, math.inf, x))
    return ops.where(ops.logical_or(ops.isnan(x), ops.isnan(y)), math.nan, found)


def kl_div(x: Value, y: Value) -> Value:
    """x log(x / y) - x + y: see `rel_entr`.

    Example:
        >>> sg.special.kl_div(np.array([1.0, 0.0]), np.array([1.0, 3.0]))
        array([0., 3.])
    """
    x, y = of_one_dtype(x, y)
    return rel_entr(x, y) - x + y


def boxcox(x: Value, lmbda: Value) -> Value:
    """(x**lmbda - 1) / lmbda, log(x) where lmbda is 0 (Box, Cox 1964).

    Example:
        >>> sg.special.boxcox(np.array([2.0, np.e]), np.array([2.0, 0.0]))
        array([1.5, 1. ])
    """
    x, lmbda = of_one_dtype(x, lmbda)
    return _power_less(ops.log(x), lmbda)


def boxcox1p(x: Value, lmbda: Value) -> Value:
    """`boxcox` of 1 + x, accurate near 0.

    Example:
        >>> sg.special.boxcox1p(np.array([1.0]), 2.0)
        array([1.5])
    """
    x, lmbda = of_one_dtype(x, lmbda)
    return _power_less(ops.log1p(x), lmbda)


def _power_less(logs: Any, power: Any) -> Any:
    """expm1(power * logs) / power, a series in the product where that is small."""
    product = power * logs
    near = ops.less(ops.absolute(product), 1e-2)
    inside = _where(near, product, 0.0)
    series: Any = 0.0
    for k in range(9, 0, -1):
        series = (series + 1) * inside / (k + 1)
    far = ops.expm1(_where(near, 1.0, product)) / _where(near, 1.0, power)
    # by logarithms that are infinite too, where the power is 0
    return ops.where(ops.logical_or(near, ops.equal(power, 0)), logs * (1 + series), far)


# -- gamma and its kin -----------------------------------------------------------------------------


def gammasgn(x: Value) -> Value:
    """The sign of gamma(x): 1 or -1, nan at the negative integers.

    Example:
        >>> sg.special.gammasgn(np.array([1.5, -0.5]))
        array([ 1., -1.])
    """
    x = _floats(x)
    whole = ops.floor(x)
    odd = ops.not_equal(ops.remainder(whole, 2.0), 0)
    sign = ops.where(ops.logical_and(ops.less(x, 0), odd), -1.0, ops.copysign(1.0, x))
    sign = ops.where(ops.less(x, 0), _either(odd, -1.0, 1.0, x), sign)
    pole = ops.logical_and(ops.less(x, 0), ops.equal(x, whole))
    return ops.stop_gradient(ops.where(ops.logical_or(pole, ops.isnan(x)), math.nan, sign))


def gamma(x: Value) -> Value:
    """The gamma function: nan at the negative integers, inf at 0.

    Example:
        >>> sg.special.gamma(np.array([0.5])) ** 2 - np.pi < 1e-14
        array([ True])
    """
    x = _floats(x)
    return gammasgn(x) * ops.exp(ops.lgamma(x))


def factorial(n: Value, exact: bool = False) -> Value:
    """gamma(n + 1), 0 of negative numbers; `exact` is refused: it has no size in memory.

    Example:
        >>> sg.special.factorial(np.array([3.0])).round(9)
        array([6.])
    """
    if exact:
        raise OptionError("factorial: exact=True gives integers of any size")
    n = _floats(n)
    below = ops.less(n, 0)
    return ops.where(below, 0.0, gamma(_where(below, 0.0, n) + 1))


def betaln(a: Value, b: Value) -> Value:
    """log|beta(a, b)|.

    Example:
        >>> sg.special.betaln(np.array([1.0]), 2.0)
        array([-0.69314718])
    """
    a, b = of_one_dtype(a, b)
    low, high = ops.minimum(a, b), ops.maximum(a, b)
    # of two large numbers the logarithms of gamma functions nearly cancel: their corrections differ
    large = ops.greater(low, 10.0)
    x, y = _where(large, low, 10.0), _where(large, high, 10.0)
    far = (
        0.5 * math.log(2 * math.pi) - 0.5 * ops.log(y)
        + (x - 0.5) * ops.log(x / (x + y)) - y * ops.log1p(x / y)
        + _stirling(x) + _stirling(y) - _stirling(x + y)
    )  # fmt: skip
    x, y = _where(large, 1.0, low), _where(large, 1.0, high)
    return ops.where(large, far, ops.lgamma(x) + (ops.lgamma(y) - ops.lgamma(x + y)))


_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)


def _stirling(x: Any) -> Any:
    """lgamma(x) less (x - 1/2) log(x) - x + log(2 pi) / 2, of x from 10 on."""
    inverse = 1 / x
    square, series = inverse * inverse, 0.0
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    return series * inverse


def beta(a: Value, b: Value) -> Value:
    """gamma(a) gamma(b) / gamma(a + b).

    Example:
        >>> sg.special.beta(np.array([1.0]), 2.0)
        array([0.5])
    """
    a, b = of_one_dtype(a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * ops.exp(betaln(a, b))


def multigammaln(a: Value, d: int) -> Value:
    """log of the multivariate gamma function of dimension d.

    Example:
        >>> sg.special.multigammaln(np.array([2.0]), 1)
        array([0.])
    """
    if d < 1:
        raise OptionError(f"multigammaln: dimension {d}")
    a = _floats(a)
    found: Any = d * (d - 1) / 4 * math.log(math.pi)
    for i in range(d):
        found = found + ops.lgamma(a - i / 2)
    return found


def poch(z: Value, m: Value) -> Value:
    """gamma(z + m) / gamma(z): Pochhammer's symbol.

    Example:
        >>> sg.special.poch(np.array([2.0]), 3.0).round(9)
        array([24.])
    """
    z, m = of_one_dtype(z, m)
    sign = gammasgn(z + m) * gammasgn(z)
    found = sign * ops.exp(ops.lgamma(z + m) - ops.lgamma(z))
    return ops.where(ops.equal(m, 0), 1.0, found)


def comb(N: Value, k: Value, *, exact: bool = False) -> Value:
    """How many ways there are to choose k of N things, of numbers that need not be whole.

    Example:
        >>> sg.special.comb(np.array([5.0]), 2.0).round(9)
        array([10.])
    """
    if exact:
        raise OptionError("comb: exact=True gives integers of any size")
    n, k = of_one_dtype(N, k)
    outside = ops.logical_or(ops.less(k, 0), ops.logical_or(ops.less(n, 0), ops.greater(k, n)))
    n, k = _where(outside, 1.0, n), _where(outside, 1.0, k)
    return ops.where(outside, 0.0, ops.exp(-betaln(n - k + 1, k + 1)) / (n + 1))


def bernoulli(n: int) -> Value:
    """Bernoulli's numbers 0 to n: float64 (n + 1,).

    Example:
        >>> sg.special.bernoulli(2).round(4)
        array([ 1.    , -0.5   ,  0.1667])
    """
    if n < 0:
        raise OptionError(f"bernoulli: n={n} is negative")
    return np.array([float(one) for one in _bernoulli(n)])


def _bernoulli(n: int) -> list[Any]:
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        terms = (math.comb(m + 1, k) * number for k, number in enumerate(numbers))
        numbers.append(-sum(terms, Fraction()) / (m + 1))
    return numbers


_SHIFT, _TERMS = 12, 12
_EULER = tuple(
    float(number / math.factorial(2 * k + 2))
    for k, number in enumerate(_bernoulli(2 * _TERMS)[2::2])
)


@_widely
def zeta(x: Value, q: Value = 1.0) -> Value:
    """The sum of (q + k)**-x over k from 0 on: Riemann's zeta function for q = 1, Hurwitz's else.

    For x > 1 and q > 0; inf at x = 1, nan elsewhere. By the formula of Euler and Maclaurin from
    q + 12 on; it has derivatives by both.

    Example:
        >>> sg.special.zeta(np.array([2.0])) - np.pi**2 / 6 < 1e-15
        array([ True])
    """
    x, q = of_one_dtype(x, q)
    known = ops.logical_and(ops.greater(x, 1), ops.greater(q, 0))
    s, a = _where(known, x, 2.0), _where(known, q, 1.0)
    total: Any = 0.0
    for k in range(_SHIFT):
        total = total + ops.power(a + k, -s)
    last = a + _SHIFT
    power = ops.power(last, -s)
    total = total + power * (last / (s - 1) + 0.5)
    inverse = 1 / last
    rising, falling = s, power * inverse
    for k, number in enumerate(_EULER):
        total = total + number * rising * falling
        rising = rising * (s + (2 * k + 1)) * (s + (2 * k + 2))
        falling = falling * inverse * inverse
    return ops.where(known, total, _either(ops.equal(x, 1), math.inf, math.nan, x))


# -- the normal distribution, and integrals of exponentials ----------------------------------------


def ndtr(x: Value) -> Value:
    """The share of the normal distribution below x, accurate where that is small.

    Example:
        >>> sg.special.ndtr(np.array([0.0, 1.96])).round(4)
        array([0.5  , 0.975])
    """
    return 0.5 * ops.erfc(_floats(x) * -_ROOT_HALF)


_FAR = 8.0
_ERFCX = tuple((-1) ** k * math.prod(range(1, 2 * k, 2)) / 2**k for k in range(18))


@_widely
def erfcx(x: Value) -> Value:
    """exp(x**2) erfc(x), without underflow.

    Example:
        >>> sg.special.erfcx(np.array([0.0, 1e3])).round(6)
        array([1.00e+00, 5.64e-04])
    """
    x = _floats(x)
    near = ops.less(x, _FAR)
    low = _where(near, x, 0.0)
    inverse = 1 / _where(near, _FAR, x)
    square, series = inverse * inverse, 0.0
    for coefficient in reversed(_ERFCX):
        series = series * square + coefficient
    far = series * inverse * (1 / _ROOT_PI)
    # below -6 erfc is 2: its slope, exp(-x**2), times exp(x**2) would be 0 * inf
    below = ops.less(x, -6.0)
    low, lowest = _where(below, 0.0, low), _where(below, x, 0.0)
    found = ops.where(near, ops.exp(low * low) * ops.erfc(low), far)
    return ops.where(below, 2.0 * ops.exp(lowest * lowest), found)


@_widely
def log_ndtr(x: Value) -> Value:
    """log(ndtr(x)), without underflow.

    Example:
        >>> sg.special.log_ndtr(np.array([0.0, -100.0])).round(3)
        array([-6.930000e-01, -5.005524e+03])
    """
    x = _floats(x)
    low = ops.less(x, -1.0)
    below, above = _where(low, x, -1.0), _where(low, 0.0, x)
    far = ops.log(erfcx(below * -_ROOT_HALF) * 0.5) - below * below * 0.5
    return ops.where(low, far, ops.log1p(-0.5 * ops.erfc(above * _ROOT_HALF)))
