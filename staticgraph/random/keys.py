"""Keys, and what makes new ones of them."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.values import Value
from staticgraph.random.draws import INT64, drawn, key_of, shape_of
from staticgraph.random.plans import Draw, planned

_FEW = 64  # keys that are not worth the compilation of a kernel
_UNCOMPILED = 64  # draws of few keys from which on a kernel is worth it
_draws_of_few = count(1)


def key(seed: int) -> Any:
    """A key: an int64 scalar, with JAX's meaning of `jax.random.key(seed)`.

    Without `jax_enable_x64` JAX drops the high 32 bits of a seed; here they count.

    Raises:
        OptionError: the seed is no int of 64 bits.

    Example:
        >>> sg.random.key(7)
        array(7)
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise OptionError(f"key: the seed is an int, not {seed!r}")
    try:
        number = seed.__index__()
    except TypeError:  # of an array of several, or of other numbers
        raise OptionError(f"key: the seed is an int, not {seed!r}") from None
    if not -(1 << 63) <= number < 1 << 64:
        raise OptionError(f"key: the seed {number} has more than 64 bits")
    return np.array(number - (1 << 64) if number >= 1 << 63 else number, INT64)


def bits(key: object, shape: object = ()) -> Value:
    """64 random bits an element: int64 of a shape.

    Raises:
        DTypeError, ShapeError: the key is no int64 scalar, or the shape is none.

    Example:
        >>> sg.random.bits(sg.random.key(0), (2,))
        array([7719171245655871230, 3989946895414531357])
    """
    return planned("bits", _bits, key, shape)


def _bits(shape: object) -> Draw:
    return Draw(ops.threefry, shape_of("bits", shape))


def split(key: object, num: object = 2) -> Value:
    """New keys of a key: int64 of the shape `num`, a number or a tuple; the old one is used up.

    Raises:
        DTypeError, ShapeError: the key is no int64 scalar, or `num` is no shape.

    Example:
        >>> first, second = sg.random.split(sg.random.key(0))
        >>> int(first), int(second)
        (7719171245655871230, 3989946895414531357)
    """
    key, shape = key_of("split", key), shape_of("split", num)
    size = product(shape)
    if not isinstance(key, Operand) and isinstance(size, int) and _is_left_to_python(size):
        return ops.threefry(key, np.arange(size).reshape(shape))
    return planned("split", _bits, key, shape)


def _is_left_to_python(size: int) -> bool:
    """Whether so many keys are made without a kernel: few, in a program that has made few."""
    return size <= _FEW and next(_draws_of_few) <= _UNCOMPILED


def _folded(key: object, counters: object, data: object) -> Any:
    return ops.threefry(key, data)


def fold_in(key: object, data: object) -> Value:
    """The key that belongs to a number, such as that of a step: int64.

    `data` are integers of any shape, of which each gives a key.

    Raises:
        DTypeError: the key is not int64, or `data` are no integers.
        ShapeError: the key is no scalar.

    Example:
        >>> int(sg.random.fold_in(sg.random.key(0), 1))
        3989946895414531357
    """
    key = key_of("fold_in", key)
    counter: Any = data if isinstance(data, Operand) else np.asarray(data)
    if np.dtype(counter.dtype).kind not in "iu":
        raise DTypeError(f"fold_in: the data are {counter.dtype}, not integers")
    if isinstance(counter, Operand):
        counter = ops.astype(counter, "int64")
    else:
        counter = counter.astype(INT64, copy=False)
    if isinstance(key, Operand) or isinstance(counter, Operand) or _is_left_to_python(counter.size):
        return ops.threefry(key, counter)
    return drawn(_folded, key, counter.shape, [counter])
