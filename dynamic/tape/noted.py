"""What ops and optimizers note for the lint of reverse passes: rarely, and next to nothing.

Ops that are common note nothing. What is noted here is looked at by the next `backward()`
(`dynamic.tape.lint`), which otherwise only sees that nothing waits.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeAlias

from staticgraph.dynamic.core.lint_level import MOST_PLACES, state
from staticgraph.dynamic.core.places import Place, user_place

OFTEN = 1000
"""After so many notes of a kind only each that doubles their number is taken."""

Noted: TypeAlias = "tuple[str, weakref.ref[Any]]"
"""What was done, and the node that it made."""

waiting: list[Any] = []
"""The kinds of `Notes` of which there are new ones, and the optimizers that are new."""


class Notes:
    """Nodes of one kind that were made since they were last looked at, by the user's place.

    Attributes:
        found: those.
    """

    def __init__(self) -> None:
        self.found: dict[Place, Noted] = {}
        self._count = 0
        self._often: dict[Place, int] = {}

    def note(self, what: str, node: object) -> None:
        """Note a node.

        Of one place only each node that doubles their number is noted, so that a healthy loop is
        looked at a few times.
        """
        count = self._count = self._count + 1
        if (count > OFTEN and count & (count - 1)) or state.level == "off":
            return
        place = user_place()
        if len(self._often) >= MOST_PLACES:
            self.forget()
        times = self._often[place] = self._often.get(place, 0) + 1
        if times & (times - 1):
            return
        self.found[place] = what, weakref.ref(node)
        if self not in waiting:
            waiting.append(self)

    def forget(self) -> None:
        """Forget all places."""
        self.found.clear()
        self._often.clear()
        self._count = 0


flat = Notes()
"""Nodes of ops whose derivative is 0 everywhere, such as round."""

promoted = Notes()
"""Nodes that cast float32 to float64 because the other operand is."""


class _AllowingLost:
    """Inside, a loss may be inf or nan: a search along a line tries such steps.

    Attributes:
        depth: how many such blocks are running.
    """

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1


allowing_lost = _AllowingLost()


lost_notes: list[str] = []
"""Where the inf or nan of the loss came from of which a pass has begun in anomaly mode."""


class NewOptimizer:
    """An optimizer, whose parameters are looked at in some of the next reverse passes.

    Attributes:
        optimizer: a weak reference to it.
        place: where the user made it.
        passes: how many reverse passes there were since.
        versions: of leaves that no optimizer has, how often each was overwritten, when the lint
            last looked.
        counts: the same of all leaves, where advice was asked for.
    """

    __slots__ = ("counts", "optimizer", "passes", "place", "versions")

    def __init__(self, optimizer: Any, place: Place) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.place = place
        self.passes = 0
        self.versions: dict[Any, int] = {}
        self.counts: dict[Any, int] = {}


optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
"""All optimizers."""


def note_optimizer(optimizer: object) -> None:
    """Have the lint look at the parameters of a new optimizer."""
    if state.level != "off":
        waiting.append(NewOptimizer(optimizer, user_place()))
