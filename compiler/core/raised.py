"""Errors of the user's as attributes of ops: what a graph raises where the function would."""

from __future__ import annotations

import builtins
from typing import TypeAlias

from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.user_text import UserText

Raised: TypeAlias = "tuple[UserText, UserText, tuple[UserText | int | float | bool | None, ...]]"
"""Module and name of the class of an error, and its arguments."""

_PLAIN = (str, int, float, bool, type(None))
_classes: dict[tuple[str, str], type[Exception]] = {
    (builtins.__name__, name): one
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, Exception)
}


def raised(error: Exception) -> Raised | None:
    """An error as an attribute; None if its class and arguments do not say all about it."""
    kind = type(error)
    if not all(type(one) in _PLAIN for one in error.args):
        return None
    try:
        again = kind(*error.args)
    except Exception:
        return None
    if type(again) is not kind or str(again) != str(error) or vars(again) != vars(error):
        return None
    _classes[kind.__module__, kind.__qualname__] = kind
    args = tuple([UserText(one) if isinstance(one, str) else one for one in error.args])
    return UserText(kind.__module__), UserText(kind.__qualname__), args


def error_of(attribute: Raised) -> Exception:
    """The error again; GraphError in a process that has never met its class."""
    module, name, args = attribute
    plain = [one.text if isinstance(one, UserText) else one for one in args]
    kind = _classes.get((module.text, name.text))
    if kind is None:
        return GraphError(f"{module.text}.{name.text}: {', '.join(map(str, plain))}")
    error = kind(*plain)
    error.is_of_user = True  # type: ignore[attr-defined]
    return error
