"""Reductions over axes. `axis` (or PyTorch's `dim`) is None, an int or several of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import accumulator, is_float
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.types import TensorType, normalise_axes
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import shifted
from staticgraph.compiler.ops.declare import (
    BOOL,
    as_operand,
    axis_binder,
    composite,
    count,
    one_axis,
    reduction,
    size_value,
)
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, astype, maximum, square
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    isinf,
    logical_or,
    not_equal,
    where,
)
from staticgraph.compiler.ops.elementwise.complex_numbers import real_part
from staticgraph.compiler.ops.elementwise.exponential import exp, log, sqrt
from staticgraph.compiler.ops.leaves import iota
from staticgraph.compiler.ops.reductions.masked_moments import mean_bind, root, spread_binder
from staticgraph.compiler.ops.reductions.reduction_arguments import (
    begun,
    binder,
    prepared,
    truth_binder,
)
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, reshape, squeeze
from staticgraph.compiler.reference.copies import LARGE, copied
from staticgraph.compiler.reference.extremes import largest, smallest
from staticgraph.compiler.reference.totals import total

__all__ = [
    "all", "any", "argmax", "argmin", "logsumexp", "max", "mean", "min", "prod", "std", "sum",
    "var",
]  # fmt: skip

_any = any


def _restore(g: Any, x: object, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The cotangent of a reduction with the reduced axes back at size 1."""
    # a scalar broadcasts as it is
    whole = keepdims or not axes or not g.ndim
    return g if whole else expand_dims.bound((g,), {"axes": axes})


def _numpy(ufunc: np.ufunc) -> Callable[..., Any]:
    # the ufunc's own method, by position: NumPy's functions take twice the time on small arrays
    reduce: Any = ufunc.reduce

    def evaluate(x: object, *, axes: tuple[int, ...], keepdims: bool, **attrs: object) -> Any:
        return reduce(x, axes, None, None, keepdims)

    return evaluate


_multiply: Any = np.multiply.reduce


def _prod_numpy(x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    return _multiply(x, axes, accumulator(x.dtype), None, keepdims)


_HELD_BY_NUMPY = (np.ndarray, np.generic)
_FEW = 4096
"""The most elements that are written in less time than a view of one element makes to read."""


def _sum_vjp(g: Any, o: object, a: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(g, _HELD_BY_NUMPY) and not g.ndim and math.prod(a.shape) <= _FEW:
        result = np.empty(a.shape, g.dtype)
        result.fill(g)
        return result
    return broadcast_to.bound((_restore(g, a, axes, keepdims),), {"shape": a.shape})


def _prod_vjp(g: object, o: object, a: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    # the product of the others: with one zero only that zero's slope is not 0, with two or more
    # none is; `lone`, the sum of the zeros, is 0 but carries their slopes to the second order
    if not a.ndim:
        return g
    g = _restore(g, a, axes, keepdims)
    zero = equal(a, 0)
    zeros = sum(zero, axis=axes, keepdims=True)
    lone = sum(where(zero, a, 0), axis=axes, keepdims=True)
    others = prod(where(zero, 1, a), axis=axes, keepdims=True)
    apart = others / where(zero, 1, a)
    one, flat = equal(zeros, 1), _restore(o, a, axes, keepdims)
    slope = where(
        zero,
        where(one, others, where(equal(zeros, 2), others * (lone - a), flat)),
        where(equal(zeros, 0), apart, where(one, apart * lone, flat)),
    )
    return g * slope


sum = reduction(
    "sum", total, "sum", result=accumulator, vjp=(_sum_vjp,), saves=("",),
    linearity="linear", bind=binder("sum", 0), complex="linear",
    doc="The sum; of integers and bools int64, of unsigned ones uint64. Of the elements that are "
    "cast to `dtype`, for which `where` holds, and of `initial`.",
    example=">>> sg.sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)\narray([4., 6.])",
)  # fmt: skip
prod = reduction(
    "prod", _prod_numpy, "prod", result=accumulator, vjp=(_prod_vjp,),
    saves=("ao",), bind=binder("prod", 1), complex="holomorphic",
    doc="The product; of integers and bools int64, of unsigned ones uint64. The gradient is right "
    "where elements are 0. `dtype`, `where` and `initial` as of `sum`.",
    example=">>> sg.prod(np.array([2.0, 3.0, 4.0]))\nnp.float64(24.0)",
)  # fmt: skip


def _extremum_check(name: str, x: TensorType, axes: tuple[int, ...]) -> None:
    if _any(x.shape[axis] == 0 for axis in axes):
        raise ShapeError(f"{name}: {x} has no element along axes {axes}: there is no {name}")


def _extremum_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    plain = axis_binder(name)

    def bind(
        x: Any,
        axis: Any = None,
        keepdims: bool = False,
        *,
        where: object = None,
        initial: object = None,
        dim: Any = None,
        keepdim: bool = False,
    ) -> tuple[Sequence[Any], Attrs]:
        operands, attrs = plain(x, axis, keepdims, dim=dim, keepdim=keepdim)
        if where is not None or initial is not None:
            (one,) = operands
            one, attrs = begun(prepared(name, one, None, where, initial, None), attrs, initial)
            operands = (one,)
        single = isinstance(one_axis(name, axis, dim), int | np.integer)
        return operands, attrs | {"ties": "first" if single else "even"}

    return bind


def _extremum_vjp(position: Callable[..., Any]) -> Callable[..., Any]:
    def rule(
        g: object, o: object, a: Any, *, axes: tuple[int, ...], keepdims: bool, ties: str
    ) -> Any:
        g = _restore(g, a, axes, keepdims)
        if ties == "first":
            (axis,) = axes
            return where(_at(position()(a, axis=axis, keepdims=True), a, axis), g, 0)
        # nan equals nothing: without a winner the shares are 0 / 0 = nan, as in PyTorch's amax
        won = equal(a, _restore(o, a, axes, keepdims))
        if ties == "all" and not (isinstance(o, _HELD_BY_NUMPY) and o == o):
            won = logical_or(won, not_equal(a, a))
        winners = astype(won, a.dtype)
        return g / sum(winners, axis=axes, keepdims=True) * winners

    return rule


def _at(index: object, like: object, axis: int) -> Any:
    """Where along `axis` the position equals `index`: bool of like's shape."""
    return equal(positions(like, axis), index)


def positions(like: Value, axis: int) -> Value:
    """The index along `axis`, of `like`'s rank with size 1 on the other axes: int64."""
    size = like.shape[axis]
    numbers = like._apply(iota, (), {"size": size}) if hasattr(like, "_apply") else np.arange(size)
    after = like.ndim - 1 - axis
    return expand_dims(numbers, tuple(range(axis)) + tuple(range(axis + 1, axis + 1 + after)))


max = reduction(
    "max", largest, "max", result=lambda dtype: dtype, check=_extremum_check,
    bind=_extremum_bind("max"), vjp=(_extremum_vjp(lambda: argmax),), saves=("ao",),
    smooth=False,
    doc="The largest element; nan if any is. Over one axis the first winner takes the gradient, "
    "over all or several the winners share it evenly (nan has none: the gradient is nan), as "
    "PyTorch's max and amax.",
    example=">>> sg.max(np.array([[1.0, 5.0], [4.0, 2.0]]), axis=1)\narray([5., 4.])",
)  # fmt: skip
min = reduction(
    "min", smallest, "min", result=lambda dtype: dtype, check=_extremum_check,
    bind=_extremum_bind("min"), vjp=(_extremum_vjp(lambda: argmin),), saves=("ao",),
    smooth=False,
    doc="The smallest element; nan if any is. The gradient is shared as by `max`.",
    example=">>> sg.min(np.array([[1.0, 5.0], [4.0, 2.0]]), axis=1)\narray([1., 2.])",
)  # fmt: skip


def _position_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(
        x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False
    ) -> tuple[Sequence[Any], Attrs]:
        x, keepdims, axis = as_operand(x), bool(keepdims or keepdim), one_axis(name, axis, dim)
        if axis is None:
            before = (1,) * (x.ndim - 1) if keepdims else ()
            keepdims = keepdims and x.ndim > 0
            x, axis = reshape(x, (*before, -1)), -1
        axes = normalise_axes(name, axis, x.ndim)
        if len(axes) != 1:
            raise ShapeError(f"{name}: takes one axis, got {axes}")
        return (x,), {"axes": axes, "keepdims": keepdims}

    return bind


def _position_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
        (axis,) = axes
        if type(x) is np.ndarray and x.size >= LARGE:
            rows = np.moveaxis(x, axis, -1)
            if not rows.flags.c_contiguous:  # NumPy would copy them in one thread
                found = function(copied(rows), -1)
                return np.expand_dims(found, axis) if keepdims else found
        return function(x, axis, None, keepdims=keepdims)

    return evaluate


def _position_check(name: str, x: TensorType, *, axes: tuple[int, ...], keepdims: bool) -> None:
    _extremum_check(name, x, axes)


def _position_of(extremum: Callable[..., Any]) -> Callable[..., Any]:
    """The first index of the extremum, or of a nan: two passes, each of them fit for vectors."""

    def expand(x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
        (axis,) = axes
        found = equal(x, extremum(x, axis=axis, keepdims=True))
        if is_float(x.dtype):
            found = logical_or(found, not_equal(x, x))
        return min(where(found, positions(x, axis), _NOWHERE), axis=axis, keepdims=keepdims)

    return expand


_NOWHERE = np.iinfo(np.int64).max

argmax: Op = composite(
    "argmax", _position_of(max), evaluate=_position_numpy(np.argmax),
    check=_position_check, bind=_position_bind("argmax"),
    vjp=(None,),
    exact=True,
    doc="The index of the first largest element along one axis (of the flat tensor if None); of "
    "the first nan if there is one.",
    example=">>> sg.argmax(np.array([1.0, 5.0, 2.0]))\nnp.int64(1)",
)  # fmt: skip
argmin: Op = composite(
    "argmin", _position_of(min), evaluate=_position_numpy(np.argmin),
    check=_position_check, bind=_position_bind("argmin"),
    vjp=(None,),
    exact=True,
    doc="The index of the first smallest element along one axis (of the flat tensor if None); of "
    "the first nan if there is one.",
    example=">>> sg.argmin(np.array([[3.0, 1.0], [2.0, 4.0]]), axis=1)\narray([1, 0])",
)  # fmt: skip

OF_SOME = frozenset({max, min, argmax, argmin})
"""The reductions that have no value over axes without an element."""


def _bool_check(name: str, x: TensorType, axes: tuple[int, ...]) -> None:
    if x.dtype.kind != "b":
        raise DTypeError(f"{name}: {x} is not bool: compare it with 0 or cast it")


any: Op = reduction(
    "any", _numpy(np.logical_or), "any", result=lambda dtype: BOOL, check=_bool_check, vjp=(None,),
    bind=truth_binder("any", False),
    doc="Whether any element is true: not 0, of numbers; False of none.",
    example=">>> sg.any(np.array([[True, False], [False, False]]), axis=1)\narray([ True, False])",
)  # fmt: skip
all = reduction(
    "all", _numpy(np.logical_and), "all", result=lambda dtype: BOOL, check=_bool_check, vjp=(None,),
    bind=truth_binder("all", True),
    doc="Whether all elements are true: not 0, of numbers; True of none.",
    example=">>> sg.all(np.array([[True, False], [True, True]]), axis=1)\narray([False,  True])",
)  # fmt: skip


def _mean(x: object, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    return sum(x, axis=axes, keepdims=keepdims) / count(x, axes)


def _mean_numpy(x: object, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    return total(x, axes, keepdims) / count(x, axes)


def _mean_vjp(g: object, o: object, a: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    g = _restore(g / count(a, axes), a, axes, keepdims)
    return broadcast_to.bound((g,), {"shape": a.shape})


mean = composite(
    "mean", _mean, evaluate=_mean_numpy, bind=mean_bind, vjp=(_mean_vjp,), saves=("",),
    floating=True,
    batching=shifted, linearity="linear", sweep="reduction",
    complex="linear",
    doc="The arithmetic mean, computed as `dtype`, of the elements for which `where` holds; nan of "
    "none.",
    example=">>> sg.mean(np.array([1.0, 2.0, 6.0]))\nnp.float64(3.0)",
)  # fmt: skip


def _freedom(x: Any, axes: tuple[int, ...], correction: float, like: object = None) -> Any:
    """The number of elements less the correction, at least 0, to compute with `like` (x)."""
    number = dims.product([x.shape[axis] for axis in axes])
    if isinstance(number, Dim) and isinstance(correction, int):
        return size_value(dims.maximum(0, number - correction), x if like is None else like)
    freedom = size_value(number, x if like is None else like) - correction
    if isinstance(number, Dim):
        return maximum(freedom, 0)
    return freedom if freedom > 0 else 0


def _var(x: object, *, axes: tuple[int, ...], keepdims: bool, correction: float) -> Any:
    centred = x - mean(x, axis=axes, keepdims=True)
    squares = square(absolute(centred)) if centred.dtype.kind == "c" else square(centred)
    return sum(squares, axis=axes, keepdims=keepdims) / _freedom(x, axes, correction, squares)


def _var_vjp(
    g: Any, o: object, a: object, *, axes: tuple[int, ...], keepdims: bool, correction: float
) -> Any:
    g = _restore(g / _freedom(a, axes, correction, g), a, axes, keepdims)
    return (2 * g) * (a - mean(a, axis=axes, keepdims=True))


def _var_numpy(x: Any, *, axes: tuple[int, ...], keepdims: bool, correction: float) -> Any:
    if not is_float(x.dtype):
        return _var(x, axes=axes, keepdims=keepdims, correction=correction)
    # of a number, NumPy makes a number, into which nothing can be written
    centred = np.asarray(np.subtract(x, np.divide(total(x, axes, True), count(x, axes))))
    np.multiply(centred, centred, centred)
    return total(centred, axes, keepdims) / _freedom(x, axes, correction)


var = composite(
    "var", _var, evaluate=_var_numpy, bind=spread_binder("var", lambda variance: variance),
    vjp=(_var_vjp,), saves=("a",),
    floating=True,
    batching=shifted, sweep="reduction",
    complex="own",
    doc="The mean squared distance to the mean, divided by n - correction (NumPy's ddof; 0). Of "
    "the elements that are cast to `dtype`, for which `where` holds, around a `mean` if that is "
    "known (with `axis` at size 1).",
    example=">>> sg.var(np.array([1.0, 3.0]), correction=1)\nnp.float64(2.0)",
)  # fmt: skip


def _std(x: object, **attrs: Any) -> Any:
    return sqrt(_var(x, **attrs))


def _std_vjp(
    g: object, o: Any, a: object, *, axes: tuple[int, ...], keepdims: bool, correction: float
) -> Any:
    flat = equal(o, 0)
    g = where(flat, 0, g / where(flat, 1, 2 * o))
    return _var_vjp(g, None, a, axes=axes, keepdims=keepdims, correction=correction)


def _std_numpy(x: object, **attrs: Any) -> Any:
    return np.sqrt(_var_numpy(x, **attrs))


std = composite(
    "std", _std, evaluate=_std_numpy, bind=spread_binder("std", root),
    vjp=(_std_vjp,), saves=("ao",),
    floating=True,
    batching=shifted, sweep="reduction",
    smooth=False,
    complex="own",
    doc="The square root of `var`; its gradient where it is 0 is 0, as PyTorch's.",
    example=">>> sg.std(np.array([1.0, 3.0]))\nnp.float64(1.0)",
)  # fmt: skip


def _logsumexp(x: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    if _any(x.shape[axis] == 0 for axis in axes):
        return log(sum(exp(x), axis=axes, keepdims=keepdims))  # there is no largest element
    largest = max(real_part(x) if np.dtype(x.dtype).kind == "c" else x, axis=axes, keepdims=True)
    shift = where(isinf(largest), 0, largest)
    result = log(sum(exp(x - shift), axis=axes, keepdims=True)) + shift
    return result if keepdims else squeeze(result, axes)


def _logsumexp_vjp(
    g: object, o: object, a: object, *, axes: tuple[int, ...], keepdims: bool
) -> Any:
    return _restore(g, a, axes, keepdims) * exp(a - _restore(o, a, axes, keepdims))


logsumexp = composite(
    "logsumexp", _logsumexp, bind=axis_binder("logsumexp"), vjp=(_logsumexp_vjp,), saves=("ao",),
    floating=True, complex="holomorphic",
    batching=shifted, sweep="reduction",
    doc="log(sum(exp(x))), shifted by the maximum so that it does not overflow.",
    example=">>> sg.logsumexp(np.array([[1000.0, 1000.0]]), axis=1)\narray([1000.69314718])",
)  # fmt: skip
