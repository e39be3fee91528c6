"""Distributions of floating-point numbers."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_narrow, limits
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.types import DType
from staticgraph.compiler.core.values import Value
from staticgraph.random.draws import (
    Make,
    common_shape,
    every,
    floating,
    parameter,
    refuse_reversed,
    shape_of,
)
from staticgraph.random.plans import Draw, Plan, planned

_FLOAT64 = np.dtype(np.float64)


def unit(key: object, counters: object, *, dtype: DType) -> Any:
    """Uniform numbers in [0, 1)."""
    if not is_narrow(dtype):
        return _of_bits(ops.unit_float32, ops.unit_float64, key, counters, dtype)
    steps = 2.0 ** (int(limits(dtype).nmant) + 1)  # of the bits it has: none is rounded to 1
    return ops.astype(
        ops.floor(ops.unit_float32(ops.threefry(key, counters)) * steps) / steps, dtype
    )


def _of_bits(narrow: Op, wide: Op, key: object, counters: object, dtype: DType) -> Any:
    found = (wide if dtype.itemsize == 8 else narrow)(ops.threefry(key, counters))
    return ops.astype(found, dtype) if is_narrow(dtype) else found


def _between(key: object, counters: object, low: Any, high: Any, *, dtype: DType) -> Any:
    return ops.maximum(unit(key, counters, dtype=dtype) * (high - low) + low, low)


def standard_normal(key: object, counters: object, *, dtype: DType) -> Any:
    """Normal numbers of mean 0 and variance 1."""
    return _of_bits(ops.normal_float32, ops.normal_float64, key, counters, dtype)


def _scaled_normal(key: object, counters: object, loc: Any, scale: Any, *, dtype: DType) -> Any:
    return standard_normal(key, counters, dtype=dtype) * scale + loc


def standard_exponential(key: object, counters: object, *, dtype: DType) -> Any:
    """Exponential numbers of mean 1."""
    return _of_bits(ops.exponential_float32, ops.exponential_float64, key, counters, dtype)


def _scaled_exponential(key: object, counters: object, scale: Any, *, dtype: DType) -> Any:
    return standard_exponential(key, counters, dtype=dtype) * scale


def _standard_gumbel(key: object, counters: object, *, dtype: DType) -> Any:
    return _of_bits(ops.gumbel_float32, ops.gumbel_float64, key, counters, dtype)


@cache
def of_dtype(make: Any, dtype: DType) -> Make:
    """The same function for each dtype, so that its kernel is found again."""
    return partial(make, dtype=dtype)


def standard(function: str, make: Any) -> Plan:
    """The plan of numbers without parameters, of a shape and dtype."""

    def plan(shape: object, dtype: object) -> Draw:
        return Draw(of_dtype(make, floating(function, dtype)), shape_of(function, shape))

    return plan


_GUMBEL = standard("gumbel", _standard_gumbel)


def uniform(
    key: object,
    shape: object = (),
    dtype: object = None,
    minval: Value = 0.0,
    maxval: Value = 1.0,
) -> Value:
    """Uniform numbers in [minval, maxval), of a shape and dtype; the bits of `jax.random.uniform`.

    The ends are numbers, or operands that broadcast to the shape, by which the result has a
    gradient.

    Raises:
        OptionError: minval is a number, and more than maxval.
        DTypeError, ShapeError: the key is no int64 scalar, the dtype is not floating point, the
            shape is none, or the ends do not broadcast to it.

    Example:
        >>> sg.random.uniform(sg.random.key(0), (3,))
        array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    return planned("uniform", _uniform, key, shape, dtype, minval, maxval)


def _uniform(shape: object, dtype: object, minval: Value, maxval: Value) -> Draw:
    wanted = floating("uniform", dtype)
    if _is_number(minval, 0) and _is_number(maxval, 1):
        return Draw(of_dtype(unit, wanted), shape_of("uniform", shape))
    low, high = (
        parameter("uniform", name, one, wanted)
        for name, one in (("minval", minval), ("maxval", maxval))
    )
    refuse_reversed("uniform", ("minval", "maxval"), low, high)
    sizes = common_shape("uniform", shape_of("uniform", shape), low, high)
    return Draw(of_dtype(_between, wanted), sizes, (low, high))


def _is_number(given: object, value: float) -> bool:
    return isinstance(given, int | float) and given == value


def normal(
    key: object,
    shape: object = (),
    dtype: object = None,
    loc: Value = 0.0,
    scale: Value = 1.0,
) -> Value:
    """Normal numbers, of a shape and dtype: the quantiles of what `uniform` draws.

    Those of float32 come from 2**23 uniform ones, so that they are at most 5.42 away from 0 (as
    JAX's); those of float64 reach 8.29. Mean and standard deviation are numbers, or operands that
    broadcast to the shape, by which the result has a gradient.

    Raises:
        OptionError: the standard deviation is a negative number.
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.normal(sg.random.key(0), (3,))
        array([ 1.6226422 ,  2.0252647 , -0.43359435], dtype=float32)
    """
    return planned("normal", _normal, key, shape, dtype, loc, scale)


def _normal(shape: object, dtype: object, loc: Value, scale: Value) -> Draw:
    wanted = floating("normal", dtype)
    if _is_number(loc, 0) and _is_number(scale, 1):
        return Draw(of_dtype(standard_normal, wanted), shape_of("normal", shape))
    centre = parameter("normal", "loc", loc, wanted)
    spread = parameter("normal", "scale", scale, wanted, 0)
    sizes = common_shape("normal", shape_of("normal", shape), centre, spread)
    return Draw(of_dtype(_scaled_normal, wanted), sizes, (centre, spread))


def exponential(key: object, shape: object = (), dtype: object = None, scale: Value = 1.0) -> Value:
    """Exponential numbers with a mean, of a shape and dtype.

    The mean is a number, or an operand that broadcasts to the shape, by which the result has a
    gradient.

    Raises:
        OptionError: the mean is a negative number.
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.exponential(sg.random.key(0), (2,)).round(4)
        array([2.9501, 3.8434], dtype=float32)
    """
    return planned("exponential", _exponential, key, shape, dtype, scale)


def _exponential(shape: object, dtype: object, scale: Value) -> Draw:
    wanted = floating("exponential", dtype)
    if _is_number(scale, 1):
        return Draw(of_dtype(standard_exponential, wanted), shape_of("exponential", shape))
    mean = parameter("exponential", "scale", scale, wanted, 0)
    sizes = common_shape("exponential", shape_of("exponential", shape), mean)
    return Draw(of_dtype(_scaled_exponential, wanted), sizes, (mean,))


def gumbel(key: object, shape: object = (), dtype: object = None) -> Value:
    """Numbers of the standard Gumbel distribution, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.gumbel(sg.random.key(0), (2,)).round(3)
        array([2.923, 3.833], dtype=float32)
    """
    return planned("gumbel", _GUMBEL, key, shape, dtype)


def truncated_normal(
    key: object,
    lower: Value,
    upper: Value,
    shape: object = None,
    dtype: object = None,
) -> Value:
    """Standard normal numbers between two bounds, of a shape (that of the bounds if None).

    The bounds are numbers, or operands that broadcast to the shape, by which the result has a
    gradient: that of the number at a fixed quantile. They may be infinite, or as far from 0 as they
    like: there the method is Marsaglia's (Technometrics 6(1), 1964).

    Raises:
        OptionError: a number of the lower bounds is more than the upper one.
        DTypeError, ShapeError: as those of `uniform`, and for bounds that do not broadcast.

    Example:
        >>> found = sg.random.truncated_normal(sg.random.key(0), -1.0, 1.0, (1000,))
        >>> bool(np.all(np.abs(found) <= 1))
        True
    """
    return planned("truncated_normal", _truncated, key, shape, dtype, lower, upper)


def _truncated(shape: object, dtype: object, lower: Value, upper: Value) -> Draw:
    wanted = floating("truncated_normal", dtype)
    low = parameter("truncated_normal", "lower", lower, wanted)
    high = parameter("truncated_normal", "upper", upper, wanted)
    refuse_reversed("truncated_normal", ("lower", "upper"), low, high)
    sizes = common_shape("truncated_normal", shape, low, high)
    return Draw(_between_bounds, sizes, (low, high))


def _between_bounds(key: object, counters: object, lower: object, upper: object) -> Any:
    attempt = ops.truncated_attempt(lower, upper, key, counters)
    return ops.random_truncated(attempt, lower, upper, key, counters)


def gamma(key: object, a: Value, shape: object = None, dtype: object = None) -> Value:
    """Gamma numbers of scale 1, of a shape (that of the parameter if None).

    They have a gradient by `a`: that of the number at a fixed quantile (Figurnov, Mohamed and Mnih,
    Implicit reparameterization gradients, NeurIPS 2018). Where an operand is negative they are nan.

    Raises:
        OptionError: the parameter is a negative number.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.gamma(sg.random.key(0), np.full(10000, 3.0))
        >>> float(found.mean().round(1))
        3.0
    """
    return planned("gamma", _gamma, key, shape, dtype, a)


def _gamma(shape: object, dtype: object, a: Value) -> Draw:
    wanted = floating("gamma", dtype)
    given: Any = parameter("gamma", "a", a, wanted, 0)
    sizes = common_shape("gamma", shape, given)
    if isinstance(given, Operand) or not every(given == 1.0):
        return Draw(_gamma_of_any, sizes, (given,))
    return Draw(of_dtype(_gamma_of_one, wanted), sizes)


def _gamma_of_one(key: object, counters: object, *, dtype: DType) -> Any:
    """The numbers of `_gamma_of_any`, without the way to others."""
    return ops.astype(standard_exponential(key, counters, dtype=_FLOAT64), dtype)


def _gamma_of_any(key: object, counters: object, a: object) -> Any:
    return ops.random_gamma(ops.gamma_attempt(a, key, counters), a, key, counters)


def beta(key: object, a: Value, b: Value, shape: object = None, dtype: object = None) -> Value:
    """Beta numbers, of a shape (that of the parameters if None): quotients of gamma numbers.

    They have gradients by both parameters, as those of `gamma`, are nan where operands are
    negative, and are computed in float64, of logarithms: so small parameters give numbers too.

    Raises:
        OptionError: a parameter is a negative number.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.beta(sg.random.key(0), np.full(10000, 3.0), 1.0)
        >>> float(found.mean().round(2))
        0.75
    """
    return planned("beta", _beta, key, shape, dtype, a, b)


def _beta(shape: object, dtype: object, a: Value, b: Value) -> Draw:
    wanted = floating("beta", dtype)
    first, second = (parameter("beta", *one, _FLOAT64, 0) for one in (("a", a), ("b", b)))
    sizes = common_shape("beta", shape, first, second)
    return Draw(of_dtype(_share, wanted), sizes, (first, second))


def _share(key: object, counters: object, a: object, b: object, *, dtype: DType) -> Any:
    first, second = (log_gamma(ops.threefry(key, i), counters, one) for i, one in enumerate((a, b)))
    return ops.astype(1.0 / (1.0 + ops.exp(second - first)), dtype)


def log_gamma(key: object, counters: object, a: object) -> Any:
    """Logarithms of gamma numbers."""
    return ops.random_log_gamma(ops.log_gamma_attempt(a, key, counters), a, key, counters)
