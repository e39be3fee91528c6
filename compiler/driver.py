"""From a graph to a kernel: the passes and the emitter in a row."""

from __future__ import annotations

from collections.abc import Collection

from staticgraph.compiler.codegen.budget import recompute_groups
from staticgraph.compiler.codegen.kernel import Kernel, arena_bytes, emit
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.reports import accept, on_trial
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.ops.programs.regions import recompute
from staticgraph.compiler.passes.complex_numbers import split_complex
from staticgraph.compiler.passes.copy_insertion import separate_roots
from staticgraph.compiler.passes.sizes import unify_sizes
from staticgraph.compiler.pipeline import optimise, recompute_regions
from staticgraph.compiler.schedule.layouts import arrange_rows
from staticgraph.compiler.schedule.recompute import recompute_values

__all__ = ["Options", "lower"]

TYPICAL = (64, 4096)  # what memory is compared for, where sizes are unknown


def lower(graph: Definition, options: Options) -> tuple[Definition, Kernel]:
    """The graph after all passes, and its kernel."""
    unified, _ = unify_sizes(graph)
    unified = split_complex(unified)
    with on_trial() as reports:
        lowered = _rewritten(unified, options, options.disabled)
    if _holds_copies(unified) and recompute_regions.__name__ not in options.disabled:
        with on_trial() as reports_of_kept:
            kept = _rewritten(unified, options, {*options.disabled, recompute_regions.__name__})
        with on_trial():
            takes_less = _takes_less(lowered, kept, not options.fuse)
        if not takes_less:
            lowered, reports = kept, reports_of_kept
    accept(reports)
    separate, checks = not options.fuse, options.on_nonfinite is not None
    fusion = None
    if options.memory is not None:
        again = recompute_groups.__name__ not in options.disabled
        fitted = recompute_groups(
            lowered,
            options.memory,
            dict(options.memory_at),
            separate=separate,
            keeps=checks,
            again=again,
        )
        lowered, fusion = fitted.graph, fitted.fusion
    exact = options.numerics == "exact"
    return lowered, emit(lowered, separate, checks=checks, blas_alone=exact, fusion=fusion)


def _rewritten(graph: Definition, options: Options, disabled: Collection[str]) -> Definition:
    """The graph after all passes but those that `disabled` names."""
    lowered = separate_roots(optimise(graph, options.numerics, disabled))
    if options.fuse and recompute_values.__name__ not in disabled:
        lowered = recompute_values(lowered)
    if options.fuse and arrange_rows.__name__ not in disabled:
        lowered = arrange_rows(lowered)
    return lowered


def _holds_copies(graph: Definition) -> bool:
    """Whether there are copies of checkpointed regions, in loops and branches too."""
    return any(
        node.op is recompute
        or any(
            isinstance(one, Body) and _holds_copies(one.definition) for one in node.attrs.values()
        )
        for node in graph.nodes
    )


def _takes_less(left: Definition, right: Definition, separate: bool) -> bool:
    """Whether a graph takes less memory than another, and more for no sizes that are tried."""
    pairs = [[arena_bytes(graph, separate, size) for graph in (left, right)] for size in TYPICAL]
    return all(one <= other for one, other in pairs) and any(one < other for one, other in pairs)
