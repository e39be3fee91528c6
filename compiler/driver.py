"""From a graph to an executable: the passes, the emitter and the native compiler in a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx

from compiler.emit.kernel import Kernel, emit
from compiler.passes.pipeline import optimise
from compiler.passes.roots import separate_roots
from compiler.passes.sizes import unify_sizes
from compiler.runtime.executable import Executable
from compiler.runtime.sizes import Feed


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile.

    Attributes:
        numerics: "strict" (every rewrite exact or more stable) or "fast" (may round differently).
        disabled: names of rewrites to leave out.
        fuse: False gives every node a loop and memory of its own.
    """

    numerics: str = "strict"
    disabled: frozenset[str] = frozenset()
    fuse: bool = True


def lower(graph: nx.MultiDiGraph[int], options: Options) -> tuple[nx.MultiDiGraph[int], Kernel]:
    """The graph after all passes, and its kernel."""
    unified, _ = unify_sizes(graph)
    lowered = separate_roots(optimise(unified, options.numerics, options.disabled))
    return lowered, emit(lowered, separate=not options.fuse)


def compile_graph(
    graph: nx.MultiDiGraph[int],
    restructure: Callable[[list[Any]], Any],
    name: str = "function",
    options: Options | None = None,
) -> Executable:
    """Compile a graph to an executable; the native compiler is loaded here and not before."""
    lowered, kernel = lower(graph, options or Options())
    from compiler.emit.native import compile_native

    native = compile_native(kernel.source, kernel.arguments)
    feeds = tuple(_feed(graph, node, i) for i, node in enumerate(graph.graph["inputs"]))
    return Executable(graph, lowered, kernel, native, feeds, restructure, name)


def _feed(graph: nx.MultiDiGraph[int], node: int, position: int) -> Feed:
    data = graph.nodes[node]
    return Feed(data["name"] or f"input{position}", data["type"], data["source"])
