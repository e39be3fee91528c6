"""Protocols: what one package hands to another, where neither imports the other.

A function that `staticgraph` has compiled is called on tensors of an eager engine, which records it
as one node of its tape: it gets a `CompiledFunction`, and keeps the `CompiledPullback`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from staticgraph.compiler.core.values import Array, Value

ArrayLike: TypeAlias = Array | np.generic | float
"""What an executable takes for a tensor."""


class CompiledPullback(Protocol):
    """A compiled function together with its reverse pass by some of its operands."""

    @property
    def floating(self) -> Sequence[int]:
        """The outputs that have cotangents."""

    @property
    def needs(self) -> tuple[int, ...]:
        """The operands that get cotangents, of those that were asked for."""

    @property
    def reads(self) -> Collection[int]:
        """The operands whose values the reverse pass may read."""

    @property
    def pullback(self) -> CompiledFunction:
        """The cotangents of those operands as a function of cotangents and operands."""

    @property
    def biases(self) -> Mapping[int, Sequence[int]]:
        """The operands that are only added to products with other operands, each with these."""

    def lost_at(self) -> tuple[str, str] | None:
        """Where the last call of which an output was inf or nan made it so: the line, and what."""

    def forward(self, arrays: Sequence[ArrayLike]) -> tuple[list[Array], list[Array]]:
        """The outputs, and the values to keep for `backward`."""

    def backward(
        self, cotangents: Sequence[object], arrays: Sequence[ArrayLike], kept: Sequence[Array]
    ) -> list[Array]:
        """The cotangents of the operands; of `arrays`, those at `reads` matter."""


class CompiledStage(Protocol):
    """What a compiled function computes between two steps of optimizers."""

    def run(
        self, arrays: Sequence[ArrayLike], kept: dict[int, Array]
    ) -> Sequence[tuple[int, Array]]:
        """Outputs with their places; `kept` is handed from stage to stage."""


class CompiledFunction(Protocol):
    """A compiled function of tensors."""

    @property
    def name(self) -> str:
        """What errors and drawings call it."""

    @property
    def outputs(self) -> int:
        """How many outputs there are."""

    @property
    def stages(self) -> Sequence[CompiledStage]:
        """What runs one after the other, if it reads parameters after steps of optimizers."""

    def forward(self, arrays: Sequence[ArrayLike]) -> list[Array]:
        """The outputs."""

    def reverse(
        self, needs: tuple[int, ...], without: frozenset[int] = frozenset()
    ) -> CompiledPullback:
        """The function with its reverse pass by the operands at `needs`; outputs `without` one."""

    def expand(self, operands: Sequence[object]) -> list[Value]:
        """The outputs on any operands, op by op."""


class ArrayRunner(Protocol):
    """A compiled definition, as an eager engine calls it."""

    def run(self, args: Sequence[Array], kwargs: dict[str, Array]) -> list[Array]:
        """The outputs, in new arrays; `kwargs` are inputs by name, and are taken over.

        Raises:
            DTypeError, ShapeError, OutOfRangeError: the inputs do not fit.
        """
