"""Running totals along an axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler import ops
from compiler.op import Op, Operand
from compiler.types import TensorType
from dynamic.dims import along, axis_of
from dynamic.dtypes import F64, INT64
from dynamic.errors import AutogradError
from dynamic.results import named
from dynamic.tensor import wrap
from dynamic.views import alone

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp",
    "trapezoid", "trapz",
]  # fmt: skip


class CumMax(NamedTuple):
    """The largest elements so far, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("cummax", self)


class CumMin(NamedTuple):
    """The smallest elements so far, and where they are."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return named("cummin", self)


def _total_type(x: TensorType, *, axis: int) -> TensorType:
    return TensorType(x.shape, x.dtype if x.dtype.kind == "f" else INT64)


def _total(function: Any) -> Any:
    def evaluate(x: Any, *, axis: int) -> Any:
        if x.dtype.kind != "f":
            return function(x, axis, INT64)
        return function(x, axis, F64).astype(x.dtype)  # rounding errors add up along the axis

    return evaluate


def _apply(op: Op, x: Any, axis: int) -> Any:
    attrs = {"axis": axis}
    return x.apply(op, (x,), attrs) if isinstance(x, Operand) else op.evaluate(x, **attrs)


def _from_the_end(x: Any, axis: int) -> Any:
    """Per element the sum of it and of all that come after it."""
    return ops.flip(_apply(_cumsum, ops.flip(x, axis), axis), axis)


_cumsum: Op = Op(
    name="cumsum",
    infer_type=_total_type,
    evaluate=_total(np.cumsum),
    vjp=(lambda g, o, a, *, axis: _from_the_end(g, axis),),
    saves=("",),
    doc="The sums of all elements up to each along an axis; integers give int64.",
)


def _cumprod_vjp(g: Any, o: Any, a: Any, *, axis: int) -> Any:
    # from the first zero of a row on all products are 0: only that zero has a slope there
    zeros = ops.astype(ops.equal(a, 0), "int64")
    before = _apply(_cumsum, zeros, axis)
    first = ops.logical_and(ops.equal(zeros, 1), ops.equal(before, 1))
    without = _apply(_cumprod, ops.where(first, 1, a), axis)
    at_first = _from_the_end(g * without, axis)
    nonzero = ops.where(ops.equal(a, 0), 1, a)
    slopes = _from_the_end(g * o, axis) / nonzero
    return ops.where(ops.equal(before, 0), slopes, ops.where(first, at_first, 0))


_cumprod: Op = Op(
    name="cumprod",
    infer_type=_total_type,
    evaluate=_total(np.cumprod),
    vjp=(_cumprod_vjp,),
    saves=("ao",),
    doc="The products of all elements up to each along an axis; integers give int64.",
)


def _running(op: Op) -> Any:
    def function(input: Any, dim: int, *, dtype: Any = None) -> Any:
        x = input if dtype is None else input.to(dtype)
        axis = axis_of(op.name, dim, x.ndim)
        if not x.ndim:
            return alone(ops.reshape(_apply(op, ops.reshape(x, (1,)), axis), ()))
        return _apply(op, x, axis)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    return function


cumsum, cumprod = _running(_cumsum), _running(_cumprod)


def _reached(x: Any, *, axis: int, largest: bool) -> Any:
    function, passes = (np.maximum, np.greater_equal) if largest else (np.minimum, np.less_equal)
    there = passes(x, function.accumulate(x, axis)) | (x != x)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    places = np.where(there, np.arange(x.shape[axis]).reshape(shape), 0)
    return np.maximum.accumulate(places, axis)


_extremum_places: Op = Op(
    name="cummax_indices",
    infer_type=lambda x, axis, largest: TensorType(x.shape, INT64),
    evaluate=_reached,
    vjp=(None,),
    doc="The last places where the running extrema are, by nan as well as by value.",
)


def _extrema(input: Any, dim: int, largest: bool) -> tuple[Any, Any]:
    """The running extrema, and where they are."""
    axis = axis_of("cummax", dim, input.ndim)
    if not input.ndim:
        return input.clone(), wrap(np.zeros((), INT64))
    attrs = {"axis": axis, "largest": largest}
    places = input.apply(_extremum_places, (input,), attrs)
    return ops.take_along_axis(input, places, axis), places


def cummax(input: Any, dim: int) -> Any:
    """The largest element up to each along an axis, and where it is; of equal ones the last."""
    return CumMax(*_extrema(input, dim, True))


def cummin(input: Any, dim: int) -> Any:
    """The smallest element up to each along an axis, and where it is; of equal ones the last."""
    return CumMin(*_extrema(input, dim, False))


def _trapezoids(y: Any, x: Any, dx: Any, dim: int) -> Any:
    axis = axis_of("trapezoid", dim, y.ndim, of_number=False)
    size = y.shape[axis]
    left, right = y.narrow(axis, 0, size - 1), y.narrow(axis, 1, size - 1)
    if x is None:
        return (left + right) * (dx / 2)
    if x.ndim == 1:
        x = ops.reshape(x, (-1,) + (1,) * (y.ndim - 1 - axis))
    return (left + right) * diff(x, dim=axis - y.ndim if x.ndim < y.ndim else axis) / 2


def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral of y along an axis by the trapezoidal rule, at places x or `dx` apart."""
    return _trapezoids(y, x, dx, dim).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integrals of y up to each place from the second on: see `trapezoid`."""
    return cumsum(_trapezoids(y, x, dx, dim), dim)


@along
def logcumsumexp(input: Any, dim: int) -> Any:
    """log(cumsum(exp(x))), scaled by the largest element of each row."""
    top = ops.stop_gradient(ops.max(input, dim, True))
    top = ops.where(ops.isfinite(top), top, 0)
    return ops.log(cumsum(ops.exp(input - top), dim)) + top


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, n times; bools differ or not."""
    if not input.ndim:
        raise AutogradError("diff expects input to be at least one-dimensional")
    parts = [part for part in (prepend, input, append) if part is not None]
    x = ops.concatenate(parts, dim) if len(parts) > 1 else input
    axis = axis_of("diff", dim, x.ndim)
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis] - 1
        high, low = x.narrow(axis, 1, size), x.narrow(axis, 0, size)
        x = ops.not_equal(high, low) if x._array.dtype.kind == "b" else high - low
    return x
