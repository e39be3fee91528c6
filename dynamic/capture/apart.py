"""Whether what a captured function changes in place is on memory of its own."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.core.errors import CaptureError

_WORK = 10_000


class Apart:
    """The memory of the operands of a function, of which some are changed.

    Args:
        changed: the places of these, with the line that changes each.
    """

    def __init__(self, changed: Mapping[int, str]) -> None:
        self._changed = changed
        self._known: list[Any] = []
        self._owners: set[int] = set()

    def check(self, arrays: Sequence[Any]) -> None:
        """Refuse a call in which an array that is changed is on memory of another one."""
        known = self._known
        if known and all(map(operator.is_, arrays, known)):
            return
        if not known or any(arrays[i] is not known[i] for i in self._changed):
            self._owners = memory_of([arrays[i] for i in self._changed])
            new = [*range(len(arrays))]
        else:
            new = [i for i, x in enumerate(arrays) if x is not known[i]]
        for i in new:
            if not isinstance(arrays[i], np.ndarray) or self._is_alone(arrays[i], i):
                continue
            for j, line in self._changed.items():
                if i != j and isinstance(arrays[j], np.ndarray) and share(arrays[i], arrays[j]):
                    refuse_shared("another tensor that the function reads", line)
        self._known = [*arrays]

    def _is_alone(self, array: Any, place: int) -> bool:
        """Whether it is told at once that an array shares no memory with those that change."""
        owner = _owner(array)
        return (
            place not in self._changed
            and isinstance(owner, np.ndarray)
            and id(owner) not in self._owners
        )


def share(x: Any, y: Any) -> bool:
    """Whether two arrays have elements in common, as far as that is found out with little work."""
    if not np.may_share_memory(x, y):
        return False
    try:
        return np.shares_memory(x, y, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def memory_of(arrays: Sequence[Any]) -> set[int]:
    """What the memory of arrays belongs to, by identity."""
    return {id(_owner(one)) for one in arrays if isinstance(one, np.ndarray)}


def refuse_shared(other: str, line: str) -> NoReturn:
    """Refuse to change one of two that share memory."""
    raise CaptureError(
        f"{line}: changes a tensor in place that shares memory with {other}, which would be read "
        "as it was before: clone() one of them, or read one tensor alone"
    )


def _owner(array: Any) -> Any:
    """What the memory of an array belongs to: an array, or another object."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else array.base
