"""Scattering that reduces what falls on one place: sums, products, means and extrema."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Op
from compiler.core.types import TensorType
from dynamic.errors import AutogradError
from dynamic.operations.scattering import _check, _cut, _grid, scatter_add
from dynamic.tensors.dims import along
from dynamic.tensors.tensor import wrap

__all__ = ["scatter_reduce"]


def _type(x: TensorType, source: TensorType, **attrs: Any) -> TensorType:
    return x


def _started(x: Any, *, axis: int, index: Any, include: bool, neutral: Any) -> Any:
    result = np.array(x)
    if not include:
        result[_grid(index, axis)] = neutral
    return result


def _gathered(x: Any, axis: int, index: Any) -> Any:
    return ops.take_along_axis(_cut(x, index.shape, axis), index, axis)


def _added(x: Any, axis: int, index: Any, size: int, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` into which the elements of x are added."""
    whole = ops.along_add(x, index, axis, size)
    if tuple(whole.shape) == shape:
        return whole
    return ops.embed(whole, (0,) * len(shape), shape, (1,) * len(shape))


def _untouched(like: Any, axis: int, index: Any) -> Any:
    kept = np.ones(like.shape, np.bool_)
    kept[_grid(index, axis)] = False
    return kept


def _lowest(dtype: np.dtype[Any], largest: bool) -> Any:
    if dtype.kind == "f":
        return -np.inf if largest else np.inf
    info = np.iinfo(dtype)
    return info.min if largest else info.max


def _extremum(x: Any, source: Any, *, axis: int, index: Any, include: bool, largest: bool) -> Any:
    start = _lowest(x.dtype, largest)
    result = _started(x, axis=axis, index=index, include=include, neutral=start)
    (np.maximum if largest else np.minimum).at(result, _grid(index, axis), source)
    return result


def _shares(o: Any, a: Any, b: Any, axis: int, index: Any, include: bool) -> tuple[Any, Any, Any]:
    """Where x and the source are the extremum, as numbers, and among how many it is shared."""
    own = ops.astype(ops.equal(a, o), a.dtype)
    if not include:
        own = ops.where(_untouched(a, axis, index), own, 0)
    others = ops.astype(ops.equal(b, _gathered(o, axis, index)), a.dtype)
    return own, others, own + _added(others, axis, index, a.shape[axis], tuple(a.shape))


def _extremum_by_x(
    g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any, include: bool, largest: bool
) -> Any:
    own, _, count = _shares(o, a, b, axis, index, include)
    return g * own / count


def _extremum_by_source(
    g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any, include: bool, largest: bool
) -> Any:
    _, others, count = _shares(o, a, b, axis, index, include)
    return _gathered(g / count, axis, index) * others


_scatter_extremum: Op = Op(
    name="scatter_reduce",
    infer_type=_type,
    evaluate=_extremum,
    vjp=(_extremum_by_x, _extremum_by_source),
    saves=("abo", "abo"),
    promotes=slice(None),
    doc="x with the largest or smallest of what falls on each place; ties share the gradient.",
)


def _product(x: Any, source: Any, *, axis: int, index: Any, include: bool) -> Any:
    result = _started(x, axis=axis, index=index, include=include, neutral=1)
    np.multiply.at(result, _grid(index, axis), source)
    return result


def _multiplied(x: Any, source: Any, **attrs: Any) -> Any:
    return x.apply(_scatter_product, (x, source), attrs) if hasattr(x, "apply") else (
        _scatter_product.evaluate(x, source, **attrs)
    )  # fmt: skip


def _product_by_x(
    g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any, include: bool
) -> Any:  # fmt: skip
    attrs = {"axis": axis, "index": index, "include": include}
    nonzero = ops.where(ops.equal(a, 0), 1, a)
    slope = g * _multiplied(nonzero, b, **attrs) / nonzero
    return slope if include else ops.where(_untouched(a, axis, index), slope, 0)


def _product_by_source(
    g: Any, o: Any, a: Any, b: Any, *, axis: int, index: Any, include: bool
) -> Any:  # fmt: skip
    attrs = {"axis": axis, "index": index, "include": include}
    zero = ops.equal(b, 0)
    zeros = _added(ops.astype(zero, a.dtype), axis, index, a.shape[axis], tuple(a.shape))
    lone = ops.logical_and(zero, ops.equal(_gathered(zeros, axis, index), 1))
    without = _multiplied(a, ops.where(lone, 1, b), **attrs)
    return ops.where(
        lone,
        _gathered(g * without, axis, index),
        _gathered(g * o, axis, index) / ops.where(zero, 1, b),
    )


_scatter_product: Op = Op(
    name="scatter_reduce",
    infer_type=_type,
    evaluate=_product,
    vjp=(_product_by_x, _product_by_source),
    saves=("ab", "abo"),
    promotes=slice(None),
    doc="x times all that falls on each place.",
)


@along
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """The input with the elements of `src` at `index` along one axis, reduced place by place.

    `reduce` is "sum", "prod", "mean", "amax" or "amin", over the element of the input too unless
    `include_self` is False. Ties share the gradient evenly.
    """
    axis = _check("scatter_reduce", input, dim, index)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise AutogradError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + reduce
        )
    if src._array.dtype != input._array.dtype:
        raise AutogradError("scatter(): Expected self.dtype to be equal to src.dtype")
    src = _cut(src, index.shape)
    attrs = {"axis": axis, "index": index._array, "include": include_self}
    if reduce == "prod":
        return input.apply(_scatter_product, (input, src), attrs)
    if reduce in ("amax", "amin"):
        attrs["largest"] = reduce == "amax"
        return input.apply(_scatter_extremum, (input, src), attrs)
    start = input
    if not include_self:
        start = ops.where(_untouched(input, axis, index._array), input, 0)
    total = scatter_add(start, axis, index, src)
    if reduce == "sum":
        return total
    counts = np.full(input.shape, include_self, np.int64)
    np.add.at(counts, _grid(index._array, axis), 1)
    count = wrap(np.maximum(counts, 1))
    if input._array.dtype.kind == "f":
        return total / count.to(input.dtype)
    return ops.floor_divide(total, count).to(input.dtype)
