"""Running totals along an axis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.dtypes import INT64
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.tensors.dims import along, axis_of
from staticgraph.dynamic.tensors.naming import called
from staticgraph.dynamic.tensors.tensor import wrap
from staticgraph.dynamic.tensors.views import alone

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


def _running(op: Op) -> Any:
    def function(input: Any, dim: int, *, dtype: object = None) -> Any:
        x = input if dtype is None else input.to(dtype=dtype)
        axis = axis_of(op.name, dim, x.ndim)
        if not x.ndim:
            found = alone(ops.reshape(op.bound((ops.reshape(x, (1,)),), {"axis": axis}), ()))
        else:
            found = op.bound((x,), {"axis": axis})
        return found if dtype is None else found.to(dtype=dtype)  # integers are summed in 64 bits

    function.__name__ = function.__qualname__ = op.name
    third = 6  # 1 + 2 + 3, and 1 * 2 * 3
    second = 3 if op is ops.cumsum else 2
    function.__doc__ = (
        f"{op.doc}\n\nExample:\n    >>> dynamic.{op.name}(dynamic.tensor([1, 2, 3]), 0)\n"
        f"    tensor([1, {second}, {third}])\n"
    )
    return function


cumsum, cumprod = _running(ops.cumsum), _running(ops.cumprod)


def _extrema(input: Any, dim: int, largest: bool) -> tuple[Any, Any]:
    """The running extrema, and where they are."""
    axis = axis_of("cummax", dim, input.ndim)
    if not input.ndim:
        return input.clone(), wrap(np.zeros((), INT64))
    attrs = {"axis": axis, "largest": largest}
    places = ops.extremum_positions.bound((input,), attrs)
    return ops.take_along_axis(input, places, axis), places


@called("Cummax", "input")
def cummax(input: object, dim: int) -> Any:
    """The largest element up to each along an axis, and where it is; of equal ones the last.

    Example:
        >>> dynamic.cummax(dynamic.tensor([1, 3, 2]), 0).values
        tensor([1, 3, 3])
    """
    return CumMax(*_extrema(input, dim, True))


@called("Cummin", "input")
def cummin(input: object, dim: int) -> Any:
    """The smallest element up to each along an axis, and where it is; of equal ones the last.

    Example:
        >>> dynamic.cummin(dynamic.tensor([2, 3, 1]), 0).values
        tensor([2, 2, 1])
    """
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


def trapezoid(y: object, x: object = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral of y along an axis by the trapezoidal rule, at places x or `dx` apart.

    Example:
        >>> dynamic.trapz(dynamic.tensor([1.0, 2.0, 3.0]))
        tensor(4.)
    """
    return _trapezoids(y, x, dx, dim).sum(dim)


trapz = trapezoid


def cumulative_trapezoid(y: object, x: object = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integrals of y up to each place from the second on: see `trapezoid`.

    Example:
        >>> dynamic.cumulative_trapezoid(dynamic.tensor([1.0, 2.0, 3.0]))
        tensor([1.5000, 4.0000])
    """
    return cumsum(_trapezoids(y, x, dx, dim), dim)


@called("Logcumsumexp", "result")
@along
def logcumsumexp(input: object, dim: int) -> Any:
    """log(cumsum(exp(x))), scaled by the largest element of each row.

    Example:
        >>> dynamic.logcumsumexp(dynamic.zeros(2), 0)
        tensor([0.0000, 0.6931])
    """
    return ops.logcumsumexp(input, dim)


def diff(
    input: Any, n: int = 1, dim: int = -1, prepend: object = None, append: object = None
) -> Any:
    """The differences of neighbours along an axis, n times; bools differ or not.

    Example:
        >>> dynamic.diff(dynamic.tensor([1, 4, 9]))
        tensor([3, 5])
    """
    if not input.ndim:
        raise AutogradError("diff expects input to be at least one-dimensional")
    require_int("diff", "n", 2, n, 0)
    parts = [part for part in (prepend, input, append) if part is not None]
    x = ops.concatenate(parts, dim) if len(parts) > 1 else input
    axis = axis_of("diff", dim, x.ndim)
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis] - 1
        high, low = x.narrow(axis, 1, size), x.narrow(axis, 0, size)
        x = ops.not_equal(high, low) if x._array.dtype.kind == "b" else high - low
    return x
