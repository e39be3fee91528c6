"""Executable: a compiled graph that is run many times and cannot be modified."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from compiler.dims import Unknown, atoms, evaluate
from compiler.emit.chunks import Chunks
from compiler.emit.kernel import Kernel
from compiler.errors import GraphError, OutOfRangeError
from compiler.runtime import threads
from compiler.runtime.arguments import as_inputs, check_outputs, in_order
from compiler.runtime.blas import find_blas, limit_threads
from compiler.runtime.cache.loader import Entries
from compiler.runtime.out_of_range import out_of_range
from compiler.runtime.plan import Plan
from compiler.runtime.sizes import Feed, check_graph, sizes_of

if TYPE_CHECKING:
    from compiler.runtime.profile import Profile

ALIGNMENT = 64
REMEMBERED = 128  # layouts for different sizes


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What the sizes of a call determine: the table's entries and the arena.

    `shares` says that some loop is long enough for several threads; `outputs` are their shapes.
    """

    entries: tuple[tuple[int, int], ...]
    offsets: tuple[tuple[int, int], ...]
    arena: int
    shares: bool
    outputs: tuple[tuple[int, ...], ...]


@dataclass(slots=True, eq=False)
class Workspace:
    """The table and the arena of one call at a time, set up for one layout."""

    table: Any
    arena: Any = None
    layout: Layout | None = None


@dataclass(slots=True, eq=False, repr=False)
class Executable:
    """A function of arrays, compiled.

    Attributes:
        graph: the networkx DAG as it was defined, frozen.
        lowered: the DAG after the passes: what the kernel computes.
        source: the kernel's source, readable Python.
        threads: how many threads a call may use, the BLAS included; None for as many as are set.
    """

    graph: nx.MultiDiGraph[int]
    lowered: nx.MultiDiGraph[int]
    kernel: Kernel
    native: Entries
    feeds: tuple[Feed, ...]
    restructure: Callable[[list[Any]], Any]
    name: str
    threads: int | None = None
    call: Any = field(init=False)
    _idle: list[Workspace] = field(default_factory=list)
    _layouts: dict[tuple[int, ...], Layout] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.call = self.native.call  # one step less in every call

    @property
    def source(self) -> str:
        """The kernel's source: Python, with the user's lines as comments."""
        return self.kernel.source

    @property
    def plan(self) -> Plan:
        """The buffers, and the bytes that they take for given sizes."""
        return Plan(self.kernel.memory, self.kernel.fusion)

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """How long each step of the kernel takes on some inputs; `print` shows a table.

        Steps are fused ops; each is run by itself, in their order, for half a second in all. A loop
        or branch is one step. Nothing is updated.
        """
        from compiler.runtime.profile import profile

        return profile(self, args, kwargs)

    def __repr__(self) -> str:
        feeds = ", ".join(f"{feed.name}: {feed.type}" for feed in self.feeds)
        return f"<executable {self.name}({feeds})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arrays, by position or by the placeholders' names.

        Args:
            out: unless a placeholder has this name: where the results go, an array or a sequence of
                arrays in the order of the outputs. Each is row-major, writable, of the shape and
                dtype of its output, and shares no memory with another or with an input.

        Returns:
            New arrays, or those of `out`, in the structure that was compiled. Variables are updated
            in place.

        Raises:
            FeedError, DTypeError, ShapeError: the inputs or `out` do not fit; nothing was updated.
            OutOfRangeError: an index operand points outside its axis; no variable was updated.
        """
        if kwargs:
            if "out" in kwargs and all(feed.name != "out" for feed in self.feeds):
                return self._call_into(kwargs.pop("out"), args, kwargs)
            args = in_order(self.name, self.feeds, args, kwargs)
        try:
            workspace = self._idle.pop()
        except IndexError:
            workspace = self._new_workspace()
        try:
            if self.threads is None:
                results = self.call(workspace.table, *args)
                if results.__class__ is int:
                    results = self._run_checked(workspace, args)
            else:
                with limit_threads(self.threads):
                    results = self._run(workspace, args)
        finally:
            self._idle.append(workspace)
        return self.restructure(results)

    def _call_into(self, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run with the results in the arrays of `out`."""
        arrays = as_inputs(self.name, self.feeds, in_order(self.name, self.feeds, args, kwargs))
        layout = self._layout_for(sizes_of(self.feeds, arrays))
        given = [out] if isinstance(out, np.ndarray) else list(out)
        outputs = [slot for slot in self.kernel.arguments if slot.kind == "output"]
        check_outputs(self.name, given, outputs, layout.outputs, [*arrays, *self.states()])
        try:
            workspace = self._idle.pop()
        except IndexError:
            workspace = self._new_workspace()
        try:
            self._set_up(workspace, layout)
            with nullcontext() if self.threads is None else limit_threads(self.threads):
                self._checked(workspace, self.native.fill(workspace.table, *arrays, *given))
        finally:
            self._idle.append(workspace)
        return self.restructure(given)

    def _run(self, workspace: Workspace, args: Sequence[Any]) -> list[Any]:
        results = self.call(workspace.table, *args)
        if results.__class__ is int:
            results = self._run_checked(workspace, args)
        return results

    def _run_checked(self, workspace: Workspace, args: Sequence[Any]) -> list[Any]:
        """Validate the inputs, set the workspace up for their sizes, and run."""
        arrays = as_inputs(self.name, self.feeds, args)
        self._set_up(workspace, self._layout_for(sizes_of(self.feeds, arrays)))
        return self.run_in(workspace, arrays)

    def workspace_for(self, arrays: Sequence[Any]) -> Workspace:
        """A new workspace, set up for the sizes of validated inputs."""
        workspace = self._new_workspace()
        self._set_up(workspace, self._layout_for(sizes_of(self.feeds, arrays)))
        return workspace

    def states(self) -> list[Any]:
        """The arrays of the variables that the kernel reads or updates."""
        slots = self.kernel.memory.slots
        return [self._leaf_array(slot.position) for slot in slots if slot.kind == "variable"]

    def run_in(self, workspace: Workspace, arrays: Sequence[Any]) -> list[Any]:
        """Run on validated inputs, in a workspace that is set up for their sizes."""
        return self._checked(workspace, self.call(workspace.table, *arrays))

    def _checked(self, workspace: Workspace, results: Any) -> list[Any]:
        if not isinstance(results, int):
            return results
        if results > 0:
            raise self._out_of_range(workspace, results - 1)
        raise GraphError(f"{self.name}: validated inputs do not fit the kernel: a defect")

    def _out_of_range(self, workspace: Workspace, node: int) -> OutOfRangeError:
        table = self.kernel.table
        sizes = {atom: int(workspace.table[at]) for atom, at in table.unknown.items()}
        index = int(workspace.table[table.failed])
        return out_of_range(self.graph, *self.kernel.located(node), index, sizes)

    def _layout_for(self, sizes: Mapping[Unknown, int]) -> Layout:
        key = tuple(sizes.values())
        layout = self._layouts.get(key)
        if layout is None:
            check_graph(self.graph, sizes)
            layout = self._make_layout(sizes)
            if len(self._layouts) >= REMEMBERED:
                del self._layouts[next(iter(self._layouts))]
            self._layouts[key] = layout
        return layout

    def _make_layout(self, sizes: Mapping[Unknown, int]) -> Layout:
        memory, table = self.kernel.memory, self.kernel.table
        entries = [(at, sizes[atom]) for atom, at in table.unknown.items()]
        shares, outputs = False, []
        for at, value in table.computed:
            if isinstance(value, Chunks):
                entries.append((at, value.count(sizes)))
                shares = shares or entries[-1][1] > 1
            else:
                entries.append((at, evaluate(value, sizes)))
        for slot in self.kernel.arguments:
            shape = tuple(evaluate(size, sizes) for size in slot.shape)
            at = table.address[memory.slots.index(slot)]
            entries += [(at + 1 + axis, size) for axis, size in enumerate(shape)]
            if slot.kind == "output":
                outputs.append(shape)
        offsets, length = memory.layout(sizes)
        placed = tuple((table.address[slot], offset) for slot, offset in offsets.items())
        return Layout(tuple(entries), placed, length, shares, tuple(outputs))

    def _new_workspace(self) -> Workspace:
        memory, table = self.kernel.memory, self.kernel.table
        words = np.full(table.length, -1, np.int64)
        for i, slot in enumerate(memory.slots):
            if slot.kind in ("variable", "constant"):
                array = self._leaf_array(slot.position)
                self._held.append(array)
                words[table.address[i]] = array.ctypes.data
        pool = threads.pool_address()
        if table.gemm:
            blas = find_blas()
            for dtype, at in table.gemm.items():
                words[at] = blas.gemm[dtype]
            threads.share_products(blas.control)
            pool = pool if blas.is_native else 0
        words[table.own] = words.ctypes.data
        words[table.unlocks] = 0
        words[table.pool], words[table.pool + 1] = pool, self.threads or 0
        workspace = Workspace(words)
        if not any(atoms(feed.type.shape) for feed in self.feeds):
            # nothing is unknown: no input would be found not to fit a table without sizes
            self._set_up(workspace, self._layout_for({}))
        return workspace

    def _leaf_array(self, node: int) -> Any:
        graph, node = self.kernel.located(node)
        attrs = graph.nodes[node]["attrs"]
        return attrs["key"].array if "key" in attrs else attrs["value"].array

    def _set_up(self, workspace: Workspace, layout: Layout) -> None:
        if workspace.layout is layout:
            return
        memory = self.kernel.memory
        if layout.shares:
            threads.start(self.threads)
        if workspace.arena is None or workspace.arena.size < layout.arena + ALIGNMENT:
            workspace.arena = np.empty(layout.arena + ALIGNMENT, np.uint8)
        for at, value in layout.entries:
            workspace.table[at] = value
        base = -(-workspace.arena.ctypes.data // ALIGNMENT) * ALIGNMENT
        for at, offset in layout.offsets:
            workspace.table[at] = base + offset
        # variables are for one thread at a time: the interpreter's lock sees to that
        unlocks = layout.shares and not any(slot.kind == "variable" for slot in memory.slots)
        workspace.table[self.kernel.table.unlocks] = unlocks
        workspace.layout = layout
