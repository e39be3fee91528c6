"""From a graph to a kernel: the passes and the emitter in a row."""

from __future__ import annotations

import networkx as nx

from compiler.emit.kernel import Kernel, emit
from compiler.options import Options
from compiler.passes.arrange import arrange_rows
from compiler.passes.pipeline import optimise
from compiler.passes.recompute import recompute_values
from compiler.passes.roots import separate_roots
from compiler.passes.sizes import unify_sizes

__all__ = ["Options", "lower"]


def lower(graph: nx.MultiDiGraph[int], options: Options) -> tuple[nx.MultiDiGraph[int], Kernel]:
    """The graph after all passes, and its kernel."""
    unified, _ = unify_sizes(graph)
    lowered = separate_roots(optimise(unified, options.numerics, options.disabled))
    if options.fuse and recompute_values.__name__ not in options.disabled:
        lowered = recompute_values(lowered)
    if options.fuse and arrange_rows.__name__ not in options.disabled:
        lowered = arrange_rows(lowered)
    return lowered, emit(lowered, separate=not options.fuse)
