"""A function that is captured: once on each way through its branches on values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from staticgraph.compiler.core.refusals import refuse, refuse_effect
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.transforms.autodiff import origins
from staticgraph.compiler.transforms.branches import padded
from staticgraph.dynamic.capture.branched import Branched, Taken, common, numbers
from staticgraph.dynamic.capture.captures import Capture
from staticgraph.dynamic.capture.effects import Draw, Effects
from staticgraph.dynamic.capture.outside import Operands
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused, record_if


class Captured:
    """The captures of one function.

    Args:
        name: of the function.
        inputs: its placeholders.
        given: the operands of the call.
        held: which of them are of modules.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Expression],
        given: Sequence[Any],
        held: Sequence[bool],
    ) -> None:
        self._name = name
        self._operands = Operands(inputs, given, held)
        self._failures: list[tuple[Draw, ...]] = []
        self.leaves = self._operands.leaves
        self.close = self._operands.close

    @contextmanager
    def capturing(self) -> Iterator[Capture]:
        """Inside the block this thread captures: whatever its modes were, it records.

        What `autocast` does around the call is a part of the graph.
        """
        before = mode.capture, mode.inference, record_if(True)
        capture = mode.capture = Capture(self._operands, before[2] and not before[1])
        mode.inference = False
        paused.append(None)
        copying.append(None)  # no in-place operation takes a short way
        try:
            try:
                yield capture
            except Exception as error:
                capture.refuse_half(error)
                raise
            if not mode.enabled:
                refuse_effect(
                    "switches gradients off for good, which a graph would not",
                    "switch them off in a with block, or outside",
                )
        finally:
            capture.close()
            copying.pop()
            paused.pop()
            mode.capture, mode.inference, _ = before
            record_if(before[2])

    def drawn(self, capture: Capture | None) -> int:
        """A number, from 1 on, for what was drawn on a way that raises; 0: nothing."""
        draws = () if capture is None else capture.draws
        if not draws:
            return 0
        self._failures.append(draws)
        return len(self._failures)

    def alone(self, effects: Effects) -> Effects:
        """What is done on the one way that returns, with what those read that raise.

        What these draw is no operand: nothing of it is left in the graph.
        """
        own = {tuple(effects.draws[: i + 1]) for i in range(len(effects.draws))}
        draws = self._operands.draws
        self._operands.draws = {key: one for key, one in draws.items() if key in own}
        effects.lift(self._operands.lifted)
        effects.grads = dict(self._operands.grads)
        effects.recording = self._operands.recording
        effects.failures = tuple(self._failures)
        return effects

    def joined(
        self,
        results: Sequence[list[Expression]],
        others: Sequence[list[Expression]],
        ways: Sequence[Effects],
        place: str,
    ) -> tuple[list[list[Expression]], Effects]:
        """The results of all ways, as many of each, and what is done beside computing them.

        Args:
            results: per way the caller's.
            others: per way those of what else is done.
            ways: per way what else is done.
            place: the line of the first branch.
        """
        if any(one.breaks for one in ways):
            refuse(
                "a branch on a value in a function that reads parameters after an optimizer has "
                "changed them",
                "make the part after the step a function of its own, or use sg.cond or sg.where",
                place,
            )
        lifted, grads = self._operands.lifted, self._operands.grads
        padding, slots = padded(others)
        made = [[*own, *more] for own, more in zip(results, padding, strict=True)]
        depends = [origins(own, self._operands.inputs) for own in made]
        recording = self._operands.recording
        effects = common(ways, slots, lifted, recording, grads)
        draws = tuple(self._operands.draws)
        alike = all(one == depends[0] for one in depends)
        if effects is not None and alike and len(effects.draws) == len(draws):
            effects.failures = tuple(self._failures)
            return made, effects
        made = [[*one, number] for one, number in zip(made, numbers(len(ways)), strict=True)]
        taken = [Taken(*one) for one in zip(ways, slots, depends, strict=True)]
        branched = Branched(self._name, taken, lifted, draws, recording, grads)
        branched.failures = tuple(self._failures)
        return made, branched
