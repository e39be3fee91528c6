"""Whether a captured function does what it does eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.fuzz.campaign import Program
from staticgraph.fuzz.capture.compare import REFUSED, SAME, SKIPPED, Compared, compared
from staticgraph.fuzz.capture.program import FILE, leaves, lines, name_of, resized, source
from staticgraph.fuzz.coverage import note
from staticgraph.fuzz.eager.script import leaf

CAPTURED = "captured"
OUTCOMES = (CAPTURED, REFUSED)
"""How it goes with a public name: it is part of a captured function, or refused in one."""


def check(program: Program) -> str | None:
    """What is wrong, or None: on its arguments, and on those of another size."""
    function = compiled(program)
    captured = sg.function(function, debug=program.get("mode") == "debug")
    calls = [program, resized(program)] if program.get("again") else [program]
    for i, one in enumerate(calls):
        found = compared(function, captured, arguments(one))
        if found.verdict not in (SAME, REFUSED, SKIPPED):
            return ("in the second call, " if i else "") + found.verdict
        if not i:
            _note(program, found)
    return None


def _note(program: Program, found: Compared) -> None:
    """Note the names of the steps that surely ran in a captured function, or of that refused."""
    for step, first, last in lines(program):
        name = name_of(step)
        if name is not None and found.verdict == SAME and "if" not in step and "loop" not in step:
            note(name, CAPTURED)
        if name is not None and found.verdict == REFUSED and first <= found.line <= last:
            note(name, REFUSED, found.reason)


def compiled(program: Program) -> Callable[..., Any]:
    """The function of a program."""
    names: dict[str, Any] = {"torch": dynamic}
    exec(compile(source(program), FILE, "exec"), names)
    return names["f"]


def arguments(program: Program) -> list[Any]:
    """Its arguments."""
    return [eval(leaf(step), {"torch": dynamic}) for step in leaves(program)]
