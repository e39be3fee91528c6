"""Order along an axis. `axis` (or PyTorch's `dim`) is an int, the last one unless given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float, is_narrow
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.ops.declare import INT64
from staticgraph.compiler.ops.indexing.take import along_add
from staticgraph.compiler.ops.reductions.along import axis_or_flat, host_along
from staticgraph.compiler.reference.orders import order

__all__ = ["argsort", "sort"]


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


argsort: Op = host_along(
    "argsort", order, result=lambda dtype: INT64, bind=_bind_as("argsort"), vjp=(None,),
    exact=True,
    doc="The positions of the elements along an axis in order, of the flat x if None: int64. Equal "
    "ones stay in theirs, whether `stable` or not; nan is last, or first if `descending`.",
    example=">>> sg.argsort(np.array([3.0, 1.0, 2.0]))\narray([1, 2, 0])",
)  # fmt: skip


def _in_order(x: Any, *, axis: int, descending: bool) -> Any:
    return np.take_along_axis(x, order(x, axis=axis, descending=descending), axis)


@wraps(_in_order)  # which is what an exported file has
def _sorted(x: Any, *, axis: int, descending: bool) -> Any:
    # NumPy's vectorised sort takes a tenth of a stable one's time: only zeros tell them apart
    found = np.sort(x, axis)
    if _has_negative_zeros(found):
        return _in_order(x, axis=axis, descending=descending)
    return np.flip(found, axis) if descending else found


def _sorted_into(result: Any, x: Any, *, axis: int, descending: bool) -> bool:
    if descending:
        return False
    result[...] = x
    result.sort(axis)
    return not _has_negative_zeros(result)


_SIDES: tuple[Any, ...] = ("left", "right")


def _has_negative_zeros(ordered: Any) -> bool:
    if not is_float(ordered.dtype):
        return False
    if ordered.ndim == 1 and not is_narrow(ordered.dtype):
        zero = ordered.dtype.type(0)
        begin, end = (int(np.searchsorted(ordered, zero, side)) for side in _SIDES)
        ordered = ordered[begin:end]
    zeros = ordered[ordered == 0]
    return bool(np.signbit(zeros).any())


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
