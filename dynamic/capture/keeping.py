"""What a captured function hands to something outside: a number to a total, a loss to a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.capture.effects import Keep
from staticgraph.dynamic.capture.traced import Traced

_PLAIN = (int, float, bool, str, type(None))


class Keeping:
    """The values that each call hands over, as they are when the function has returned."""

    def __init__(self) -> None:
        self._kept: list[tuple[Callable[[Any], None], Any]] = []

    def add(self, put: Callable[[Any], None], value: object) -> None:
        """Note a value, and what takes it."""
        if isinstance(value, Traced):
            if _root(value)._outside:
                refuse(
                    "keeps a tensor that is on the memory of one from outside",
                    "keep a copy: x.clone()",
                )
        elif type(value) not in _PLAIN:
            refuse(f"keeps a value of type {type(value).__name__}", "keep numbers and tensors")
        self._kept.append((put, value))

    def steps(
        self, returned: Sequence[object], output: Callable[[Expression], int]
    ) -> Iterator[Keep]:
        """What each call does; `output` makes a result of an expression.

        A tensor that is returned as well is refused: it would be two.
        """
        roots = [_root(one) for one in returned if isinstance(one, Traced)]
        for put, value in self._kept:
            if not isinstance(value, Traced):
                yield Keep(put, None, False, value)
                continue
            if not value._weak and any(_root(value) is one for one in roots):
                refuse(
                    "keeps a tensor that it also returns, which would be two in a graph",
                    "return or keep a copy: x.clone()",
                )
            yield Keep(put, output(value.expression), value._weak, None)


def _root(value: Any) -> Any:
    """The tensor of which one is a view; itself, if it is none."""
    while value._link is not None:
        value = value._link.parent
    return value
