"""The operands of a function that is captured: the same on all ways through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.core.types import DType
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops import leaves
from staticgraph.dynamic.capture.effects import Draw
from staticgraph.dynamic.capture.questions import gradient_of, has_gradient


class Operands:
    """What a captured function computes with.

    Attributes:
        count: how many operands are the caller's; then come tensors of the surroundings.
        inputs: what they are in the graph.
        given: what they are in the call that it is captured for.
        held: the places of those that are of modules, or of the surroundings, by identity.
        draws: random numbers, by what is drawn up to them.
        stages: where operands are that a step of an optimizer has changed, by their place before
            and the number of the stage.
        asked: what was asked of which operands, on any way (one that raises asks, too), and the
            answers: whether they require grad, and have a gradient.
        grads: where operands are that are the gradients of others before the call, and these.
        recording: whether the thread recorded, if that was asked.
    """

    def __init__(
        self, inputs: Sequence[Expression], given: Sequence[Any], held: Sequence[bool]
    ) -> None:
        self.count = len(inputs)
        self.inputs, self.given = list(inputs), list(given)
        self.held = {id(one): i for i, one in enumerate(given) if held[i]}
        self.draws: dict[tuple[Draw, ...], Expression] = {}
        self.stages: dict[tuple[int, int], int] = {}
        self.asked: dict[tuple[Callable[[Any], Any], int], bool | None] = {}
        self.grads: dict[int, int] = {}
        self.recording: bool | None = None

    def drawn(self, draws: Sequence[Draw], dtype: DType) -> Expression:
        """What the last of these random numbers are in the graph."""
        key = tuple(draws)
        if key not in self.draws:
            attrs = leaves.leaf_attrs(draws[-1].shape, dtype, leaves.next_key())
            name = f"random numbers {len(self.draws)}"
            self.draws[key] = Expression(leaves.placeholder, (), attrs, name)
        return self.draws[key]

    def renewed(self, place: int, stage: int) -> tuple[int, Expression]:
        """An operand as it is in a later stage: its place, and what it is in the graph."""
        where = self.stages.get((place, stage))
        if where is None:
            name = f"{self.inputs[place].name} after step {stage}"
            where = self.stages[place, stage] = self._more(place, name, self.given[place])
        return where, self.inputs[where]

    def gradient(self, place: int) -> int | None:
        """Where the gradient is that an operand, a leaf, has before the call; None: it has none."""
        tensor = self.given[place]
        self.asked[has_gradient, place] = has_gradient(tensor)
        if not self.asked[has_gradient, place]:
            return None
        for where, of in self.grads.items():
            if of == place:
                return where
        where = self._more(place, f"gradient of {self.inputs[place].name}", gradient_of(tensor))
        self.grads[where] = place
        return where

    def _more(self, place: int, name: str, tensor: object) -> int:
        """The place of one more operand of the shape and dtype of another."""
        old = self.inputs[place]
        attrs = leaves.leaf_attrs(old.shape, old.dtype, leaves.next_key())
        self.inputs.append(Expression(leaves.placeholder, (), attrs, name))
        self.given.append(tensor)
        return len(self.inputs) - 1

    @property
    def lifted(self) -> tuple[Any, ...]:
        """The operands behind the caller's: None for gradients, which each call looks up."""
        given = [None if i in self.grads else one for i, one in enumerate(self.given)]
        return tuple(given[self.count :])

    def leaves(self) -> list[Expression]:
        """The inputs of the graph: operands, and random numbers."""
        return [*self.inputs, *self.draws.values()]

    def close(self) -> None:
        """Let go of them."""
        self.given.clear()
        self.held.clear()
