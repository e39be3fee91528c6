"""Methods that classes inherit from private ones, under the names of the classes."""

from __future__ import annotations

from types import FunctionType
from typing import Any


def name_constructor(kind: type) -> None:
    """Give a class of the package its own copy of an inherited `__init__`, named after it.

    Python's errors about arguments then name the class that was called, not one within.
    """
    if "__init__" not in vars(kind) and kind.__module__.startswith("staticgraph.dynamic."):
        copy_method(kind, "__init__")


def copy_method(kind: type, name: str) -> None:
    """Give a class its own copy of an inherited method, named after the class."""
    method: Any = vars(next(one for one in kind.__mro__ if name in vars(one)))[name]
    own = FunctionType(
        method.__code__, method.__globals__, name, method.__defaults__, method.__closure__
    )
    own.__kwdefaults__ = method.__kwdefaults__
    own.__doc__, own.__annotations__ = method.__doc__, method.__annotations__
    own.__qualname__ = f"{kind.__name__}.{name}"
    setattr(kind, name, own)
