"""Constructors that classes inherit from private ones, under the names of the classes."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def name_constructor(kind: type) -> None:
    """Give a class of the package its own copy of an inherited `__init__`, named after it.

    Python's errors about arguments then name the class that was called, not one within.
    """
    init: Any = vars(next(one for one in kind.__mro__ if "__init__" in vars(one)))["__init__"]
    if "__init__" in vars(kind) or not kind.__module__.startswith("dynamic."):
        return
    own = FunctionType(
        init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__
    )
    own.__kwdefaults__ = init.__kwdefaults__
    own.__doc__, own.__annotations__ = init.__doc__, init.__annotations__
    own.__qualname__ = f"{kind.__name__}.__init__"
    setattr(kind, "__init__", own)  # noqa: B010 - mypy takes an assignment for a mistake
