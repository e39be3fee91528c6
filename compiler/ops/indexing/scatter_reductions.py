"""Scatters that reduce what falls on one place: sums, products, means and extrema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.lowering import Scatter
from staticgraph.compiler.core.op import Attrs, Op, Operand, register
from staticgraph.compiler.core.types import TensorType, neutral
from staticgraph.compiler.ops.batching import shifted_one
from staticgraph.compiler.ops.declare import as_operand, composite, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import astype, floor_divide, maximum, minimum
from staticgraph.compiler.ops.elementwise.comparison import equal, less, where
from staticgraph.compiler.ops.indexing.scattering import (
    added,
    along_bind,
    cut,
    fitted,
    gathered,
    grown,
    last_of,
    require_along,
    writable,
)
from staticgraph.compiler.ops.indexing.take import (
    along_add,
    along_split,
    along_type,
    take_along_axis,
)
from staticgraph.compiler.ops.reductions.last_places import grid, resized
from staticgraph.compiler.reference.indices import check_range

__all__ = ["scatter_reduce"]


def _bind(
    values: object, index: object, axis: int, size: Size, wrap: bool = True, **attrs: object
) -> tuple[Sequence[Any], Attrs]:
    found = {"axis": axis, "size": size, "wrap": wrap, **attrs}
    return (as_operand(values), as_operand(index)), found


def _extremum_bind(
    values: object, index: object, axis: int, size: Size, largest: bool = True, wrap: bool = True
) -> tuple[Sequence[Any], Attrs]:
    return _bind(values, index, axis, size, wrap, largest=largest)


def _along_prod(values: Any, index: Any, *, axis: int, size: int, wrap: bool) -> Any:
    index = check_range("along_prod", np.asarray(index), size, wrap)
    result = np.ones(resized(index.shape, axis, size), values.dtype)
    np.multiply.at(result, grid(index, axis), values)
    return result


def _taken(x: object, index: object, axis: int, wrap: bool) -> Any:
    return take_along_axis.bound((x, index), {"axis": axis, "wrap": wrap})


def _along_prod_vjp(
    g: object, o: Any, a: Any, b: object, *, axis: int, size: Size, wrap: bool
) -> Any:
    # as the rule of `prod`: with one zero on a place only that zero's slope is not 0, with two
    # none is; `lone`, the sum of the zeros, is 0 but carries their slopes to the second order
    zero = equal(a, 0)
    zeros = _taken(along_add(astype(zero, a.dtype), b, axis, size, wrap), b, axis, wrap)
    lone = _taken(along_add(where(zero, a, 0), b, axis, size, wrap), b, axis, wrap)
    attrs = {"axis": axis, "size": size, "wrap": wrap}
    others = _taken(along_prod.bound((where(zero, 1, a), b), attrs), b, axis, wrap)
    apart = others / where(zero, 1, a)
    one, flat = equal(zeros, 1), _taken(o, b, axis, wrap)
    slope = where(
        zero,
        where(one, others, where(equal(zeros, 2), others * (lone - a), flat)),
        where(equal(zeros, 0), apart, where(one, apart * lone, flat)),
    )
    return _taken(g, b, axis, wrap) * slope


along_prod: Op = register(
    Op(
        name="along_prod",
        infer_type=along_type("along_prod"),
        evaluate=_along_prod,
        vjp=(_along_prod_vjp, None),
        saves=("abo", ""),
        checked=True,
        bind=_bind,
        lowering=Scatter(along_split, lambda **attrs: "prod"),
        batching=shifted_one,
        doc="Ones with `size` elements along `axis`, multiplied by the values at the indices: see "
        "`along_add`. The first and second derivatives are right where values are 0, too.",
    )
)


def _along_extremum(
    values: Any, index: Any, *, axis: int, size: int, wrap: bool, largest: bool
) -> Any:
    index = check_range("along_extremum", np.asarray(index), size, wrap)
    shape = resized(index.shape, axis, size)
    result = np.full(shape, neutral("max" if largest else "min", values.dtype), values.dtype)
    (np.maximum if largest else np.minimum).at(result, grid(index, axis), values)
    return result


def _along_extremum_vjp(
    g: object, o: object, a: Any, b: object, *, axis: int, size: Size, wrap: bool, largest: bool
) -> Any:
    reached = astype(equal(a, _taken(o, b, axis, wrap)), a.dtype)
    count = along_add(reached, b, axis, size, wrap)
    share = g / where(equal(count, 0), 1, count)
    return _taken(share, b, axis, wrap) * reached


along_extremum: Op = register(
    Op(
        name="along_extremum",
        infer_type=along_type("along_extremum"),
        evaluate=_along_extremum,
        vjp=(_along_extremum_vjp, None),
        saves=("abo", ""),
        checked=True,
        bind=_extremum_bind,
        lowering=Scatter(along_split, lambda *, largest, **attrs: "max" if largest else "min"),
        batching=shifted_one,
        smooth=False,
        exact=True,
        doc="The largest (or smallest) of the values that the indices lay on each of `size` places "
        "along `axis`: see `along_add`. Where none falls the least (largest) of the dtype. Ties "
        "share the gradient evenly.",
    )
)

# -- with what is there already ----------------------------------------------------------------

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
_NEUTRAL = {"sum": 0, "mean": 0, "prod": 1}


def _reduce_bind(
    x: object,
    index: object,
    values: object,
    axis: object = None,
    reduce: str = "sum",
    include_self: bool = True,
    *,
    dim: object = None,
    wrap: bool = True,
) -> tuple[Sequence[Any], Attrs]:
    operands, attrs = _along(x, index, values, axis, dim=dim, wrap=wrap)
    return operands, {**attrs, "reduce": reduce, "include_self": bool(include_self)}


_along = along_bind("scatter_reduce")


def _check(name: str, x: TensorType, values: TensorType, index: TensorType, **attrs: Any) -> None:
    if attrs["reduce"] not in _REDUCTIONS:
        raise OptionError(
            f"{name}: reduce is sum, prod, mean, amax or amin, not {attrs['reduce']!r}"
        )
    if x.dtype.kind == "b" and attrs["reduce"] not in ("amax", "amin"):
        raise DTypeError(f"{name}: {attrs['reduce']} of {x}")
    require_along(name, x, values, index, attrs["axis"])


def _started(x: Any, index: object, axis: int, wrap: bool, reduce: str, include_self: bool) -> Any:
    """x, or where something falls what changes nothing, unless x counts too."""
    if include_self:
        return x
    start = _NEUTRAL.get(reduce, neutral("max" if reduce == "amax" else "min", x.dtype))
    return where(_untouched(x, index, axis, wrap), x, start)


def _untouched(x: object, index: object, axis: int, wrap: bool) -> Any:
    return less(last_of(x, index, axis, wrap), 0)


def _counts(x: Any, index: object, axis: int, wrap: bool, include_self: bool) -> Any:
    """How many elements a mean is over, as numbers of x's dtype; at least 1."""
    one = np.ones((), x.dtype)
    one = index._constant(one) if isinstance(index, Operand) else one
    total = added(one, x, index, axis, wrap)
    return total + 1 if include_self else where(equal(total, 0), 1, total)


def _product(x: Any, values: object, index: Any, axis: int, wrap: bool) -> Any:
    """Per place of x the product of the values that fall on it."""
    total = along_prod(fitted(values, index.shape), index, axis, x.shape[axis], wrap)
    return grown(total, x, axis, 1.0)


def _reduced(
    x: Any, values: object, index: Any, *, axis: int, wrap: bool, reduce: str, include_self: bool
) -> Any:
    start = _started(x, index, axis, wrap, reduce, include_self)
    if reduce == "prod":
        return start * _product(x, values, index, axis, wrap)
    if reduce in ("amax", "amin"):
        largest = reduce == "amax"
        found = along_extremum(
            fitted(values, index.shape), index, axis, x.shape[axis], largest, wrap
        )
        found = grown(found, x, axis, neutral("max" if largest else "min", x.dtype))
        return (maximum if largest else minimum)(start, found)
    total = start + added(values, x, index, axis, wrap)
    if reduce == "sum":
        return total
    counts = _counts(x, index, axis, wrap, include_self)
    return total / counts if is_float(x.dtype) else floor_divide(total, counts)


def _reduced_numpy(x: Any, values: object, index: object, **attrs: Any) -> Any:
    x = writable(x, values)
    return _reduced(x, np.asarray(values, x.dtype), np.asarray(index), **attrs)


def _shares(
    o: object, a: Any, b: object, c: Any, axis: int, wrap: bool, include_self: bool
) -> tuple[Any, Any, Any]:
    """Where x and the values are the extremum, as numbers, and among how many it is shared."""
    own = astype(equal(a, o), a.dtype)
    if not include_self:
        own = where(_untouched(a, c, axis, wrap), own, 0)
    others = equal(fitted(b, c.shape), gathered(o, c, axis, wrap))
    others = astype(others, a.dtype)
    return own, others, own + added(others, a, c, axis, wrap)


def _by_x(
    g: object,
    o: object,
    a: object,
    b: object,
    c: object,
    *,
    axis: int,
    wrap: bool,
    reduce: str,
    include_self: bool,
) -> Any:
    if reduce in ("amax", "amin"):
        own, _, count = _shares(o, a, b, c, axis, wrap, include_self)
        return g * own / count
    if not include_self:
        return where(_untouched(a, c, axis, wrap), g, 0)
    if reduce == "prod":
        return g * _product(a, b, c, axis, wrap)
    return g / _counts(a, c, axis, wrap, include_self) if reduce == "mean" else g


def _by_values(
    g: object,
    o: object,
    a: Any,
    b: object,
    c: Any,
    *,
    axis: int,
    wrap: bool,
    reduce: str,
    include_self: bool,
) -> Any:
    if reduce in ("amax", "amin"):
        _, others, count = _shares(o, a, b, c, axis, wrap, include_self)
        return unbroadcast(gathered(g / count, c, axis, wrap) * others, b)
    if reduce == "prod":
        h = cut(g * _started(a, c, axis, wrap, reduce, include_self), c, axis)
        values = fitted(b, c.shape)
        attrs = {"axis": axis, "size": a.shape[axis], "wrap": wrap}
        product = along_prod.bound((values, c), attrs)
        return unbroadcast(_along_prod_vjp(h, product, values, c, **attrs), b)
    if reduce == "mean":
        g = g / _counts(a, c, axis, wrap, include_self)
    return unbroadcast(gathered(g, c, axis, wrap), b)


scatter_reduce: Op = composite(
    "scatter_reduce", _reduced, bind=_reduce_bind, evaluate=_reduced_numpy, check=_check,
    vjp=(_by_x, _by_values, None), saves=("abco", "abco", ""), promotes=slice(0, 2),
    smooth=False,
    doc="x with the `values` at the places of `index` (see `scatter`), reduced place by place: "
    '`reduce` is "sum", "prod", "mean", "amax" or "amin". The element of x counts too unless '
    "`include_self` is False. Means of integers are rounded down; equal extrema share the gradient "
    "evenly.",
    example='>>> sg.scatter_reduce(np.array([1.0, 2.0]), np.array([0]), np.array([5.0]), 0, '
    '"amax")\n'
    "array([5., 2.])",
)  # fmt: skip
