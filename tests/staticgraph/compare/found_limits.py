"""Limits that are known beforehand, in the place of those that are measured."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compare.meter import Need
from staticgraph.compiler.inspect.limits import Bound, Limits, bound_of


class FoundLimits:
    """What `limits.Meter` does, without measuring."""

    def __init__(self, found: Limits) -> None:
        self.found = found

    def __enter__(self) -> FoundLimits:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def measure(
        self, seconds: float, need: object = None, by: object = None, new: bool = False
    ) -> None:
        pass

    def limits(self) -> list[Limits]:
        return [self.found]

    def least(self, need: Need) -> Bound:
        return bound_of(self.found, need.moved, need.flops)

    def follow(self, seconds: float, need: object) -> None:
        pass

    def until(self, shortest: Callable[[], float], need: object) -> bool:
        return True
