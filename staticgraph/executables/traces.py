"""Traces of executables: every value of a run, of the graph as it was defined or as it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.core.errors import OptionError
from compiler.graph.view import definition_of
from compiler.inspect.debug import Trace, trace
from compiler.runtime.sizes import feeds_of
from staticgraph.executables.executable import Executable

ITERATIONS = 3


def trace_of(executable: Executable, args: Sequence[object], kwargs: dict[str, Any]) -> Trace:
    """What `Executable.trace` gives; `kwargs` is taken over.

    Raises:
        OptionError: `rewrites` or `iterations` have a value that they cannot have.
    """
    names = {feed.name for feed in executable.feeds}
    rewrites = False if "rewrites" in names else kwargs.pop("rewrites", False)
    most = ITERATIONS if "iterations" in names else kwargs.pop("iterations", ITERATIONS)
    if not isinstance(rewrites, bool):
        raise OptionError(f"trace: rewrites is True or False, not {rewrites!r}")
    if most is not None and (type(most) is not int or most < 0):
        raise OptionError(f"trace: iterations is a number or None for all, not {most!r}")
    definition = definition_of(executable.lowered) if rewrites else executable.definition
    feeds = feeds_of(definition)
    return trace(definition, feeds, executable.name, args, kwargs, most)
