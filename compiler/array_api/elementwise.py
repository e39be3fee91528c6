"""Functions element by element, by table: the standard's name, and that of the op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.array_api.promotion import cast, dtype_of, named, together
from staticgraph.compiler.core.errors import DTypeError

__all__ = ["astype", "clip", "expm1", "floor_divide", "tanh", "where"]

_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert conj cos cosh exp imag "
    "isfinite isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal "
    "sign signbit sin sinh square sqrt tan"
)
_ROUNDING = "ceil floor round trunc"
_BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
    "divide equal greater greater_equal hypot less less_equal logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
)


def _unary(name: str) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return named(name)(x)

    return _called(function, name)


def _rounding(name: str) -> Callable[..., Any]:
    def function(x: Any, /) -> Any:
        return x if dtype_of(x).kind in "iu" else named(name)(x)

    return _called(function, name)


def _binary(name: str) -> Callable[..., Any]:
    def function(x1: Any, x2: Any, /) -> Any:
        return named(name)(*together(x1, x2))

    return _called(function, name)


def _called(function: Any, name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `{name}`, element by element."
    return function


def _by_table(names: str, make: Callable[[str], Callable[..., Any]]) -> dict[str, Any]:
    return {name: make(name) for name in names.split()}


FUNCTIONS = (
    _by_table(_UNARY, _unary) | _by_table(_ROUNDING, _rounding) | _by_table(_BINARY, _binary)
)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: object = None) -> Any:
    """The elements in another dtype; DTypeError for complex numbers as real ones."""
    wanted = np.dtype(dtype)
    if np.dtype(x.dtype).kind == "c" and wanted.kind not in "cb":
        raise DTypeError(f"astype: {x.dtype} cannot become {dtype}: take the real part")
    if np.dtype(x.dtype) != wanted:
        return ops.astype(x, wanted)
    return named("copy")(x) if copy else x


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements no less than `min` and no greater than `max`, in the dtype of x."""
    dtype = np.dtype(x.dtype)
    if min is not None:
        x = ops.maximum(x, cast(min, dtype, x))
    if max is not None:
        x = ops.minimum(x, cast(max, dtype, x))
    return x


def expm1(x: Any, /) -> Any:
    """exp(x) - 1, exact near 0; of complex numbers that are 0 or not finite as exp has them."""
    found = ops.expm1(x)
    if np.dtype(x.dtype).kind != "c":
        return found
    near = ops.logical_and(ops.isfinite(x), ops.not_equal(x, 0))
    return ops.where(near, found, ops.exp(x) - 1)


def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded down; an infinite one stays so, where NumPy and PyTorch have nan."""
    x1, x2 = together(x1, x2)
    quotient = ops.floor_divide(x1, x2)
    if np.dtype(x1.dtype).kind != "f":
        return quotient
    infinite = ops.logical_or(ops.isinf(x1), ops.isinf(x2))
    return ops.where(infinite, ops.floor(ops.divide(x1, x2)), quotient)


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent; at an infinite real part the other is a zero of its sign."""
    found = ops.tanh(x)
    if np.dtype(x.dtype).kind != "c":
        return found
    imag, signbit = named("imag"), named("signbit")
    edge = ops.logical_and(ops.isinf(named("real")(x)), ops.isfinite(imag(x)))
    turned = ops.not_equal(signbit(imag(found)), signbit(imag(x)))
    return ops.where(ops.logical_and(edge, turned), named("conj")(found), found)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """Elements of x1 where a condition holds, else of x2."""
    if all(type(one) in (bool, int, float, complex) for one in (x1, x2)):
        raise DTypeError("where: one of the two must be an array")
    return ops.where(condition, *together(x1, x2))
