"""Calls that run a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from staticgraph.compiler.codegen.bytecode import NOT_FINITE, has_run
from staticgraph.compiler.core import fork
from staticgraph.compiler.core.arrays import row_major
from staticgraph.compiler.core.dims import Unknown, atoms
from staticgraph.compiler.core.errors import GraphError, OutOfRangeError
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.record import mutable
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.graph.build import graph_of
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.state import State, holding
from staticgraph.compiler.graph.strided import Order, view_inputs
from staticgraph.compiler.llvm.watch import BUSY
from staticgraph.compiler.ops.programs.effects import quiet
from staticgraph.compiler.runners.again import line_of, look_again
from staticgraph.compiler.runners.layouts import Layouts
from staticgraph.compiler.runners.runner import Mode
from staticgraph.compiler.runners.strided import MOST_KERNELS, Strided, compile_strided, order_of
from staticgraph.compiler.runtime import threads
from staticgraph.compiler.runtime.arguments import (
    as_inputs,
    check_outputs,
    given_outputs,
    in_order,
    is_fed_out,
)
from staticgraph.compiler.runtime.background import Compilation
from staticgraph.compiler.runtime.blas import find_blas, find_products
from staticgraph.compiler.runtime.cache.loader import Trampolines
from staticgraph.compiler.runtime.host import HostStep
from staticgraph.compiler.runtime.launch_plan import LaunchPlan, Layout
from staticgraph.compiler.runtime.signals import process_address
from staticgraph.compiler.runtime.sizes import Feed, sizes_of
from staticgraph.compiler.runtime.trampoline import Trampoline, are_apart
from staticgraph.compiler.runtime.workspace import Workspace, limited
from staticgraph.compiler.schedule.arena import ALIGNMENT

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.codegen.kernel import Kernel
    from staticgraph.compiler.inspect.loss import Loss
    from staticgraph.compiler.inspect.lost import Lost
    from staticgraph.compiler.inspect.origins import Replay


Told: TypeAlias = "tuple[CompiledRunner, Sequence[object]]"
"""Whose call a kernel runs, and the inputs that it was given."""


@mutable(eq=False, repr=False)
class CompiledRunner:
    """Runs a kernel.

    Attributes:
        definition: what it computes.
        launch_plan: how it is run.
        native: its machine code.
        feeds: what a call must give, in order.
        restructure: what puts a list of results into the structure that the user gave.
        options: how it was compiled.
        compile: compiles another definition, with a name and options.
        waits: whether a call waits for a kernel for its inputs' order, or copies them until then.
        threads: how many threads a call may use, the BLAS included; None for as many as are set.
        idle: the workspaces that no call uses.
        lost: who is told of calls that give inf or nan, if `options` say so.
        loss: who looks at results that are one number, and inf or nan; None if nobody does.
    """

    definition: Definition
    launch_plan: LaunchPlan
    native: Trampolines
    feeds: tuple[Feed, ...]
    restructure: Callable[[list[Tree]], Tree]
    name: str
    options: Options
    compile: Callable[[Definition, str, Options], CompiledRunner]
    waits: bool = True
    _lowering: tuple[Definition, Kernel] | None = None
    threads: int | None = field(init=False)
    idle: list[Workspace] = field(default_factory=list, init=False)
    _is_fed_out: bool = field(init=False)
    _layouts: Layouts = field(init=False)
    _strided: dict[tuple[Order | None, ...], Strided | Compilation[Strided]] = field(
        default_factory=dict
    )
    _fixed: list[Any] | None = None
    _graph: nx.MultiDiGraph[int] | None = field(default=None, init=False)
    lost: Lost | None = field(default=None, init=False)
    loss: Loss | None = field(default=None, init=False)
    _guards: Any = field(init=False)  # how many variables there are, their guards' addresses

    def __post_init__(self) -> None:
        self.threads = self.options.threads
        self._is_fed_out = is_fed_out(self.feeds)
        self._layouts = Layouts(self.definition, self.launch_plan)
        addresses = [state.guard.ctypes.data for state in self.states]
        self._guards = np.array([len(addresses), *addresses], np.int64)
        if self.options.on_nonfinite is not None:
            from staticgraph.compiler.inspect.lost import Lost

            self.lost = Lost(self.options.on_nonfinite)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen."""
        if self._graph is None:
            self._graph = graph_of(self.definition)
        return self._graph

    @property
    def lowered(self) -> Definition:
        """The definition after the passes: what the kernel computes."""
        return self._lowered()[0]

    @property
    def kernel(self) -> Kernel:
        """What was known of the graph before it was compiled natively."""
        return self._lowered()[1]

    def _lowered(self) -> tuple[Definition, Kernel]:
        """The graph after the passes and its kernel, made again after a start from the cache."""
        if self._lowering is None:
            with fork.importing():
                from staticgraph.compiler.driver import lower
                from staticgraph.compiler.runtime.launch_planning import launch_plan_of

            lowering = lower(self.definition, self.options)
            if launch_plan_of(lowering[1], self.definition) != self.launch_plan:
                raise GraphError(
                    f"{self.name}: the kernel cache has another kernel for this graph: a defect; "
                    "with STATICGRAPH_CACHE=0 it is not used"
                )
            self._lowering = lowering
        return self._lowering

    @property
    def mode(self) -> Mode:
        """The options that choose such a runner."""
        return Mode(background=not self.waits, debug=False)

    @property
    def ready(self) -> bool:
        """Calls run the kernel."""
        return True

    @property
    def settled(self) -> CompiledRunner:
        """Itself."""
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """There is nothing to wait for."""
        return True

    def compiled(self, wanted: str) -> CompiledRunner:
        """Itself."""
        return self

    def over(
        self, definition: Definition, restructure: Callable[[list[Tree]], Tree] | None = None
    ) -> CompiledRunner:
        """The same over other variables, and with its results in another structure."""
        return CompiledRunner(
            definition, self.launch_plan, self.native, self.feeds, restructure or self.restructure,
            self.name, self.options, self.compile, self.waits,
        )  # fmt: skip

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call with these arguments, `out` among them; `kwargs` is taken over."""
        given = None
        begins = False
        if kwargs:
            if "out" in kwargs and not self._is_fed_out:
                out = kwargs.pop("out")
                given = None if out is None else given_outputs(self.name, out)
            if kwargs:
                args = in_order(self.name, self.feeds, args, kwargs)
        if given is not None and self.lost is not None:
            self.lost.keep(args, {})
        if given is not None and not self._may_write(given, args):
            return self._run_into(given, args)
        try:
            workspace = self.idle.pop()
        except IndexError:
            workspace = self.new_workspace()
            begins = self.loss is not None and self.loss.begin(self.definition, self.states)
        try:
            if given is None:
                results = workspace.call(*args)
                if results.__class__ is not list:
                    results = self.run_checked(workspace, args, results)
            else:
                results = workspace.fill(*args, *given)
        finally:
            self.idle.append(workspace)
            if begins and self.loss is not None:
                self.loss.end()
        if given is None:
            return self.restructure(results)
        if results.__class__ is int:
            with quiet(has_run(results)):
                return self._run_into(given, args)
        return self.restructure(given)

    def _run_into(self, given: list[Any], args: Sequence[object]) -> Any:
        """Run with the results in the arrays that are given; what is wrong with them is found."""
        inputs = as_inputs(self.name, self.feeds, args)
        kernel, arrays, sizes = self.suited(inputs)
        layout = kernel._layouts.of_sizes(sizes)
        taken = [*args, *inputs, *self._memory()]  # the caller's, even of what is copied
        check_outputs(self.name, given, kernel.launch_plan.outputs, layout.outputs, taken)
        if not are_apart(given, arrays):  # it lies in the gaps of an input
            kernel, arrays = self, list(map(row_major, inputs))
            layout = self._layouts.of_sizes(sizes_of(self.feeds, inputs))
        kernel._run_with(layout, [*arrays, *given], into=True, told=(self, inputs))
        return self.restructure(given)

    def _run_with(
        self, layout: Layout, arrays: Sequence[object], into: bool, told: Told
    ) -> list[Any]:
        """Run on validated arrays, the last of which are written if `into`, in some workspace."""
        try:
            workspace = self.idle.pop()
        except IndexError:
            workspace = self.new_workspace()
        try:
            self._set_up(workspace, layout)
            run = workspace.fill if into else workspace.call
            return self._entered(workspace, run, arrays, told)
        finally:
            self.idle.append(workspace)

    def run_checked(
        self, workspace: Workspace, args: Sequence[object], status: int | tuple[Array, ...]
    ) -> list[Array]:
        """Validate the inputs, set the workspace up for their sizes, and run after `status`.

        A tuple has results, one of which is a number that is inf or nan.
        """
        if isinstance(status, tuple):
            return self._seen(status, args)
        known = self._layouts.of_shapes(args)
        if known is not None and known is not workspace.layout:  # sizes of an earlier call
            self._set_up(workspace, known)
            with quiet(has_run(status)):
                results = workspace.call(*args)
            if results.__class__ is not int:
                return self._seen(results, args)
            status = status if has_run(status) else results
        inputs = as_inputs(self.name, self.feeds, args)
        ran = has_run(status)
        if workspace.layout is not None:  # Python's numbers, say, where the sizes are as before
            with quiet(ran):
                results = workspace.call(*inputs)
            if results.__class__ is not int:
                return self._seen(results, inputs)
            ran = ran or has_run(results)
        kernel, arrays, sizes = self.suited(inputs)
        layout = kernel._layouts.of_sizes(sizes)
        with quiet(ran):
            if kernel is not self:
                return kernel._run_with(layout, arrays, into=False, told=(self, inputs))
            self._layouts.remember(args, layout)
            self._set_up(workspace, layout)
            return self._entered(workspace, workspace.call, arrays, (self, inputs))

    def suited(
        self, arrays: Sequence[Array]
    ) -> tuple[CompiledRunner, Sequence[Array], dict[Unknown, int]]:
        """What runs on validated inputs: this or the kernel for their order, its inputs and sizes.

        Inputs that are not row-major are copied unless such a kernel reads them in place, which
        would need a budget of memory of its own.
        """
        sizes = sizes_of(self.feeds, arrays)
        orders = tuple([order_of(array) for array in arrays])
        options = self.options
        reads = options.memory is None and view_inputs.__name__ not in options.disabled
        if reads and any(orders):
            strided = self._strided_for(orders)
            if strided is not None:
                sizes = strided.sizes(sizes, arrays)
                return strided.runner, strided.arrays(arrays), sizes
        return self, list(map(row_major, arrays)), sizes

    def _strided_for(self, orders: tuple[Order | None, ...]) -> Strided | None:
        """The kernel for inputs in these orders; None if they are copied."""
        found = self._strided.get(orders)
        if found is None and len(self._strided) < MOST_KERNELS:
            make = partial(compile_strided, self, orders)
            copied = "inputs that are not row-major are copied"
            made = make() if self.waits else Compilation(make, self.name, copied)
            found = self._strided.setdefault(orders, made)
        if isinstance(found, Compilation):
            found.tell()
            if not found.ready:
                return None
            found = self._strided[orders] = found.value()
        return found

    def workspace_for(self, sizes: Mapping[Unknown, int]) -> Workspace:
        """A new workspace, set up for some sizes."""
        workspace = self.new_workspace(is_call=False)
        self._set_up(workspace, self._layouts.of_sizes(sizes))
        if self.launch_plan.lost is not None:  # what is measured runs to its end
            workspace.table[self.launch_plan.lost + 1] = 1
        return workspace

    @property
    def states(self) -> list[State]:
        """The variables that the kernel reads or updates."""
        nodes = self.definition.nodes
        return [nodes[node].attrs["key"] for _, node in self.launch_plan.variables]

    def run_held(self, workspace: Workspace, arrays: Sequence[object]) -> list[Array]:
        """The same in a thread that holds the variables."""
        return list(self._checked(workspace, self._unguarded(workspace, workspace.call, arrays)))

    def _entered(
        self, workspace: Workspace, trampoline: Trampoline, arrays: Sequence[object], told: Told
    ) -> list[Any]:
        """Run on validated inputs, in a workspace that is set up for their sizes.

        `told`: whose call it is, and its inputs.
        """
        results = trampoline(*arrays)
        if isinstance(results, int) and results == BUSY:
            with holding(self.states, changes=bool(self.definition.updates)):
                results = self._unguarded(workspace, trampoline, arrays)
        if isinstance(results, int) and results == NOT_FINITE:
            with quiet(has_run(results)):
                results = self._looked_into(workspace, trampoline, arrays, *told)
        results = self._checked(workspace, results)
        return results if results.__class__ is list else told[0]._seen(results, told[1])

    def _seen(self, results: Sequence[Array], args: Sequence[object]) -> list[Array]:
        """The results of a call as a list, looked at if they come as a tuple."""
        if isinstance(results, list):
            return results
        if self.loss is not None:
            self.loss.lost(self, args, results)
        return list(results)

    def _looked_into(
        self,
        workspace: Workspace,
        trampoline: Trampoline,
        arrays: Sequence[object],
        asked: CompiledRunner,
        inputs: Sequence[object],
    ) -> Any:
        """Run again what was not finite and stopped, and tell of it if it is so again."""
        from staticgraph.compiler.inspect.interpreted import interpreting

        at = self.launch_plan.lost
        assert at is not None
        assert asked.lost is not None
        with interpreting, holding(self.states, changes=bool(self.definition.updates)):
            results = self._unguarded(workspace, trampoline, arrays)
            if not isinstance(results, int) or results != NOT_FINITE:
                return results  # another thread has changed a variable
            asked.lost.tell(lambda: asked.replay(inputs, {}))
            asked.lost.mute(workspace.table, at + 1)
            return self._unguarded(workspace, trampoline, arrays)

    def replay(self, args: Sequence[object], kwargs: Mapping[str, Tree]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""
        return look_again(self, args, kwargs)

    def unchecked(self) -> CompiledRunner:
        """What runs the same without looking for inf and nan."""
        if self.launch_plan.lost is None:
            return self
        return self.compile(self.definition, self.name, replace(self.options, on_nonfinite=None))

    def _checked(self, workspace: Workspace, results: object) -> Any:
        if not isinstance(results, int):
            return results
        if results > 0:
            raise self._out_of_range(workspace, results - 1)
        raise GraphError(f"{self.name}: validated inputs do not fit the kernel: a defect")

    def _unguarded(
        self, workspace: Workspace, trampoline: Trampoline, arrays: Sequence[object]
    ) -> Any:
        """Run for a thread that holds the variables."""
        at = self.launch_plan.unlocks + 1
        guards, workspace.table[at] = int(workspace.table[at]), 0
        try:
            return trampoline(*arrays)
        finally:
            workspace.table[at] = guards

    def _out_of_range(self, workspace: Workspace, node: int) -> OutOfRangeError:
        sizes = {atom: int(workspace.table[at]) for atom, at in self.launch_plan.unknowns}
        from staticgraph.compiler.runtime.out_of_range import out_of_range

        index = int(workspace.table[self.launch_plan.failed])
        return out_of_range(self.definition, *self.kernel.located(node), index, sizes)

    def _set_up_hosts(self, workspace: Workspace) -> None:
        """Make the objects that the program calls."""
        launch_plan, table = self.launch_plan, workspace.table
        sizes = {atom: int(table[at]) for atom, at in launch_plan.unknowns}
        line = partial(line_of, self.definition, self.options)
        workspace.hosts = [HostStep(call, table, sizes, line) for call in launch_plan.hosts]
        if self.threads is not None:
            workspace.hosts = [threads.limit_step(step, self.threads) for step in workspace.hosts]
        for call, step in zip(launch_plan.hosts, workspace.hosts, strict=True):
            table[call.at], table[call.at + 1] = id(step), process_address()

    def new_workspace(self, is_call: bool = True) -> Workspace:
        """A workspace with all that does not depend on sizes; whether what it runs are calls."""
        launch_plan = self.launch_plan
        words = np.full(launch_plan.length, -1, np.int64)
        for at, array in self._leaves():
            words[at] = array.ctypes.data
        kept = self.lost.keeping(len(self.feeds)) if is_call and self.lost is not None else None
        call, fill = self.native.call(words, kept), self.native.fill(words)
        pool = threads.pool_address()
        if launch_plan.gemm or launch_plan.hosts:
            blas = find_blas()
            for at, descriptor in find_products(launch_plan).items():
                words[at] = descriptor
            threads.share_products(blas.control)
            if self.threads is not None and not threads.hold_products():
                call, fill = limited(call, self.threads), limited(fill, self.threads)
            pool = pool if blas.is_native else 0
        words[launch_plan.own] = words.ctypes.data
        if launch_plan.lost is not None:
            words[launch_plan.lost + 1] = 0
        words[launch_plan.unlocks] = 0
        words[launch_plan.unlocks + 1] = self._guards.ctypes.data if launch_plan.variables else 0
        words[launch_plan.pool], words[launch_plan.pool + 1] = pool, self.threads or 0
        workspace = Workspace(words, call, fill)
        if not any(atoms(feed.type.shape) for feed in self.feeds):
            # nothing is unknown: no input would be found not to fit a table without sizes
            self._set_up(workspace, self._layouts.of_sizes({}))
        return workspace

    def _memory(self) -> Sequence[Any]:
        """The arrays of variables and constants, which no call may write its results into."""
        if self._fixed is None:
            self._fixed = [array for _, array in self._leaves()]
        return self._fixed

    def _may_write(self, given: Sequence[object], args: Sequence[object]) -> bool:
        """Whether as many arrays are given as there are, and share none of that memory."""
        if (len(args), len(given)) != (len(self.feeds), len(self.launch_plan.outputs)):
            return False
        kept = self._memory()
        if not kept:
            return True
        return all(type(one) is np.ndarray for one in given) and are_apart(given, kept)

    def _leaves(self) -> Iterator[tuple[int, Any]]:
        """The entries and arrays of variables and constants."""
        nodes = self.definition.nodes
        for at, node in self.launch_plan.variables:
            yield at, nodes[node].attrs["key"].array
        for at, node in self.launch_plan.constants:
            yield at, nodes[node].attrs["value"].array
        for at, literal in self.launch_plan.folded:
            yield at, literal.array

    def _set_up(self, workspace: Workspace, layout: Layout) -> None:
        if workspace.layout is layout:
            return
        # an exception may come between any two lines: until all is set up, no input fits
        workspace.layout = None
        for at, _ in layout.checked:
            workspace.table[at] = -1
        if layout.shares:
            threads.start(self.threads)
        if workspace.arena is None or workspace.arena.size < layout.arena + ALIGNMENT:
            workspace.arena = np.empty(layout.arena + ALIGNMENT, np.uint8)
        for at, value in layout.entries:
            workspace.table[at] = value
        base = -(-workspace.arena.ctypes.data // ALIGNMENT) * ALIGNMENT
        for at, offset in layout.offsets:
            workspace.table[at] = base + offset
        workspace.table[self.launch_plan.unlocks] = layout.shares
        if self.launch_plan.hosts:
            self._set_up_hosts(workspace)
        for at, size in layout.checked:
            workspace.table[at] = size
        workspace.layout = layout
