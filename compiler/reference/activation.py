"""Functions of one operand on plain arrays, with their gradients: few NumPy calls, mostly in place.

Each function computes what the expansion or the rule of its op says; the generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.values import Value
from staticgraph.compiler.reference.error_function import erf
from staticgraph.compiler.reference.numbers import HALF, ONE, ZERO, Number
from staticgraph.compiler.reference.scratch import floats, scratch, stays_finite

_FEW, _MANY = 256, 1 << 14
_UNSIGNED = {np.dtype("f4"): np.dtype("u4"), np.dtype("f8"): np.dtype("u8")}
_BYTE = np.dtype(np.int8)
_maximum = np.maximum


class _Constants(dict[Any, Any]):
    """By dtype an array of `_MANY` elements of one value, made when it is first needed.

    NumPy compares an array with a number one by one, and with an array many at once.
    """

    def __init__(self, value: int) -> None:
        super().__init__()
        self.value = value

    def __missing__(self, dtype: Any) -> Any:
        made = self[dtype] = np.full(_MANY, self.value, dtype)
        return made


_all_zeros, _all_ones = _Constants(0), _Constants(1)


def _out(like: Any) -> Any:
    """The `out` of a ufunc: without one, it makes no array of what has no axes, but a scalar."""
    return None if like.ndim else np.empty_like(like)


def relu(x: Any) -> Any:
    """max(x, 0)."""
    try:
        if x.size < _FEW and not getattr(x, "notes_calls", False):  # else any size may follow
            return _maximum(x, ZERO[x.dtype])
    except AttributeError:
        if isinstance(x, bool | int | float):
            return relu(np.asarray(x))
        raise
    if x.size <= _MANY and x.dtype in _UNSIGNED:
        return np.maximum(x, _all_zeros[x.dtype][: x.size].reshape(x.shape))
    return np.maximum(x, ZERO[x.dtype])


def relu_vjp(positions: Sequence[int], g: Any, o: Any, a: object) -> Any:
    """g where o > 0, else 0."""
    unsigned = _UNSIGNED.get(o.dtype)
    if unsigned is not None and _FEW <= o.size <= _MANY and g.dtype is o.dtype:
        # the bits of o without its sign are 0 where it is; so those of the mask are all 0 or all 1
        passes = np.left_shift(o.view(unsigned), 1)
        np.minimum(passes, _all_ones[unsigned][: o.size].reshape(o.shape), out=passes)
        np.negative(passes, passes)
        return (np.bitwise_and(g.view(unsigned), passes, passes).view(g.dtype),)
    # np.where in half its time: g's bits, and those of -1 where it passes or 0 where it does not
    bits = np.dtype(f"i{g.itemsize}")
    passes = np.subtract(np.less_equal(o, ZERO[o.dtype]).view(_BYTE), ONE[_BYTE])
    return (np.bitwise_and(g.view(bits), passes.astype(bits)).view(g.dtype),)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x)): 0 where exp(-x) is more than the dtype holds."""
    if x.dtype.kind == "c":
        with np.errstate(invalid="ignore"):
            falling = np.exp(np.where(x.real < 0, x, -x))  # whose real part is below 0
            return np.where(x.real < 0, falling, 1) / (1 + falling)
    x = floats(x)
    one = ONE[x.dtype]
    result = np.negative(x, _out(x))
    if stays_finite(result):  # in a fifth of the time
        np.exp(result, result)
    else:
        with np.errstate(over="ignore"):
            np.exp(result, result)
    np.add(result, one, result)
    return np.divide(one, result, result)


def sigmoid_vjp(positions: Sequence[int], g: Any, o: Any, x: object) -> Any:
    """g (1 - o) o."""
    result = np.subtract(ONE[o.dtype], o, _out(o))
    np.multiply(result, o, result)
    return (np.multiply(result, g, result),)


def tanh_vjp(positions: Sequence[int], g: Any, o: Any, x: object) -> Any:
    """g (1 - o o)."""
    result = np.multiply(o, o, _out(o))
    np.subtract(ONE[o.dtype], result, result)
    return (np.multiply(result, g, result),)


def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    x = floats(x)
    result = sigmoid(x)
    return np.multiply(result, x, result)


def silu_vjp(positions: Sequence[int], g: Any, o: object, x: Any) -> Any:
    """g s (1 + x (1 - s)) with s = sigmoid(x)."""
    s = sigmoid(x)
    one = ONE[s.dtype]
    result = np.subtract(one, s, _out(s))
    np.multiply(result, x, result)
    np.add(result, one, result)
    np.multiply(result, s, result)
    return (np.multiply(result, g, result),)


_ROOT_HALF = Number(math.sqrt(0.5))
_ROOT_TWO_BY_PI = Number(math.sqrt(2 / math.pi))
_ROOT_OF_TWO_PI = Number(math.sqrt(0.5) / math.sqrt(math.pi))
_CUBIC, _THREE_CUBIC = Number(0.044715), Number(3 * 0.044715)
_MINUS_HALF = Number(-0.5)


def gelu(x: Any, *, approximate: str) -> Any:
    """x (1 + t) / 2, where t is erf(x / sqrt(2)) or its form with tanh."""
    x = floats(x)
    result = _gelu_tanh(x) if approximate == "tanh" else _gelu_erf(x)
    dtype = result.dtype
    np.add(result, ONE[dtype], result)
    np.multiply(result, HALF[dtype], result)  # before x, which doubled may be inf
    return np.multiply(result, x, result)


def _gelu_erf(x: Any) -> Any:
    return erf(np.multiply(x, _ROOT_HALF[x.dtype], scratch(x, 0)))


def _gelu_tanh(x: Any) -> Any:
    """tanh(sqrt(2 / pi) (x + 0.044715 x**3))."""
    dtype = x.dtype
    result = np.multiply(x, x, _out(x))
    np.multiply(result, x, result)
    np.multiply(result, _CUBIC[dtype], result)
    np.add(result, x, result)
    np.multiply(result, _ROOT_TWO_BY_PI[dtype], result)
    return np.tanh(result, result)


def gelu_vjp(positions: Sequence[int], g: Any, o: object, x: Any, *, approximate: str) -> Any:
    """g ((1 + t) / 2 + x t' / 2)."""
    dtype = x.dtype
    one, half = ONE[dtype], HALF[dtype]
    slope = np.multiply(x, x, _out(x))
    if approximate == "tanh":
        t = _gelu_tanh(x)
        np.multiply(slope, _THREE_CUBIC[dtype], slope)
        np.add(slope, one, slope)
        np.multiply(slope, _ROOT_TWO_BY_PI[dtype], slope)
        falls = np.multiply(t, t, scratch(x, 1))
        np.multiply(slope, np.subtract(one, falls, falls), slope)
        np.multiply(slope, half, slope)
    else:
        t = _gelu_erf(x)
        np.multiply(slope, _MINUS_HALF[dtype], slope)
        np.exp(slope, slope)
        np.multiply(slope, _ROOT_OF_TWO_PI[dtype], slope)
    np.multiply(slope, x, slope)
    np.add(t, one, t)
    np.multiply(t, half, t)
    np.add(slope, t, slope)
    return (np.multiply(slope, g, slope),)
