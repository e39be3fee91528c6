"""What is said where the loss of a graph that trains is inf or nan, without being asked.

The code around each kernel (`compiler.llvm.trampoline`) compares the exponents of results that are
one number, which takes a nanosecond, and gives them as a tuple if one is inf or nan. That call is
then run again op by op, to name the line.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from staticgraph.compiler.core.errors import NonFiniteWarning
from staticgraph.compiler.core.source import gradient_of, place_of
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.state import State, holding
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.elementwise import arithmetic

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.origins import Replay

MOST_BYTES, MOST_KEPT = 1 << 24, 1 << 20
"""Variables of more bytes are not copied before the first call, or not kept after it."""
MOST_SUSPECTS = 4


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

    __slots__ = ("_before", "_begun", "_is_first", "_is_told", "_tells", "last", "places")

    def __init__(self, places: Collection[int], tells: bool) -> None:
        """`tells`: whether to warn, once; else only the inputs are kept, for who asks."""
        self.places = places
        self.last: Sequence[object] | None = None
        self._tells = tells
        self._is_told = self._begun = self._is_first = False
        self._before: Definition | None = None

    def begin(self, definition: Definition, states: Sequence[State]) -> bool:
        """Keep the variables as they are before the first call; whether it is the first."""
        if self._begun or not self._tells:
            return False
        self._begun = self._is_first = True
        if sum(state.array.nbytes for state in states) <= MOST_BYTES:
            with holding(list(states), changes=False):
                self._before = definition.with_states(copy.copy)
        return True

    def end(self) -> None:
        """The first call has ended: let go of them, unless they are small."""
        self._is_first = False
        if self._before is not None and _variable_bytes(self._before) > MOST_KEPT:
            self._before = None

    def lost(self, runner: Runner, args: Sequence[object], results: Sequence[Array]) -> None:
        """Look at a call that gave these results."""
        if self._is_told or not any(_is_lost(results[i]) for i in self.places):
            return
        if not self._tells:
            self.last = args
            return
        self._is_told = True
        place = min(i for i in self.places if _is_lost(results[i]))
        line, what = self._found(runner, args, place, float(results[place]))
        file, _, number = line.rpartition(":")
        text = f"{what}\n{ADVICE}"
        warnings.warn_explicit(text, NonFiniteWarning, file or "<unknown>", int(number or 0))

    def _found(
        self, runner: Runner, args: Sequence[object], place: int, value: float
    ) -> tuple[str, str]:
        """The line to blame for an output, and what is known.

        Variables may be inf or nan after the call, and so say no more what made them so: then the
        call is run again on those before the first one, or what can have done it is named.
        """
        before = None if self._before is None else runner.over(self._before)
        what = f"{runner.name}: the loss is {value}"
        if before is None or not self._is_first:
            found = runner.replay(args, {})
            first = found.first
            given = [one for one in found.causes if one.op == leaves.placeholder.name]
            if given:
                return given[0].line, str(found)
            if first is not None and not first.is_leaf:
                return first.line, str(found)
            what += (
                ", though not with the variables that are there after this call"
                if first is None
                else ", and so are variables after this call"
            )
        if before is not None:
            found = before.replay(args, {})
            if found.first is not None and not found.first.is_leaf:
                since = "" if self._is_first else f"{what}; with those before the first call:\n"
                return found.first.line, f"{since}{found}"
        output = runner.definition.outputs[place]
        suspects = list(dict.fromkeys(_suspects(runner.definition, output)))
        if not suspects:
            return place_of(runner.definition.nodes[output].source), what
        listed = ", ".join(f"{op} ({line})" for op, line in suspects[:MOST_SUSPECTS])
        return suspects[0][1], f"{what}; of finite values it can have been made so by {listed}"

    def explained(self, replay: Callable[[Sequence[object]], Replay]) -> tuple[str, str] | None:
        """The line where the last such call went wrong, and what was made there."""
        args, self.last = self.last, None
        first = None if args is None else replay(args).first
        return None if first is None or first.is_leaf else (first.line, str(first))


def _suspects(definition: Definition, output: int) -> Iterator[tuple[str, str]]:
    """The ops, with their lines, on the way to an output that are inf or nan for finite values."""
    wanted = {output}
    for node in reversed(definition.nodes):
        if node.id in wanted:
            wanted.update(node.operands)
    for node in definition.nodes:
        if node.id not in wanted or gradient_of(node.source):
            continue
        if node.op.domain != "all" and not _divides_by_constant(definition, node):
            yield node.op.name, place_of(node.source)
        for body in node.attrs.values():
            if isinstance(inner := getattr(body, "definition", None), Definition):
                for one in inner.outputs:
                    yield from _suspects(inner, one)


def _divides_by_constant(definition: Definition, node: Node) -> bool:
    """Whether a node is a quotient by a constant without 0."""
    divisor = definition.nodes[node.operands[-1]]
    is_constant = node.op is arithmetic.divide and divisor.op is leaves.constant
    return is_constant and bool(divisor.attrs["value"].array.all())


def _variable_bytes(definition: Definition) -> int:
    nodes = (node for node in definition.nodes if node.op is leaves.variable)
    return sum(node.attrs["key"].array.nbytes for node in nodes)


ADVICE = (
    'compile(..., on_nonfinite="raise") stops such a call before anything is updated; lint="off" '
    "says nothing"
)


def _is_lost(number: Any) -> bool:
    return not np.isfinite(number)
