"""Distributions whose numbers are made of those of others: in JAX's names, with SciPy's meaning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Value
from staticgraph.random.continuous import (
    of_dtype,
    standard,
    standard_exponential,
    standard_normal,
    unit,
)
from staticgraph.random.draws import common_shape, floating, parameter, shape_of
from staticgraph.random.plans import Draw, Plan, planned

_FLOAT64 = np.dtype(np.float64)
_LEAST = math.nextafter(0.0, 1.0)


def _inner(key: object, counters: object, dtype: DType) -> Any:
    """Uniform numbers, none of which is 0 or 1."""
    return ops.maximum(unit(key, counters, dtype=dtype), float(limits(dtype).eps) / 4)


def _laplace(key: object, counters: object, *, dtype: DType) -> Any:
    size = standard_exponential(ops.threefry(key, 0), counters, dtype=dtype)
    return ops.where(ops.threefry(key, counters) < 0, -size, size)


def _logistic(key: object, counters: object, *, dtype: DType) -> Any:
    u = _inner(key, counters, dtype)
    return ops.log(u) - ops.log1p(-u)


def _cauchy(key: object, counters: object, *, dtype: DType) -> Any:
    u = _inner(key, counters, dtype)
    return ops.tan((u - 0.5) * math.pi)


def _pareto(key: object, counters: object, b: Any, *, dtype: DType) -> Any:
    return ops.exp(standard_exponential(key, counters, dtype=dtype) / b)


def _weibull(key: object, counters: object, scale: Any, shape: Any, *, dtype: DType) -> Any:
    return scale * standard_exponential(key, counters, dtype=dtype) ** (1.0 / shape)


def _lognormal(key: object, counters: object, sigma: Any, *, dtype: DType) -> Any:
    return ops.exp(standard_normal(key, counters, dtype=dtype) * sigma)


def _rayleigh(key: object, counters: object, scale: Any, *, dtype: DType) -> Any:
    return scale * ops.sqrt(2.0 * standard_exponential(key, counters, dtype=dtype))


def _gamma64(key: object, counters: object, a: Any) -> Any:
    return ops.random_gamma(ops.gamma_attempt(a, key, counters), a, key, counters)


def _chisquare(key: object, counters: object, df: Any, *, dtype: DType) -> Any:
    return ops.astype(2.0 * _gamma64(key, counters, df * 0.5), dtype)


def _student(key: object, counters: object, df: Any, *, dtype: DType) -> Any:
    number = standard_normal(ops.threefry(key, 0), counters, dtype=_FLOAT64)
    spread = 2.0 * _gamma64(ops.threefry(key, 1), counters, df * 0.5) / df
    return ops.astype(number / ops.sqrt(spread), dtype)


def _geometric(key: object, counters: object, p: Any) -> Any:
    trials = standard_exponential(key, counters, dtype=_FLOAT64) / -ops.log1p(-p)
    count = ops.floor(ops.where(p < 1.0, trials, 0.0)) + 1.0
    return ops.astype(ops.minimum(count, math.nextafter(2.0**63, 0)), "int64")


def signs(key: object, counters: object) -> Any:
    """-1 or 1: int64."""
    return ops.where(ops.threefry(key, counters) < 0, np.int64(-1), np.int64(1))


def made(
    function: str, make: Any, *names: str, computed: DType | None = None, free: tuple[str, ...] = ()
) -> Plan:
    """The plan of numbers of positive parameters, in their shape together if None is asked for.

    Those that are `free` may be any numbers.
    """

    def plan(shape: object, dtype: object, *given: Value) -> Draw:
        wanted = floating(function, dtype)
        values = tuple([
            parameter(
                function, name, value, computed or wanted, -math.inf if name in free else _LEAST
            )
            for name, value in zip(names, given, strict=True)
        ])  # fmt: skip
        return Draw(of_dtype(make, wanted), common_shape(function, shape, *values), values)

    return plan


_LAPLACE, _LOGISTIC = standard("laplace", _laplace), standard("logistic", _logistic)
_CAUCHY = standard("cauchy", _cauchy)
_PARETO = made("pareto", _pareto, "b")
_WEIBULL = made("weibull_min", _weibull, "scale", "concentration")
_RAYLEIGH = made("rayleigh", _rayleigh, "scale")
_CHISQUARE = made("chisquare", _chisquare, "df", computed=_FLOAT64)
_STUDENT = made("t", _student, "df", computed=_FLOAT64)


def laplace(key: object, shape: object = (), dtype: object = None) -> Value:
    """Numbers of the standard Laplace distribution, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> bool(abs(sg.random.laplace(sg.random.key(0), (10000,)).mean()) < 0.1)
        True
    """
    return planned("laplace", _LAPLACE, key, shape, dtype)


def logistic(key: object, shape: object = (), dtype: object = None) -> Value:
    """Numbers of the standard logistic distribution, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> bool(abs(sg.random.logistic(sg.random.key(0), (10000,)).mean()) < 0.1)
        True
    """
    return planned("logistic", _LOGISTIC, key, shape, dtype)


def cauchy(key: object, shape: object = (), dtype: object = None) -> Value:
    """Numbers of the standard Cauchy distribution, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> bool(abs(np.median(sg.random.cauchy(sg.random.key(0), (10000,)))) < 0.1)
        True
    """
    return planned("cauchy", _CAUCHY, key, shape, dtype)


def rademacher(key: object, shape: object = ()) -> Value:
    """-1 or 1, equally likely, of a shape: int64.

    Raises:
        DTypeError, ShapeError: the key is no int64 scalar, or the shape is none.

    Example:
        >>> sg.random.rademacher(sg.random.key(0), (4,)).tolist()
        [1, 1, -1, -1]
    """
    return planned("rademacher", _signs, key, shape)


def _signs(shape: object) -> Draw:
    return Draw(signs, shape_of("rademacher", shape))


def pareto(key: object, b: Value, shape: object = None, dtype: object = None) -> Value:
    """Pareto numbers from 1 on, of a shape (that of the parameter if None), with a gradient by it.

    Raises:
        OptionError: `b` is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> bool(np.all(sg.random.pareto(sg.random.key(0), 3.0, (1000,)) >= 1))
        True
    """
    return planned("pareto", _PARETO, key, shape, dtype, b)


def weibull_min(
    key: object, scale: Value, concentration: Value, shape: object = None, dtype: object = None
) -> Value:
    """Weibull numbers, of a shape (that of the parameters if None), with gradients by both.

    Raises:
        OptionError: a parameter is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.weibull_min(sg.random.key(0), 2.0, 1.0, (10000,))
        >>> float(found.mean().round(1))
        2.0
    """
    return planned("weibull_min", _WEIBULL, key, shape, dtype, scale, concentration)


def lognormal(key: object, sigma: Value = 1.0, shape: object = None, dtype: object = None) -> Value:
    """Exponentials of normal numbers of mean 0, of a shape (that of `sigma` if None).

    Raises:
        OptionError: `sigma` is a negative number.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> sg.random.lognormal(sg.random.key(0), 0.0)
        array(1., dtype=float32)
    """
    return planned("lognormal", _exponentials, key, shape, dtype, sigma)


def _exponentials(shape: object, dtype: object, sigma: Value) -> Draw:
    wanted = floating("lognormal", dtype)
    spread = parameter("lognormal", "sigma", sigma, wanted, 0.0)
    return Draw(of_dtype(_lognormal, wanted), common_shape("lognormal", shape, spread), (spread,))


def rayleigh(key: object, scale: Value, shape: object = None, dtype: object = None) -> Value:
    """Lengths of pairs of normal numbers, of a shape (that of the scale if None).

    Raises:
        OptionError: the scale is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> bool(np.all(sg.random.rayleigh(sg.random.key(0), 2.0, (1000,)) >= 0))
        True
    """
    return planned("rayleigh", _RAYLEIGH, key, shape, dtype, scale)


def chisquare(key: object, df: Value, shape: object = None, dtype: object = None) -> Value:
    """Sums of `df` squares of normal numbers, of a shape (that of `df` if None).

    They have a gradient by `df`, as `gamma` by its parameter.

    Raises:
        OptionError: `df` is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.chisquare(sg.random.key(0), 5.0, (10000,))
        >>> float(found.mean().round())
        5.0
    """
    return planned("chisquare", _CHISQUARE, key, shape, dtype, df)


def t(key: object, df: Value, shape: object = None, dtype: object = None) -> Value:
    """Numbers of Student's t with `df` degrees of freedom, of a shape (that of `df` if None).

    They have a gradient by `df`, as `gamma` by its parameter.

    Raises:
        OptionError: `df` is a number that is not positive.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> bool(abs(sg.random.t(sg.random.key(0), 5.0, (10000,)).mean()) < 0.1)
        True
    """
    return planned("t", _STUDENT, key, shape, dtype, df)


def geometric(key: object, p: Value, shape: object = None) -> Value:
    """How many trials of probability `p` there are up to the first success: int64, from 1 on.

    More than there are in int64 are its largest float64, 2**63 - 1024.

    Raises:
        OptionError: `p` is a number that is no probability, or 0.
        DTypeError, ShapeError: the key is no int64 scalar, or `p` does not broadcast to the shape.

    Example:
        >>> sg.random.geometric(sg.random.key(0), np.array([1.0, 1.0]))
        array([1, 1])
    """
    return planned("geometric", _trials, key, shape, p)


def _trials(shape: object, p: Value) -> Draw:
    chance = parameter("geometric", "p", p, _FLOAT64, _LEAST, 1)
    return Draw(_geometric, common_shape("geometric", shape, chance), (chance,))
