"""Running totals and extrema along an axis. `axis` (or PyTorch's `dim`) is None or an int."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dtypes import accumulator, is_inexact
from staticgraph.compiler.core.op import Attrs, Op, op_named
from staticgraph.compiler.core.types import as_dtype
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import INT64, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.elementwise.comparison import equal, logical_and, logical_or, where
from staticgraph.compiler.ops.elementwise.exponential import exp
from staticgraph.compiler.ops.indexing.take import take_along_axis
from staticgraph.compiler.ops.reductions.along import axis_or_flat, host_along
from staticgraph.compiler.ops.reductions.reduction import sum
from staticgraph.compiler.ops.shapes.shape import flip, transpose
from staticgraph.compiler.ops.shapes.slicing import concatenate

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "logcumsumexp"]

_F64 = np.dtype(np.float64)


_COMPILED = (np.dtype(np.float32), _F64)
_MANY = 1 << 14
"""The elements from which a compiled loop computes running totals of floats."""


def _total(function: Callable[..., Any], sign: str) -> Callable[..., Any]:
    into = _total_into(sign)

    def by_numpy(x: Any, *, axis: int) -> Any:
        if not is_inexact(x.dtype):
            return function(x, axis, accumulator(x.dtype))
        wide = np.result_type(x.dtype, _F64)
        return function(x, axis, wide).astype(x.dtype)  # rounding errors add up along the axis

    @wraps(by_numpy)  # which is what an exported file has
    def evaluate(x: Any, *, axis: int) -> Any:
        if x.size >= _MANY and x.dtype in _COMPILED:
            found = np.empty(x.shape, x.dtype)
            into(found, x, axis=axis)
            return found
        return by_numpy(x, axis=axis)

    return evaluate


def _total_into(sign: str) -> Callable[..., bool]:
    def into(result: Any, x: Any, *, axis: int) -> bool:
        if x.size < _MANY or x.dtype not in _COMPILED:
            return False
        provided.running(result, x, axis, sign, False)
        return True

    return into


def _bind(name: str) -> Callable[..., tuple[Any, Attrs | None]]:
    def bind(
        x: object, axis: int | None = None, dtype: object = None, *, dim: int | None = None
    ) -> tuple[Any, Attrs | None]:
        x, axis = axis_or_flat(name, x, axis, dim)
        if dtype is None:
            return (x,), {"axis": axis}
        wanted = as_dtype(dtype, name)
        x = astype(x, wanted)
        if accumulator(wanted) != wanted:
            return astype(op_named(name).bound((x,), {"axis": axis}), wanted), None
        return (x,), {"axis": axis}

    return bind


def _from_the_end(x: Any, axis: int) -> Any:
    """Per element the sum of it and of all that come after it."""
    if type(x) is np.ndarray and x.size >= _MANY and x.dtype in _COMPILED:
        found = np.empty(x.shape, x.dtype)
        provided.running(found, x, axis, "+", True)
        return found
    return flip(cumsum.bound((flip(x, axis),), {"axis": axis}), axis)


cumsum: Op = host_along(
    "cumsum", _total(np.cumsum, "+"), into=_total_into("+"), result=accumulator,
    bind=_bind("cumsum"),
    vjp=(lambda g, o, a, *, axis: _from_the_end(g, axis),), saves=("",),
    complex="linear",
    doc="The sums of all elements up to each along an axis, of the flat x if None; of integers and "
    "bools int64, of unsigned ones uint64.",
    example=">>> sg.cumsum(np.array([1.0, 2.0, 3.0]))\narray([1., 3., 6.])",
)  # fmt: skip


def _cumprod_vjp(g: object, o: Any, a: object, *, axis: int) -> Any:
    if type(a) is np.ndarray and a.all():
        return _from_the_end(g * o, axis) / a
    # from the first zero of a row on all products are 0: only that zero has a slope there; `lone`,
    # which is 0 behind it, carries its slope to the second order, where the second zero has one too
    attrs = {"axis": axis}
    zero = equal(a, 0)
    zeros = cumsum.bound((astype(zero, "int64"),), attrs)
    none, one = equal(zeros, 0), equal(zeros, 1)
    first, second = logical_and(zero, one), logical_and(zero, equal(zeros, 2))
    without = cumprod.bound((where(first, 1, a),), attrs)
    without_both = cumprod.bound((where(logical_or(first, second), 1, a),), attrs)
    lone = cumsum.bound((where(first, a, 0),), attrs)
    nonzero = where(zero, 1, a)
    at_first = _from_the_end(g * without, axis)
    at_second = _from_the_end(g * without_both, axis)
    behind = lone * where(one, at_first / nonzero, where(second, at_second, 0))
    slopes = _from_the_end(g * o, axis) / nonzero
    return where(none, slopes, where(first, at_first, behind))


cumprod: Op = host_along(
    "cumprod", _total(np.cumprod, "*"), into=_total_into("*"), result=accumulator,
    bind=_bind("cumprod"),
    vjp=(_cumprod_vjp,), saves=("ao",),
    complex="holomorphic",
    doc="The products of all elements up to each along an axis, of the flat x if None; of integers "
    "and bools int64, of unsigned ones uint64. The gradient is right where elements are 0.",
    example=">>> sg.cumprod(np.array([2.0, 3.0, 4.0]))\narray([ 2.,  6., 24.])",
)  # fmt: skip


def _reached(x: Any, *, axis: int, largest: bool) -> Any:
    function, passes = (np.maximum, np.greater_equal) if largest else (np.minimum, np.less_equal)
    there = passes(x, function.accumulate(x, axis)) | (x != x)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    places = np.where(there, np.arange(x.shape[axis]).reshape(shape), 0)
    return np.maximum.accumulate(places, axis)


def _extremum_bind(x: object, axis: int, largest: bool = True) -> tuple[Sequence[Any], Attrs]:
    x, axis = axis_or_flat("extremum_positions", x, axis, None)
    return (x,), {"axis": axis, "largest": bool(largest)}


extremum_positions: Op = host_along(
    "extremum_positions", _reached, result=lambda dtype: INT64, bind=_extremum_bind, vjp=(None,),
    exact=True,
    doc="The last positions along an axis where the running extrema are; nan is one. int64.",
)  # fmt: skip


def _extrema(name: str, x: object, axis: object, dim: object, largest: bool) -> list[Any]:
    x, axis = axis_or_flat(name, x, axis, dim)
    positions = extremum_positions.bound((x,), {"axis": axis, "largest": largest})
    return [take_along_axis(x, positions, axis, wrap=False), positions]


def cummax(x: object, axis: int | None = None, *, dim: int | None = None) -> list[Value]:
    """The largest element up to each along an axis (of the flat x if None), and its position.

    Of equal ones the last position; nan is the largest. Two tensors of x's shape: x's dtype, int64.

    Example:
        >>> sg.cummax(np.array([1.0, 3.0, 2.0]))
        [array([1., 3., 3.]), array([0, 1, 1])]
    """
    return _extrema("cummax", x, axis, dim, True)


def cummin(x: object, axis: int | None = None, *, dim: int | None = None) -> list[Value]:
    """The smallest element up to each along an axis (of the flat x if None), and its position.

    Of equal ones the last position; nan is the least. Two tensors of x's shape: x's dtype, int64.

    Example:
        >>> sg.cummin(np.array([3.0, 1.0, 2.0]))
        [array([3., 1., 1.]), array([0, 1, 1])]
    """
    return _extrema("cummin", x, axis, dim, False)


def _log_sums(x: Any, *, axis: int) -> Any:
    return np.logaddexp.accumulate(x.astype(_F64, copy=False), axis).astype(x.dtype, copy=False)


def _logcumsumexp_vjp(g: object, o: Any, a: Any, *, axis: int) -> Any:
    """The sums of g exp(a - o) from the end: no scale fits all, so each is made of the next."""
    order = (axis, *(i for i in range(a.ndim) if i != axis))
    back = tuple(order.index(i) for i in range(a.ndim))
    # in float64, for the rounding of a large o is a factor of its exponential
    wide = transpose(astype(a, _F64), order)
    out = logcumsumexp.bound((wide,), {"axis": 0})
    nothing = equal(out, -np.inf)
    out = where(nothing, 0, out)  # differences of it are no nan
    falls = where(nothing[:-1], 0, exp(out[:-1] - out[1:]))
    falls = concatenate([falls, zeros_like(out[:1])], 0)

    def step(after: object, given: Any) -> Any:
        total = given[0] + given[1] * after
        return total, total

    by = transpose(astype(g, _F64), order)
    _, totals = provided.scan(step, zeros_like(sum(by, 0)), (by, falls), reverse=True)
    return astype(transpose(totals * exp(wide - out), back), a.dtype)


def _log_bind(
    x: object, axis: int | None = None, *, dim: int | None = None
) -> tuple[Sequence[Any], Attrs]:
    x, axis = axis_or_flat("logcumsumexp", x, axis, dim)
    return (x,), {"axis": axis}


logcumsumexp: Op = host_along(
    "logcumsumexp", _log_sums, result=lambda dtype: dtype, bind=_log_bind,
    vjp=(_logcumsumexp_vjp,), saves=("a",), floating=True,
    doc="log(cumsum(exp(x))) along an axis, of the flat x if None, without overflow.",
    example=">>> sg.logcumsumexp(np.array([0.0, 0.0, 0.0]))\n"
    "array([0.        , 0.69314718, 1.09861229])",
)  # fmt: skip
