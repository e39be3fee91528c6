"""Inputs that are not row-major: read where they lie by a kernel of their own, or copied.

A large matrix that is transposed, or a part of another one, is read in place: a copy would take as
long as many a kernel, and as much memory again. The kernel for it is compiled when a call first has
an input in such an order (`compiler.graph.strided`). An order is that of the axes, and how many of
them lie without gaps; the strides themselves are unknown until run time, as sizes are. A call whose
kernel is there, or is waited for, runs the same one however often it is repeated: its bits do not
change. Inputs are copied while a kernel is compiled in the background, and in all orders after the
first few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.strided import Gap, Order, view_inputs

if TYPE_CHECKING:
    from staticgraph.compiler.runners.compiled import CompiledRunner

LEAST_BYTES = 1 << 20  # of an input: below, a copy costs less than a tenth of a millisecond
MOST_KERNELS = 8  # of one executable; inputs in further orders are copied
LONGEST_STRIDE = 1 << 31  # in elements: what every BLAS takes


@frozen(eq=False)
class Strided:
    """The kernel of an executable for inputs in some orders."""

    runner: CompiledRunner
    orders: tuple[Order | None, ...]
    gaps: tuple[Gap, ...]

    def sizes(self, sizes: Mapping[Unknown, int], arrays: Sequence[object]) -> dict[Unknown, int]:
        """The sizes of a call, strides included."""
        return {**sizes, **{atom: _stride(arrays[at], axis) for at, axis, atom in self.gaps}}

    def arrays(self, arrays: Sequence[object]) -> list[Any]:
        """The kernel's inputs: the memory of those that it reads in place, the others row-major."""
        return [
            row_major(array) if order is None else _in_order(array, order)
            for array, order in zip(arrays, self.orders, strict=True)
        ]


def order_of(array: Any) -> Order | None:
    """The order of an array that is to be read in place; None if it is row-major, or copied.

    It is copied if it is small, or if elements share memory, lie backwards or are not aligned.
    """
    flags = array.flags
    if flags.c_contiguous or not flags.aligned or array.nbytes < LEAST_BYTES:
        return None
    shape, strides, itemsize = array.shape, array.strides, array.itemsize
    # an axis of one element may have any stride: it goes first, where its own does not matter
    axes = sorted(range(array.ndim), key=lambda axis: (shape[axis] > 1, -strides[axis], axis))
    single = sum(size == 1 for size in shape)
    extent, gaps = itemsize, 0  # from the first to the last byte of the axes so far
    for place in reversed(range(single, array.ndim)):
        stride = strides[axes[place]]
        if stride < extent or stride % itemsize or stride >= LONGEST_STRIDE * itemsize:
            return None
        if stride != extent and not gaps:
            gaps = place + 1
        extent += stride * (shape[axes[place]] - 1)
    return Order(tuple(axes), gaps)


def compile_strided(runner: CompiledRunner, orders: tuple[Order | None, ...]) -> Strided:
    """Compile the kernel of an executable for inputs in these orders."""
    definition, gaps = view_inputs(runner.definition, orders)
    compiled = runner.compile(definition, runner.name, runner.options)
    compiled.lost = None  # the one whose calls it runs is told
    return Strided(compiled, orders, gaps)


def _in_order(array: Any, order: Order) -> Any:
    """An array as it lies: its axes in order, or if there are gaps the memory as a vector."""
    if not order.gaps:
        return array.transpose(order.axes)
    length = 1 + sum((size - 1) * _stride(array, axis) for axis, size in enumerate(array.shape))
    return np.lib.stride_tricks.as_strided(array, (length,), (array.itemsize,))


def _stride(array: Any, axis: int) -> int:
    """The stride of an axis in elements; of a single element past all others, as BLASes want it."""
    shape, strides = array.shape, array.strides
    if shape[axis] != 1:
        return int(strides[axis] // array.itemsize)
    extents = (size * stride for size, stride in zip(shape, strides, strict=True) if size > 1)
    return int(max(extents) // array.itemsize)
