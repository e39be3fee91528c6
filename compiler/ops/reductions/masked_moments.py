"""Means and variances with NumPy's dtype=, where= and mean=: composed of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Attrs, op_named
from staticgraph.compiler.core.types import as_dtype
from staticgraph.compiler.ops.declare import as_operand, axis_binder, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import (
    absolute,
    astype,
    divide,
    maximum,
    square,
)
from staticgraph.compiler.ops.elementwise.comparison import equal, logical_and, where as select
from staticgraph.compiler.ops.elementwise.exponential import sqrt
from staticgraph.compiler.ops.reductions.reduction_arguments import require_shape

Axes = tuple[int, ...]


def mean_bind(
    x: Any,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    dtype: object = None,
    where: object = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> tuple[Any, Attrs | None]:
    """The signature of `mean`, with NumPy's dtype= and where=."""
    (x,), attrs = axis_binder("mean")(x, axis, keepdims, dim=dim, keepdim=keepdim)
    x = _cast("mean", x, dtype)
    if where is None:
        return (x,), attrs
    return _mean("mean", x, **attrs, where=where), None


def spread_binder(
    name: str, finish: Callable[[Any], Any]
) -> Callable[..., tuple[Any, Attrs | None]]:
    """The signature of `var` and `std`, with NumPy's dtype=, where= and mean=."""
    plain = axis_binder(name)

    def bind(
        x: Any,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        *,
        correction: float = 0,
        ddof: float | None = None,
        dtype: object = None,
        where: object = None,
        mean: object = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
    ) -> tuple[Any, Attrs | None]:
        (x,), attrs = plain(x, axis, keepdims, dim=dim, keepdim=keepdim)
        if ddof is not None and correction:
            raise OptionError(f"{name}: correction={correction} and ddof={ddof} are one argument")
        attrs = attrs | {"correction": correction if ddof is None else ddof}
        x = _cast(name, x, dtype)
        if where is None and mean is None:
            return (x,), attrs
        return finish(_variance(name, x, **attrs, where=where, mean=mean)), None

    return bind


def _cast(name: str, x: Any, dtype: object) -> Any:
    """x as the floating-point numbers that are asked for."""
    if dtype is None:
        return x
    wanted = as_dtype(dtype, name)
    if not is_inexact(wanted):
        raise OptionError(f"{name}: dtype={wanted} is not floating")
    return astype(x, wanted)


def _mean(name: str, x: Any, *, axes: Axes, keepdims: bool, where: object) -> Any:
    """The mean of the elements for which `where` holds; nan of none."""
    there = _there(name, x, where)
    total = _sum(select(there, x, zeros_like(x)), axes, keepdims)
    return divide(total, _counted(there, x, axes, keepdims))


def _variance(
    name: str,
    x: Any,
    *,
    axes: Axes,
    keepdims: bool,
    correction: float,
    where: object,
    mean: object,
) -> Any:
    """The variance of the elements for which `where` holds, around a mean that may be known."""
    there = _there(name, x, True if where is None else where)
    centre = mean
    if mean is None:
        centre = _mean(name, x, axes=axes, keepdims=True, where=there)
    centred = x - centre
    require_shape(f"{name}: mean=", tuple(x.shape), centred)
    # before they are squared: the gradient of a square would be 0 * nan where x is nan
    centred = select(there, centred, zeros_like(centred))
    squares = square(absolute(centred) if np.dtype(centred.dtype).kind == "c" else centred)
    return divide(
        _sum(squares, axes, keepdims),
        maximum(_counted(there, squares, axes, keepdims) - correction, 0),
    )


def root(variance: Any) -> Any:
    """The standard deviation; its gradient where it is 0 is 0, as that of `std`."""
    flat = equal(variance, 0)
    return select(flat, 0, sqrt(select(flat, 1, variance)))


def _there(name: str, x: Any, where: object) -> Any:
    """Where the elements count, in x's shape: bool."""
    there = logical_and(as_operand(where), equal(zeros_like(x), 0))
    require_shape(f"{name}: where=", tuple(x.shape), there)
    return there


def _sum(x: Any, axes: Axes, keepdims: bool) -> Any:
    return op_named("sum")(x, axis=axes, keepdims=keepdims)


def _counted(there: Any, x: Any, axes: Axes, keepdims: bool) -> Any:
    """How many elements count, as numbers that x is divided by."""
    number = _sum(there, axes, keepdims)
    return astype(number, np.abs(np.zeros((), x.dtype)).dtype) if is_inexact(x.dtype) else number
