"""Distributions of integers and truth values, orders, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.errors import DTypeError, OptionError, ShapeError
from compiler.core.op import Operand
from compiler.core.types import as_dtype, normalise_axis
from compiler.core.values import Value
from staticgraph.random.continuous import gumbel, of_dtype, unit
from staticgraph.random.draws import (
    INT64,
    as_value,
    common_shape,
    drawn,
    key_of,
    refuse_outside,
    shape_of,
)

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_NARROW = 1 << 31
"""The widest range for which 64 bits are so many that no integer is noticeably more likely."""


def bernoulli(key: object, p: Value = 0.5, shape: object = None) -> Value:
    """True with a probability, of a shape (that of `p` if None): bool.

    Raises:
        OptionError: `p` is a number that is no probability.
        DTypeError, ShapeError: the key is no int64 scalar, or `p` does not broadcast to the shape.

    Example:
        >>> sg.random.bernoulli(sg.random.key(0), 0.5, (3,))
        array([False, False,  True])
    """
    refuse_outside("bernoulli", "p", p, 0, 1)
    shape = common_shape("bernoulli", shape, p)
    p = as_value(p)
    chance = p if np.dtype(p.dtype).kind == "f" and p.shape != () else ops.astype(p, "float32")
    return drawn(_below, key_of("bernoulli", key), shape, [chance])


def _below(key: object, counters: object, p: Any) -> Any:
    return unit(key, counters, dtype=np.dtype(p.dtype)) < p


def randint(
    key: object, shape: object, minval: Value, maxval: Value, dtype: object = "int64"
) -> Value:
    """Integers from minval to before maxval, all as likely, of a shape and dtype.

    Bounds that are operands broadcast to the shape. Where maxval is not larger the result is
    minval.

    Raises:
        OptionError: the bounds are numbers of which maxval is not the larger, or does not fit.
        DTypeError, ShapeError: the key is no int64 scalar, the dtype has no integers, or the shape
            is none.

    Example:
        >>> sg.random.randint(sg.random.key(0), (5,), 0, 10)
        array([4, 2, 9, 1, 4])
    """
    wanted = as_dtype(dtype, "randint")
    if wanted.kind not in "iu":
        raise DTypeError(f"randint: {wanted} is no dtype of integers")
    key, sizes = key_of("randint", key), shape_of("randint", shape)
    if isinstance(minval, Operand | np.ndarray) or isinstance(maxval, Operand | np.ndarray):
        low, high = (ops.astype(as_value(one), INT64) for one in (minval, maxval))
        return ops.astype(drawn(_from_any, key, sizes, [high - low, low]), wanted)
    low, high, info = int(minval), int(maxval), np.iinfo(wanted)
    if not low < high or low < info.min or high > int(info.max) + 1 or high - low >= 1 << 63:
        raise OptionError(f"randint: no {wanted} between {minval} and {maxval}")
    make = _from_few if high - low <= _NARROW else _from_any
    found = drawn(make, key, sizes, [np.array(one, INT64) for one in (high - low, low)])
    return ops.astype(found, wanted)


def _from_few(key: object, counters: object, span: object, low: Any) -> Any:
    return ops.scaled_bits(ops.threefry(key, counters), span) + low


def _from_any(key: object, counters: object, span: object, low: Any) -> Any:
    return ops.random_below(span, key, counters) + low


def poisson(key: object, rate: Value, shape: object = None) -> Value:
    """Poisson numbers, of a shape (that of the rate if None): int64; -1 for rates that are none.

    Raises:
        DTypeError, ShapeError: the key is no int64 scalar, or the rate does not broadcast to the
            shape.

    Example:
        >>> sg.random.poisson(sg.random.key(0), np.array([0.0, 1e6])) > 5
        array([False,  True])
    """
    shape = common_shape("poisson", shape, rate)
    return drawn(_poisson, key_of("poisson", key), shape, [ops.astype(as_value(rate), _FLOAT64)])


def _poisson(key: object, counters: object, rate: object) -> Any:
    return ops.random_poisson(rate, key, counters)


def categorical(key: object, logits: Value, axis: int = -1, shape: object = None) -> Value:
    """Positions along an axis, drawn with the softmax of logits as their probabilities: int64.

    The result has the shape of the logits without the axis, or one that ends with it. The largest
    sum of a logit and a Gumbel number wins (Maddison, Tarlow and Minka, A* sampling, 2014).

    Raises:
        ShapeError: there is no such axis, or the shape does not end with that of the logits.
        DTypeError: the logits are not floating point, or the key is no int64 scalar.

    Example:
        >>> sg.random.categorical(sg.random.key(0), np.log(np.array([0.0, 1.0, 0.0]) + 1e-30))
        array(1)
    """
    logits = as_value(logits)
    if np.dtype(logits.dtype).kind != "f":
        raise DTypeError(f"categorical: the logits are {logits.dtype}, not floating point")
    place = normalise_axis("categorical", axis, len(logits.shape))
    rest = (*logits.shape[:place], *logits.shape[place + 1 :])
    wanted = rest if shape is None else shape_of("categorical", shape)
    if wanted[len(wanted) - len(rest) :] != rest:
        raise ShapeError(f"categorical: the shape {wanted} does not end with {rest}")
    extra = len(wanted) - len(rest)
    whole = (*wanted[: extra + place], logits.shape[place], *wanted[extra + place :])
    noise = gumbel(key, whole, np.dtype(logits.dtype))
    return ops.argmax(noise + logits, axis=extra + place)


def permutation(key: object, x: Value, axis: int = 0) -> Value:
    """x with the slices along an axis in a random order; of an int the numbers below it.

    The order is that of 64 random bits for each slice.

    Raises:
        ShapeError: there is no such axis.
        DTypeError: the key is no int64 scalar.

    Example:
        >>> sg.random.permutation(sg.random.key(0), 5)
        array([2, 3, 4, 1, 0])
    """
    key = key_of("permutation", key)
    if not isinstance(x, Operand) and np.ndim(x) == 0:
        return ops.random_order(drawn(ops.threefry, key, shape_of("permutation", x)))
    x = as_value(x)
    place = normalise_axis("permutation", axis, len(x.shape))
    order = ops.random_order(drawn(ops.threefry, key, (x.shape[place],)))
    return ops.take(x, order, axis=place)


def dropout(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each element 0 with a probability, else divided by 1 less it (Srivastava et al. 2014).

    Args:
        x: a floating-point operand.
        rate: the probability, a number.
        key: a key, or a stream, which gives another one at each call of what is compiled.

    Raises:
        OptionError: the rate is no probability.
        DTypeError: the key is no int64 scalar.

    Example:
        >>> sg.random.dropout(np.ones(4), 0.5, key=sg.random.key(1))
        array([0., 2., 0., 0.])
    """
    refuse_outside("dropout", "the rate", rate, 0, 1)
    key, x = key_of("dropout", key), as_value(x)
    if rate == 0:
        return x
    u = drawn(of_dtype(unit, _FLOAT32), key, tuple(x.shape))
    return ops.where(u >= rate, x * (0.0 if rate == 1 else 1 / (1 - rate)), 0.0)
