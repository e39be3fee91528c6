"""`x.at[key].set(values)` and its kin: x with what a key selects changed, as a new value.

What slices and numbers select is computed as a part, and laid over x. What indices name is written
by the scatters along an axis: the axes that they name are laid flat, as for a read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim, Size, product
from staticgraph.compiler.core.dtypes import is_float, promoted
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.types import TensorType, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import NUMBERS, as_operand, size_value, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import (
    add,
    astype,
    divide,
    maximum,
    minimum,
    multiply,
    power,
    subtract,
)
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    where,
)
from staticgraph.compiler.ops.indexing.getting import (
    arranged,
    gathered_places,
    getitem,
    part_of,
    spread,
    window_of,
)
from staticgraph.compiler.ops.indexing.keys import INDEXED, Selection, numbers, selection
from staticgraph.compiler.ops.indexing.scatter_reductions import scatter_reduce
from staticgraph.compiler.ops.indexing.scattering import index_add, index_copy
from staticgraph.compiler.ops.indexing.take import take
from staticgraph.compiler.ops.reductions.reduction import positions, sum as total_of
from staticgraph.compiler.ops.reductions.sorting import argsort
from staticgraph.compiler.ops.shapes.shape import broadcast_to, expand_dims, flip, reshape
from staticgraph.compiler.ops.shapes.slicing import concatenate, embed, slice_axis

Change = Callable[[Any, Any], Any]


class At:
    """What `x.at` is: `x.at[key]` are places of x.

    Example:
        >>> sg.run(sg.zeros((3,)).at[1].set(5.0), {})
        array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("_x",)

    def __init__(self, x: Value) -> None:
        self._x = x

    def __getitem__(self, key: object) -> Slots:
        return Slots(self._x, key)

    def __repr__(self) -> str:
        return f"<at of {self._x!r}>"


class Slots:
    """The places of x that a key selects: every index of NumPy's, as `x[key]` takes.

    Each method gives a new value of x's shape and dtype, in which these places are changed; x stays
    as it is. Values broadcast to what is selected. They have x's dtype, or one that NumPy casts to
    it safely; a Python number has that of x.

    Where several values fall on one place, `add`, `subtract`, `multiply`, `divide`, `power`, `min`
    and `max` apply them all, and `set` leaves the last one, in the order of the index (JAX leaves
    any). A mask whose values are not known takes values that broadcast, the same for each element.
    An index out of range raises OutOfRangeError when it runs; JAX leaves it out.

    Example:
        >>> x = sg.constant(np.array([1.0, 2.0, 3.0]))
        >>> sg.run(x.at[np.array([0, 0])].add(10.0), {})
        array([21.,  2.,  3.])
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Value, key: object) -> None:
        self._x = x
        self._key = key

    def get(self, *, size: int | None = None, fill_value: float = 0) -> Value:
        """`x[key]`; of a mask whose values are not known the first `size` elements.

        `fill_value` stands where there are fewer.
        """
        chosen = selection(self._x, self._key)
        if chosen.mask is None:
            if size is not None:
                raise OptionError("at: get takes size= for a mask whose values are not known")
            return getitem(self._x, self._key)
        if size is None:
            return getitem(self._x, self._key)  # which says what is missing
        return _masked(chosen, size, fill_value)

    def set(self, values: Value) -> Value:
        """The values in place of what is there; of several the last one in the index's order."""
        return self._changed("set", values)

    def add(self, values: Value) -> Value:
        """The values added to what is there."""
        return self._changed("add", values)

    def subtract(self, values: Value) -> Value:
        """The values subtracted from what is there."""
        values = _fitting("subtract", as_operand(self._x), values)
        if isinstance(values, bool | int | float | complex):
            values = np.asarray(values, self._x.dtype)
        return self._changed("add", subtract(zeros_like(values), values))

    def multiply(self, values: Value) -> Value:
        """What is there times the values."""
        return self._changed("multiply", values)

    mul = multiply

    def divide(self, values: Value) -> Value:
        """What is there by the values, of a floating-point dtype."""
        return self._changed("divide", values)

    def power(self, values: Value) -> Value:
        """What is there to the power of the values."""
        return self._changed("power", values)

    def min(self, values: Value) -> Value:
        """The smaller of what is there and the values."""
        return self._changed("min", values)

    def max(self, values: Value) -> Value:
        """The larger of what is there and the values."""
        return self._changed("max", values)

    def apply(self, function: Callable[[Any], Any]) -> Value:
        """`function` of what is there, once for each place, however often it is named."""
        chosen = selection(self._x, self._key)
        if chosen.mask is not None:
            return _where_masked(chosen, "apply", None, function)
        return self.set(function(self.get()))

    def _changed(self, kind: str, values: Any) -> Any:
        chosen = selection(self._x, self._key)
        given = _handle(chosen.x, _fitting(kind, chosen.x, values))
        if chosen.mask is not None:
            return _where_masked(chosen, kind, given, _CHANGES[kind])
        if chosen.indices or chosen.moving:
            found = _by_indices(chosen, kind, given)
        else:
            part = part_of(chosen)
            labels = tuple(range(part.ndim))
            laid = spread(given, labels, tuple(part.shape), chosen)
            found = _laid_over(chosen, _CHANGES[kind](part, laid))
        return found if found.ndim == self._x.ndim else reshape(found, tuple(self._x.shape))


_CHANGES: dict[str, Change] = {
    "set": lambda part, values: _as_like(part, values),
    "add": add, "multiply": multiply, "divide": divide, "power": power,
    "min": minimum, "max": maximum,
}  # fmt: skip


def _as_like(part: Any, values: Any) -> Any:
    if isinstance(values, bool | int | float | complex):
        return broadcast_to(_number(part, values), tuple(part.shape))
    return broadcast_to(values, tuple(part.shape))


def _number(like: Any, value: complex) -> Any:
    """A number as a tensor of like's dtype."""
    return _handle(like, np.asarray(value, like.dtype))


def _handle(like: Any, value: Any) -> Any:
    """An array as a tensor of like's kind, which may have sizes that are not known."""
    array = isinstance(value, np.ndarray | np.generic)
    return like._constant(np.asarray(value)) if array and isinstance(like, Operand) else value


def _fitting(kind: str, x: Any, values: Any) -> Any:
    """Values in x's dtype; DTypeError if they lose something by that."""
    dtype = np.dtype(x.dtype)
    if kind == "divide" and not is_float(dtype):
        raise DTypeError(f"at: divide of {dtype}, whose quotients are no {dtype}: cast x first")
    if dtype.kind == "b" and kind not in ("set", "min", "max"):
        raise DTypeError(f"at: {kind} of bool")
    if isinstance(values, Dim):
        values = size_value(values, numbers(x, 1))
        return astype(values, dtype)
    number = values if isinstance(values, bool | int | float | complex) else None
    if number is None:
        values = as_operand(values)
        if getattr(values, "weak", False):
            number = NUMBERS[np.dtype(values.dtype).kind]
    other = np.dtype(values.dtype) if number is None else number
    if number is None and np.can_cast(np.dtype(values.dtype), dtype, "safe"):
        return values if values.dtype == dtype else astype(values, dtype)
    if number is None or promoted(dtype, other) != dtype:
        what = f"{values!r}" if values is number else str(np.dtype(values.dtype))
        raise DTypeError(
            f"at: {kind} of {what} in {TensorType(tuple(x.shape), dtype)}: cast it with astype"
        )
    if values is number:
        try:
            np.asarray(number, dtype)
        except OverflowError as error:
            raise DTypeError(f"at: {kind} of {number} in {dtype}: {error}") from None
        return values
    return astype(values, dtype)


# -- slices ----------------------------------------------------------------------------------------


def _laid_over(chosen: Selection, part: Any) -> Any:
    """x with a new value of its part."""
    backward = tuple(axis for axis, span in enumerate(chosen.spans) if span[2] < 0)
    part = flip(part, backward) if backward else part
    starts, steps = window_of(chosen)
    x = chosen.x
    inside: Any = None
    for axis, (_, length, _) in enumerate(chosen.spans):
        window = (starts[axis], length, steps[axis])
        if window != (0, x.shape[axis], 1):
            place = positions(x, axis)
            held = inside_of(place, *window)
            inside = held if inside is None else logical_and(inside, held)
    if inside is None:
        return part
    return where(inside, _embedded(part, starts, tuple(x.shape), steps), x)


def _embedded(part: Any, starts: Any, shape: Any, steps: Any) -> Any:
    """The part at its place; along axes on which it is one element, at every place."""
    one = [isinstance(size, int) and size == 1 for size in part.shape]
    if all(one):
        return part
    starts = [0 if flat else start for flat, start in zip(one, starts, strict=True)]
    steps = [1 if flat else step for flat, step in zip(one, steps, strict=True)]
    shape = [1 if flat else size for flat, size in zip(one, shape, strict=True)]
    return embed(part, starts, shape, steps)


def inside_of(place: Value, start: Size, length: Size, step: int) -> Value:
    """Per place on an axis whether a slice takes it."""
    first, stop = size_value(start, place), size_value(start + length * step, place)
    if isinstance(length, int) and length == 1:
        return equal(place, first)
    found = logical_and(greater_equal(place, first), less(place, stop))
    return found if step == 1 else logical_and(found, equal((place - first) % step, 0))


# -- masks -----------------------------------------------------------------------------------------


def _where_masked(chosen: Selection, kind: str, values: Any, change: Callable[..., Any]) -> Any:
    """x changed where a mask holds, by values that are the same for each element it takes."""
    assert chosen.mask is not None
    first, mask = chosen.mask
    part = part_of(chosen)
    behind = part.ndim - first - mask.ndim
    held = expand_dims(mask, tuple(range(mask.ndim, mask.ndim + behind))) if behind else mask
    if kind == "apply":
        new = change(_safe(held, part))
        alike = new.ndim == part.ndim and None not in map(unify, new.shape, part.shape)
        if not alike or new.dtype != part.dtype:
            raise ShapeError(f"at: apply gives {new!r} for {part!r}: element by element is meant")
        return _laid_over(chosen, where(held, new, part))
    labels = (*range(first), INDEXED, *range(first + mask.ndim, part.ndim))
    sizes = (*part.shape[:first], 1, *part.shape[first + mask.ndim :])
    laid = _spread_over_mask(values, labels, sizes, chosen)
    if not isinstance(laid, bool | int | float | complex):
        ones = (1,) * mask.ndim
        shape = (*laid.shape[:first], *ones, *laid.shape[first + 1 :])
        laid = reshape(laid, shape)
    new = laid if kind == "set" else change(_safe(held, part), laid)
    return _laid_over(chosen, where(held, new, part))


def _safe(held: Any, part: Any) -> Any:
    """A part with 1 where it is not changed: what is inf or nan there makes no gradient nan."""
    return where(held, part, _number(part, 1))


def _spread_over_mask(values: Any, labels: Any, sizes: Any, chosen: Selection) -> Any:
    try:
        return spread(values, labels, sizes, chosen)
    except ShapeError:
        raise ShapeError(
            f"at: values of shape {tuple(values.shape)} for the elements that a mask takes, whose "
            "number depends on values: give one that broadcasts, or use where(mask, values, x)"
        ) from None


def _masked(chosen: Selection, size: int, fill_value: float) -> Any:
    """The first `size` elements where a mask holds."""
    assert chosen.mask is not None
    first, mask = chosen.mask
    part = part_of(chosen)
    last = first + mask.ndim
    flat = reshape(part, (*part.shape[:first], product(mask.shape), *part.shape[last:]))
    total = flat.shape[first]
    if not (isinstance(total, int) and total > 0):  # one to read where there is none
        shape = (*flat.shape[:first], total + 1, *flat.shape[first + 1 :])
        flat = embed(flat, (0,) * flat.ndim, shape, (1,) * flat.ndim)
    there = less(numbers(mask, size), total_of(mask))
    # those that hold come first in the order of what does not, each kind in its own order
    order = argsort(astype(logical_not(reshape(mask, (-1,))), "int8"))
    none = broadcast_to(zeros_like(total_of(order)), (size,))
    places = where(there, slice_axis(concatenate([order, none]), 0, 0, size), 0)
    there = expand_dims(there, tuple(range(1, 1 + part.ndim - last)))
    found = where(there, take(flat, places, first), _number(part, fill_value))
    labels = (*range(first), INDEXED, *range(last, part.ndim))
    return arranged(found, labels, chosen)


# -- indices ---------------------------------------------------------------------------------------


def _by_indices(chosen: Selection, kind: str, values: Any) -> Any:
    found = gathered_places(chosen)
    whole = found.laid(found.part)
    lead, rest = tuple(whole.shape[: found.first]), tuple(whole.shape[found.first + 1 :])
    count = product(tuple(found.index.shape))
    laid = spread(values, found.labels, (*lead, *found.index.shape, *rest), chosen)
    if not isinstance(laid, bool | int | float | complex):
        laid = reshape(laid, (*lead, count, *rest))
    index = reshape(_handle(whole, found.index), (-1,))
    new = _scattered(kind, whole, index, laid, found.first)
    new = new if new.ndim == found.part.ndim and found.stop == found.first + 1 else reshape(
        new, tuple(found.part.shape)
    )  # fmt: skip
    return _laid_over(chosen, new) if found.stop == found.first + 1 else new


def _scattered(kind: str, x: Any, index: Any, values: Any, axis: int) -> Any:
    """x with values on the slices along an axis that a vector of indices names."""
    if kind == "add":
        return index_add(x, index, values, axis)
    if isinstance(values, bool | int | float | complex):
        shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
        values = broadcast_to(_number(x, values), shape)
    if isinstance(index.shape[0], int) and index.shape[0] == 1:
        return _at_one(kind, x, index, values, axis)
    if kind == "set":
        return index_copy(x, index, values, axis)
    column = expand_dims(index, tuple(i for i in range(x.ndim) if i != axis))
    places = broadcast_to(column, tuple(values.shape))
    if kind in ("min", "max"):
        return scatter_reduce(x, places, values, axis, f"a{kind}")
    if kind == "multiply":
        return scatter_reduce(x, places, values, axis, "prod")
    ones = add(zeros_like(x), 1)
    return _CHANGES[kind](x, scatter_reduce(ones, places, values, axis, "prod"))


def _at_one(kind: str, x: Any, index: Any, values: Any, axis: int) -> Any:
    """x changed on one slice along an axis: no other value can fall on it."""
    place = take(numbers(index, x.shape[axis]), index, 0)
    place = expand_dims(place, tuple(i for i in range(x.ndim) if i != axis))
    there = equal(positions(x, axis), place)
    new = values if kind == "set" else _CHANGES[kind](_safe(there, x), values)
    return where(there, new, x)
