"""Hooks: functions that a module calls before and after its forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.record import frozen


@frozen
class Hook:
    """A function, whether it gets keyword arguments, and whether it runs after an exception."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
