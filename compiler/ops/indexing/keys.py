"""Keys of `x[key]` in NumPy's forms: what each axis is told, and where the axes of it go."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.call_sizes import require_place
from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import DTypeError, OutOfRangeError, ShapeError
from staticgraph.compiler.core.op import Operand, op_named
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.elementwise.arithmetic import add
from staticgraph.compiler.ops.indexing.moving_bounds import extent
from staticgraph.compiler.ops.indexing.take import take_along_axis
from staticgraph.compiler.ops.shapes.shape import expand_dims, reshape
from staticgraph.compiler.ops.shapes.slicing import stack

NEW, INDEXED = -1, -2
"""In the order of the axes of a result: a new one, and those of the indices."""

Span = tuple[Size, Size, int]
"""The start of a slice, how many elements it takes, and its step."""


@record
class Selection(Record):
    """What a key selects of x.

    Attributes:
        x: the operand, with an axis of size 1 for each bool of the key.
        spans: per axis the slice that is taken; of a number, one element; of indices, the whole.
        dropped: the axes of numbers.
        indices: by axis the indices, which broadcast.
        moving: by axis the indices of a slice with a start that is computed.
        mask: the first axis of a mask whose values are not known, and the mask.
        order: the axes of the result: axes of x, `NEW` and `INDEXED`.
    """

    x: Value
    spans: tuple[Span, ...]
    dropped: tuple[int, ...]
    indices: Mapping[int, Value]
    moving: Mapping[int, Value]
    mask: tuple[int, Value] | None
    order: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether slices and numbers take all of x, as it is."""
        whole = tuple((0, size, 1) for size in self.x.shape)
        return self.spans == whole


def without_ellipsis(keys: Sequence[object], shape: Sequence[Size]) -> list[object]:
    """A basic index with an entry for each axis of a shape, and None for each new one."""
    ndim = len(shape)
    used = sum(_axes_of(key) for key in keys if key is not Ellipsis)
    if used > ndim:
        raise ShapeError(f"getitem: {used} indices for {axes_of(shape)}")
    places = [i for i, key in enumerate(keys) if key is Ellipsis]
    if len(places) > 1:
        raise ShapeError("getitem: more than one ellipsis")
    at = places[0] if places else len(keys)
    return [*keys[:at], *[slice(None)] * (ndim - used), *keys[at + 1 :]]


def axes_of(shape: Sequence[Size]) -> str:
    """The axes of a shape in an error: `2 axes of shape (3, 4)`."""
    sizes = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
    return f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'} of shape ({sizes})"


def _axes_of(key: Any) -> int:
    """How many axes an entry of a key is of."""
    if key is None or isinstance(key, bool | np.bool_):
        return 0
    return int(key.ndim) if _is_mask(key) else 1


def _is_mask(key: Any) -> bool:
    """Whether an entry is an array, an expression or a tensor of bools."""
    return hasattr(key, "dtype") and bool(key.dtype.kind == "b")


def selection(x: Any, key: object) -> Selection:
    """What a key of NumPy's forms selects of x."""
    given = [_normal(one) for one in (key if isinstance(key, tuple) else (key,))]
    keys = without_ellipsis(given, x.shape)
    apart = _apart(given)
    reader = _Reader(x)
    for one in keys:
        reader.read(one)
    return reader.selection(apart)


def _normal(one: Any) -> Any:
    """An entry of a key: None, Ellipsis, a slice, a size, a bool, or an operand of an index."""
    if one is None or one is Ellipsis or isinstance(one, slice | bool | np.bool_ | Dim):
        return one
    if isinstance(one, list | tuple | range):
        one = _listed(one)
    if isinstance(one, Operand | np.ndarray):
        if isinstance(one, np.ndarray) and not one.ndim:
            one = one[()]
        elif one.dtype.kind not in "iub":
            raise DTypeError(
                f"getitem: an index of {one.dtype}: indices are integers, and masks are bool"
            )
        if isinstance(one, Operand | np.ndarray | np.bool_):
            return one
    try:
        return operator.index(one)
    except TypeError:
        raise DTypeError(
            f"getitem: {one!r} is not an int, a slice, None or an ellipsis; nor is it a tensor of "
            "integers or bools"
        ) from None


def _listed(one: Sequence[Any]) -> Any:
    """A list of indices as an array, or as an operand if any of them is one."""
    if any(isinstance(part, Operand) for part in one):
        return stack([as_operand(part) for part in one])
    array = np.asarray(one)
    return array if array.size else array.astype(np.intp)


def _is_index(one: object) -> bool:
    """Whether an entry counts among those whose place NumPy looks at, beside indices."""
    return not (one is None or one is Ellipsis or isinstance(one, slice))


def _apart(keys: Sequence[object]) -> bool:
    """Whether a slice, a new axis or an ellipsis stands between indices."""
    places = [i for i, one in enumerate(keys) if _is_index(one)]
    return bool(places) and places[-1] - places[0] + 1 != len(places)


class _Reader:
    """Reads a key, entry by entry."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.spans: list[Span] = []
        self.dropped: list[int] = []
        self.indices: dict[int, Value] = {}
        self.moving: dict[int, Value] = {}
        self.mask: tuple[int, Value] | None = None
        self.order: list[int] = []
        self.first: int | None = None  # where the first index, or number, stands in the order

    def read(self, one: Any) -> None:
        """Note an entry of the key."""
        axis = len(self.spans)
        if one is None:
            self.order.append(NEW)
        elif isinstance(one, slice):
            self._slice(axis, one)
            self.order.append(axis)
        elif isinstance(one, bool | np.bool_):
            self.x = expand_dims(self.x, axis)
            self._indexed(axis, np.zeros(int(one), np.int64))
        elif isinstance(one, int | Dim):
            self._note_place()
            self.spans.append((_position(self.x, axis, one), 1, 1))
            self.dropped.append(axis)
        elif _is_mask(one):
            self._masked(axis, one)
        else:
            self._indexed(axis, one)

    def selection(self, apart: bool) -> Selection:
        """What was read; indices that are apart have the first axes of the result."""
        if self.mask is not None and (self.indices or self.moving):
            raise _beside()
        order = self.order
        if self.indices or self.mask is not None:
            at = 0 if apart or self.first is None else self.first
            order = [*order[:at], INDEXED, *order[at:]]
        return Selection(
            self.x, tuple(self.spans), tuple(self.dropped), self.indices, self.moving, self.mask,
            tuple(order),
        )  # fmt: skip

    def _note_place(self) -> None:
        if self.first is None:
            self.first = len(self.order)

    def _indexed(self, axis: int, index: Value) -> None:
        self._note_place()
        self.indices[axis] = index
        self.spans.append((0, self.x.shape[axis], 1))

    def _slice(self, axis: int, one: slice) -> None:
        size = self.x.shape[axis]
        if isinstance(one.start, Operand) or isinstance(one.stop, Operand):
            self.moving[axis] = _moving(self.x, size, one)
            one = slice(None)
        self.spans.append(slice_bounds(one, size))

    def _masked(self, axis: int, mask: Any) -> None:
        sizes = self.x.shape[axis : axis + mask.ndim]
        for i, (size, other) in enumerate(zip(sizes, mask.shape, strict=True)):
            if isinstance(size, int) and isinstance(other, int) and size != other:
                raise OutOfRangeError(
                    f"getitem: a mask of shape {mask.shape} does not fit axis {axis + i} of size "
                    f"{size}"
                )
        if isinstance(mask, np.ndarray):
            if tuple(sizes) != mask.shape:  # assumed, and checked when it runs
                shape = self.x.shape
                last = axis + mask.ndim
                self.x = reshape(self.x, (*shape[:axis], *mask.shape, *shape[last:]))
            for i, index in enumerate(np.nonzero(mask)):
                self._indexed(axis + i, index)
            return
        if self.mask is not None:
            raise _beside()
        self._note_place()
        self.mask = axis, mask
        self.spans.extend((0, size, 1) for size in sizes)


def _beside() -> ShapeError:
    return ShapeError(
        "getitem: a mask whose values are not known stands beside other indices: "
        "sg.nonzero(mask, size=) gives its places"
    )


def _position(x: Any, axis: int, key: Size) -> Size:
    size = x.shape[axis]
    if isinstance(key, Dim):
        return size + key if _is_negative(key, size) else key
    if isinstance(size, int) and not -size <= key < size:
        raise OutOfRangeError(
            f"getitem: index {key} is out of range for axis {axis} of size {size}"
        )
    if isinstance(size, Dim):
        require_place(size, key)
    return key if key >= 0 else size + key


def _is_negative(value: Dim, size: Size) -> bool:
    """Whether a place is meant from the end, such as -n and 1 - n; its sign may be unknown.

    What is taken for the other is refused when the program runs: it goes past the axis.
    """
    if dims.is_nonnegative(value):
        return False
    if dims.is_nonnegative(-value):
        return True
    falls = any(factor < 0 for atoms, factor in value.terms if atoms)
    return falls and dims.is_nonnegative(size + value)


def slice_bounds(key: slice, size: Size) -> Span:
    """Start, number of elements and step of a slice of an axis, clamped as Python does."""
    step = 1 if key.step is None else _int(key.step)
    if step == 0:
        raise ShapeError(f"getitem: the step of {key} is 0")
    backward = step < 0
    start = _bound(key.start, size, (size - 1) if backward else 0, backward)
    stop = _bound(key.stop, size, -1 if backward else size, backward)
    distance = start - stop if backward else stop - start
    length = dims.maximum(0, dims.floor_divide(distance + abs(step) - 1, abs(step)))
    return start, length, step


def _bound(value: object, size: Size, default: Size, backward: bool) -> Size:
    if value is None:
        return default
    low: Size = -1 if backward else 0
    high: Size = size - 1 if backward else size
    if isinstance(value, Dim):
        if _is_negative(value, size):
            return dims.maximum(low, size + value)
        return dims.minimum(value, high)
    place = _int(value)
    return dims.maximum(low, size + place) if place < 0 else dims.minimum(place, high)


def _int(key: object) -> int:
    if isinstance(key, bool | float) or not hasattr(key, "__index__"):
        raise DTypeError(f"getitem: {key!r}, a bound or step of a slice, is no integer")
    return operator.index(key)


def numbers(like: Any, size: Size) -> Any:
    """The places along an axis of a size, for operands like this one: int64."""
    if isinstance(like, Operand):
        return like._apply(op_named("iota"), (), {"size": size})
    return np.arange(dims.evaluate(size, {}))


def _moving(x: Any, size: Size, key: slice) -> Any:
    """The places that a slice with a computed start takes, so many as its bounds are apart.

    Raises:
        ShapeError: how far its bounds are apart is computed too.
    """
    bounds: list[Any] = [one for one in (key.start, key.stop) if isinstance(one, Operand)]
    for bound in bounds:
        if bound.ndim or bound.dtype.kind not in "iu":
            raise DTypeError(
                f"getitem: a bound of a slice is an integer, not {bound.dtype} of shape "
                f"{tuple(bound.shape)}"
            )
    step = 1 if key.step is None else _int(key.step)
    far = extent(key.start, key.stop)
    if far is None or step < 1:
        raise ShapeError(
            f"getitem: how many elements the slice {key} takes depends on values: "
            "write x[start:start + n] with a known n, and a positive step"
        )
    count = dims.maximum(0, dims.floor_divide(far + step - 1, step))
    offsets = numbers(x, count) * step
    places = add(reshape(key.start, (1,)), offsets)
    known = {"axis": 0, "wrap": False}
    return take_along_axis.bound((numbers(x, size), places), known)
