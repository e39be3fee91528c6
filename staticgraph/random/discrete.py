"""Distributions of integers and truth values, orders, and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import DType, as_dtype, normalise_axis
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.functions.sequences import searchsorted
from staticgraph.compiler.ops.declare import size_value
from staticgraph.random.continuous import gumbel, of_dtype, uniform, unit
from staticgraph.random.draws import (
    INT64,
    Make,
    Shape,
    as_value,
    common_shape,
    drawn,
    drawn_in_rows,
    key_of,
    parameter,
    shape_of,
)
from staticgraph.random.plans import Draw, planned

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_LARGEST_RATE = math.nextafter(1e18, 0)
MOST_TRIALS = math.nextafter(1e15, 0)
_NARROW = 1 << 31
"""The widest range for which 64 bits are so many that no integer is noticeably more likely."""
_WIDE = 1 << 61
"""The narrowest range of which a block may give no integer so often that vectors draw anew."""


def bernoulli(key: object, p: Value = 0.5, shape: object = None) -> Value:
    """True with a probability, of a shape (that of `p` if None): bool.

    Raises:
        OptionError: `p` is a number that is no probability.
        DTypeError, ShapeError: the key is no int64 scalar, or `p` does not broadcast to the shape.

    Example:
        >>> sg.random.bernoulli(sg.random.key(0), 0.5, (3,))
        array([False, False,  True])
    """
    return planned("bernoulli", _bernoulli, key, shape, p)


def _bernoulli(shape: object, p: Value) -> Draw:
    given = p if isinstance(p, Operand) else np.asarray(p)
    wide = np.dtype(given.dtype) == _FLOAT64 and given.shape != ()
    chance = parameter("bernoulli", "p", p, _FLOAT64 if wide else _FLOAT32, 0, 1)
    return Draw(_below, common_shape("bernoulli", shape, chance), (chance,))


def _below(key: object, counters: object, p: Any) -> Any:
    return unit(key, counters, dtype=np.dtype(p.dtype)) < p


def randint(
    key: object, shape: object, minval: Value, maxval: Value, dtype: object = "int64"
) -> Value:
    """Integers from minval to before maxval, all as likely, of a shape and dtype.

    Bounds that are operands or arrays broadcast to the shape. Where maxval is not larger the result
    is minval.

    Raises:
        OptionError: the bounds are numbers of which maxval is not the larger, or do not fit.
        DTypeError, ShapeError: the key is no int64 scalar, the dtype or the bounds are no integers,
            the shape is none, or the bounds do not broadcast to it.

    Example:
        >>> sg.random.randint(sg.random.key(0), (5,), 0, 10)
        array([4, 2, 9, 5, 5])
    """
    return planned("randint", _randint, key, shape, minval, maxval, dtype)


def _randint(shape: object, minval: Value, maxval: Value, dtype: object) -> Draw:
    wanted = as_dtype(dtype, "randint")
    if wanted.kind not in "iu":
        raise DTypeError(f"randint: {wanted} is no dtype of integers")
    sizes = shape_of("randint", shape)
    low, high = _bound("minval", minval), _bound("maxval", maxval)
    if isinstance(low, Operand) or isinstance(high, Operand):
        make, low = _from_any, ops.astype(low, INT64)
        parameters = (ops.astype(high, INT64) - low, low)
    else:
        make, *found = _range(low, high, wanted)
        parameters = (found[0], found[1])
    return Draw(
        of_dtype(make, wanted), common_shape("randint", sizes, *parameters), tuple(parameters)
    )


def _bound(name: str, value: object) -> Any:
    """A bound of integers, as it is."""
    given: Any = value if isinstance(value, Operand) else np.asarray(value)
    if np.dtype(given.dtype).kind not in "iu":
        raise DTypeError(f"randint: {name} is no integer of 64 bits: {value!r}")
    return given


def _range(low: Array, high: Array, wanted: DType) -> tuple[Any, Array, Array]:
    """How integers between bounds are drawn, of how many there are, and of the lower bound."""
    info, is_number = np.iinfo(wanted), low.shape == high.shape == ()
    if is_number:
        least, most = int(low), int(high)
    else:
        least, most = (int(low.min()), int(high.max())) if low.size and high.size else (0, 1)
    if least < info.min or most > info.max + 1 or (is_number and most <= least):
        raise OptionError(f"randint: no {wanted} between {low} and {high}")
    if most - least >= 1 << 63 and (is_number or (_differences(low, high) >= 1 << 63).any()):
        raise OptionError(
            f"randint: there are 2**63 integers or more between {low} and {high}: take bits"
        )
    if is_number:
        span = most - least
        if span > 1 and span & (span - 1) == 0:
            return _from_power, np.array(65 - span.bit_length(), INT64), low.astype(INT64)
        make = _from_few if span <= _NARROW else _from_any if span < _WIDE else _from_wide
        return make, np.array(span, INT64), low.astype(INT64)
    start = low.astype(INT64)
    if low.size and high.size and max(most - least, int(low.max()) - int(high.min())) < 1 << 63:
        return _from_any, high.astype(INT64) - start, start  # what wraps wraps back
    return _from_any, np.maximum(_differences(low, high), 0).astype(INT64), start


def _differences(low: Array, high: Array) -> Array:
    """How many integers there are between bounds, by Python's, which do not wrap."""
    return np.asarray(high.astype(object) - low.astype(object))


def _from_power(key: object, counters: object, rest: Any, low: Any, *, dtype: DType) -> Any:
    """The numbers of `_from_any` where there are a power of two: its upper bits but for `rest`."""
    bits: Any = ops.threefry(key, counters)
    least = ops.left_shift(np.int64(-1), 64 - rest)
    return ops.astype(ops.bitwise_and(ops.right_shift(bits, rest), ~least) + low, dtype)


def _from_few(key: object, counters: object, span: object, low: Any, *, dtype: DType) -> Any:
    return ops.astype(ops.scaled_bits(ops.threefry(key, counters), span) + low, dtype)


def _from_any(key: object, counters: object, span: object, low: Any, *, dtype: DType) -> Any:
    return ops.astype(integers_below(key, counters, span) + low, dtype)


def _from_wide(key: object, counters: object, span: object, low: Any, *, dtype: DType) -> Any:
    """The numbers of `_from_any`, with further attempts before the loop that repeats."""
    attempt = ops.wide_attempt(span, key, counters)
    return ops.astype(ops.random_below(attempt, span, key, counters) + low, dtype)


def integers_below(key: object, counters: object, span: object) -> Any:
    """Integers from 0 to before a span, all as likely; 0 where it is not positive."""
    attempt = ops.below_attempt(span, key, counters)
    return ops.random_below(attempt, span, key, counters)


def poisson(key: object, rate: Value, shape: object = None) -> Value:
    """Poisson numbers, of a shape (that of the rate if None): int64.

    Where an operand is no rate from 0 to before 1e18 they are -1.

    Raises:
        OptionError: the rate is a number that is none, or not below 1e18.
        DTypeError, ShapeError: the key is no int64 scalar, or the rate does not broadcast to the
            shape.

    Example:
        >>> sg.random.poisson(sg.random.key(0), np.array([0.0, 1e6])) > 5
        array([False,  True])
    """
    return planned("poisson", _of_rates, key, shape, rate)


def _of_rates(shape: object, rate: Value) -> Draw:
    given: Any = parameter("poisson", "the rate", rate, _FLOAT64, 0, _LARGEST_RATE)
    make = _of_means(given, _poisson, _small_poisson, _large_poisson)
    return Draw(make, common_shape("poisson", shape, given), (given,))


def _of_means(means: Any, make: Make, small: Make, large: Make) -> Make:
    """What makes the same numbers as `make`, without the way that none of known means takes."""
    if isinstance(means, Operand):
        return make
    if not means.ndim:
        return small if float(means) < 10.0 else large  # nan is refused before
    return small if (means < 10.0).all() else large if (means >= 10.0).all() else make


def _poisson(key: object, counters: object, rate: object) -> Any:
    attempt = ops.poisson_attempt(rate, key, counters)
    attempt = ops.large_poisson_attempt(attempt, rate, key, counters)
    return ops.random_poisson(attempt, rate, key, counters)


def _small_poisson(key: object, counters: object, rate: object) -> Any:
    return ops.random_poisson(ops.poisson_attempt(rate, key, counters), rate, key, counters)


def _large_poisson(key: object, counters: object, rate: object) -> Any:
    attempt = ops.large_poisson_attempt(-1.0, rate, key, counters)
    return ops.random_poisson(attempt, rate, key, counters)


def binomial(key: object, n: Value, p: Value, shape: object = None) -> Value:
    """How many of n trials succeed, each with probability p, of a shape (that of both if None).

    int64. Where operands are no whole number from 0 to before 1e15, or no probability, it is -1.

    Raises:
        OptionError: n or p is a number that is none.
        DTypeError, ShapeError: the key is no int64 scalar, or n and p do not broadcast to the
            shape.

    Example:
        >>> sg.random.binomial(sg.random.key(0), 10, np.array([0.0, 1.0]))
        array([ 0, 10])
    """
    return planned("binomial", _of_trials, key, shape, n, p)


def _of_trials(shape: object, n: Value, p: Value) -> Draw:
    trials: Any = parameter("binomial", "n", n, _FLOAT64, 0, MOST_TRIALS)
    chance: Any = parameter("binomial", "p", p, _FLOAT64, 0, 1)
    trials = ops.floor(trials) if isinstance(trials, Operand) else np.floor(trials)
    sizes = common_shape("binomial", shape, trials, chance)
    make = _binomial
    if not isinstance(trials, Operand) and not isinstance(chance, Operand):
        means = trials * np.minimum(chance, 1.0 - chance)
        make = _of_means(means, _binomial, _small_binomial, _large_binomial)
    return Draw(make, sizes, (trials, chance))


def _binomial(key: object, counters: object, n: object, p: object) -> Any:
    attempt = ops.binomial_attempt(n, p, key, counters)
    attempt = ops.large_binomial_attempt(attempt, n, p, key, counters)
    return ops.random_binomial(attempt, n, p, key, counters)


def _small_binomial(key: object, counters: object, n: object, p: object) -> Any:
    return ops.random_binomial(ops.binomial_attempt(n, p, key, counters), n, p, key, counters)


def _large_binomial(key: object, counters: object, n: object, p: object) -> Any:
    attempt = ops.large_binomial_attempt(-1.0, n, p, key, counters)
    return ops.random_binomial(attempt, n, p, key, counters)


def categorical(key: object, logits: Value, axis: int = -1, shape: object = None) -> Value:
    """Positions along an axis, drawn with the softmax of logits as their probabilities: int64.

    The result has the shape of the logits without the axis, or one that ends with it. The largest
    sum of a logit and a Gumbel number wins (Maddison, Tarlow and Minka, A* sampling, 2014). Where
    numbers of a shape are drawn of one vector of logits, they are found by bisection in the
    sums of its probabilities, in float64.

    Raises:
        ShapeError: there is no such axis, nothing lies along it, or the shape does not end with
            that of the logits.
        DTypeError: the logits are not floating point, or the key is no int64 scalar.

    Example:
        >>> sg.random.categorical(sg.random.key(0), np.log(np.array([0.0, 1.0, 0.0]) + 1e-30))
        np.int64(1)
    """
    logits = as_value(logits)
    if not is_float(logits.dtype):
        raise DTypeError(f"categorical: the logits are {logits.dtype}, not floating point")
    place = normalise_axis("categorical", axis, len(logits.shape))
    if logits.shape[place] == 0:
        raise ShapeError(f"categorical: there are no logits along axis {axis} of {logits.shape}")
    rest = (*logits.shape[:place], *logits.shape[place + 1 :])
    wanted = rest if shape is None else shape_of("categorical", shape)
    if wanted[len(wanted) - len(rest) :] != rest:
        raise ShapeError(f"categorical: the shape {wanted} does not end with {rest}")
    extra = len(wanted) - len(rest)
    if extra and not rest:
        return by_inversion(_of_logits, key_of("categorical", key), wanted, logits)
    whole = (*wanted[: extra + place], logits.shape[place], *wanted[extra + place :])
    noise = gumbel(key, whole, np.dtype(logits.dtype))
    return ops.argmax(noise + logits, axis=extra + place)


def _of_logits(key: object, shape: Shape, logits: Any) -> Any:
    wide = ops.astype(logits, _FLOAT64)
    largest = ops.max(wide, axis=0, keepdims=True)
    same = ops.equal(wide, largest)  # of inf too, whose difference is none
    return of_chances(
        key, shape, ops.exp(ops.where(same, 0.0, wide) - ops.where(same, 0.0, largest))
    )


def of_chances(key: object, shape: Shape, chances: Any) -> Any:
    """Positions in a vector of chances, which need not sum to 1, of a shape: int64."""
    total = ops.cumsum(chances, axis=0)
    u: Any = uniform(key, shape, _FLOAT64)
    found = searchsorted(total, u * total[-1], side="right")
    return ops.minimum(found, size_value(total.shape[0], found) - 1)  # of chances that are nan


def by_inversion(make: Callable[..., Any], key: Any, shape: Shape, vector: Any) -> Any:
    """`make(key, shape, vector)`, at once where that can be."""
    at_once = drawn_in_rows(make, key, shape, [vector])
    return make(key, shape, vector) if at_once is None else at_once


def permutation(key: object, x: Value, axis: int = 0) -> Value:
    """x with the slices along an axis in a random order; of an int the numbers below it.

    The order is that of 64 random bits for each slice.

    Raises:
        ShapeError: there is no such axis.
        DTypeError: the key is no int64 scalar.

    Example:
        >>> sg.random.permutation(sg.random.key(0), 5)
        array([1, 0, 4, 2, 3])
    """
    if isinstance(x, int) or (not isinstance(x, Operand) and np.ndim(x) == 0):
        return _in_order(key, x)
    x = as_value(x)
    place = normalise_axis("permutation", axis, len(x.shape))
    order = _in_order(key, (x.shape[place],))
    if order.__class__ is np.ndarray and x.__class__ is np.ndarray:
        return x.take(order, place)
    return ops.take(x, order, axis=place)


def _in_order(key: Any, count: Any) -> Any:
    """The numbers below a count in a random order."""
    words = planned("permutation", _words, key, count)
    return provided.shuffle(words) if words.__class__ is np.ndarray else ops.random_order(words)


def _words(shape: object) -> Draw:
    return Draw(ops.threefry, shape_of("permutation", shape))


def dropout(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each element 0 with a probability, else divided by 1 less it (Srivastava et al. 2014).

    Args:
        x: a floating-point operand.
        rate: the probability, a number.
        key: a key, or a stream, which gives another one at each call of what is compiled.

    Raises:
        OptionError: the rate is no probability.
        DTypeError: the key is no int64 scalar, or x is not floating point.

    Example:
        >>> sg.random.dropout(np.ones(4), 0.5, key=sg.random.key(1))
        array([0., 2., 0., 0.])
    """
    if not isinstance(rate, int | float | np.number):
        raise OptionError(f"dropout: the rate is a number, not {rate!r}")
    if not 0 <= rate <= 1:
        raise OptionError(f"dropout: the rate {rate!r} is not between 0 and 1")
    key, x = key_of("dropout", key), as_value(x)
    if not is_float(x.dtype):
        raise DTypeError(f"dropout: x is {x.dtype}, not floating point")
    if rate == 0:
        return x
    u = drawn(of_dtype(unit, _FLOAT32), key, tuple(x.shape))
    return ops.where(u >= float(rate), x * (1.0 if rate == 1 else 1 / (1 - float(rate))), 0.0)
