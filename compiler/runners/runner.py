"""Runner: what an executable asks of the thing that runs its calls.

There are three, and none is a kind of another: `compiled` runs a kernel, `background` runs op by op
until there is one, and `debug` runs op by op for ever. An executable has one of them, and goes on
with what that has settled as.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.definition import Definition

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.inspect.debug import Step
    from staticgraph.compiler.inspect.kernel_runner import KernelRunner
    from staticgraph.compiler.inspect.lost import Lost
    from staticgraph.compiler.inspect.origins import Replay


class Mode(NamedTuple):
    """The options of `compile` that choose a runner."""

    background: bool
    debug: bool | Callable[[Step], None]


class Runner(Protocol):
    """Runs a definition on arrays."""

    @property
    def mode(self) -> Mode:
        """The options that choose such a runner."""

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen."""

    @property
    def ready(self) -> bool:
        """Whether calls run all that they ever will: False only while a kernel is compiled."""

    @property
    def settled(self) -> Runner:
        """What is to run calls from now on: itself, or what it has compiled."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is ready, or for some seconds; whether it is.

        Raises:
            CompileError: it never will be; the cause is what was raised in the background.
        """

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call with these arguments, `out` among them; `kwargs` is taken over."""

    @property
    def lost(self) -> Lost | None:
        """Who is told of calls that give inf or nan, if the options say so."""

    def replay(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""

    def over(self, definition: Definition) -> Runner:
        """The same over other variables."""

    def compiled(self, wanted: str) -> KernelRunner:
        """What runs the kernel, waited for.

        Raises:
            AttributeError: there will be no kernel, so that the executable has no attribute
                `wanted`.
            CompileError: it could not be compiled.
        """
