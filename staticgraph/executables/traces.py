"""Traces of executables: every value of a run, of the graph as it was defined or as it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.inspect.debug import Trace, trace
from staticgraph.compiler.runtime.sizes import feeds_of

if TYPE_CHECKING:
    import networkx as nx

ITERATIONS = 3


def trace_of(
    definition: Definition,
    lowered: Callable[[], nx.MultiDiGraph[int]],
    name: str,
    args: Sequence[object],
    kwargs: dict[str, Any],
) -> Trace:
    """What `Executable.trace` gives.

    Args:
        definition, name: of the executable.
        lowered: gives the graph after all rewrites.
        args, kwargs: of the call, and the options of `trace`; `kwargs` is taken over.

    Raises:
        OptionError: `rewrites` or `iterations` have a value that they cannot have.
    """
    names = {feed.name for feed in feeds_of(definition)}
    rewrites = False if "rewrites" in names else kwargs.pop("rewrites", False)
    most = ITERATIONS if "iterations" in names else kwargs.pop("iterations", ITERATIONS)
    if not isinstance(rewrites, bool):
        raise OptionError(f"trace: rewrites is True or False, not {rewrites!r}")
    if most is not None and (type(most) is not int or most < 0):
        raise OptionError(f"trace: iterations is a number or None for all, not {most!r}")
    shown = lowered() if rewrites else definition
    return trace(shown, feeds_of(shown), name, args, kwargs, most)
