"""Further distributions in JAX's names, of numbers and of vectors, made of those of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Value
from staticgraph.random.composed import made, signs
from staticgraph.random.continuous import (
    log_gamma,
    normal,
    of_dtype,
    standard,
    standard_exponential,
    standard_normal,
    unit,
)
from staticgraph.random.discrete import MOST_TRIALS, binomial
from staticgraph.random.draws import (
    Shape,
    common_shape,
    drawn,
    drawn_in_rows,
    floating,
    key_of,
    parameter,
    refuse_reversed,
    shape_of,
)
from staticgraph.random.plans import Draw, planned

_FLOAT64 = np.dtype(np.float64)


def _of_size(key: object, counters: object, *, dtype: DType) -> Any:
    # the square of a length in three dimensions: of one normal number and of two
    number = standard_normal(ops.threefry(key, 0), counters, dtype=dtype)
    plane = 2.0 * standard_exponential(ops.threefry(key, 1), counters, dtype=dtype)
    return ops.sqrt(number * number + plane)


def _two_sided(key: object, counters: object, loc: Any, scale: Any, *, dtype: DType) -> Any:
    size = _of_size(ops.threefry(key, 0), counters, dtype=dtype)
    return loc + scale * size * ops.astype(signs(ops.threefry(key, 1), counters), dtype)


def _triangular(
    key: object, counters: object, left: Any, mode: Any, right: Any, *, dtype: DType
) -> Any:
    u, width = unit(key, counters, dtype=dtype), right - left
    rising = u * width < mode - left
    below = left + ops.sqrt(ops.where(rising, u * width * (mode - left), 0.0))
    above = right - ops.sqrt(ops.where(rising, 0.0, (1.0 - u) * width * (right - mode)))
    return ops.where(rising, below, above)


def _wald(key: object, counters: object, mean: Any, *, dtype: DType) -> Any:
    number = standard_normal(ops.threefry(key, 0), counters, dtype=_FLOAT64)
    u = unit(ops.threefry(key, 1), counters, dtype=_FLOAT64)
    y = 0.5 * mean * number * number
    # the smaller root, as the quotient of the product of both and the larger one
    found = mean / (1.0 + y + ops.sqrt(y * (y + 2.0)))
    return ops.astype(ops.where(u * (mean + found) <= mean, found, mean * mean / found), dtype)


def _quotient(key: object, counters: object, dfnum: Any, dfden: Any, *, dtype: DType) -> Any:
    above = log_gamma(ops.threefry(key, 0), counters, 0.5 * dfnum)
    below = log_gamma(ops.threefry(key, 1), counters, 0.5 * dfden)
    return ops.astype(ops.exp(above - below) * (dfden / dfnum), dtype)


def _log_gamma(key: object, counters: object, a: Any, *, dtype: DType) -> Any:
    return ops.astype(log_gamma(key, counters, a), dtype)


def _generalized(key: object, counters: object, p: Any, *, dtype: DType) -> Any:
    size = ops.exp(log_gamma(ops.threefry(key, 0), counters, 1.0 / p) / p)
    return ops.astype(size * signs(ops.threefry(key, 1), counters), dtype)


_MAXWELL = standard("maxwell", _of_size)
_TWO_SIDED = made("double_sided_maxwell", _two_sided, "loc", "scale", free=("loc",))
_WALD = made("wald", _wald, "mean", computed=_FLOAT64)
_F = made("f", _quotient, "dfnum", "dfden", computed=_FLOAT64)
_LOG_GAMMA = made("loggamma", _log_gamma, "a", computed=_FLOAT64)
_GENERALIZED = made("generalized_normal", _generalized, "p", computed=_FLOAT64)


def maxwell(key: object, shape: object = (), dtype: object = None) -> Value:
    """Lengths of vectors of three standard normal numbers, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> bool(np.all(sg.random.maxwell(sg.random.key(0), (1000,)) >= 0))
        True
    """
    return planned("maxwell", _MAXWELL, key, shape, dtype)


def double_sided_maxwell(
    key: object, loc: Value, scale: Value, shape: object = None, dtype: object = None
) -> Value:
    """`maxwell` numbers of either sign, times a scale, around a place, with gradients by both.

    Of a shape (that of the parameters if None).

    Raises:
        OptionError: the scale is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.double_sided_maxwell(sg.random.key(0), 0.0, 1.0, (10000,))
        >>> float(found.var().round())
        3.0
    """
    return planned("double_sided_maxwell", _TWO_SIDED, key, shape, dtype, loc, scale)


def triangular(
    key: object, left: Value, mode: Value, right: Value, shape: object = None, dtype: object = None
) -> Value:
    """Numbers from left to right, of a density that rises up to the mode and falls from there.

    Of a shape (that of the parameters if None), with gradients by all three.

    Raises:
        OptionError: left, mode and right are numbers out of order.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.triangular(sg.random.key(0), 0.0, 1.0, 5.0, (10000,))
        >>> float(found.mean().round(1))
        2.0
    """
    return planned("triangular", _up_and_down, key, shape, dtype, left, mode, right)


def _up_and_down(shape: object, dtype: object, left: Value, mode: Value, right: Value) -> Draw:
    wanted = floating("triangular", dtype)
    low, middle, high = (
        parameter("triangular", name, one, wanted)
        for name, one in (("left", left), ("mode", mode), ("right", right))
    )
    refuse_reversed("triangular", ("left", "mode"), low, middle)
    refuse_reversed("triangular", ("mode", "right"), middle, high)
    sizes = common_shape("triangular", shape, low, middle, high)
    return Draw(of_dtype(_triangular, wanted), sizes, (low, middle, high))


def wald(key: object, mean: Value, shape: object = None, dtype: object = None) -> Value:
    """Inverse Gaussian numbers of a mean and scale 1, of a shape (that of the mean if None).

    One of the two roots of a quadratic equation (Michael, Schucany and Haas, Generating random
    variates using transformations with multiple roots, The American Statistician 30(2), 1976),
    computed in float64; without a gradient.

    Raises:
        OptionError: the mean is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> float(sg.random.wald(sg.random.key(0), 0.5, (10000,)).mean().round(1))
        0.5
    """
    given = ops.stop_gradient(mean) if hasattr(mean, "dtype") else mean
    return planned("wald", _WALD, key, shape, dtype, given)


def f(key: object, dfnum: Value, dfden: Value, shape: object = None, dtype: object = None) -> Value:
    """Numbers of Fisher's F with two degrees of freedom, of a shape (that of both if None).

    They have gradients by both, as `gamma` by its parameter, and are computed in float64.

    Raises:
        OptionError: a parameter is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> bool(np.all(sg.random.f(sg.random.key(0), 3.0, 4.0, (1000,)) > 0))
        True
    """
    return planned("f", _F, key, shape, dtype, dfnum, dfden)


def loggamma(key: object, a: Value, shape: object = None, dtype: object = None) -> Value:
    """Logarithms of `gamma` numbers, of a shape (that of the parameter if None), with its gradient.

    Those of small parameters are finite. They are computed in float64.

    Raises:
        OptionError: the parameter is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> bool(np.all(np.isfinite(sg.random.loggamma(sg.random.key(0), 0.001, (1000,)))))
        True
    """
    return planned("loggamma", _LOG_GAMMA, key, shape, dtype, a)


def generalized_normal(key: object, p: Value, shape: object = None, dtype: object = None) -> Value:
    """Numbers of the density exp(-|x|**p), of a shape (that of `p` if None), with a gradient by it.

    Powers of gamma numbers of either sign, computed in float64.

    Raises:
        OptionError: `p` is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.generalized_normal(sg.random.key(0), 2.0, (10000,), "float64")
        >>> float(found.var().round(1))
        0.5
    """
    return planned("generalized_normal", _GENERALIZED, key, shape, dtype, p)


def ball(key: object, d: int, p: float = 2.0, shape: object = (), dtype: object = None) -> Value:
    """Vectors equally likely anywhere in the unit ball of d dimensions and the p-norm.

    Of a shape in front of the axis of d (Barthe, Guedon, Mendelson and Naor, A probabilistic
    approach to the geometry of the l_p^n-ball, Annals of Probability 33(2), 2005).

    Raises:
        OptionError: d is no positive int, or p is a number that is not positive, or not finite.
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> found = sg.random.ball(sg.random.key(0), 3, shape=(1000,))
        >>> found.shape, bool(np.all((found**2).sum(axis=1) <= 1))
        ((1000, 3), True)
    """
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise OptionError(f"ball: d={d!r} is no positive int")
    wanted, sizes = floating("ball", dtype), shape_of("ball", shape)
    least, most = math.nextafter(0.0, 1.0), float(limits(_FLOAT64).max)
    power = parameter("ball", "p", p, _FLOAT64, least, most)
    key, make = key_of("ball", key), _of_dimensions(d, wanted)
    at_once = drawn_in_rows(make, key, sizes, [power])
    return make(key, sizes, power) if at_once is None else at_once


@cache
def _of_dimensions(d: int, dtype: DType) -> Callable[..., Any]:
    """The same function for each, so that its kernel is found again."""
    return partial(_in_ball, d=d, dtype=dtype)


def _in_ball(key: Any, sizes: Shape, power: Any, *, d: int, dtype: DType) -> Any:
    first, second = (ops.threefry(key, i) for i in range(2))
    numbers: Any = generalized_normal(first, power, (*sizes, d), "float64")
    rest: Any = drawn(of_dtype(standard_exponential, _FLOAT64), second, (*sizes, 1))
    # in parts of the largest, and as logarithms, so that no power leaves the range
    largest: Any = ops.max(ops.absolute(numbers), axis=-1, keepdims=True)
    shares = ops.power(ops.absolute(numbers) / largest, power)
    inside = ops.log(ops.sum(shares, axis=-1, keepdims=True))
    total = ops.logaddexp(inside, ops.log(ops.maximum(rest, 1e-300)) - power * ops.log(largest))
    return ops.astype(numbers / largest * ops.exp(-total / power), dtype)


def multinomial(key: object, n: Value, p: Value, shape: object = None) -> Value:
    """How often each class is drawn in n trials with chances p along the last axis.

    int64 of the shape of `p` with that of n in front, or one that ends with the number of classes,
    which is known. Classes in a row are binomial numbers of what the ones before have left.

    Raises:
        OptionError: n or p is a number that is none, or no probability.
        DTypeError, ShapeError: the key is no int64 scalar, `p` is a number or of an unknown number
            of classes, or it does not broadcast to the shape.

    Example:
        >>> found = sg.random.multinomial(sg.random.key(0), 10, np.array([0.5, 0.5, 0.0]), (4, 3))
        >>> found.sum(axis=-1), int(found[:, 2].sum())
        (array([10, 10, 10, 10]), 0)
    """
    chances: Any = parameter("multinomial", "p", p, _FLOAT64, 0, 1)
    count = chances.shape[-1] if chances.shape else None
    if not isinstance(count, int) or not count:
        raise ShapeError(f"multinomial: p of the shape {tuple(chances.shape)} has no known classes")
    trials: Any = parameter("multinomial", "n", n, _FLOAT64, 0, MOST_TRIALS)
    sizes = common_shape("multinomial", shape, trials[..., None], chances)[:-1]
    key = key_of("multinomial", key)
    if count > 1 and len(chances.shape) == 1 and trials.shape == ():
        at_once = drawn_in_rows(_counts, key, sizes, [trials, chances])
        if at_once is not None:
            return at_once
    return _counts(key, sizes, trials, chances)


def _counts(key: Any, sizes: Shape, left: Any, chances: Any) -> Any:
    count, found, rest = chances.shape[-1], [], ops.sum(chances, axis=-1)
    for i in range(count - 1):
        share = ops.where(rest > 0, chances[..., i] / ops.where(rest > 0, rest, 1.0), 0.0)
        drawn_now: Any = binomial(ops.threefry(key, i), left, ops.clip(share, 0.0, 1.0), sizes)
        found.append(drawn_now)
        left, rest = left - ops.astype(drawn_now, "float64"), rest - chances[..., i]
    last = ops.astype(ops.broadcast_to(left, sizes), "int64")
    return ops.stack([*found, last], axis=-1)


def orthogonal(
    key: object, n: int, shape: object = (), dtype: object = None, m: int | None = None
) -> Value:
    """Matrices n x m (n x n if m is None) of orthonormal columns, or rows if n is less than m.

    Of a shape in front; equally likely whatever they are turned by (Mezzadri, How to generate
    random matrices from the classical compact groups, Notices of the AMS 54(5), 2007).

    Raises:
        OptionError: n or m is no positive int.
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> found = sg.random.orthogonal(sg.random.key(0), 3, dtype="float64")
        >>> bool(np.allclose(found @ found.T, np.eye(3)))
        True
    """
    wide = n if m is None else m
    for name, size in (("n", n), ("m", wide)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise OptionError(f"orthogonal: {name}={size!r} is no positive int")
    wanted = floating("orthogonal", dtype)
    tall, short = max(n, wide), min(n, wide)
    numbers = normal(key, (*shape_of("orthogonal", shape), tall, short), wanted)
    q, r = ops.qr(numbers)
    diagonal: Any = ops.sum(r * np.eye(short, dtype=wanted), axis=-2, keepdims=True)
    found = q * ops.where(diagonal < 0, -1.0, 1.0)
    found = ops.astype(found, wanted)
    return found if n >= wide else ops.swapaxes(found, -1, -2)
