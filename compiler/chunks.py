"""In how many parts a loop is cut, which threads share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.dims import Size, Unknown, evaluate


@dataclass(frozen=True, slots=True)
class Chunks:
    """A loop in chunks: how many iterations there are, and how many statements they run in all.

    A chunk has at least `least` iterations and runs at least `grain` statements; there are at most
    `most`.
    """

    extent: Size
    work: Size
    least: int
    grain: int
    most: int

    def count(self, sizes: Mapping[Unknown, int]) -> int:
        """How many chunks there are, given the sizes that are unknown before run time."""
        extent, work = evaluate(self.extent, sizes), evaluate(self.work, sizes)
        return max(1, min(self.most, extent // self.least, work // self.grain))
