"""Where views lie in memory, so that a cotangent can be laid out as its tensor is and cut alike.

The ops here make views that are read with steps of their own; their gradient, as that of a view
whose base was changed, is zeros of the base with the cotangent in the place of the view. A base of
which several elements are one in memory (`expand`, `unfold`) has a share in each for `as_strided`,
as in PyTorch, whereas `diagonal` and `unfold` know which of them is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops import (
    divide,
    reshape,
    take,
    take_add,
    view_as_complex,
    view_as_real,
)
from staticgraph.dynamic.core.dtypes import INT64, NumpyDType
from staticgraph.dynamic.core.errors import AutogradError


def owner(array: Any) -> Any:
    """The array whose memory an array is on."""
    held = array.base
    while held is not None:
        # what NumPy's functions of strides make holds the array through another object
        held = held if isinstance(held, np.ndarray) else getattr(held, "base", None)
        if isinstance(held, np.ndarray):
            array = held
            held = array.base
    return array


def address(array: Any) -> int:
    """Where in the memory of the process the first element of an array is."""
    found: int = array.__array_interface__["data"][0]
    return found


class Layout(NamedTuple):
    """The elements of an array in memory: steps, and the first from that of the array's owner."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    start: int


def layout(array: Any) -> Layout:
    """The layout of an array in the memory of its owner."""
    size, memory = array.itemsize, owner(array)
    start = 0 if memory is array else (address(array) - address(memory)) // size
    return Layout(array.shape, tuple([step // size for step in array.strides]), start)


def _bounds(array: Any, where: Layout) -> tuple[int, int]:
    """The place of an array's first element, and that after the last; equal if there is none."""
    shape, steps, start = where
    if array.flags.c_contiguous:
        return start, start + array.size
    if 0 in shape:
        return start, start
    spans = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    low = start + sum([span for span in spans if span < 0])
    return low, start + sum([span for span in spans if span > 0]) + 1


def may_overlap(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether two elements at these steps may be at one place in memory."""
    reach = 0
    for step, n in sorted((abs(step), n) for step, n in zip(steps, shape, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


class Region:
    """A view in the memory of the tensor that it is a view of, as both are now.

    One of them may be complex and the other the parts of complex numbers. RuntimeError for other
    dtypes, and unless the one lies within the other, or may lie `beyond` it.

    Attributes:
        view, base: the elements of each, in the memory counted in elements of its own dtype.
        dtype: that of the view.
        apart: whether the dtypes differ.
        beyond: whether the view has elements outside of the base, which get no cotangent.
    """

    __slots__ = ("_dtype", "_first", "_size", "apart", "base", "beyond", "dtype", "view")

    def __init__(self, view: Any, base: Any, beyond: bool = False) -> None:
        self.dtype = view.dtype
        self.apart = view.dtype != base.dtype
        if self.apart and "".join(sorted(view.dtype.char + base.dtype.char)) not in ("Dd", "Ff"):
            raise AutogradError(
                f"a view in {view.dtype} of a tensor in {base.dtype}, one of which is modified in "
                "place: that is not recorded: make the tensor anew, as torch.complex does"
            )
        self.view, self.base = layout(view), layout(base)
        low, high = (place * view.itemsize for place in _bounds(view, self.view))
        first, end = _bounds(base, self.base)
        self.beyond = False
        if low < high and not first * base.itemsize <= low < high <= end * base.itemsize:
            if not beyond or self.apart:
                raise AutogradError(
                    "a view reaches beyond the memory of its base: as_strided made it so, or the "
                    "data of the base was replaced after the view was made: make it again"
                )
            self.beyond = True
            first, end = min(first, low // base.itemsize), max(end, high // base.itemsize)
        self._first, self._size, self._dtype = first, end - first, base.dtype

    def arranged(self, values: object, dtype: NumpyDType | None = None) -> tuple[Any, Any]:
        """Values of the base on memory of their own, laid out as the base is, and their view."""
        memory = np.empty(self._size, dtype or self._dtype)
        whole = self._cut(self.base, memory)
        whole[...] = values
        return whole, self.part(whole)

    def part(self, whole: object) -> Any:
        """The view of what `arranged` made."""
        return self._viewed(owner(whole))

    def _viewed(self, memory: Any) -> Any:
        dtype = self.dtype if self.apart else memory.dtype
        return _cut(self.view, memory, dtype, self._first * memory.itemsize)

    def shared(self, values: Any) -> Any:
        """The view of values of the base on their own memory; None unless laid out as the base."""
        same = values.flags.c_contiguous and values.dtype == self._dtype
        if same and self.base.steps == tuple([n // values.itemsize for n in values.strides]):
            return self._viewed(values)
        return None

    def spread(self, g: object) -> Any:
        """Zeros laid out as the base, to which a cotangent of the view is added in its place."""
        if self.is_shared:
            return self._shared(g)
        if may_overlap(self.view.shape, self.view.steps):
            return self._summed(g)
        whole, part = self.arranged(0)
        part[...] = g
        return whole

    def _summed(self, g: Any) -> Any:
        shape, steps, _ = self.view
        same = tuple([i for i, n in enumerate(shape) if n > 1 and not steps[i]])
        once = tuple([slice(1) if i in same else slice(None) for i in range(len(shape))])
        result = np.zeros(self.base.shape, self._dtype)
        parts = _parts(result) if self.apart else result
        total = np.sum(g, axis=same, keepdims=True)
        total = _parts(total) if self.apart else total
        np.add.at(parts.reshape(-1), self.places()[once], total)
        return result

    @property
    def base_dtype(self) -> NumpyDType:
        """The dtype of the base."""
        return self._dtype

    @property
    def is_shared(self) -> bool:
        """Whether the base does not have each place in memory once: some twice, or not at all."""
        return self.beyond or may_overlap(self.base.shape, self.base.steps)

    @property
    def has_gaps(self) -> bool:
        """Whether memory between the elements of the base is none of them: a view may be there."""
        return int(np.prod(self.base.shape)) < self._size

    def shares(self) -> tuple[Any, Any, Any]:
        """The places in memory of the view and of the base, and of how many elements each is."""
        memory = np.arange(self._size)
        view, base = self._cut(self.view, memory), self._cut(self.base, memory)
        return view, base, np.bincount(base.reshape(-1), minlength=self._size)

    def _shared(self, g: Any) -> Any:
        view, base, counts = self.shares()
        memory = np.zeros(self._size, self._dtype)
        np.add.at(memory, view, g)
        return np.divide(memory, counts, memory, where=counts > 1, dtype=self._dtype)[base]

    def places(self) -> Any:
        """For each element of the view its position in the base, in row-major order.

        Those of the parts of complex numbers, in both, if the dtypes are `apart`.
        """
        if not self.apart:
            shape = self.base.shape
            return self.arranged(np.arange(int(np.prod(shape))).reshape(shape), INT64)[1]
        of_complex = self._dtype.kind == "c"
        base = _layout_of_parts(self.base) if of_complex else self.base
        view = self.view if of_complex else _layout_of_parts(self.view)
        count = 2 if of_complex else 1
        memory = np.empty(self._size * count, INT64)
        first = self._first * count * memory.itemsize
        whole = _cut(base, memory, INT64, first)
        whole[...] = np.arange(int(np.prod(base.shape))).reshape(base.shape)
        return _cut(view, memory, INT64, first)

    def _cut(self, where: Layout, memory: Any) -> Any:
        return _cut(where, memory, memory.dtype, self._first * memory.itemsize)


def _cut(where: Layout, memory: Any, dtype: NumpyDType, first: int) -> Any:
    """The elements of a layout, in memory that begins `first` bytes after that of the layout."""
    if 0 in where.shape:
        return np.empty(where.shape, dtype)
    size = dtype.itemsize
    steps = [step * size for step in where.steps]
    return np.ndarray(where.shape, dtype, memory, where.start * size - first, steps)


def _layout_of_parts(where: Layout) -> Layout:
    steps = (*[2 * step for step in where.steps], 1)
    return Layout((*where.shape, 2), steps, 2 * where.start)


def _parts(array: Any) -> Any:
    """A complex array as a real one with an axis of two; a real one as it is."""
    if array.dtype.kind != "c":
        return array
    real = np.dtype(array.dtype.char.lower())
    return array.view(real).reshape(*array.shape, 2)


def parts_of(x: Any, region: Region) -> Any:
    """A tensor as its parts, where the region is one of parts of complex numbers."""
    return view_as_real(x) if region.apart and x.is_complex() else x


def joined(x: Any, dtype: NumpyDType) -> Any:
    """Parts as the complex numbers that they were; a tensor of this dtype as it is."""
    return view_as_complex(x) if x.dtype.dtype != dtype else x


def told_apart(array: Any) -> Any:
    """An array of the same shape, of which no two elements are one in memory."""
    steps = array.strides
    return np.empty(array.shape, array.dtype) if may_overlap(array.shape, steps) else array


def strided(
    array: Any,
    shape: Sequence[int],
    steps: Sequence[int],
    start: int,
    dtype: NumpyDType | None = None,
) -> Any:
    """The elements of an array's memory at these steps, the first `start` from its owner's.

    They are of the array's dtype unless another is given. RuntimeError if any is outside.
    """
    dtype = dtype or array.dtype
    memory = owner(array)
    if not memory.flags.c_contiguous:
        memory = memory.transpose(sorted(range(memory.ndim), key=lambda i: -memory.strides[i]))
    size = dtype.itemsize
    if 0 in shape:  # nothing is read, wherever it starts
        start = 0
    try:
        return np.ndarray(shape, dtype, memory, start * size, [step * size for step in steps])
    except (TypeError, ValueError):
        raise AutogradError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {start} are "
            f"out of bounds for storage of size {memory.nbytes}"
        ) from None


def spread(g: object, region: Region) -> Any:
    """Zeros of the shape of a base, to which a cotangent of its view is added in its place."""
    if not isinstance(g, Operand):
        return region.spread(g)
    if region.apart:
        parts, places = parts_of(g, region), region.places()
        shape = region.base.shape if region.dtype.kind == "c" else (*region.base.shape, 2)
        whole = reshape(take_add(parts, places, 0, int(np.prod(shape))), shape)
        return whole if region.dtype.kind == "c" else view_as_complex(whole)
    shape = region.base.shape
    if region.is_shared or region.has_gaps:
        view, base, counts = region.shares()
        memory = take_add(g, view, 0, len(counts))
        return divide(take(memory, base, 0), counts[base].astype(g.dtype.dtype))
    return reshape(take_add(g, region.places(), 0, int(np.prod(shape))), shape)


def _as_strided_vjp(g: object, out: object, a: object, *, region: Region) -> Any:
    if isinstance(g, Operand) and 0 in g.shape:  # as in PyTorch, it does not depend on g
        return g._constant(np.zeros(region.base.shape, region.base_dtype))
    return spread(g, region)


as_strided: Op = Op(
    name="as_strided",
    infer_type=lambda x, region: TensorType(region.view.shape, region.dtype),
    evaluate=lambda x, region: strided(
        x, region.view.shape, region.view.steps, region.view.start, region.dtype
    ),
    vjp=(_as_strided_vjp,),
    saves=("",),
    complex="linear",
    doc="The elements of the memory of x where a region has its view.",
)
_recorded = replace(as_strided, vjp=(lambda g, o, a, *, region: spread(g, region),))
diagonal = replace(_recorded, name="diagonal")
unfold = replace(_recorded, name="unfold")
