"""Functions of one operand on plain arrays, with their gradients: few NumPy calls, mostly in place.

Each function computes what the expansion or the rule of its op says; the generic tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.reference.error_function import erf
from staticgraph.compiler.reference.scratch import floats, scratch

_ZEROS = {np.dtype(kind): np.zeros((), kind) for kind in "fdbhiqB"}
_ONE = np.ones((), np.int8)


_FEW, _MANY = 256, 1 << 14
_UNSIGNED = {np.dtype("f4"): np.dtype("u4"), np.dtype("f8"): np.dtype("u8")}


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


def relu(x: Any) -> Any:
    """max(x, 0)."""
    if _FEW <= x.size <= _MANY and x.dtype in _UNSIGNED:
        return np.maximum(x, _all_zeros[x.dtype][: x.size].reshape(x.shape))
    # a 0-d array instead of a number halves the time on a small array
    return np.maximum(x, _ZEROS[x.dtype])


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
    passes = np.subtract(np.less_equal(o, _ZEROS[o.dtype]).view(np.int8), _ONE)
    return (np.bitwise_and(g.view(bits), passes.astype(bits)).view(g.dtype),)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)): 0 where exp(-x) is more than the dtype holds."""
    if x.dtype.kind == "c":
        with np.errstate(invalid="ignore"):
            falling = np.exp(np.where(x.real < 0, x, -x))  # whose real part is below 0
            return np.where(x.real < 0, falling, 1) / (1 + falling)
    x = floats(x)
    result = np.negative(x, np.empty_like(x))
    with np.errstate(over="ignore"):
        np.exp(result, result)
    np.add(result, 1, result)
    return np.divide(1, result, result)


def sigmoid_vjp(positions: Sequence[int], g: Any, o: Any, x: object) -> Any:
    """g (1 - o) o."""
    result = np.subtract(1, o, np.empty_like(o))
    np.multiply(result, o, result)
    return (np.multiply(result, g, result),)


def tanh_vjp(positions: Sequence[int], g: Any, o: Any, x: object) -> Any:
    """g (1 - o o)."""
    result = np.multiply(o, o, np.empty_like(o))
    np.subtract(1, result, result)
    return (np.multiply(result, g, result),)


def silu(x: Any) -> Any:
    """x sigmoid(x)."""
    x = floats(x)
    result = sigmoid(x)
    return np.multiply(result, x, result)


def silu_vjp(positions: Sequence[int], g: Any, o: object, x: Any) -> Any:
    """g s (1 + x (1 - s)) with s = sigmoid(x)."""
    s = sigmoid(x)
    result = np.subtract(1, s, np.empty_like(s))
    np.multiply(result, x, result)
    np.add(result, 1, result)
    np.multiply(result, s, result)
    return (np.multiply(result, g, result),)


_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def gelu(x: Any, *, approximate: str) -> Any:
    """x (1 + t) / 2, where t is erf(x / sqrt(2)) or its form with tanh."""
    x = floats(x)
    result = _gelu_tanh(x) if approximate == "tanh" else _gelu_erf(x)
    np.add(result, 1, result)
    np.multiply(result, x, result)
    return np.multiply(result, 0.5, result)


def _gelu_erf(x: Any) -> Any:
    return erf(np.multiply(x, _ROOT_HALF, scratch(x, 0)))


def _gelu_tanh(x: Any) -> Any:
    """tanh(sqrt(2 / pi) (x + 0.044715 x**3))."""
    result = np.multiply(x, x, np.empty_like(x))
    np.multiply(result, x, result)
    np.multiply(result, _CUBIC, result)
    np.add(result, x, result)
    np.multiply(result, _ROOT_TWO_BY_PI, result)
    return np.tanh(result, result)


def gelu_vjp(positions: Sequence[int], g: Any, o: object, x: Any, *, approximate: str) -> Any:
    """g ((1 + t) / 2 + x t' / 2)."""
    slope = np.multiply(x, x, np.empty_like(x))
    if approximate == "tanh":
        t = _gelu_tanh(x)
        np.multiply(slope, 3 * _CUBIC, slope)
        np.add(slope, 1, slope)
        np.multiply(slope, _ROOT_TWO_BY_PI, slope)
        falls = np.multiply(t, t, scratch(x, 1))
        np.multiply(slope, np.subtract(1, falls, falls), slope)
        np.multiply(slope, 0.5, slope)
    else:
        t = _gelu_erf(x)
        np.multiply(slope, -0.5, slope)
        np.exp(slope, slope)
        np.multiply(slope, _ROOT_HALF / math.sqrt(math.pi), slope)
    np.multiply(slope, x, slope)
    np.add(t, 1, t)
    np.multiply(t, 0.5, t)
    np.add(slope, t, slope)
    return (np.multiply(slope, g, slope),)
