"""Calls that run op by op with NumPy, and show what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from staticgraph.compiler.core.values import Tree
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.bodies import Iteration, observed
from staticgraph.compiler.inspect.debug import NonFinite, Step, step_of
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.runners.runner import Mode

if TYPE_CHECKING:
    import networkx as nx

    from staticgraph.compiler.inspect.lost import Lost
    from staticgraph.compiler.inspect.origins import Replay


class DebugRunner:
    """Runs op by op, and has no kernel.

    What an op raises names the op and the user's line; `NonFiniteWarning` is given where inf or nan
    comes out of finite operands.

    Attributes:
        show: called after each op, if there is one.
    """

    __slots__ = ("_interpreted", "_not_finite", "show")

    def __init__(self, interpreted: Interpreted, show: Callable[[Step], None] | None) -> None:
        self._interpreted = interpreted
        self._not_finite = NonFinite()
        self.show = show

    @property
    def mode(self) -> Mode:
        """The options that choose such a runner."""
        return Mode(background=False, debug=self.show or True)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG as it was defined, frozen."""
        return self._interpreted.graph

    @property
    def ready(self) -> bool:
        """Calls run all that they ever will."""
        return True

    @property
    def settled(self) -> DebugRunner:
        """Itself."""
        return self

    def wait(self, timeout: float | None = None) -> bool:
        """There is nothing to wait for."""
        return True

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call, op by op."""
        return self._interpreted.run(args, kwargs, self._observe, observed(self._observe))

    @property
    def lost(self) -> Lost | None:
        """Who is told of calls that give inf or nan, if the options say so."""
        return self._interpreted.lost

    def replay(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Replay:
        """A call once more, op by op, on the variables as they are; nothing is updated."""
        return self._interpreted.replay(args, kwargs)

    def over(self, definition: Definition) -> DebugRunner:
        """The same over other variables."""
        return DebugRunner(self._interpreted.over(definition), self.show)

    def compiled(self, wanted: str) -> NoReturn:
        """There is no kernel.

        Raises:
            AttributeError: always.
        """
        name = self._interpreted.name
        raise AttributeError(
            f"{name} runs op by op (debug), without a kernel: no attribute {wanted!r}"
        )

    def _observe(
        self,
        node: Expression | Node,
        operands: Sequence[object],
        value: object,
        iterations: tuple[Iteration, ...] = (),
    ) -> None:
        if self.show is not None:
            self.show(step_of(node, operands, value, iterations))
        self._not_finite(node, operands, value, iterations)
