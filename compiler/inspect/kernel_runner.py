"""What runs a kernel, as the rooms see it that look into kernels, measure them and write files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from staticgraph.compiler.codegen.kernel import Kernel
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.options import Options
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.inspect.lost import Lost
from staticgraph.compiler.inspect.origins import Replay
from staticgraph.compiler.runtime.cache.loader import Trampolines
from staticgraph.compiler.runtime.launch_plan import LaunchPlan
from staticgraph.compiler.runtime.sizes import Feed
from staticgraph.compiler.runtime.workspace import Workspace


class KernelRunner(Protocol):
    """Runs the kernel of a definition: `runners.compiled.CompiledRunner`, which says more."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def definition(self) -> Definition:
        """What it computes."""

    @property
    def lowered(self) -> Definition:
        """The definition after the passes: what the kernel computes."""

    @property
    def kernel(self) -> Kernel:
        """What was known of the graph before it was compiled natively."""

    @property
    def launch_plan(self) -> LaunchPlan:
        """How it is run."""

    @property
    def native(self) -> Trampolines:
        """Its machine code."""

    @property
    def options(self) -> Options:
        """How it was compiled."""

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """What a call must give, in order."""

    @property
    def restructure(self) -> Callable[[list[Tree]], Tree]:
        """What puts a list of results into the structure that the user gave."""

    @property
    def states(self) -> Sequence[State]:
        """The variables that the kernel reads or updates."""

    @property
    def lost(self) -> Lost | None:
        """Who is told of calls that give inf or nan, if the options say so."""

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call with these arguments."""

    def replay(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""

    def over(
        self, definition: Definition, restructure: Callable[[list[Tree]], Tree] | None = None
    ) -> KernelRunner:
        """The same over other variables, and with its results in another structure."""

    def suited(
        self, arrays: Sequence[Array]
    ) -> tuple[KernelRunner, Sequence[Array], dict[Unknown, int]]:
        """What runs on validated inputs, its inputs, and the sizes."""

    def workspace_for(self, sizes: Mapping[Unknown, int]) -> Workspace:
        """A new workspace, set up for some sizes."""

    def run_held(self, workspace: Workspace, arrays: Sequence[object]) -> list[Array]:
        """The results, in a thread that holds the variables."""

    def unchecked(self) -> KernelRunner:
        """What runs the same without looking for inf and nan."""
