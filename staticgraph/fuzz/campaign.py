"""What a campaign is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from staticgraph.compiler.core.errors import OptionError
from staticgraph.fuzz.coverage import Coverage

Program: TypeAlias = "dict[str, Any]"
"""Plain data, as JSON has it: `steps`, a list, and whatever else a campaign needs. The runner adds
`mode`."""

CAMPAIGNS: dict[str, str] = {
    "graphs": "staticgraph.fuzz.graphs",
    "eager": "staticgraph.fuzz.eager",
    "files": "staticgraph.fuzz.files",
    "cache": "staticgraph.fuzz.cache",
    "calls": "staticgraph.fuzz.calls",
    "capture": "staticgraph.fuzz.capture",
}
"""The module of each campaign."""


def _unchanged(program: Program) -> Program | None:
    return program


def _nothing_simpler(_program: Program) -> Iterable[Program]:
    return ()


@dataclass(frozen=True, slots=True)
class Campaign:
    """Random programs, and what must hold for each.

    Attributes:
        title: one line of the help.
        generate: the program of a seed, always the same.
        check: None, or what is wrong: a first line that names the kind of failure, without the
            program's own numbers, and any further lines. An exception is a failure too.
        script: the program as Python that shows the failure through the public interface.
        mend: a program of which some steps were left out, without what depends on them; None if
            nothing sensible is left.
        simplify: programs that are a little simpler than a failing one, the boldest first.
        modes: what `--mode` may be; the first is the default.
        seconds: the longest that a program may take.
        coverage: what `note` has noted in all programs, as a text; None: nothing is noted.
    """

    title: str
    generate: Callable[[int], Program]
    check: Callable[[Program], str | None]
    script: Callable[[Program], str]
    mend: Callable[[Program], Program | None] = _unchanged
    simplify: Callable[[Program], Iterable[Program]] = _nothing_simpler
    modes: tuple[str, ...] = ("full",)
    seconds: float = 60.0
    coverage: Callable[[Coverage], str] | None = None


def load(module: str) -> Campaign:
    """The campaign that a module declares."""
    try:
        found = importlib.import_module(module).CAMPAIGN
    except (ImportError, AttributeError) as error:
        raise OptionError(f"fuzz: {module} declares no campaign: {error}") from error
    assert isinstance(found, Campaign)
    return found


def module_of(name: str) -> str:
    """The module of a campaign, which a dotted name is itself; OptionError if there is none."""
    if "." in name:
        return name
    if name not in CAMPAIGNS:
        raise OptionError(f"fuzz: unknown campaign {name!r}: known are {', '.join(CAMPAIGNS)}")
    return CAMPAIGNS[name]
