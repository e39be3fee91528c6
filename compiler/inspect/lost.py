"""What is done where a call gives inf or nan: `compile(..., on_nonfinite=...)`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Protocol

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import NonFiniteError, NonFiniteWarning
from staticgraph.compiler.core.values import Array, Tree

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.origins import Replay


_calls = count(1)


def is_finite(array: Array) -> bool:
    """Whether no element is inf or nan."""
    return not is_inexact(array.dtype) or bool(np.isfinite(array).all())


class Lost:
    """Tells of the first call of which an output or update is not finite.

    With "raise", that is every such call. With "warn" and "report", the calls after it go on as
    they are, until the report has been asked for: what is not finite once mostly stays so, and to
    look takes a thousand times as long as a call.

    Attributes:
        policy: "raise", "warn" or "report".
        report: of the last call that was looked into.
        is_looking: whether the next one is.
        last: the arguments of the last call, which "report" keeps.
        when: a number that grows with every call that is told of or kept, of all executables.
    """

    __slots__ = ("_muted", "is_looking", "last", "policy", "report", "when")

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.report: Replay | None = None
        self.is_looking = True
        self.last: tuple[Sequence[object], dict[str, Tree]] | None = None
        self.when = 0
        self._muted: list[tuple[Array, int]] = []

    def tell(self, look: Callable[[], Replay]) -> None:
        """Have a call looked into before it updates anything.

        Raises:
            NonFiniteError: so the policy wants it; else the call is to go on.
        """
        if not self.is_looking:
            return
        found = look()
        self.when = next(_calls)
        self.report = found if found.lost else replace(found, rounded=True)
        if self.policy == "raise":
            raise NonFiniteError(str(self.report), self.report)
        self.is_looking = False
        if self.policy == "warn":
            first = self.report.first
            file, _, line = ("<unknown>:0" if first is None else first.line).rpartition(":")
            warnings.warn_explicit(str(self.report), NonFiniteWarning, file, int(line))

    def mute(self, table: Array, at: int) -> None:
        """Have programs go on, which the entry `at` of their table says, until `asked`."""
        table[at] = 1
        self._muted.append((table, at))

    def asked(self) -> Replay | None:
        """The report; the next call that is not finite is looked into again."""
        self.is_looking = True
        while self._muted:
            table, at = self._muted.pop()
            table[at] = 0
        return self.report


class Called(Protocol):
    """What runs calls."""

    @property
    def lost(self) -> Lost | None:
        """Who is told of calls that give inf or nan."""

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call."""


class Keeper:
    """Runs calls, and keeps the arguments of the last one for a replay."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Called) -> None:
        self._runner = runner

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call."""
        if self._runner.lost is not None:
            given = {name: value for name, value in kwargs.items() if name != "out"}
            self._runner.lost.last = args, given
            self._runner.lost.when = next(_calls)
        return self._runner.run(args, kwargs)
