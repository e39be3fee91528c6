"""Methods that change a tensor's shape, or its diagonal, in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tape.tape import new_node
from staticgraph.dynamic.tensors.dims import axes_of, axis_of, exchanged
from staticgraph.dynamic.tensors.inplace import check_writable, touch
from staticgraph.dynamic.tensors.strided import Region, as_strided, layout, strided
from staticgraph.dynamic.tensors.views import give_node

__all__ = [
    "as_strided_", "fill_diagonal_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_",
    "unsqueeze_",
]  # fmt: skip


def _become(tensor: Any, op: Op, described: Callable[[], Attrs]) -> Any:
    """The tensor, which now is what the view op makes of it; recorded in every mode.

    A leaf, which only may be changed without grad mode, stays a leaf. `described` gives the op's
    attributes, or raises: after what the tape forbids.
    """
    if paused and mode.capture is not None:
        return mode.capture.lifted(tensor).reshaped(op, described())
    check_writable(tensor, overlapping=True)
    attrs = described()
    array = op.evaluate(tensor._array, **attrs)
    if type(tensor._maker) is AccumulateGrad:
        tensor._move(array)
    else:
        edge = tensor._node
        if edge is not None and tensor._maker is not None:  # not one made without grad mode
            plan = recipe(op, (True,))
            give_node(tensor, new_node(plan, (edge,), (edge, None), (), (), attrs, array))
        tensor._array = array
    touch(tensor)
    if tensor._note is not None:  # the node is that of the tensor as it is now
        tensor._note = (*tensor._note[:2], tensor._counter[0])
    return tensor


def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """In place: two axes exchanged."""
    return _become(self, eager_ops.swap, lambda: {"axes": exchanged(dim0, dim1, self.ndim)})


swapaxes_ = swapdims_ = transpose_


def t_(self: Any) -> Any:
    """In place: the axes of a matrix exchanged; a vector stays."""

    def reversed_axes() -> Attrs:
        ndim = self._array.ndim
        if ndim > 2:
            raise AutogradError(f"t_() expects a tensor with <= 2 dimensions, but self is {ndim}D")
        return {"axes": tuple(reversed(range(ndim)))}

    return _become(self, eager_ops.transpose_2d, reversed_axes)


def as_strided_(
    self: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Any:
    """In place: other elements of the tensor's memory: see `as_strided`."""

    def moved() -> Attrs:
        start = layout(self._array).start if storage_offset is None else storage_offset
        return {"region": Region(strided(self._array, size, stride, start), self._array)}

    return _become(self, as_strided, moved)


def fill_diagonal_(self: Any, fill_value: float, wrap: bool = False) -> Any:
    """In place: one number on the main diagonal, which starts again below it if `wrap`."""
    shape = self._array.shape
    if len(shape) < 2:
        raise AutogradError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise AutogradError("all dimensions of input must be of equal length")
    mask = np.zeros(shape, np.bool_)
    np.fill_diagonal(mask, True, wrap)
    if isinstance(fill_value, list | tuple):
        given = type(fill_value).__name__
        raise ArgumentError(
            f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {given}"
        )
    return self.masked_fill_(self._constant(mask), fill_value)


def unsqueeze_(self: Any, dim: int) -> Any:
    """In place: a new axis of size 1."""

    def added() -> Attrs:
        return {"axes": (axis_of("unsqueeze", dim, self.ndim + 1),)}

    return _become(self, ops.expand_dims, added)


def squeeze_(self: Any, dim: object = None) -> Any:
    """In place: without the axes of size 1, or those of `dim` that have size 1."""

    def removed() -> Attrs:
        shape = self._array.shape
        return {"axes": tuple(i for i in axes_of("squeeze", dim, len(shape)) if shape[i] == 1)}

    return _become(self, ops.squeeze, removed)
