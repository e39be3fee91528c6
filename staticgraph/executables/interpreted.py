"""Runners that run op by op with NumPy: while a kernel is compiled, or to debug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.compile import compile_graph
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.inspect.debug import Step
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.inspect.lost import Lost
from staticgraph.compiler.pipeline import pipeline
from staticgraph.compiler.runners.background import BackgroundRunner
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runners.debug import DebugRunner
from staticgraph.compiler.runners.runner import Runner
from staticgraph.compiler.runtime.sizes import feeds_of


def run_op_by_op(
    definition: Definition,
    restructure: Callable[[list[Any]], object],
    name: str,
    options: Options,
    background: bool,
    debug: bool | Callable[[Step], None],
) -> Runner:
    """What runs op by op: for ever in debug mode, or until a kernel is there."""
    if not isinstance(debug, bool) and not callable(debug):
        raise OptionError(f"compile: debug is True, False or a function of steps, not {debug!r}")
    if background and debug:
        raise OptionError("compile: debug compiles nothing that could be left to the background")
    pipeline(options.numerics, options.disabled)  # what it raises, it raises here
    lost = None if options.on_nonfinite is None else Lost(options.on_nonfinite)
    interpreted = Interpreted(definition, feeds_of(definition), restructure, name, lost)
    if debug:
        return DebugRunner(interpreted, debug if callable(debug) else None)

    def make(definition: Definition) -> CompiledRunner:
        return compile_graph(definition, restructure, name, options, waits=False)

    return BackgroundRunner(interpreted, make)
