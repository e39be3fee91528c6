"""What a captured function hands to something outside: a number to a total, a loss to a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.pytree import leaves, parts_of, with_parts
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.capture.effects import Handed, Keep
from staticgraph.dynamic.capture.traced import Traced

_PLAIN = (int, float, bool, str, type(None))


class Keeping:
    """The values that each call hands over, as they are when the function has returned.

    Attributes:
        results: the places of the results that are handed over.
    """

    def __init__(self) -> None:
        self.results: list[int] = []
        self._kept: list[tuple[Callable[[Any], None], Any]] = []

    def add(self, put: Callable[[Any], None], value: object) -> None:
        """Note a value, and what takes it."""
        for one in leaves(value):
            if isinstance(one, Traced):
                if _root(one)._outside and not one._weak:
                    refuse(
                        "keeps a tensor that is on the memory of one from outside",
                        "keep a copy: x.clone()",
                    )
            elif type(one) not in _PLAIN:
                refuse(f"keeps a value of type {type(one).__name__}", "keep numbers and tensors")
        self._kept.append((put, value))

    def steps(
        self, returned: Sequence[object], output: Callable[[Expression], int]
    ) -> Iterator[Keep]:
        """What each call does; `output` makes a result of an expression.

        A tensor that is returned, or kept, as well is refused: it would be two.
        """
        roots = [_root(one) for one in returned if isinstance(one, Traced)]

        def handed(value: Any) -> Any:
            if isinstance(value, tuple | list | dict):
                return with_parts(value, [handed(one) for one in parts_of(value)])
            if not isinstance(value, Traced):
                return value
            if not value._weak:
                if any(_root(value) is one for one in roots):
                    refuse(
                        "keeps a tensor that it also returns or keeps elsewhere, which would be "
                        "two in a graph",
                        "return or keep a copy: x.clone()",
                    )
                roots.append(_root(value))
            self.results.append(output(value.expression))
            return Handed(self.results[-1], value._weak)

        for put, value in self._kept:
            yield Keep(put, handed(value))


def _root(value: Any) -> Any:
    """The tensor of which one is a view; itself, if it is none."""
    while value._link is not None:
        value = value._link.parent
    return value


def plain_result(value: object) -> Callable[[Any], Any] | None:
    """What makes a number, an array or a scalar of NumPy's of a result, if it is no tensor."""
    if type(value) in (bool, int, float, Dim) or (isinstance(value, Traced) and value._weak):
        return _as_number
    if isinstance(value, np.ndarray):
        return _as_array
    return _as_scalar if isinstance(value, np.generic) else None


def _as_number(tensor: Any) -> Any:
    return tensor._array.item()


def _as_array(tensor: Any) -> Any:
    return tensor._array


def _as_scalar(tensor: Any) -> Any:
    return tensor._array[()]
