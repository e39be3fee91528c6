"""What a captured function with branches on values does: what the way does that a call takes.

The graph computes what any way needs, and the number of the way, which is known when it has run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.errors import CaptureError
from staticgraph.compiler.core.refusals import user_place
from staticgraph.compiler.graph.expression import Expression, constant
from staticgraph.dynamic.capture.effects import Draw, Effects, Step
from staticgraph.dynamic.capture.questions import requires
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.tape.grad_mode import recording
from staticgraph.dynamic.tape.nodes import FREED, Failing, Output
from staticgraph.dynamic.tensors.random_numbers import generator

_COMPARED = (int, str, tuple, type(None))


class Taken(NamedTuple):
    """What is done on one way.

    Attributes:
        effects: as of a function that has no other.
        slots: which results it needs for that, behind the caller's.
        origins: per result, the caller's and then those of all ways, the operands that it is
            differentiable by.
    """

    effects: Effects
    slots: Sequence[int]
    origins: Sequence[frozenset[int]]


class Drawn(list[Any]):
    """The operands of a call, with the state of the stream at the end of each way."""

    ends: Sequence[Any]


class Branched(Effects):
    """The effects of a function of which each way has its own; the last result is its number.

    Args:
        name: of the function.
        ways: what is done on each.
        lifted: the tensors of the surroundings that any way reads.
        draws: the random numbers that any way draws: each with all that the way draws before.
        recording: whether the thread recorded, if that was asked on any way.
        grads: the operands that are gradients of others, of any way.
    """

    def __init__(
        self,
        name: str,
        ways: Sequence[Taken],
        lifted: Sequence[Any],
        draws: Sequence[tuple[Draw, ...]],
        recording: bool | None,
        grads: Mapping[int, int],
    ) -> None:
        every = [one.effects for one in ways]
        first = every[0]
        super().__init__(
            first.inputs, lifted, [one[-1] for one in draws], first.results, (), (),
            [step for one in every for step in one.steps], first.asked,
            recording, grads, {}, (),
        )  # fmt: skip
        self.writes, self.changed, self._passes = (), {}, {}  # each way checks its own
        self._name, self._ways = name, tuple(ways)
        self._drawn = tuple(draws)
        self._differ = any(len(one.draws) != len(draws) for one in every)

    def __bool__(self) -> bool:
        return True

    def operands(self, given: Sequence[Any]) -> list[Any]:
        """All operands of a call; each way draws from the stream as it is before the call."""
        if not self._differ:
            return super().operands(given)
        found = Drawn(self._with_grads([*given, *self.lifted]))
        sizes, stream = self._sizes(given), generator().bit_generator
        states: dict[tuple[Draw, ...], Any] = {(): stream.state}
        for before in self._drawn:
            stream.state = states[before[:-1]]
            found.append(before[-1].array(sizes))
            states[before] = stream.state
        found.ends = [states[tuple(one.effects.draws)] for one in self._ways]
        stream.state = states[()]
        return found

    def finish(
        self, operands: Sequence[Any], results: list[Any], given: Sequence[Any]
    ) -> list[Any]:
        """Do the steps of the way that a call has taken; the caller's results."""
        if isinstance(results[-1], Tracer):
            raise CaptureError(
                f"{user_place()}: {self._name}: a captured function that does different things by "
                "values is called inside of a transform of dynamic.func: call the function itself"
            )
        way = int(results[-1]._array)
        effects, slots, origins = self._ways[way]
        if isinstance(operands, Drawn):
            generator().bit_generator.state = operands.ends[way]
        count = self.results
        own = [*results[:count], *(results[count + slot] for slot in slots)]
        effects.check(operands)
        for one, depends in zip(results, origins, strict=False):
            if isinstance(one._node, Output):
                one._node.edges[0].origins = origins
            if not any(requires(operands[place]) for place in depends):
                one._node = None
        if effects.freed and recording() and any(map(requires, operands)):
            for i in effects.freed:
                own[i]._node = Failing(own[i]._array, AutogradError(FREED), f"{self._name}Backward")
        return effects.finish(operands, own, given)


def numbers(count: int) -> list[Expression]:
    """The numbers of ways."""
    return [constant(np.asarray(number, np.int64)) for number in range(count)]


def common(
    ways: Sequence[Effects],
    slots: Sequence[Sequence[int]],
    lifted: Sequence[Any],
    recording: bool | None,
    grads: Mapping[int, int],
) -> Effects | None:
    """What all ways do, if they do the same."""
    first = ways[0]
    for one, own in zip(ways, slots, strict=True):
        if (
            own != slots[0]
            or one.draws != first.draws
            or one.views != first.views
            or one.freed != first.freed
            or one.plain != first.plain
        ):
            return None
        if len(one.steps) != len(first.steps) or not all(map(_is_same, one.steps, first.steps)):
            return None
    return Effects(
        first.inputs, lifted, first.draws, first.results, first.views, [*first.freed], first.steps,
        first.asked, recording, grads, {}, (), first.plain,
    )  # fmt: skip


def _is_same(one: Step, other: Step) -> bool:
    """Whether two steps do the same to the same."""
    if type(one) is not type(other):
        return False
    names = [name for name in type(one).__slots__ if name != "line"]  # type: ignore[attr-defined]
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(x is y or (isinstance(x, _COMPARED) and x == y) for x, y in pairs)
