"""Calls that run op by op until their kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runners.runner import Mode, Runner
from staticgraph.compiler.runtime.background import Compilation

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.inspect.lost import Lost
    from staticgraph.compiler.inspect.origins import Replay


class BackgroundRunner:
    """Runs op by op while a thread compiles, and then settles as what was compiled.

    Attributes:
        compile: compiles a definition; called in a thread of its own.
    """

    __slots__ = ("_compilation", "_interpreted", "compile")

    def __init__(
        self, interpreted: Interpreted, compile: Callable[[Definition], CompiledRunner]
    ) -> None:
        self._interpreted = interpreted
        self.compile = compile
        self._compilation = Compilation(lambda: compile(interpreted.definition), interpreted.name)

    @property
    def mode(self) -> Mode:
        """The options that choose such a runner."""
        return Mode(background=True, debug=False)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen."""
        return self._interpreted.graph

    @property
    def ready(self) -> bool:
        """Whether the kernel is there."""
        return self._compilation.ready

    @property
    def settled(self) -> Runner:
        """What was compiled, if it is there."""
        if not self._compilation.ready:
            return self
        compiled = self._compilation.value()
        compiled.lost = self._interpreted.lost  # what it was told of goes on to be known
        return compiled

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the kernel is there, or for some seconds; whether it is.

        Raises:
            CompileError: it never will be; the cause is what was raised in the background.
        """
        return self._compilation.wait(timeout)

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call, op by op.

        Raises:
            CompileError: once, if the kernel cannot be compiled; later calls run op by op.
        """
        self._compilation.tell()
        return self._interpreted.run(args, kwargs)

    @property
    def lost(self) -> Lost | None:
        """Who is told of calls that give inf or nan, if the options say so."""
        return self._interpreted.lost

    def replay(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""
        return self._interpreted.replay(args, kwargs)

    def over(self, definition: Definition) -> Runner:
        """The same over other variables."""
        if self._compilation.ready:
            return self._compilation.value().over(definition)
        return BackgroundRunner(self._interpreted.over(definition), self.compile)

    def compiled(self, wanted: str) -> CompiledRunner:
        """What runs the kernel, waited for."""
        return self._compilation.value()
