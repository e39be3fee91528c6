"""Operators along axes: reductions, sums so far, order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.onnx.call import Call, reads


def _reduced(call: Call, reduce: Callable[[Any, tuple[int, ...], bool], Any], x: Any) -> Any:
    axes = call.given("axes", 1)
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return reduce(x, (), True)
    chosen = tuple(axes or range(x.ndim))
    return reduce(x, chosen, bool(call.attribute("keepdims", 1)))


_REDUCED: dict[str, Callable[[Any, tuple[int, ...], bool], Any]] = {
    "ReduceSum": lambda x, axes, keep: ops.sum(x, axes, keep),
    "ReduceProd": lambda x, axes, keep: ops.prod(x, axes, keep),
    "ReduceMean": lambda x, axes, keep: ops.mean(x, axes, keep),
    "ReduceL1": lambda x, axes, keep: ops.sum(ops.abs(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: ops.sqrt(ops.sum(ops.square(x), axes, keep)),
    "ReduceLogSum": lambda x, axes, keep: ops.log(ops.sum(x, axes, keep)),
    "ReduceLogSumExp": lambda x, axes, keep: ops.logsumexp(x, axes, keep),
    "ReduceSumSquare": lambda x, axes, keep: ops.sum(ops.square(x), axes, keep),
}


@reads(*_REDUCED)
def _reduce(call: Call) -> Any:
    x = call.value(0)
    return ops.astype(_reduced(call, _REDUCED[call.step.operator], x), x.dtype)


@reads("ReduceMax", "ReduceMin")
def _extreme(call: Call) -> Any:
    x, largest = call.value(0), call.step.operator == "ReduceMax"

    def reduce(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        if x.dtype.kind == "b":
            return (ops.any if largest else ops.all)(x, axes, keep)
        least = _bound(x.dtype, not largest)  # what the operator gives of nothing
        return (ops.max if largest else ops.min)(x, axes, keep, initial=least)

    return _reduced(call, reduce, x)


def _bound(dtype: Any, largest: bool) -> Any:
    """The largest or least number of a dtype."""
    if np.dtype(dtype).kind not in "iu":
        return np.inf if largest else -np.inf
    return int(np.iinfo(dtype).max if largest else np.iinfo(dtype).min)


@reads("ArgMax", "ArgMin")
def _position(call: Call) -> Any:
    x = call.value(0)
    axis, keep = call.attribute("axis", 0) % x.ndim, bool(call.attribute("keepdims", 1))
    function = ops.argmax if call.step.operator == "ArgMax" else ops.argmin
    if not call.attribute("select_last_index", 0):
        return function(x, axis, keep)
    return x.shape[axis] - 1 - function(ops.flip(x, axis), axis, keep)


@reads("Softmax", "LogSoftmax")
def _softmax(call: Call) -> Any:
    function = ops.softmax if call.step.operator == "Softmax" else ops.log_softmax
    return function(call.value(0), call.attribute("axis", -1))


@reads("Hardmax")
def _hardmax(call: Call) -> Any:
    x, axis = call.value(0), call.attribute("axis", -1)
    place = ops.argmax(x, axis, True)
    steps = np.arange(x.shape[axis]).reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim))
    return ops.astype(ops.equal(place, steps), x.dtype)


@reads("CumSum", "CumProd")
def _cumulative(call: Call) -> Any:
    x = call.value(0)
    (axis,) = call.numbers(1, "axis")
    is_sum, reverse = call.step.operator == "CumSum", call.attribute("reverse", 0)
    x = ops.flip(x, axis) if reverse else x
    if call.attribute("exclusive", 0):
        widths = [(0, 0)] * x.ndim
        widths[axis] = (1, 0)
        padded = ops.pad(x, widths, 0 if is_sum else 1)
        x = ops.take(padded, np.arange(x.shape[axis]), axis)
    found = ops.astype((ops.cumsum if is_sum else ops.cumprod)(x, axis), x.dtype)
    return ops.flip(found, axis) if reverse else found


@reads("TopK")
def _top(call: Call) -> Any:
    x, axis = call.value(0), call.attribute("axis", -1)
    (count,) = call.numbers(1, "number of elements")
    places = ops.argsort(x, axis, descending=bool(call.attribute("largest", 1)))
    first = ops.take(places, np.arange(count), axis)
    return ops.take_along_axis(x, first, axis), first


@reads("LpNormalization")
def _normalised(call: Call) -> Any:
    x, axis, p = call.value(0), call.attribute("axis", -1), call.attribute("p", 2)
    size = ops.sum(ops.abs(x) if p == 1 else ops.square(x), axis, True)
    size = size if p == 1 else ops.sqrt(size)
    return ops.where(ops.equal(size, 0), 0, x / ops.where(ops.equal(size, 0), 1, size))


@reads("MeanVarianceNormalization")
def _standardised(call: Call) -> Any:
    x, axes = call.value(0), tuple(call.attribute("axes", [0, 2, 3]))
    shifted = x - ops.mean(x, axes, True)
    return shifted / (ops.sqrt(ops.mean(ops.square(shifted), axes, True)) + 1e-9)
