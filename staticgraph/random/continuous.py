"""Distributions of floating-point numbers."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

from compiler import ops
from compiler.core.types import DType
from compiler.core.values import Value
from staticgraph.random.draws import (
    Make,
    as_value,
    common_shape,
    drawn,
    floating,
    key_of,
    shape_of,
)

_ROOT2 = math.sqrt(2)


def unit(key: object, counters: object, *, dtype: DType) -> Any:
    """Uniform numbers in [0, 1)."""
    bits = ops.threefry(key, counters)
    return ops.unit_float32(bits) if dtype.itemsize == 4 else ops.unit_float64(bits)


def _standard_normal(key: object, counters: object, *, dtype: DType) -> Any:
    return ops.erfinv(_between_ends(unit(key, counters, dtype=dtype))) * _ROOT2


def _between_ends(u: Any) -> Any:
    """Uniform numbers in (-1, 1): those of [0, 1) times two less one, and the first one moved."""
    low = -1 + (2.0**-24 if u.dtype.itemsize == 4 else 2.0**-53)
    return ops.maximum(u * 2 + low, low)


def _standard_exponential(key: object, counters: object, *, dtype: DType) -> Any:
    return -ops.log1p(-unit(key, counters, dtype=dtype))


def _standard_gumbel(key: object, counters: object, *, dtype: DType) -> Any:
    smallest = 2.0**-126 if dtype.itemsize == 4 else 2.0**-1022
    return -ops.log(-ops.log(ops.maximum(unit(key, counters, dtype=dtype), smallest)))


@cache
def of_dtype(make: Any, dtype: DType) -> Make:
    """The same function for each dtype, so that its kernel is found again."""
    return partial(make, dtype=dtype)


def _standard(function: str, make: Any, key: object, shape: object, dtype: object) -> Any:
    wanted = floating(function, dtype)
    return drawn(of_dtype(make, wanted), key_of(function, key), shape_of(function, shape))


def uniform(
    key: object,
    shape: object = (),
    dtype: object = "float32",
    minval: Value = 0.0,
    maxval: Value = 1.0,
) -> Value:
    """Uniform numbers in [minval, maxval), of a shape and dtype; the bits of `jax.random.uniform`.

    The ends are numbers, or operands that broadcast to the shape, by which the result has a
    gradient.

    Raises:
        DTypeError, ShapeError: the key is no int64 scalar, the dtype is not floating point, or the
            shape is none.

    Example:
        >>> sg.random.uniform(sg.random.key(0), (3,))
        array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    found = _standard("uniform", unit, key, shape, dtype)
    if _is_number(minval, 0) and _is_number(maxval, 1):
        return found
    return ops.maximum(found * (maxval - minval) + minval, minval)


def _is_number(given: object, value: float) -> bool:
    return isinstance(given, int | float) and given == value


def normal(
    key: object,
    shape: object = (),
    dtype: object = "float32",
    loc: Value = 0.0,
    scale: Value = 1.0,
) -> Value:
    """Normal numbers, of a shape and dtype: the quantiles of what `uniform` draws.

    Those of float32 come from 2**23 uniform ones, so that they are at most 5.42 away from 0 (as
    JAX's); those of float64 reach 8.29. Mean and standard deviation are numbers, or operands that
    broadcast to the shape, by which the result has a gradient.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.normal(sg.random.key(0), (3,))
        array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    """
    found = _standard("normal", _standard_normal, key, shape, dtype)
    if not _is_number(scale, 1):
        found = found * scale
    return found if _is_number(loc, 0) else found + loc


def exponential(
    key: object, shape: object = (), dtype: object = "float32", scale: Value = 1.0
) -> Value:
    """Exponential numbers with a mean, of a shape and dtype.

    The mean is a number, or an operand that broadcasts to the shape, by which the result has a
    gradient.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.exponential(sg.random.key(0), (2,)).round(4)
        array([2.9501, 3.8434], dtype=float32)
    """
    found = _standard("exponential", _standard_exponential, key, shape, dtype)
    return found if _is_number(scale, 1) else found * scale


def gumbel(key: object, shape: object = (), dtype: object = "float32") -> Value:
    """Numbers of the standard Gumbel distribution, of a shape and dtype.

    Raises:
        DTypeError, ShapeError: as those of `uniform`.

    Example:
        >>> sg.random.gumbel(sg.random.key(0), (2,)).round(3)
        array([2.923, 3.833], dtype=float32)
    """
    return _standard("gumbel", _standard_gumbel, key, shape, dtype)


def truncated_normal(
    key: object,
    lower: Value,
    upper: Value,
    shape: object = None,
    dtype: object = "float32",
) -> Value:
    """Standard normal numbers between two bounds, of a shape (that of the bounds if None).

    The bounds are numbers, or operands that broadcast to the shape, by which the result has a
    gradient. Between bounds of one sign, far from 0, little is left of the digits of the uniform
    numbers.

    Raises:
        DTypeError, ShapeError: as those of `uniform`, and for bounds that do not broadcast.

    Example:
        >>> found = sg.random.truncated_normal(sg.random.key(0), -1.0, 1.0, (1000,))
        >>> bool(np.all(np.abs(found) <= 1))
        True
    """
    wanted = floating("truncated_normal", dtype)
    shape = common_shape("truncated_normal", shape, lower, upper)
    bounds = [ops.astype(as_value(one), wanted) for one in (lower, upper)]
    make = of_dtype(_truncated, wanted)
    return drawn(make, key_of("truncated_normal", key), shape, bounds)


def _truncated(key: object, counters: object, lower: Any, upper: Any, *, dtype: DType) -> Any:
    low, high = (ops.erf(one * math.sqrt(0.5)) for one in (lower, upper))
    u = unit(key, counters, dtype=dtype)
    return ops.clip(ops.erfinv(u * (high - low) + low) * _ROOT2, lower, upper)


def gamma(key: object, a: Value, shape: object = None, dtype: object = "float32") -> Value:
    """Gamma numbers of scale 1, of a shape (that of the parameter if None); nan for a < 0.

    They have a gradient by `a`: that of the number at a fixed quantile (Figurnov, Mohamed and Mnih,
    Implicit reparameterization gradients, NeurIPS 2018).

    Raises:
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.gamma(sg.random.key(0), np.full(10000, 3.0))
        >>> float(found.mean().round(1))
        3.0
    """
    wanted = floating("gamma", dtype)
    shape = common_shape("gamma", shape, a)
    return drawn(_gamma, key_of("gamma", key), shape, [ops.astype(as_value(a), wanted)])


def _gamma(key: object, counters: object, a: object) -> Any:
    return ops.random_gamma(a, key, counters)


def beta(key: object, a: Value, b: Value, shape: object = None, dtype: object = "float32") -> Value:
    """Beta numbers, of a shape (that of the parameters if None): quotients of gamma numbers.

    They have gradients by both parameters, as those of `gamma`.

    Raises:
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.beta(sg.random.key(0), np.full(10000, 3.0), 1.0)
        >>> float(found.mean().round(2))
        0.75
    """
    wanted = floating("beta", dtype)
    shape = common_shape("beta", shape, a, b)
    parameters = [ops.astype(as_value(one), wanted) for one in (a, b)]
    return drawn(_beta, key_of("beta", key), shape, parameters)


def _beta(key: object, counters: object, a: object, b: object) -> Any:
    first, second = (
        ops.random_gamma(one, ops.threefry(key, i), counters) for i, one in enumerate((a, b))
    )
    return first / (first + second)
