"""Order along an axis. `axis` (or PyTorch's `dim`) is an int, the last one unless given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np

from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float, is_narrow
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Attrs, Op, op_named, register
from staticgraph.compiler.core.types import TensorType, normalise_axis
from staticgraph.compiler.ops.batching import shifted_one
from staticgraph.compiler.ops.declare import INT64, as_operand
from staticgraph.compiler.ops.indexing.take import along_add
from staticgraph.compiler.ops.reductions.along import axis_or_flat, host_along
from staticgraph.compiler.ops.shapes.slicing import slice_axis
from staticgraph.compiler.reference.orders import first_in_order, order

__all__ = ["argsort", "sort"]


_MANY = 1 << 18
"""The elements from which threads share a sort."""
_MANY_ROWS = 1 << 15
"""Those from which a compiled loop looks for the first: NumPy takes many passes."""


_KINDS: tuple[Any, ...] = (None, "quicksort", "mergesort", "heapsort", "stable")
"""NumPy's names: equal elements keep their order in all of them."""


def _bind_as(name: str) -> Any:
    def bind(
        x: object,
        axis: int | None = -1,
        *,
        dim: int | None = None,
        descending: bool = False,
        stable: bool = True,
        kind: str | None = None,
    ) -> tuple[Sequence[Any], Attrs]:
        if kind not in _KINDS:
            raise OptionError(f"{name}: kind is one of {', '.join(_KINDS[1:])}, not {kind!r}")
        x, axis = axis_or_flat(name, x, None if dim is not None and axis == -1 else axis, dim)
        return (x,), {"axis": axis, "descending": bool(descending)}

    return bind


@wraps(order)  # which is what an exported file has
def _order(x: Any, *, axis: int, descending: bool) -> Any:
    return order(x, axis=axis, descending=descending, sort=_sort)


def _sort(x: Any, axis: int) -> None:
    if is_float(x.dtype) and x.dtype.itemsize == 2:
        _sort_narrow(x, axis)
    elif x.dtype.itemsize == 1:
        x.sort(axis, kind="stable")  # which counts: a fortieth of the time
    elif x.size < _MANY:
        x.sort(axis)
    else:
        provided.sort(x, axis)


def _sort_narrow(x: Any, axis: int) -> None:
    # NumPy counts the digits of integers, and compares floats of 16 bits one by one
    x[np.isnan(x)] = np.nan
    bits = x.view(np.int16)
    bits ^= bits >> 15 & 0x7FFF
    bits.sort(axis, kind="stable")
    bits ^= bits >> 15 & 0x7FFF


argsort: Op = host_along(
    "argsort", _order, result=lambda dtype: INT64, bind=_bind_as("argsort"), vjp=(None,),
    exact=True,
    doc="The positions of the elements along an axis in order, of the flat x if None: int64. Equal "
    "ones stay in theirs, whether `stable` or not; nan is last, or first if `descending`.",
    example=">>> sg.argsort(np.array([3.0, 1.0, 2.0]))\narray([1, 2, 0])",
)  # fmt: skip


def _in_order(x: Any, *, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, order(x, axis=axis, descending=descending), axis)


@wraps(_in_order)  # which is what an exported file has
def _sorted(x: Any, *, axis: int, descending: bool) -> Any:
    found = np.empty_like(x)
    _sorted_into(found, x, axis=axis, descending=descending)
    return found


def _sorted_into(result: Any, x: Any, *, axis: int, descending: bool) -> bool:
    # NumPy's vectorised sort takes a tenth of a stable one's time: only zeros tell them apart
    result[...] = x
    _sort(result, axis)
    mixed = _has_negative_zeros(result)
    if descending:
        result[...] = np.flip(result, axis)
    if mixed:
        rows, given = np.moveaxis(result, axis, -1), np.moveaxis(x, axis, -1)
        rows[rows == 0] = given[given == 0]
    return True


def _has_negative_zeros(ordered: Any) -> bool:
    if not is_float(ordered.dtype):
        return False
    if ordered.ndim == 1 and not is_narrow(ordered.dtype):
        zero = ordered.dtype.type(0)
        begin = ordered.searchsorted(zero)
        if begin == len(ordered) or ordered[begin] != zero:
            return False
        ordered = ordered[begin : ordered.searchsorted(zero, "right")]
    bits = ordered.view(f"i{ordered.dtype.itemsize}")  # those of -0.0 are the least number
    return bool(bits.min(initial=0) == np.iinfo(bits.dtype).min)


def _sort_vjp(g: object, o: object, a: Any, *, axis: int, descending: bool) -> Any:
    positions = argsort.bound((a,), {"axis": axis, "descending": descending})
    return along_add(g, positions, axis, a.shape[axis])


sort: Op = host_along(
    "sort", _sorted, into=_sorted_into, result=lambda dtype: dtype, bind=_bind_as("sort"),
    vjp=(_sort_vjp,), saves=("a",), exact=True,
    doc="The elements along an axis in order, of the flat x if None; nan is last, or first if "
    "`descending`.",
    example=">>> sg.sort(np.array([3.0, 1.0, 2.0]), descending=True)\narray([3., 2., 1.])",
)  # fmt: skip


def _first_in_order(x: Any, *, count: int, axis: int, descending: bool) -> Any:
    return first_in_order(x, count, axis, descending)


@wraps(_first_in_order)  # which is what an exported file has
def _first_places(x: Any, *, count: int, axis: int, descending: bool) -> Any:
    found = provided.first_places(x, count, axis, descending) if x.size >= _MANY_ROWS else None
    return first_in_order(x, count, axis, descending) if found is None else found


def _bind_first(
    x: Any, count: int, axis: int = -1, descending: bool = False
) -> tuple[Any, Attrs | None]:
    x = as_operand(x)
    axis = normalise_axis("first_places", axis, x.ndim)
    attrs = {"count": int(count), "axis": axis, "descending": bool(descending)}
    if not isinstance(x.shape[axis], Dim):
        return (x,), attrs
    # whether there are so many is known when the size is
    there = slice_axis(x, axis, 0, int(count))
    return op_named("after")(first_places.bound((x,), attrs), there), None


def _type_of_first(x: TensorType, *, count: int, axis: int, descending: bool) -> TensorType:
    return TensorType((*x.shape[:axis], count, *x.shape[axis + 1 :]), INT64)


first_places: Op = register(
    Op(
        name="first_places",
        infer_type=_type_of_first,
        evaluate=_first_places,
        bind=_bind_first,
        vjp=(None,),
        batching=shifted_one,
        lowering=Host(),
        exact=True,
        doc="The first `count` places of `argsort`, of axes that are not shorter. Only these are "
        "put in order: the last of them is selected before.",
    )
)
