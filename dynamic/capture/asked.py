"""What a traced tensor answers when code asks for the truth of its value."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.deciding import Decider, decider_of_user
from staticgraph.compiler.graph.expression import Expression


class Asked:
    """The part of a traced tensor that is about branches on values."""

    __slots__ = ()

    _array: Any
    _current: Any

    def __bool__(self) -> bool:
        current = decider_of_user()
        if current is None or not self._is_unknown() or self._array.size != 1:
            return bool(super().__bool__())  # type: ignore[misc]
        return _truth(current, self._current())

    def __contains__(self, value: object) -> bool:
        current = decider_of_user()
        if current is None or not self._is_unknown():
            return bool(super().__contains__(value))  # type: ignore[misc]
        return _truth(current, ops.any(ops.equal(self, value)).expression)

    def _is_unknown(self) -> bool:
        """Whether its values are not known."""
        return isinstance(self._current(), Expression)


def _truth(current: Decider, value: Any) -> bool:
    """The outcome for a value of one element."""
    value = ops.reshape(value, ()) if value.ndim else value
    return current.truth(value if value.dtype.kind == "b" else value != 0)
