"""Lint of a graph that is compiled: warnings at the user's lines, or an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.errors import LintError, LintWarning, OptionError
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.definition import Definition, define
from staticgraph.compiler.graph.expression import Expression, user_line
from staticgraph.compiler.graph.notes import notes_of
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.inspect.lint.certain import CERTAIN, zero_gradient
from staticgraph.compiler.inspect.lint.rules import Captured, Finding, Linted
from staticgraph.compiler.ops import leaves

LEVELS = ("certain", "warn", "error", "off")
LATER = frozenset(("bias_never_updated", "gradient_not_used"))
"""Rules that speak at the first call: what is compiled until then may be what they miss."""

_told: dict[Any, int] = {}  # the registry in which `warnings` keeps what it has shown


def check_level(level: object) -> str:
    """The level that `compile(lint=)` names; OptionError if there is none."""
    if level is None:
        return "off"
    if level not in LEVELS:
        raise OptionError(f"compile: lint is one of {LEVELS} or None, not {level!r}")
    return str(level)


def lint(
    level: str,
    definition: Definition,
    roots: Iterable[Expression],
    reads: Mapping[tuple[str, int], str],
    arguments: Collection[int] = (),
    captured: Captured | None = None,
) -> Callable[[], None] | None:
    """Look at a graph, and warn.

    Args:
        level: "certain", "warn" or "error".
        definition: the graph.
        roots: its outputs and the new values of its variables, as expressions.
        reads: the lines that read a variable's value so far.
        arguments: the nodes of what the caller of a captured function gives.
        captured: what that does besides.

    Returns:
        What is to be called before the first call, if anything is.

    Raises:
        LintError: with the level "error", if anything is found.
    """
    expressions = ancestors(roots)
    notes = notes_of(expressions)
    serials = frozenset([one.serial for one in expressions]) if notes else frozenset[int]()
    line = user_line() if reads else ""
    linted = Linted(definition, notes, serials, dict(reads), line, frozenset(arguments), captured)
    if level == "certain":
        found = CERTAIN.findings(linted)
        later = [one for one in found if one.rule in LATER]
        for one in found:
            if one.rule not in LATER:
                _warn(one)
        return (lambda: _again(linted, later)) if later else None
    with fork.importing():
        from staticgraph.compiler.inspect.lint.advice import ALL

    found = ALL.findings(linted)
    if level == "error" and found:
        raise LintError("\n".join(map(_written, found)))
    for one in found:
        _warn(one)
    return None


def advise(output: Expression) -> list[Finding]:
    """What the rules, those for advice too, find in what an expression is made of."""
    with fork.importing():
        from staticgraph.compiler.inspect.lint.advice import ALL

    given = [one for one in ancestors([output]) if one.op is leaves.placeholder]
    return ALL.findings(Linted(define(given, [output])))


def lint_gradients(level: str, definition: Definition, gradients: Iterable[Expression]) -> None:
    """Tell of gradients that are zero everywhere, where nobody has named what they are by.

    Raises:
        LintError: with the level "error", if there is one.
    """
    notes = notes_of(gradients)
    if not notes:
        return
    linted = Linted(definition, notes)
    found = [Finding(zero_gradient.__name__, *one) for one in zero_gradient(linted)]
    if level == "error" and found:
        raise LintError("\n".join(map(_written, found)))
    for one in found:
        _warn(one)


def _again(linted: Linted, later: list[Finding]) -> None:
    """Warn of what is still so, once of each variable."""
    found = {one.source: one for one in reversed(CERTAIN.findings(linted)) if one in later}
    for one in found.values():
        _warn(one)


def _written(found: Finding) -> str:
    return f"{found.message} [{found.rule}] ({found.source})"


def _warn(found: Finding) -> None:
    file, _, line = place_of(found.source).rpartition(":")
    text = f"{found.message} [{found.rule}]"
    if line.isdigit():
        warnings.warn_explicit(text, LintWarning, file, int(line), registry=_told)
    else:
        warnings.warn(_written(found), LintWarning, stacklevel=2)
