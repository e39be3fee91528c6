"""Single elements that a function reads of an array around it, which else is an operand.

`float(rates[3])` needs one number before the function runs: that number is a guard, compared in the
memory that it is in, and what the array holds beside it is read by each call, or by none.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import numpy as np

from staticgraph.compiler.core.refusals import user_place
from staticgraph.tracing.guards import Read

MOST = 64
"""The elements that are compared one by one: where more are needed, arrays are constants."""


class ElementReads:
    """The elements that are read of the arrays around one function.

    Args:
        add: takes a guard.

    Attributes:
        wanted: whether elements are given at once, and compared at each call from then on.
        asked: whether there were any that could have been.
    """

    __slots__ = ("_add", "_arrays", "_known", "asked", "wanted")

    def __init__(self, add: Callable[[Read], object]) -> None:
        self._add = add
        self._known: set[int] = set()
        self._arrays: set[int] = set()
        self.wanted = self.asked = False

    def take(self, owner: Elements, element: np.ndarray, key: tuple[object, ...]) -> bool:
        """Whether the value of an element, of which this is a view, is given at once."""
        self.asked = True
        if not self.wanted:
            return False
        where = element.ctypes.data
        if where not in self._known:
            if len(self._known) >= MOST:
                return False
            self._known.add(where)
            self._arrays.add(id(owner.array))
            name = f"{owner.name}[{', '.join(map(_written, key))}]"
            place = user_place().partition(": `")[0]
            self._add(Read("bytes", element, None, element.tobytes(), name, place))
        return True

    def are_of(self, arrays: Container[int]) -> bool:
        """Whether some are of these arrays, by identity."""
        return any(one in arrays for one in self._arrays)


class Elements:
    """What an array around a function holds, while what stands for it is indexed.

    Args:
        array: the array.
        name: what it is called.
        reads: what takes its elements.
        view: of the array: the whole, or a part of it that was indexed.
        key: where that is.
    """

    __slots__ = ("_key", "_reads", "_view", "array", "name")

    def __init__(
        self,
        array: np.ndarray,
        name: str,
        reads: ElementReads,
        view: np.ndarray | None = None,
        key: tuple[object, ...] = (),
    ) -> None:
        self.array, self.name, self._reads, self._key = array, name, reads, key
        self._view = array if view is None else view

    def at(self, key: object) -> Any:
        """What `view[key]` is: the value of an element if it is given at once, a part, or None."""
        parts = key if isinstance(key, tuple) else (key,)
        if not all(map(_is_basic, parts)):
            return None
        every = parts if any(one is Ellipsis for one in parts) else (*parts, Ellipsis)
        try:
            view = self._view[every]
        except IndexError:  # what stands for the array says so
            return None
        key = *self._key, *parts
        if view.ndim:
            return Elements(self.array, self.name, self._reads, view, key)
        return view[()] if self._reads.take(self, view, key) else None


def _written(part: object) -> str:
    if not isinstance(part, slice):
        return "..." if part is Ellipsis else str(part)
    ends = ["" if one is None else str(one) for one in (part.start, part.stop, part.step)]
    return ":".join(ends if ends[2] else ends[:2])


def _is_basic(part: object) -> bool:
    if isinstance(part, slice):
        return all(one is None or type(one) is int for one in (part.start, part.stop, part.step))
    return part is None or part is Ellipsis or type(part) is int or isinstance(part, np.integer)
