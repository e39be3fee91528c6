"""How operands lie in memory: what kernels take of them, and which calls are alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any, Generic, TypeVar

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.reference.copies import copied

Kernel = TypeVar("Kernel")

_PLAIN = (int, str, type(None))


def row_major(array: object) -> Any:
    """The row-major array that holds the elements, or else a row-major copy; None if it is empty.

    None for what is no plain array as well.
    """
    held = held_by(array)
    if held is not None or type(array) is not np.ndarray or not array.size:
        return held
    return copied(array)


def held_by(array: Any) -> Any:
    """The row-major array that holds the elements, once each; None if there is no such array."""
    flags = array.flags
    if type(array) is not np.ndarray or not flags.aligned or not array.size:
        return None
    if flags.c_contiguous:
        return array
    held = array[tuple([slice(None) if stride else slice(1) for stride in array.strides])]
    return held if held.flags.c_contiguous else None


def tells_apart(given: Sequence[object]) -> bool:
    """Whether values of one type that equal these are the same: 0.0 equals -0.0, and is not it."""
    return not [one for one in given if type(one) is float and not one and copysign(1.0, one) < 0]


def options_of(attrs: Attrs) -> Any:
    """Attributes as a key; None if one of them is not plain."""
    found = []
    for name, value in attrs.items():
        if type(value) is float:
            value = value.hex()  # 0.0 and -0.0 are equal, but not the same
        elif not isinstance(value, _PLAIN) and not (
            type(value) is tuple and all(isinstance(item, _PLAIN) for item in value)
        ):
            return None
        found.append((name, value))
    return tuple(found)


@frozen
class Seen(Generic[Kernel]):
    """The kernel of a call, and of each array that it takes the place among the operands, with the
    index of what is held if axes only repeat it.
    """

    kernel: Kernel
    takes: tuple[tuple[int, Any], ...]

    def arrays_of(self, operands: Sequence[Any]) -> list[Any]:
        """The arrays that the kernel takes of operands of the same layout."""
        return [operands[i] if key is None else operands[i][key] for i, key in self.takes]


def call_of(
    op: Op, positions: tuple[int, ...] | None, operands: Sequence[Any], attrs: Attrs
) -> Any:
    """What is the same for calls of an op that one kernel serves in the same way; None if that
    depends on values.
    """
    options = options_of(attrs) if attrs else ()
    if options is None or op is ops.power:
        return None
    found: list[Any] = []
    for one in operands:
        if type(one) is np.ndarray:
            found.append((one.shape, one.strides, one.dtype))
        elif isinstance(one, np.ndarray | np.generic):
            return None
        else:  # nobody reads its elements
            found.append((one.shape, None, one.dtype))
    return op, positions, options, tuple(found)


def seen_with(
    kernel: Kernel, operands: Sequence[Any], arrays: Sequence[Any]
) -> Seen[Kernel] | None:
    """How a kernel was called that took these arrays; None if an operand had to be copied."""
    takes: list[tuple[int, Any]] = []
    places = [i for i, one in enumerate(operands) if isinstance(one, np.ndarray)]
    if len(places) != len(arrays):  # there are numbers besides
        return None
    for i, array in zip(places, arrays, strict=True):
        operand = operands[i]
        if array is operand:
            takes.append((i, None))
        elif held_by(operand) is None:
            return None
        else:
            takes.append((i, tuple([slice(None) if s else slice(1) for s in operand.strides])))
    return Seen(kernel, tuple(takes))
