"""From a definition to an executable: launch plan and code from the cache, or else compiled."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from staticgraph.compiler.core import collection, fork
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.log import log, told
from staticgraph.compiler.core.options import BACKENDS, Options
from staticgraph.compiler.core.settings import DUMP
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.dump import dump
from staticgraph.compiler.graph.definition import Definition, require_lowerings
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runtime.background import beside
from staticgraph.compiler.runtime.blas import find_products
from staticgraph.compiler.runtime.cache.loader import (
    load_kernel,
    load_launch_plan,
    load_with_numba,
    place_of,
)
from staticgraph.compiler.runtime.launch_plan import LaunchPlan
from staticgraph.compiler.runtime.shared_code import shared_code
from staticgraph.compiler.runtime.sizes import feeds_of
from staticgraph.compiler.runtime.threads import check_count


def compile_graph(
    definition: Definition,
    restructure: Callable[[list[Value]], object],
    name: str,
    options: Options,
    waits: bool = True,
) -> CompiledRunner:
    """Compile a graph; from the kernel cache if it is there.

    Args:
        restructure: what puts the list of results into the structure that calls return.
        waits: whether a call waits for a kernel for its inputs' order.
    """
    _check(definition, options)
    feeds = feeds_of(definition)
    with collection.paused():
        place = place_of(definition, options)
        found = None if place is None or DUMP.given else load_launch_plan(place, definition)
        if found is not None:
            log("cache", f"{name}: loaded")
            return CompiledRunner(
                definition, *found, feeds, restructure, name, options, _plain, waits
            )
        start = time.perf_counter()
        with beside(shared_code(definition)) as ready:
            # importing what compiles takes longer than a start from the cache has
            with fork.importing():
                from staticgraph.compiler.driver import lower
                from staticgraph.compiler.runtime.launch_planning import launch_plan_of

            lowering = lower(definition, options)
            kernel = lowering[1]
            launch_plan = launch_plan_of(kernel, definition)
            emitted = time.perf_counter()
            with beside(partial(_find_products, launch_plan, ready)):
                if options.backend == "numba":
                    native = load_with_numba(kernel, launch_plan, ready)
                else:
                    native = load_kernel(kernel, launch_plan, place, ready)
        if "compile" in told:
            passes, code = emitted - start, time.perf_counter() - emitted
            log(
                "compile",
                f"{name}: {len(definition.nodes)} nodes, {len(kernel.units)} units: "
                f"passes {passes:.3f} s, machine code {code:.3f} s",
            )
        if DUMP.given:
            log("compile", f"{name}: written to {dump(name, lowering[0], kernel)}")
    return CompiledRunner(
        definition,
        launch_plan,
        native,
        feeds,
        restructure,
        name,
        options,
        _plain,
        waits,
        lowering,
    )


def _find_products(launch_plan: LaunchPlan, ready: Callable[[], None]) -> None:
    """Products that could not be foreseen, after those that were: nothing is made twice."""
    ready()
    find_products(launch_plan)


def _plain(definition: Definition, name: str, options: Options) -> CompiledRunner:
    """What gives its results as a list."""
    return compile_graph(definition, list, name, options)


def is_cached(definition: Definition, options: Options) -> bool:
    """Whether the kernel cache has an entry for a graph, so that compiling it takes no time."""
    _check(definition, options)
    place = place_of(definition, options)
    return place is not None and place.store.read(place.key) is not None


def _check(definition: Definition, options: Options) -> None:
    require_lowerings(definition.nodes)
    if options.backend not in BACKENDS:
        raise OptionError(f"compile: backend is one of {BACKENDS}, not {options.backend!r}")
    if options.threads is not None:
        check_count("compile", options.threads)
