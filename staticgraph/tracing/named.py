"""What the names of a function that is traced stand for when it returns, for who steps through it.

Of what is neither an array nor a number, nor a tuple, list or dict of such, nothing is kept: a
trace holds no objects of the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.graph.definition import intern_key
from staticgraph.compiler.graph.expression import Expression, Handle, construct
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops import leaves

MOST = 64
"""The items of a tuple, list or dict that is kept, and the elements of an array of NumPy."""

_PLAIN = (bool, int, float, complex, str, type(None))
_calls: ContextVar[list[dict[str, object]] | None] = ContextVar("calls", default=None)


class NotKeptError(Exception):
    """A value is of no kind that is kept."""


@contextmanager
def collecting_names() -> Iterator[list[dict[str, object]]]:
    """Collect what the names stand for in the block, once for each call of the function."""
    calls: list[dict[str, object]] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def note_names(values: Mapping[str, object]) -> None:
    """A call of the function that is traced returns, and its names have these values."""
    calls = _calls.get()
    if calls is None:
        return
    found: dict[str, object] = {}
    for name, value in values.items():
        try:
            found[name] = _kept(value)
        except NotKeptError:
            continue
    calls.append(found)


def joined(calls: Sequence[Mapping[str, object]], has_ways: bool) -> Mapping[str, object]:
    """What the names stand for in the end.

    `has_ways`: whether it was called once for each way through its branches. Then those are left
    out that stand for something else on another way.
    """
    if not calls:
        return {}
    last = calls[-1]
    if not has_ways:
        return last
    same = _Same()
    return {
        name: value
        for name, value in last.items()
        if all(name in one and same(value, one[name]) for one in calls)
    }


class _Same:
    """Whether values of several calls are the same, as far as they are computed in the same way."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._known: dict[object, int] = {}

    def __call__(self, one: Any, other: Any) -> bool:
        """Compare two values as they are kept."""
        if issubclass(type(one), Expression) and issubclass(type(other), Expression):
            return self._number(one) == self._number(other)
        if type(one) is not type(other):
            return False
        if type(one) in (tuple, list, dict):
            keys = [*one] == [*other] if type(one) is dict else len(one) == len(other)
            values = (one.values(), other.values()) if type(one) is dict else (one, other)
            return keys and all(map(self, *values))
        return one is other or (type(one) in _PLAIN and bool(one == other))

    def _number(self, expression: Expression) -> int:
        for one in ancestors([expression]):
            if one.serial not in self._numbers:
                operands = tuple([self._numbers[operand.serial] for operand in one.operands])
                key = intern_key(one.op, operands, one.attrs)
                self._numbers[one.serial] = self._known.setdefault(key, len(self._known))
        return self._numbers[expression.serial]


def _kept(value: Any) -> object:
    """A value as it is kept: with expressions for what stands for arrays and sizes."""
    kind = type(value)
    if kind in _PLAIN or issubclass(kind, Expression | np.generic):
        return value
    if kind is Dim:
        return construct(leaves.size_of, (), {"size": value})
    if issubclass(kind, Handle):
        latest: Any = getattr(value, "latest", None)  # refuses nothing, unlike `expression`
        if latest is not None:
            return latest
    if kind is dict and len(value) <= MOST:
        return {key: _kept(one) for key, one in value.items() if type(key) in _PLAIN}
    if kind is list and len(value) <= MOST:
        return list(map(_kept, value))
    if issubclass(kind, tuple) and len(value) <= MOST:
        return tuple(map(_kept, value))
    if kind is np.ndarray and value.size <= MOST:
        return value.copy()
    raise NotKeptError
