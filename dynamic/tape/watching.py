"""Who is told of every op, recorded or not: nobody, unless the lint gives advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.lint_level import state
from staticgraph.dynamic.core.places import line_of, user_place
from staticgraph.dynamic.tape.grad_mode import paused

Watcher = Callable[[Op, Sequence[Any], Attrs, Any], None]

watching: list[None] = []
"""Not empty while ops are followed: then `paused` is not, either."""


def watch(follows: bool) -> None:
    """Follow ops, or no longer."""
    if follows and not watching:
        watching.append(None)
        paused.append(None)
    elif not follows and watching:
        watching.pop()
        paused.pop()


def told(op: Op, operands: Sequence[Any], attrs: Attrs, result: object) -> None:
    """Tell the lint of the value of an op."""
    from staticgraph.dynamic.tape import shadow

    shadow.follow(op, operands, attrs, result)


def told_wide(what: str) -> None:
    """Tell of a float32 operand that became float64."""
    from staticgraph.dynamic.tape import lint

    lint.tell("float64_operand", line_of(user_place()), lint.wide_message(what))


if state.level in ("warn", "error"):  # DYNAMIC_LINT says so
    watch(True)
