"""From a graph to an executable: the passes, the emitter and the native compiler in a row."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import networkx as nx

from compiler.emit.kernel import Kernel, emit
from compiler.errors import OptionError
from compiler.passes.pipeline import optimise
from compiler.passes.recompute import recompute_values
from compiler.passes.roots import separate_roots
from compiler.passes.sizes import unify_sizes
from compiler.runtime.entry import Argument
from compiler.runtime.executable import Executable
from compiler.runtime.sizes import Feed
from compiler.runtime.threads import check_count

Kind = TypeVar("Kind", bound=Executable)


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile.

    Attributes:
        numerics: "strict" (every rewrite exact or more stable) or "fast" (may round differently).
        disabled: names of rewrites to leave out.
        fuse: False gives every node a loop and memory of its own.
        threads: how many threads a call may use; None for as many as are set.
        backend: what compiles the emitted source: "llvm" (our lowering of it) or "numba".
    """

    numerics: str = "strict"
    disabled: frozenset[str] = frozenset()
    fuse: bool = True
    backend: str = "llvm"
    threads: int | None = None


BACKENDS = ("llvm", "numba")


def lower(graph: nx.MultiDiGraph[int], options: Options) -> tuple[nx.MultiDiGraph[int], Kernel]:
    """The graph after all passes, and its kernel."""
    unified, _ = unify_sizes(graph)
    lowered = separate_roots(optimise(unified, options.numerics, options.disabled))
    if options.fuse and recompute_values.__name__ not in options.disabled:
        lowered = recompute_values(lowered)
    return lowered, emit(lowered, separate=not options.fuse)


def compile_graph(
    graph: nx.MultiDiGraph[int],
    restructure: Callable[[list[Any]], Any],
    name: str,
    options: Options,
    kind: type[Kind],
) -> Kind:
    """Compile a graph to a frontend's kind of executable; from the kernel cache if it is there."""
    if options.backend not in BACKENDS:
        raise OptionError(f"compile: backend is one of {BACKENDS}, not {options.backend!r}")
    if options.threads is not None:
        check_count("compile", options.threads)
    with collection_paused():
        lowered, kernel = lower(graph, options)
        from compiler.runtime.cache.loader import load_kernel, load_with_numba

        inputs, outputs = (_arguments(kernel, kind) for kind in ("input", "output"))
        if options.backend == "numba":
            native = load_with_numba(kernel.source, kernel.table, inputs, outputs)
        else:
            native = load_kernel(kernel.units, kernel.program, kernel.table, inputs, outputs)
    feeds = feeds_of(graph)
    return kind(graph, lowered, kernel, native, feeds, restructure, name, options.threads)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Without garbage collection: it would look at all that was just made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _arguments(kernel: Kernel, kind: str) -> list[Argument]:
    return [
        Argument(kernel.table.address[kernel.memory.slots.index(slot)], len(slot.shape), slot.dtype)
        for slot in kernel.arguments
        if slot.kind == kind
    ]


def feeds_of(graph: nx.MultiDiGraph[int]) -> tuple[Feed, ...]:
    """What a call must give."""
    return tuple(_feed(graph, node, i) for i, node in enumerate(graph.graph["inputs"]))


def _feed(graph: nx.MultiDiGraph[int], node: int, position: int) -> Feed:
    data = graph.nodes[node]
    name = f"input{position}" if data["name"] is None else data["name"]
    return Feed(name, data["type"], data["source"])
