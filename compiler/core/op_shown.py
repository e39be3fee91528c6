"""What `help`, editors, `inspect` and `typing` show of an op: the function that it is."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_type_hints


class Own:
    """An attribute of each op where its class has another, or none."""

    __slots__ = ("_of_class", "_of_op")

    def __init__(self, of_op: Callable[[Any], object], of_class: object = None) -> None:
        self._of_op, self._of_class = of_op, of_class

    def __get__(self, op: Any, kind: type) -> Any:
        if op is not None:
            return self._of_op(op)
        if self._of_class is None:
            raise AttributeError
        return self._of_class


def documentation(op: Any) -> str:
    """What `help` shows, made when somebody asks for it."""
    wrapped = functools.partial(textwrap.fill, width=100, break_on_hyphens=False)
    parts = [wrapped(f"{op.name}{op.signature}", subsequent_indent="    ")]
    parts += map(wrapped, inspect.cleandoc(op.doc).split("\n\n"))
    return "\n\n".join(parts) + shown_example(op)


def shown_example(op: Any) -> str:
    """The end of a documentation: the example, if there is one."""
    indented = op.example.replace("\n", "\n    ")
    return f"\n\nExample:\n    {indented}" if op.example else ""


def hints(op: Any) -> dict[str, Any]:
    """What `typing.get_type_hints` says: the types of the options, of which operands have none."""
    of = op.signature.parameters.values()
    shown = {one.name: one.annotation for one in of if one.annotation is not one.empty}
    names = getattr(op.bind, "__globals__", {})
    return get_type_hints(SimpleNamespace(__annotations__=shown), names)


class Annotations(dict[str, Any]):
    """The annotations of the record, and of each op its own."""

    def __get__(self, op: Any, kind: type) -> dict[str, Any]:
        return self if op is None else hints(op)
