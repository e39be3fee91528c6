"""Limits that are known beforehand, in the place of those that are measured."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compare.records import Limits


class FoundLimits:
    """What `limits.Meter` does, without measuring."""

    def __init__(self, found: Limits) -> None:
        self.found = found

    def __enter__(self) -> FoundLimits:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def measure(self, seconds: float, near: int | None = None) -> None:
        pass

    def limits(self) -> list[Limits]:
        return [self.found]

    def until(self, holds: Callable[[], bool], near: int | None = None) -> bool:
        return holds()
