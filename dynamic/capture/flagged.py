"""Flags that a captured function sets: modules in training, tensors that require gradients."""

from __future__ import annotations

import functools
from typing import Any

from staticgraph.compiler.core.watching import note
from staticgraph.dynamic.capture.effects import Do, SetTraining, Step
from staticgraph.dynamic.capture.traced import Traced


class Flagged:
    """What was set while a function was captured: each call does it again, at its end."""

    def __init__(self) -> None:
        self._trained: dict[int, tuple[dict[str, Any], bool, bool]] = {}
        self._required: dict[int, tuple[Any, bool, bool]] = {}

    def sets_training(self, table: dict[str, Any], value: bool) -> None:
        """A module is about to be set to training or evaluation."""
        note(table, "training")
        before = self._trained.get(id(table), (table, table["training"], value))[1]
        self._trained[id(table)] = table, before, value

    def sets_requires_grad(self, x: Any, value: bool) -> None:
        """A tensor is about to be frozen, or to require gradients."""
        if not isinstance(x, Traced):
            before = self._required.get(id(x), (x, x._maker is not None, value))[1]
            self._required[id(x)] = x, before, value

    def steps(self) -> list[Step]:
        """What each call does."""
        trained = [
            SetTraining(table, value)
            for table, before, value in self._trained.values()
            if value is not before
        ]
        required = [
            Do(functools.partial(x.requires_grad_, value))
            for x, before, value in self._required.values()
            if value is not before
        ]
        return [*trained, *required]

    def put_back(self) -> None:
        """Let all be as it was before the function was captured."""
        for table, before, _ in self._trained.values():
            table["training"] = before
        for x, before, _ in list(self._required.values()):
            x.requires_grad_(before)
