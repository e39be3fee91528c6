"""Flags that a captured function sets: modules in training, tensors that require gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.core.watching import note
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.ops.programs.regions import gradient_to
from staticgraph.compiler.transforms.autodiff import depending_on
from staticgraph.dynamic.capture.effects import SetFlag, SetTraining, Step
from staticgraph.dynamic.capture.traced import Traced
from staticgraph.dynamic.tensors.inplace import check_writable


class Flagged:
    """What was set while a function was captured, and what it is for what comes after it.

    A tensor of the surroundings that is frozen is its value alone from then on. One that required
    no grad when the call began and does now is a leaf that is made there.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self._trained: dict[int, tuple[dict[str, Any], bool, bool]] = {}
        self._required: dict[int, tuple[Any, bool]] = {}
        self._frozen: dict[int, tuple[Expression, Expression]] = {}
        self._thawed: dict[int, Expression] = {}

    def sets_training(self, table: dict[str, Any], value: bool) -> None:
        """A module is about to be set to training or evaluation."""
        note(table, "training")
        before = self._trained.get(id(table), (table, table["training"], value))[1]
        self._trained[id(table)] = table, before, value

    def sets_requires_grad(self, x: Any, value: bool) -> None:
        """A tensor is about to be frozen, or to require gradients."""
        capture = self._capture
        now = x._maker is not None
        if isinstance(x, Traced) or now is bool(value) or not is_inexact(x._array.dtype):
            return
        if capture.body is not capture.top:
            refuse(
                "changes whether a tensor requires grad in a branch or the body of a loop",
                "do it outside of that",
            )
        standing = capture.lifted(x)
        place = capture.place_of(standing)
        capture.requires(place)  # as the call begins
        capture.flush()
        self._required.setdefault(id(x), (x, now))
        if value:
            self._thaw(standing, place)
        else:
            self._freeze(standing, place)
        capture.add(SetFlag(place, bool(value)))

    def _freeze(self, x: Any, place: int) -> None:
        value = x.expression
        frozen = ops.stop_gradient(value)
        self._thawed.pop(place, None)
        self._frozen[place] = value, frozen
        x._value = frozen

    def _thaw(self, x: Any, place: int) -> None:
        found = self._frozen.pop(place, None)
        if found is None or not self._capture.requires(place):
            x._value = self._thawed[place] = ops.stop_gradient(x.expression)
            self._capture.gradients.add_leaf(x, x._value)
        elif x._value is found[1]:
            x._value = found[0]
        else:  # it was written while it was frozen
            x._value = construct(gradient_to, (x.expression, found[0]), {})

    def is_frozen(self, place: int) -> bool:
        """Whether an operand requires no grad since the function has said so."""
        return place in self._frozen

    def records_writes(self, place: int) -> bool:
        """Whether a write to an operand may be recorded; RuntimeError if it is a leaf by now."""
        if place in self._thawed:
            check_writable(self._capture.tensor_at(place))
        return place not in self._frozen

    def renewed(self, x: Any, place: int) -> None:
        """An operand has got another value, by the step of an optimizer."""
        if place in self._frozen:
            self._freeze(x, place)
        elif place in self._thawed:
            self._thaw(x, place)

    def refuse_thawed(self, values: Iterable[Expression]) -> None:
        """Refuse results with a history of what required no grad when the call began."""
        leaves = [*self._thawed.values()]
        if not leaves:
            return
        for one in values:
            nodes = ancestors([one])
            if one.serial in depending_on(nodes, leaves):
                refuse(
                    "returns a tensor with a history of one that requires grad only since the "
                    "function has said so",
                    "return it with detach(), or call requires_grad_() before the call",
                )

    def steps(self) -> list[Step]:
        """What each call does at its end."""
        return [
            SetTraining(table, value)
            for table, before, value in self._trained.values()
            if value is not before
        ]

    def put_back(self) -> None:
        """Let all be as it was before the function was captured."""
        for table, before, _ in self._trained.values():
            table["training"] = before
        for x, before in list(self._required.values()):
            x.requires_grad_(before)


def add_step(steps: list[Step], step: Step) -> None:
    """Add a step; a flag that is put back before anything else is done is none."""
    if isinstance(step, SetFlag):
        for i in range(len(steps) - 1, -1, -1):
            one = steps[i]
            if not isinstance(one, SetFlag):
                break
            if one.operand == step.operand:
                del steps[i]
                return
    steps.append(step)
