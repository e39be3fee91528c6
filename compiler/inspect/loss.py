"""What is said where the loss of a graph that trains is inf or nan, without being asked.

The code around each kernel (`compiler.llvm.trampoline`) compares the exponents of results that are
one number, which takes a nanosecond, and gives them as a tuple if one is inf or nan. That call is
then run again op by op, to name the line.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from staticgraph.compiler.core.errors import NonFiniteWarning
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.state import State, holding

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.replay import Replay

MOST_BYTES = 1 << 24
"""Variables of more bytes are not copied before the first call."""


class Runner(Protocol):
    """What ran the call."""

    name: str
    definition: Definition

    def replay(self, args: Sequence[object], kwargs: Mapping[str, Tree]) -> Replay:
        """The call once more, op by op."""

    def over(self, definition: Definition) -> Runner:
        """The same over other variables."""


class Loss:
    """Looks at calls of which a result that is one number is inf or nan.

    Attributes:
        places: the outputs that are losses.
        last: the inputs of the last call of which one was inf or nan, if nothing was said of it.
    """

    __slots__ = ("_before", "_begun", "_is_told", "_tells", "last", "places")

    def __init__(self, places: Collection[int], tells: bool) -> None:
        """`tells`: whether to warn, once; else only the inputs are kept, for who asks."""
        self.places = places
        self.last: Sequence[object] | None = None
        self._tells = tells
        self._is_told = self._begun = False
        self._before: Definition | None = None

    def begin(self, definition: Definition, states: Sequence[State]) -> bool:
        """Keep the variables as they are before the first call; whether it is the first."""
        if self._begun or not self._tells:
            return False
        self._begun = True
        if sum(state.array.nbytes for state in states) <= MOST_BYTES:
            with holding(list(states), changes=False):
                self._before = definition.with_states(copy.copy)
        return True

    def end(self) -> None:
        """Let go of them."""
        self._before = None

    def lost(self, runner: Runner, args: Sequence[object], results: Sequence[Array]) -> None:
        """Look at a call that gave these results."""
        if self._is_told or not any(_is_lost(results[i]) for i in self.places):
            return
        if not self._tells:
            self.last = args
            return
        self._is_told = True
        asked = runner if self._before is None else runner.over(self._before)
        found = asked.replay(args, {})
        first = found.first
        if first is not None and not first.is_leaf:
            line, what = first.line, str(found)
        else:
            output = runner.definition.nodes[runner.definition.outputs[min(self.places)]]
            value = next(float(results[i]) for i in self.places if _is_lost(results[i]))
            line = place_of(output.source)
            what = f"{runner.name}: the loss is {value}, and so are variables after this call"
        file, _, number = line.rpartition(":")
        text = f"{what}\n{ADVICE}"
        warnings.warn_explicit(text, NonFiniteWarning, file or "<unknown>", int(number or 0))

    def explained(self, replay: Callable[[Sequence[object]], Replay]) -> tuple[str, str] | None:
        """The line where the last such call went wrong, and what was made there."""
        args, self.last = self.last, None
        first = None if args is None else replay(args).first
        return None if first is None or first.is_leaf else (first.line, str(first))


ADVICE = (
    'compile(..., on_nonfinite="raise") stops such a call before anything is updated; lint="off" '
    "says nothing"
)


def _is_lost(number: Any) -> bool:
    return not np.isfinite(number)
