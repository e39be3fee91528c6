"""What is done where a call gives inf or nan: `compile(..., on_nonfinite=...)`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import NonFiniteError, NonFiniteWarning
from staticgraph.compiler.core.values import Array, Tree
from staticgraph.compiler.runtime.trampoline import CALLS, Kept

if TYPE_CHECKING:
    from staticgraph.compiler.inspect.origins import Replay


def _now() -> int:
    CALLS[0] += 1
    return int(CALLS[0])


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
    """

    __slots__ = (
        "_kept", "_last", "_muted", "_told", "_when_kept", "is_looking", "policy", "report"
    )  # fmt: skip

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.report: Replay | None = None
        self.is_looking = True
        self._last: tuple[Sequence[object], dict[str, Tree]] | None = None
        self._told = self._when_kept = 0
        self._kept: Kept | None = None
        self._muted: list[tuple[Array, int]] = []

    def tell(self, look: Callable[[], Replay]) -> None:
        """Have a call looked into before it updates anything.

        Raises:
            NonFiniteError: so the policy wants it; else the call is to go on.
        """
        if not self.is_looking:
            return
        found = look()
        self._told = _now()
        self.report = found if found.lost else replace(found, rounded=True)
        if self.policy == "raise":
            raise NonFiniteError(str(self.report), self.report)
        self.is_looking = False
        if self.policy == "warn":
            first = self.report.first
            file, _, line = ("<unknown>:0" if first is None else first.line).rpartition(":")
            warnings.warn_explicit(str(self.report), NonFiniteWarning, file, int(line))

    def keeping(self, count: int) -> Kept | None:
        """Where a trampoline keeps the inputs of a call, `count` of them, with "report"."""
        if self.policy == "report" and self._kept is None:
            self._kept = Kept([None] * count)
        return self._kept

    def keep(self, args: Sequence[object], kwargs: dict[str, Tree]) -> None:
        """Keep the arguments of a call without a trampoline, with "report"."""
        if self.policy == "report":
            self._last = args, kwargs
            self._told = self._when_kept = _now()
            if self._kept is not None:
                self._kept.inputs[:] = [None] * len(self._kept.inputs)

    @property
    def last(self) -> tuple[Sequence[object], dict[str, Tree]] | None:
        """The arguments of the last call, which "report" keeps."""
        if self._kept is not None and self._kept.stamp[0] > self._when_kept:
            return tuple(self._kept.inputs), {}
        return self._last

    @property
    def when(self) -> int:
        """A number that grows with every call that is told of or kept, of all executables."""
        return self._told if self._kept is None else max(self._told, int(self._kept.stamp[0]))

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
    """Runs calls without a kernel, and keeps the arguments of the last one for a replay."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Called) -> None:
        self._runner = runner

    def run(self, args: Sequence[object], kwargs: dict[str, Tree]) -> Tree:
        """The results of a call."""
        if self._runner.lost is not None:
            given = {name: value for name, value in kwargs.items() if name != "out"}
            self._runner.lost.keep(args, given)
        return self._runner.run(args, kwargs)
