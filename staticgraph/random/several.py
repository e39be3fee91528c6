"""Distributions whose numbers belong together: of vectors, and of what is drawn from an axis."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import DType, normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.random.continuous import gumbel, log_gamma, normal, of_dtype
from staticgraph.random.discrete import by_inversion, integers_below, of_chances, randint
from staticgraph.random.draws import (
    as_value,
    common_shape,
    drawn,
    drawn_in_rows,
    floating,
    key_of,
    parameter,
    shape_of,
)

_FLOAT64 = np.dtype(np.float64)


def dirichlet(key: object, alpha: Value, shape: object = None, dtype: object = None) -> Value:
    """Shares that sum to 1 along the last axis, of a shape (that of `alpha` without it if None).

    Quotients of gamma numbers, with their gradients, computed in float64 of logarithms.

    Raises:
        OptionError: a number of `alpha` is negative.
        DTypeError, ShapeError: as those of `uniform`, and for parameters that do not broadcast.

    Example:
        >>> found = sg.random.dirichlet(sg.random.key(0), np.array([2.0, 3.0]), (100,))
        >>> found.shape, bool(np.allclose(found.sum(axis=-1), 1))
        ((100, 2), True)
    """
    wanted = floating("dirichlet", dtype)
    given = parameter("dirichlet", "alpha", alpha, _FLOAT64, 0)
    if not given.shape:
        raise ShapeError("dirichlet: alpha is a number: it needs one for each share")
    key, make = key_of("dirichlet", key), of_dtype(_shares, wanted)
    if shape is not None and len(given.shape) == 1:
        at_once = drawn_in_rows(make, key, shape_of("dirichlet", shape), [given])
        if at_once is not None:
            return at_once
    return make(key, None if shape is None else shape_of("dirichlet", shape), given)


def _shares(key: object, shape: Any, alpha: Any, *, dtype: DType) -> Any:
    whole = common_shape("dirichlet", None if shape is None else (*shape, alpha.shape[-1]), alpha)
    return ops.astype(ops.softmax(drawn(log_gamma, key, whole, [alpha]), axis=-1), dtype)


def multivariate_normal(
    key: object, mean: Value, cov: Value, shape: object = None, dtype: object = None
) -> Value:
    """Vectors of normal numbers with a mean (..., n) and covariances (..., n, n).

    Of a shape in front of the axis of n (that of both together if None), by the Cholesky factor,
    with gradients by the mean and the covariances.

    Raises:
        DTypeError, ShapeError: as those of `uniform`, and for shapes that do not fit.

    Example:
        >>> mean, cov = np.zeros(2, "float32"), np.eye(2, dtype="float32")
        >>> sg.random.multivariate_normal(sg.random.key(0), mean, cov, (3,)).shape
        (3, 2)
    """
    wanted = floating("multivariate_normal", dtype)
    centre = parameter("multivariate_normal", "mean", mean, wanted)
    spread = parameter("multivariate_normal", "cov", cov, wanted)
    n = centre.shape[-1] if centre.shape else -1
    if tuple(spread.shape[-2:]) != (n, n):
        raise ShapeError(
            f"multivariate_normal: a mean of the shape {tuple(centre.shape)} "
            f"and covariances of {tuple(spread.shape)}"
        )
    key, make = key_of("multivariate_normal", key), of_dtype(_vectors, wanted)
    sizes = None if shape is None else shape_of("multivariate_normal", shape)
    if sizes is not None and len(centre.shape) == 1 and len(spread.shape) == 2:
        at_once = drawn_in_rows(make, key, sizes, [centre, spread])
        if at_once is not None:
            return at_once
    return make(key, sizes, centre, spread)


def _vectors(key: object, shape: Any, mean: Any, cov: Any, *, dtype: DType) -> Any:
    whole = None if shape is None else (*shape, mean.shape[-1])
    whole = common_shape("multivariate_normal", whole, mean, cov[..., 0])
    number: Any = normal(key, (*whole, 1), dtype)
    return (ops.cholesky(cov) @ number)[..., 0] + mean


def choice(
    key: object, a: Value, shape: object = (), replace: bool = True, p: Value | None = None,
    axis: int = 0,
) -> Value:  # fmt: skip
    """Slices of `a` along an axis, or numbers below an int, drawn with equal chances or `p`.

    The shape that is asked for stands in the place of the axis. Without replacement the time is
    that of what is drawn, not of what there is. With `p`, too, it is the order of sums of
    logarithms and Gumbel numbers (Kool et al., Stochastic beams, 2019).

    Raises:
        OptionError: more are drawn without replacement than there are, or have a chance; a number
            of `p` is negative, infinite or nan.
        ShapeError: `p` has not a number for each, there is no such axis, or none to draw from.
        DTypeError: the key is no int64 scalar.

    Example:
        >>> sg.random.choice(sg.random.key(0), 5, (3,), p=np.array([0, 0, 1, 0, 0]))
        array([2, 2, 2])
    """
    sizes = shape_of("choice", shape)
    count = product(sizes)
    is_range = isinstance(a, int) or (not isinstance(a, Operand) and np.ndim(a) == 0)
    source = None if is_range else as_value(a)
    place = 0 if source is None else normalise_axis("choice", axis, len(source.shape))
    n: Any = int(cast("int", a)) if source is None else source.shape[place]
    if isinstance(n, int) and n < 1 and count:
        raise ShapeError(f"choice: {count} of {n}")
    if not replace and isinstance(n, int) and isinstance(count, int) and count > n:
        raise OptionError(f"choice: {count} of {n} without replacement")
    if p is None:
        order: Any = randint(key, (count,), 0, n) if replace else _unlike(key, n, count, source)
    else:
        order = _weighted(key, n, count, replace, p)
    if order.__class__ is np.ndarray:
        order = order[:count] if len(sizes) == 1 else order[:count].reshape(sizes)
        if source.__class__ is np.ndarray:
            return source.take(order, place)
    else:
        order = ops.reshape(order[:count], sizes)
    return order if source is None else ops.take(source, order, axis=place)


def _unlike(key: object, n: Any, count: Any, source: Any) -> Any:
    """Numbers below n, all different; where there are too few, those beyond are not below n."""
    if isinstance(n, int) and n >= 1 << 63:
        raise OptionError(f"choice: there are 2**63 integers or more below {n}")
    many = np.asarray(n) if isinstance(n, int) else source._apply(ops.size_of, (), {"size": n})
    offsets = drawn(_offsets, key_of("choice", key), (count,), [many])
    return (provided.places if offsets.__class__ is np.ndarray else ops.random_places)(offsets)


def _offsets(key: object, counters: Any, n: Any) -> Any:
    return integers_below(key, counters, n - counters)


def _weighted(key: object, n: Any, count: Any, replace: bool, p: Value) -> Any:
    chances: Any = parameter("choice", "p", p, _FLOAT64, 0, float(limits(_FLOAT64).max))
    if tuple(chances.shape) != (n,):
        raise ShapeError(f"choice: p has the shape {tuple(chances.shape)}, not ({n},)")
    if not isinstance(chances, Operand) and isinstance(count, int):
        possible, wanted = np.count_nonzero(chances), min(count, 1) if replace else count
        if possible < wanted:
            raise OptionError(f"choice: {count} of {n}, of which {possible} have a chance")
    if replace:
        return by_inversion(of_chances, key_of("choice", key), (count,), chances)
    none = ops.less_equal(chances, 0.0)
    logarithms: Any = ops.where(none, -np.inf, ops.log(ops.where(none, 1.0, chances)))
    return ops.argsort(-(logarithms + gumbel(key, (n,), _FLOAT64)), axis=0)
