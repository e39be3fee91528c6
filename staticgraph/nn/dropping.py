"""Functions of networks that draw: each takes a key or a stream, as those of `random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.types import normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import shown
from staticgraph.compiler.layers.dropping import floored, of_channels, relaxed
from staticgraph.random import gumbel, uniform
from staticgraph.random.draws import as_value, key_of

__all__ = [
    "alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
    "gumbel_softmax", "rrelu",
]  # fmt: skip


def dropout1d(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each channel of (n, c, l) or (c, l) 0 with a probability, else divided by 1 less it.

    Args:
        rate: the probability, a number.
        key: a key, or a stream, which gives another one at each call of what is compiled.

    Raises:
        OptionError: the rate is no probability.
        ShapeError: another number of axes.
        DTypeError: the key is no int64 scalar, or x is not floating point.

    Example:
        >>> sg.nn.dropout1d(np.ones((4, 2)), 0.5, key=sg.random.key(1))
        array([[0., 0.],
               [2., 2.],
               [0., 0.],
               [0., 0.]])
    """
    return _channels("dropout1d", 1, x, rate, key)


def dropout2d(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each channel of (n, c, h, w) or (c, h, w) 0 or scaled: see `dropout1d` (Tompson 2015).

    Example:
        >>> sg.nn.dropout2d(np.ones((4, 1, 1)), 0.5, key=sg.random.key(1)).ravel()
        array([0., 2., 0., 0.])
    """
    return _channels("dropout2d", 2, x, rate, key)


def dropout3d(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each channel of (n, c, d, h, w) or (c, d, h, w) 0 or scaled: see `dropout1d`.

    Example:
        >>> sg.nn.dropout3d(np.ones((4, 1, 1, 1)), 0.5, key=sg.random.key(1)).ravel()
        array([0., 2., 0., 0.])
    """
    return _channels("dropout3d", 3, x, rate, key)


def _checked(name: str, x: Any, rate: float) -> Any:
    if not isinstance(rate, int | float | np.number) or not 0 <= rate <= 1:
        raise OptionError(f"{name}: the rate is a number from 0 to 1, not {rate!r}")
    x = as_value(x)
    if not is_float(np.dtype(x.dtype)):
        raise DTypeError(f"{name}: {shown(x)} is not floating point")
    return x


def _kept(name: str, key: object, rate: float, shape: tuple[Any, ...]) -> Any:
    return uniform(key_of(name, key), shape, "float32") >= float(rate)


def _channels(name: str, axes: int, x: Any, rate: float, key: object) -> Any:
    x = _checked(name, x, rate)
    if x.ndim not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of {axes + 1} or {axes + 2}")
    if rate == 0:
        return x
    kept = _kept(name, key, rate, of_channels(tuple(x.shape), x.ndim - axes))
    return ops.where(kept, x * (1.0 if rate == 1 else 1 / (1 - float(rate))), 0.0)


def alpha_dropout(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """Each element the lower end of selu with a probability, scaled and shifted.

    Mean 0 and variance 1 stay as they are (Klambauer et al. 2017). Errors are those of
    `dropout1d`.

    Example:
        >>> sg.nn.alpha_dropout(np.zeros(4), 0.5, key=sg.random.key(1)).round(4)
        array([-0.7792,  0.7792, -0.7792, -0.7792])
    """
    return _alpha("alpha_dropout", x, rate, key, None)


def feature_alpha_dropout(x: Value, rate: float = 0.5, *, key: object) -> Value:
    """`alpha_dropout` of whole channels of (n, c, ...).

    Example:
        >>> sg.nn.feature_alpha_dropout(np.zeros((1, 2, 2)), 0.5, key=sg.random.key(1)).round(4)
        array([[[-0.7792, -0.7792],
                [ 0.7792,  0.7792]]])
    """
    return _alpha("feature_alpha_dropout", x, rate, key, 2)


def _alpha(name: str, x: Any, rate: float, key: object, channels: int | None) -> Any:
    x = _checked(name, x, rate)
    if channels is not None and x.ndim < channels:
        raise ShapeError(f"{name}: {shown(x)} has {x.ndim} axes, of at least {channels}")
    if rate == 0:
        return x
    if rate == 1:
        return x * 0.0
    shape = tuple(x.shape)
    kept = _kept(name, key, rate, shape if channels is None else of_channels(shape, channels))
    return floored(x, kept, float(rate))


def rrelu(x: Value, lower: float = 1.0 / 8, upper: float = 1.0 / 3, *, key: object = None) -> Value:
    """x above 0, a random slope from [lower, upper) times x below (Xu et al. 2015).

    Without a key the slope is the mean of the two, as when a network is used.

    Raises:
        OptionError: lower is above upper.
        DTypeError: the key is no int64 scalar, or x is not floating point.

    Example:
        >>> sg.nn.rrelu(np.array([-1.0, 1.0]), 0.25, 0.75)
        array([-0.5,  1. ])
    """
    x = _checked("rrelu", x, 0)
    if lower > upper:
        raise OptionError(f"rrelu: lower={lower} is above upper={upper}")
    if key is None or lower == upper:
        return ops.leaky_relu(x, (lower + upper) / 2)
    slopes = uniform(key_of("rrelu", key), tuple(x.shape), x.dtype, lower, upper)
    return ops.where(ops.greater(x, 0), x, slopes * x)


def gumbel_softmax(
    logits: Value, tau: float = 1.0, hard: bool = False, dim: int = -1, *, key: object
) -> Value:
    """Samples of the relaxed categorical distribution (Jang, Gu, Poole 2017).

    Args:
        tau: the temperature, at which they are one-hot near 0.
        hard: whether they are one-hot, with the gradient of those that are not.
        key: a key, or a stream.

    Raises:
        OptionError: tau is not positive.
        DTypeError: the key is no int64 scalar, or the logits are not floating point.

    Example:
        >>> sg.nn.gumbel_softmax(np.zeros(3), hard=True, key=sg.random.key(2)).sum()
        np.float64(1.0)
    """
    x = _checked("gumbel_softmax", logits, 0)
    if not tau > 0:
        raise OptionError(f"gumbel_softmax: tau is a number above 0, not {tau!r}")
    axis = normalise_axis("gumbel_softmax", dim, x.ndim)
    noise = gumbel(key_of("gumbel_softmax", key), tuple(x.shape), x.dtype)
    return relaxed(x, noise, tau, hard, axis)
