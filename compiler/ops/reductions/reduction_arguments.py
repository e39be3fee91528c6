"""NumPy's further arguments of reductions: dtype, where and initial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import accumulator
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Attrs, op_named
from staticgraph.compiler.core.types import as_dtype, normalise_axes, unify
from staticgraph.compiler.ops.declare import (
    INT64,
    as_operand,
    one_axis,
)
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.elementwise.comparison import where as select
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, reshape, transpose
from staticgraph.compiler.ops.shapes.slicing import concatenate


def prepared(
    name: str,
    x: Any,
    dtype: object,
    where: object,
    initial: object,
    neutral: float | None,
) -> Any:
    """x cast, with what changes nothing where it is left out."""
    if dtype is not None:
        x = astype(x, as_dtype(dtype, name))
    own = np.dtype(x.dtype)
    if neutral is None and where is not None and initial is None:
        raise OptionError(f"{name}: where= needs initial=, the value of no element")
    least = initial if neutral is None else neutral
    if where is not None:
        whole = tuple(x.shape)
        x = select(
            where, x, np.asarray(least).astype(own) if not hasattr(least, "_apply") else least
        )
        require_shape(f"{name}: where=", whole, x)
    return x


def require_shape(argument: str, shape: tuple[Size, ...], x: Any) -> None:
    """ShapeError if an argument has made more of an operand of this shape."""
    if x.ndim != len(shape) or None in map(unify, x.shape, shape):
        raise ShapeError(f"{argument} broadcasts {shape} to {tuple(x.shape)}")


def begun(x: Any, attrs: Attrs, initial: Any) -> tuple[Any, Attrs]:
    """x with all elements along its reduced axes in the first of them, behind an initial value."""
    if initial is None:
        return x, attrs
    axes = attrs["axes"]
    if not axes:  # each element by itself
        x, axes, attrs = expand_dims(x, 0), (0,), {"axes": (0,), "keepdims": False}
    order = [axis for axis in range(x.ndim) if axis not in axes[1:]]
    order[order.index(axes[0]) + 1 : order.index(axes[0]) + 1] = axes[1:]
    length = dims.product([x.shape[axis] for axis in axes])
    shape = tuple(
        length if axis == axes[0] else 1 if axis in axes else size
        for axis, size in enumerate(x.shape)
    )
    x = reshape(transpose(x, tuple(order)) if len(axes) > 1 else x, shape)
    first = initial if hasattr(initial, "dtype") else np.asarray(initial)
    if hasattr(x, "_constant") and not hasattr(first, "_apply"):
        first = x._constant(np.asarray(first))  # the sizes beside it may be unknown
    first = broadcast_to(
        astype(first, x.dtype),
        tuple(1 if axis in axes else size for axis, size in enumerate(shape)),
    )
    return concatenate([first, x], axes[0]), attrs


def binder(name: str, neutral: float | None) -> Callable[..., tuple[Any, Attrs | None]]:
    """The signature of a reduction, with NumPy's dtype=, where= and initial=."""

    def bind(
        x: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        dtype: object = None,
        where: object = None,
        initial: object = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
    ) -> tuple[Any, Attrs | None]:
        x = as_operand(x)
        axes = normalise_axes(name, one_axis(name, axis, dim), x.ndim)
        if dtype is not None or where is not None or initial is not None:
            x = prepared(name, x, dtype, where, initial, neutral)
        attrs: Attrs = {"axes": axes, "keepdims": bool(keepdims or keepdim)}
        if initial is not None and np.dtype(x.dtype).kind == "b":
            x = astype(x, INT64)
        x, attrs = begun(x, attrs, initial)
        wanted = None if dtype is None else as_dtype(dtype, name)
        if wanted is not None and accumulator(wanted) != wanted:
            return astype(op_named(name).bound((x,), attrs), wanted), None
        return (x,), attrs

    return bind


def truth_binder(name: str, neutral: bool) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    """The signature of a reduction of truths, with NumPy's where=."""

    def bind(
        x: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        where: object = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
    ) -> tuple[Sequence[Any], Attrs]:
        x = as_operand(x)
        axes = normalise_axes(name, one_axis(name, axis, dim), x.ndim)
        if where is not None:
            whole = tuple(x.shape)
            x = select(where, x, np.asarray(neutral))
            require_shape(f"{name}: where=", whole, x)
        return (x,), {"axes": axes, "keepdims": bool(keepdims or keepdim)}

    return bind
