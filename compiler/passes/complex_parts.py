"""Ops on complex numbers as ops on their real and imaginary parts.

The edges are those of C99's annex G as NumPy keeps them: infinities, signed zeros, branch cuts, and
no overflow on the way to a result that is none. What is not here is done by the op itself on real
and imaginary parts if it is linear, else by a call of its function (`complex_numbers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import DType, part_dtype
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.leaves import constant
from staticgraph.compiler.ops.shapes.slicing import slice_axis


class Parts(NamedTuple):
    """A complex value: its real and imaginary parts, and both interleaved if that is at hand."""

    re: Any
    im: Any
    joined: Any = None


Split: TypeAlias = "Callable[..., Any]"


def joined(value: Any) -> Any:
    """A value as one expression, with an axis of two at the end if it is complex."""
    if not isinstance(value, Parts):
        return value
    return ops.stack([value.re, value.im], value.re.ndim) if value.joined is None else value.joined


def opened(value: Any) -> Parts:
    """What `joined` made as parts again."""
    last = value.ndim - 1
    re, im = (ops.squeeze(slice_axis(value, last, i, i + 1), last) for i in (0, 1))
    return Parts(re, im, value)


def _multiply(a: Parts, b: Parts) -> Parts:
    return Parts(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def _divide(a: Parts, b: Parts) -> Parts:
    """Smith, "Algorithm 116: Complex division" (1962): by the larger part of the divisor."""
    by_real = ops.greater_equal(ops.absolute(b.re), ops.absolute(b.im))
    large, small = ops.where(by_real, b.re, b.im), ops.where(by_real, b.im, b.re)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    re = ops.where(by_real, a.re + a.im * ratio, a.re * ratio + a.im) * scale
    im = ops.where(by_real, a.im - a.re * ratio, a.im * ratio - a.re) * scale
    zero = ops.logical_and(ops.equal(b.re, 0), ops.equal(b.im, 0))
    size = ops.absolute(b.re)
    return Parts(ops.where(zero, a.re / size, re), ops.where(zero, a.im / size, im))


def _reciprocal(a: Parts) -> Parts:
    return _divide(Parts(ones_like(a.re), zeros_like(a.im)), a)


def _matmul(a: Parts, b: Parts) -> Parts:
    return Parts(a.re @ b.re - a.im @ b.im, a.re @ b.im + a.im @ b.re)


def _astype(a: Any, *, dtype: DType) -> Any:
    attrs = {"dtype": part_dtype(dtype)}
    if not isinstance(a, Parts):
        re = ops.astype.bound((a,), attrs)
        return Parts(re, zeros_like(re)) if dtype.kind == "c" else re
    if dtype.kind == "b":
        return ops.logical_or(ops.not_equal(a.re, 0), ops.not_equal(a.im, 0))
    re = ops.astype.bound((a.re,), attrs)
    return Parts(re, ops.astype.bound((a.im,), attrs)) if dtype.kind == "c" else re


def _power(a: Parts, b: Parts) -> Parts | None:
    """A power to a number that is 1 or 2, as NumPy computes it."""
    if b.re.op is not constant or b.im.op is not constant or b.re.ndim:
        return None
    exponent = complex(b.re.attrs["value"].array, b.im.attrs["value"].array)
    return _multiply(a, a) if exponent == 2 else a if exponent == 1 else None


def _sign(a: Parts) -> Parts:
    scale = ops.where(ops.greater(ops.maximum(*map(ops.absolute, a[:2])), 2.0**100), 0.25, 1.0)
    a = Parts(a.re * scale, a.im * scale)
    size = ops.hypot(a.re, a.im)
    zero, endless = ops.equal(size, 0), ops.isinf(size)
    # of an infinite part and a finite one the direction is that of the axis
    re = ops.where(endless, _direction(a.re, a.im), a.re / ops.where(zero, 1, size))
    im = ops.where(endless, _direction(a.im, a.re), a.im / ops.where(zero, 1, size))
    return Parts(ops.where(zero, 0, re), ops.where(zero, 0, im))


def _direction(one: Any, other: Any) -> Any:
    along = ops.where(ops.isinf(one), ops.sign(one), 0)
    return ops.where(ops.logical_and(ops.isinf(one), ops.isinf(other)), np.nan, along)


def ones_like(x: Any) -> Any:
    """Ones of x's shape and dtype."""
    return ops.broadcast_to(x._constant(np.ones((), x.dtype)), x.shape)


# -- exponentials ----------------------------------------------------------------------------------
def _is_wide(x: Any) -> bool:
    return bool(np.dtype(x.dtype).itemsize == 8)


def _scaled_exp(x: Any) -> tuple[Any, Any]:
    """e**x as a product of two numbers, of which neither overflows before x is twice as large."""
    most = 709.0 if _is_wide(x) else 88.0
    above = ops.greater(x, most)
    return ops.exp(x - ops.where(above, most, 0.0)), ops.where(above, math.exp(most), 1.0)


def _exp(a: Parts) -> Parts:
    x, y = a.re, a.im
    growth, scale = _scaled_exp(x)
    re, im = (scale * ops.cos(y)) * growth, (scale * ops.sin(y)) * growth
    lost = ops.logical_not(ops.isfinite(y))
    re = ops.where(ops.logical_and(lost, ops.equal(x, np.inf)), x, re)
    gone = ops.logical_and(lost, ops.equal(x, -np.inf))
    flat = ops.equal(y, 0)
    return Parts(
        ops.where(gone, 0, re),
        ops.where(flat, y, ops.where(gone, ops.copysign(zeros_like(y), y), im)),
    )


def _hyperbolic(x: Any) -> tuple[Any, Any, Any]:
    """sinh(x), cosh(x), each over the third, which is 1 where they do not overflow."""
    size = ops.absolute(x)
    most = 709.0 if _is_wide(x) else 88.0
    above = ops.greater(size, most)
    less = ops.expm1(size - ops.where(above, most, 0.0))
    growth = less + 1
    sinh = ops.where(above, growth, less + less / growth) / 2
    cosh = ops.where(above, growth / 2, 1 + less * (less / (2 * growth)))
    return ops.copysign(sinh, x), cosh, ops.where(above, math.exp(most), 1.0)


def _sinh(a: Parts) -> Parts:
    x, y = a.re, a.im
    sinh, cosh, scale = _hyperbolic(x)
    re, im = (scale * ops.cos(y)) * sinh, (scale * ops.sin(y)) * cosh
    lost = ops.logical_not(ops.isfinite(y))
    re = ops.where(ops.logical_and(lost, ops.isinf(x)), np.inf, re)
    re = ops.where(ops.logical_and(lost, ops.equal(x, 0)), x, re)
    return Parts(re, ops.where(ops.equal(y, 0), y, im))


def _cosh(a: Parts) -> Parts:
    x, y = a.re, a.im
    sinh, cosh, scale = _hyperbolic(x)
    re, im = (scale * ops.cos(y)) * cosh, (scale * ops.sin(y)) * sinh
    lost, endless = ops.logical_not(ops.isfinite(y)), ops.isinf(x)
    re = ops.where(ops.logical_and(lost, endless), np.inf, re)
    im = ops.where(ops.logical_and(lost, ops.equal(x, 0)), 0, im)
    flat = ops.logical_and(ops.equal(y, 0), ops.logical_not(ops.isfinite(im)))
    return Parts(re, ops.where(flat, ops.where(ops.isnan(x), y, y * ops.sign(x)), im))


def _sin(a: Parts) -> Parts:
    found = _sinh(Parts(a.im, a.re))
    return Parts(found.im, found.re)


def _cos(a: Parts) -> Parts:
    return _cosh(Parts(-a.im, a.re))


# -- roots and logarithms --------------------------------------------------------------------------
def _sqrt(a: Parts) -> Parts:
    """Both parts from |x| + |z|, in which nothing cancels, of a number scaled by a power of 4."""
    bits = 108 if _is_wide(a.re) else 46
    size = ops.maximum(ops.absolute(a.re), ops.absolute(a.im))
    large, small = ops.greater(size, 2.0**100), ops.less(size, 2.0**-100)
    scale = ops.where(large, 0.25, ops.where(small, 2.0**bits, 1.0))
    back = ops.where(large, 2.0, ops.where(small, 2.0 ** -(bits // 2), 1.0))
    x, y = a.re * scale, a.im * scale
    whole = ops.sqrt((ops.absolute(x) + ops.hypot(x, y)) / 2)
    zero = ops.equal(whole, 0)
    other = ops.absolute(y) / ops.where(zero, 1, 2 * whole)
    right = ops.greater_equal(x, 0)
    re = ops.where(right, whole, other) * back
    im = ops.copysign(ops.where(right, other, whole) * back, a.im)
    endless = ops.isinf(a.im)
    return Parts(ops.where(endless, np.inf, re), ops.where(endless, a.im, im))


def _log(a: Parts) -> Parts:
    return Parts(_log_of_size(a), ops.atan2(a.im, a.re))


def _log_of_size(a: Parts) -> Any:
    """log |z|: near 1 from |z|**2 - 1, in twice the precision."""
    one, other = ops.absolute(a.re), ops.absolute(a.im)
    m, n = ops.maximum(one, other), ops.minimum(one, other)
    large, small = ops.greater(m, 2.0**100), ops.less(m, 2.0**-100)
    scale = ops.where(large, 0.25, ops.where(small, 2.0**64, 1.0))
    shift = ops.where(large, math.log(4), ops.where(small, -64 * math.log(2), 0.0))
    size = ops.hypot(one * scale, other * scale)
    near = ops.logical_and(ops.greater(size, 0.5), ops.less(size, 2.0))
    near = ops.logical_and(near, ops.equal(scale, 1.0))
    high, low = _squared(m)
    more, rest = _squared(n)
    excess = ((high - 1) + more) + (low + rest)  # neither difference rounds where it cancels
    return ops.where(near, ops.log1p(excess) / 2, ops.log(size) + shift)


def _squared(x: Any) -> tuple[Any, Any]:
    """x**2 as a sum of two numbers, exactly (Dekker 1971)."""
    spread = x * (2.0**27 + 1 if _is_wide(x) else 2.0**12 + 1)
    high = spread - (spread - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * (high * low)) + low * low


SPLIT: dict[str, Split] = {
    "complex": lambda re, im: Parts(re, im),
    "view_as_real": lambda a: joined(a),
    "view_as_complex": lambda a: opened(a),
    "conjugate": lambda a: Parts(a.re, -a.im),
    "real_part": lambda a: a.re,
    "imaginary_part": lambda a: a.im,
    "astype": _astype,
    "multiply": _multiply,
    "divide": _divide,
    "square": lambda a: _multiply(a, a),
    "reciprocal": _reciprocal,
    "power": _power,
    "sign": _sign,
    "abs": lambda a: ops.hypot(a.re, a.im),
    "equal": lambda a, b: ops.logical_and(ops.equal(a.re, b.re), ops.equal(a.im, b.im)),
    "not_equal": lambda a, b: ops.logical_or(ops.not_equal(a.re, b.re), ops.not_equal(a.im, b.im)),
    "isnan": lambda a: ops.logical_or(ops.isnan(a.re), ops.isnan(a.im)),
    "isinf": lambda a: ops.logical_or(ops.isinf(a.re), ops.isinf(a.im)),
    "isfinite": lambda a: ops.logical_and(ops.isfinite(a.re), ops.isfinite(a.im)),
    "exp": _exp,
    "sinh": _sinh,
    "cosh": _cosh,
    "sin": _sin,
    "cos": _cos,
    "sqrt": _sqrt,
    "log": _log,
    "matmul": _matmul,
}
"""Per op what it does with complex operands as parts, and others as they are; None if only the
op's own function does."""
