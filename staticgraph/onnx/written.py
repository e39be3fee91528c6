"""Ops that ONNX has no operator for, written in ops that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import accumulator, is_float
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.attending import attention_weights
from staticgraph.compiler.ops.indexing.take import along_add
from staticgraph.compiler.transforms.control_flow import scan

WRITTEN: dict[str, Callable[..., Any]] = {}
"""Per op the function of its operands and attributes."""

_INT64 = np.dtype(np.int64)


def _writes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function, which has the name of the op; `_` behind it where Python has it too."""
    WRITTEN[function.__name__.rstrip("_")] = function
    return function


# -- element by element -----------------------------------------------------------------------


@_writes
def not_equal(a: Any, b: Any) -> Any:
    """Not equal: ONNX has what is equal."""
    return ops.logical_not(ops.equal(a, b))


@_writes
def isfinite(x: Any) -> Any:
    """Neither nan nor infinite."""
    return ops.logical_not(ops.logical_or(ops.isnan(x), ops.isinf(x)))


@_writes
def square(x: Any) -> Any:
    """A product."""
    return x * x


@_writes
def rsqrt(x: Any) -> Any:
    """The inverse of the root."""
    return ops.reciprocal(ops.sqrt(x))


@_writes
def trunc(x: Any) -> Any:
    """Rounded towards zero, -0.0 as itself."""
    return ops.where(x < 0, ops.ceil(x), ops.floor(x)) if is_float(x.dtype) else x


@_writes
def frac(x: Any) -> Any:
    """What is behind the point."""
    return x - ops.trunc(x)


@_writes
def exp2(x: Any) -> Any:
    """A power of 2."""
    return ops.power(2.0, x)


@_writes
def expm1(x: Any) -> Any:
    """exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which loses nothing near 0."""
    near = ops.tanh(x * 0.5) * (ops.exp(x) + 1)
    return ops.where(ops.abs(x) < 1, near, ops.exp(x) - 1)


@_writes
def log1p(x: Any) -> Any:
    """log(1 + x), Kahan's way: the error of 1 + x cancels in log(y) x / (y - 1)."""
    y = 1 + x
    exact = ops.equal(y, 1)
    plain = ops.logical_or(exact, ops.logical_not(ops.isfinite(y)))
    factor = x / ops.where(plain, 1, y - 1)
    return ops.where(exact, x, ops.log(y) * ops.where(plain, 1, factor))


@_writes
def log2(x: Any) -> Any:
    """By the natural logarithm."""
    return ops.log(x) * (1 / math.log(2))


@_writes
def log10(x: Any) -> Any:
    """By the natural logarithm."""
    return ops.log(x) * (1 / math.log(10))


@_writes
def erfc(x: Any) -> Any:
    """1 - erf(x): exact to the rounding of 1, not of its own size where x is large."""
    return 1 - ops.erf(x)


@_writes
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    angle = ops.where(ops.equal(x, 0), 1, x * math.pi)
    return ops.where(ops.equal(x, 0), 1, ops.sin(angle) / angle)


@_writes
def log_odds(x: Any) -> Any:
    """log(x / (1 - x))."""
    return ops.log(x / (1 - x))


@_writes
def copysign(a: Any, b: Any) -> Any:
    """|a| with the sign of b, of which 1 / b tells 0.0 from -0.0."""
    below = ops.logical_or(b < 0, ops.logical_and(ops.equal(b, 0), ops.reciprocal(b) < 0))
    return ops.where(below, -ops.abs(a), ops.abs(a))


@_writes
def hypot(a: Any, b: Any) -> Any:
    """The root of a sum of squares, of numbers scaled by the larger one."""
    a, b = ops.abs(a), ops.abs(b)
    large = ops.maximum(a, b)
    scale = ops.where(ops.logical_and(large > 0, ops.isfinite(large)), large, 1)
    root = scale * ops.sqrt(ops.square(a / scale) + ops.square(b / scale))
    return ops.where(ops.logical_or(ops.isinf(a), ops.isinf(b)), math.inf, root)


@_writes
def atan2(a: Any, b: Any) -> Any:
    """The angle of the point (b, a), by its half of the plane."""
    below = _is_negative(b)
    tall = ops.abs(a) > ops.abs(b)
    infinite = ops.logical_and(ops.isinf(a), ops.isinf(b))
    small, large = ops.where(tall, b, a), ops.where(tall, a, b)
    zero = ops.equal(large, 0)
    ratio = ops.where(infinite, ops.sign(a) * ops.sign(b), small / ops.where(zero, 1, large))
    flat = ops.atan(ops.where(zero, ops.abs(small), ops.abs(ratio)))
    steep = ops.where(tall, math.pi / 2 - flat, flat)
    return ops.copysign(ops.where(below, math.pi - steep, steep), a)


def _is_negative(x: Any) -> Any:
    return ops.logical_or(x < 0, ops.logical_and(ops.equal(x, 0), ops.reciprocal(x) < 0))


@_writes
def fmax(a: Any, b: Any) -> Any:
    """The larger one, or that which is not nan."""
    return ops.where(ops.isnan(a), b, ops.where(ops.isnan(b), a, ops.maximum(a, b)))


@_writes
def fmin(a: Any, b: Any) -> Any:
    """The smaller one, or that which is not nan."""
    return ops.where(ops.isnan(a), b, ops.where(ops.isnan(b), a, ops.minimum(a, b)))


def remainder(a: Any, b: Any) -> Any:
    """What a division of floats that rounds down leaves: it has the sign of the divisor."""
    rest = ops.fmod(a, b)
    other = ops.logical_and(ops.logical_not(ops.equal(rest, 0)), ops.not_equal(rest < 0, b < 0))
    return ops.copysign(ops.where(other, rest + b, rest), b)


def floor_divide(a: Any, b: Any) -> Any:
    """The quotient of floats rounded down, as NumPy's: by the remainder."""
    whole = ops.round((a - remainder(a, b)) / ops.where(ops.equal(b, 0), 1, b))
    return ops.where(ops.equal(b, 0), a / b, whole)


@_writes
def signdet(a: Any) -> Any:
    """The sign of a determinant."""
    return ops.sign(ops.det(a))


# -- along an axis ----------------------------------------------------------------------------


def _along(step: Callable[..., Any], first: Any, x: Any, axis: int) -> Any:
    """The values of a loop over the slices along an axis."""
    if x.shape[axis] == 0:  # runtimes refuse a Scan of no steps
        return x
    axes = [axis, *(i for i in range(x.ndim) if i != axis)]
    _, found = scan(step, first, ops.transpose(x, axes))
    return ops.transpose(found, [axes.index(i) for i in range(x.ndim)])


def _full(value: float, x: Any, axis: int, dtype: Any) -> Any:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    number = construct(leaves.constant, (), {"value": leaves.Literal(np.array(value, dtype))})
    return ops.broadcast_to(number, shape)


@_writes
def cumprod(x: Any, *, axis: int) -> Any:
    """A loop: the operator CumProd is younger than most that run models."""
    x = ops.astype(x, accumulator(x.dtype))
    return _along(lambda c, v: (c * v,) * 2, _full(1, x, axis, x.dtype), x, axis)


@_writes
def logcumsumexp(x: Any, *, axis: int) -> Any:
    """A loop."""

    def step(c: Any, v: Any) -> Any:
        return (ops.logaddexp(c, v),) * 2

    return _along(step, _full(-math.inf, x, axis, x.dtype), x, axis)


@_writes
def extremum_positions(x: Any, *, axis: int, largest: bool) -> Any:
    """A loop with the extremum so far, its place, and the place of the slice."""

    def step(carry: Any, value: Any) -> Any:
        best, place, at = carry
        beyond = value >= best if largest else value <= best
        better = ops.logical_or(beyond, ops.logical_or(ops.isnan(value), at < 1))
        better = ops.logical_and(better, ops.logical_or(ops.isnan(value), ~ops.isnan(best)))
        better = ops.logical_or(better, at < 1)
        new = ops.where(better, value, best), ops.where(better, at, place), at + 1
        return new, new[1]

    zero = _full(0, x, axis, _INT64)
    first = (_full(0, x, axis, x.dtype), zero, zero)
    return _along(step, first, x, axis)


@_writes
def gemm(c: Any, a: Any, b: Any, *, alpha: float, beta: float) -> Any:
    """alpha a @ b + beta c."""
    return ops.matmul(a, b) * alpha + c * beta


@_writes
def attention(q: Any, k: Any, v: Any, *, scale: float, causal: bool) -> Any:
    """The values by their weights."""
    return ops.matmul(attention_weights(q, k, scale, causal), v)


@_writes
def attention_gradients(q: Any, k: Any, v: Any, g: Any, *, scale: float, causal: bool) -> Any:
    """The gradients of the products and the softmax."""
    weights = attention_weights(q, k, scale, causal)
    by_weights = ops.matmul(g, ops.transpose(v, _last_two(v)))
    mean = ops.sum(weights * by_weights, -1, keepdims=True)
    by_scores = weights * (by_weights - mean) * scale
    of_k = ops.matmul(ops.transpose(by_scores, _last_two(by_scores)), q)
    of_v = ops.matmul(ops.transpose(weights, _last_two(weights)), g)
    return ops.matmul(by_scores, k), of_k, of_v


def _last_two(x: Any) -> list[int]:
    """The axes with the last two exchanged."""
    return [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]


# -- by indices -------------------------------------------------------------------------------


@_writes
def take_add(g: Any, index: Any, *, axis: int, size: Size, wrap: bool = True) -> Any:
    """Sums of slices by their places, element by element."""
    count = math.prod(index.shape)
    lead, tail = g.shape[:axis], g.shape[axis + index.ndim :]
    rows = ops.reshape(g, (*lead, count, *tail))
    places = ops.reshape(index, (*(1,) * len(lead), count, *(1,) * len(tail)))
    return along_add(rows, ops.broadcast_to(places, rows.shape), axis, size, wrap)


def _places(outer: Size, inner: Size, stride: int, dilation: int) -> Any:
    """Where the elements of windows are along an axis: (windows, elements)."""
    first, second = (construct(leaves.iota, (), {"size": size}) for size in (outer, inner))
    return ops.expand_dims(first * stride, 1) + second * dilation


@_writes
def sliding_windows(
    x: Any, *, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Any:
    """Elements by the places of all windows, axis by axis, the windows first."""
    from staticgraph.compiler.ops.windows.windows import window_count

    count = len(sizes)
    lead = x.ndim - count
    steps = list(zip(x.shape[lead:], sizes, strides, dilations, strict=True))
    for i, (size, window, stride, dilation) in reversed(list(enumerate(steps))):
        outer = window_count(size, window, stride, dilation)
        x = ops.take(x, _places(outer, window, stride, dilation), lead + i)
    axes = [lead + 2 * i + part for part in (0, 1) for i in range(count)]
    return ops.transpose(x, [*range(lead), *axes])


@_writes
def overlap_add(
    x: Any, *, shape: Sequence[Size], strides: Sequence[int], dilations: Sequence[int]
) -> Any:
    """Sums of the elements of windows by their places, axis by axis."""
    count = len(shape)
    lead = x.ndim - 2 * count
    axes = [lead + i + part * count for i in range(count) for part in (0, 1)]
    sizes: tuple[Expression, ...] = x.shape
    x = ops.transpose(x, [*range(lead), *axes])
    for i, (size, stride, dilation) in enumerate(zip(shape, strides, dilations, strict=True)):
        index = _places(sizes[lead + i], sizes[lead + count + i], stride, dilation)
        x = take_add(x, index, axis=lead + i, size=size)
    return x
