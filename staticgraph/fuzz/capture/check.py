"""Whether a captured function does what it does eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dynamic
import staticgraph as sg
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.capture.compare import REFUSED, SAME, SKIPPED, compared
from staticgraph.fuzz.capture.program import FILE, leaves, resized, source
from staticgraph.fuzz.eager.script import leaf


def check(program: Program) -> str | None:
    """What is wrong, or None: on its arguments, and on those of another size."""
    function = compiled(program)
    captured = sg.function(function, debug=program.get("mode") == "debug")
    calls = [program, resized(program)] if program.get("again") else [program]
    for i, one in enumerate(calls):
        found = compared(function, captured, arguments(one))
        if found not in (SAME, REFUSED, SKIPPED):
            return ("in the second call, " if i else "") + found
    return None


def compiled(program: Program) -> Callable[..., Any]:
    """The function of a program."""
    names: dict[str, Any] = {"torch": dynamic}
    exec(compile(source(program), FILE, "exec"), names)
    return names["f"]


def arguments(program: Program) -> list[Any]:
    """Its arguments."""
    return [eval(leaf(step), {"torch": dynamic}) for step in leaves(program)]
