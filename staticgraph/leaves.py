"""The leaves of a graph: placeholders, variables and constants."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.arrays import as_array, converted
from staticgraph.compiler.core.default_dtype import get_default_dtype, or_default
from staticgraph.compiler.core.dims import Dim, Size, unknown
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.types import as_dtype
from staticgraph.compiler.graph import expression
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.ops import astype, broadcast_to, leaves
from staticgraph.compiler.ops.declare import size_value


def placeholder(
    name: str, shape: Sequence[int | str | Dim | None] = (), dtype: object = None
) -> Expression:
    """An input that each call feeds.

    Args:
        name: by which calls may give it; any text.
        shape: per axis its size; None for a size that may differ at each call, a string for one
            that must agree wherever the string appears.
        dtype: a NumPy dtype; float32 if None, or what `set_default_dtype` says.

    Raises:
        ShapeError, DTypeError, OptionError: bad shape, dtype or name.

    Example:
        >>> x = sg.placeholder("x", ("rows", 2))
        >>> x.shape
        (rows, 2)
    """
    if not isinstance(name, str):
        raise OptionError(f"placeholder: the name is a string, not {name!r}")
    if isinstance(shape, int | str) or shape is None:
        raise ShapeError(f"placeholder {name!r}: the shape is a sequence of sizes, not {shape!r}")
    sizes = tuple(_size(name, axis, size) for axis, size in enumerate(shape))
    attrs = leaves.leaf_attrs(sizes, or_default(dtype, f"placeholder {name!r}"), leaves.next_key())
    return Expression(leaves.placeholder, (), attrs, name)


def _size(name: str, axis: int, size: object) -> Size:
    if size is None:
        return unknown(label=f"{name}.{axis}")
    if isinstance(size, str):
        return unknown(size)
    if isinstance(size, Dim):
        return size
    if isinstance(size, bool) or not hasattr(size, "__index__") or size.__index__() < 0:
        raise ShapeError(
            f"placeholder {name!r}: axis {axis}: {size!r} is no size: "
            "an int, a string (a named size) or None (any size)"
        )
    return int(size.__index__())


READS: dict[tuple[str, int], str] = {}
"""The lines that read the value of a variable, with what messages call it: for the lint."""


class Variable(Expression):
    """State that lives between calls; made by `variable`. A copy has a value of its own."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """A copy of the current value; assign an array of the same shape and dtype to change it.

        Example:
            >>> v = sg.variable(np.array([1.0, 2.0]))
            >>> v.value = np.array([3.0, 4.0])
            >>> v.value
            array([3., 4.])
        """
        frame = sys._getframe(1)
        READS[frame.f_code.co_filename, frame.f_lineno] = self.state.label
        return self.state.copy()

    @value.setter
    def value(self, new: object) -> None:
        self.state.assign(new)

    @property
    def state(self) -> State:
        """The memory that executables read and update.

        Example:
            >>> sg.variable(np.array([1.0]), "count").state.label
            "variable 'count'"
        """
        state: State = self.attrs["key"]
        return state

    def __copy__(self) -> Variable:
        return self._with(self.state.__copy__())

    def _copied(self, memo: dict[int, Any]) -> Variable:
        return self._with(copy.deepcopy(self.state, memo))

    def _with(self, state: State) -> Variable:
        """The same with another state."""
        attrs = {**self.attrs, "key": state}
        return type(self)(self.op, (), attrs, self.name, self.source, self.type)


def variable(value: object, name: str | None = None, dtype: object = None) -> Variable:
    """State with an initial value, which updates of executables change.

    Args:
        value: an array (copied), or what NumPy makes one of; Python floats become float32 (see
            `set_default_dtype`).
        name: for messages and drawings.
        dtype: a NumPy dtype; the value's own if None.

    Raises:
        DTypeError: no such dtype, or one that cannot hold the value but for the rounding of floats.
        OptionError: the name is no string.

    Example:
        >>> count = sg.variable(0)
        >>> step = sg.compile([], count, updates={count: count + 1})
        >>> int(step()), int(step()), int(count.value)
        (0, 1, 2)
    """
    if name is not None and not isinstance(name, str):
        raise OptionError(f"variable: the name is a string, not {name!r}")
    state = State(_as_array(value, dtype), name)
    attrs = leaves.leaf_attrs(state.array.shape, state.array.dtype, state)
    return Variable(leaves.variable, (), attrs, name)


class Counter(Variable):
    """A variable of an int64 to which each call adds 1 of what is compiled of it."""

    __slots__ = ()


def counter(name: str) -> Counter:
    """A count of calls that begins with 0."""
    state = State(np.zeros((), np.int64), name)
    return Counter(leaves.variable, (), leaves.leaf_attrs((), state.array.dtype, state), name)


def constant(value: object, dtype: object = None) -> Expression:
    """A value that is part of the graph (copied).

    Python floats become float32 (see `set_default_dtype`).

    Example:
        >>> sg.run(sg.constant([1.0, 2.0]) * 2)
        array([2., 4.], dtype=float32)
    """
    return expression.constant(_as_array(value, dtype))


def zeros(shape: Any, dtype: object = None) -> Expression:
    """Zeros of a shape, in which sizes may be unknown (`x.shape[0]`).

    Example:
        >>> sg.run(sg.zeros((2,)))
        array([0., 0.], dtype=float32)
    """
    return full(shape, 0, dtype)


def ones(shape: object, dtype: object = None) -> Expression:
    """Ones of a shape, in which sizes may be unknown.

    Example:
        >>> sg.run(sg.ones((2,)))
        array([1., 1.], dtype=float32)
    """
    return full(shape, 1, dtype)


def full(shape: object, value: float, dtype: object = None) -> Expression:
    """A tensor of one value, of a shape in which sizes may be unknown.

    Example:
        >>> sg.run(sg.full((2,), 7, "int64"))
        array([7, 7])
    """
    if np.ndim(value):
        raise ShapeError(f"full: the value is one number, not {value!r:.80}")
    result: Expression = broadcast_to(constant(value, or_default(dtype)), shape)
    return result


def arange(
    start: Size | float,
    stop: Size | float | None = None,
    step: float = 1,
    dtype: object = None,
) -> Expression:
    """The numbers start, start + step, ... before stop; from 0 on if one number is given.

    Integers, of which `start` and `stop` may be unknown, give int64; floats float32.

    Example:
        >>> sg.run(sg.arange(3)), sg.run(sg.arange(5, 0, -2))
        (array([0, 1, 2]), array([5, 3, 1]))
    """
    limits: tuple[Any, Any] = (0, start) if stop is None else (start, stop)
    first, last = limits
    if any(isinstance(one, float | np.floating) for one in (*limits, step)):
        for one in (*limits, step):
            if not isinstance(one, int | float | np.number):
                raise OptionError(f"arange: {one!r} is no number beside one that is known")
        found = np.arange(first, last, step)
        return constant(found.astype(or_default(dtype)))
    for one in (first, last, step):
        is_known = hasattr(one, "__index__") and not isinstance(one, bool | Dim)
        if not isinstance(one, Dim) and not is_known:
            raise OptionError(f"arange: {one!r} is no size: an int, or the size of an axis")
    if isinstance(step, Dim) or step == 0:
        raise OptionError(f"arange: step={step} is unknown or 0")
    by = int(step)
    length = last - first if by > 0 else first - last
    size = dims.floor_divide(length + (abs(by) - 1), abs(by)) if abs(by) > 1 else length
    if not isinstance(size, Dim):
        if stop is None and size < 0:
            raise OptionError(f"arange: {start!r} is no size: an int from 0, or that of an axis")
        size = max(0, size)
    numbers = expression.construct(leaves.iota, (), {"size": size})
    numbers = numbers if by == 1 else numbers * by
    if isinstance(first, Dim):
        numbers = numbers + size_value(first, numbers)
    elif first != 0:
        numbers = numbers + first
    return numbers if dtype is None else astype(numbers, as_dtype(dtype))


def _as_array(value: object, dtype: object) -> Any:
    array = as_array(value)
    if dtype is not None:
        return converted(value, array, as_dtype(dtype))
    if not isinstance(value, np.ndarray | np.generic) and array.dtype == np.float64:
        return array.astype(get_default_dtype())
    return array
