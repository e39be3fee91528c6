"""A program under construction, with what its steps do to memory.

Nothing of either engine decides what is made: whether tensors require gradients is a guess here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.values import Array
from staticgraph.fuzz.eager.memory import Cell, Memory, UnknownError
from staticgraph.fuzz.eager.program import Step

SHAPES = ((), (), (1,), (3,), (3,), (2, 3), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3), (2, 1, 3),
          (2, 2, 2), (0,), (0, 3), (2, 0))  # fmt: skip
LARGEST = 200
RECENT = 0.5
WRONG = 0.06  # of the steps that memory refuses are kept: the errors are compared


class Grower:
    """A program under construction.

    Attributes:
        requires: the names that are thought to require gradients.
        leaves: those of leaves that do.
        mode: what every step runs in; "" for none.
    """

    def __init__(self, choose: random.Random, dtype: str) -> None:
        self.choose = choose
        self.dtype = dtype
        self.steps: list[Step] = []
        self.memory = Memory()
        self.requires: set[str] = set()
        self.leaves: list[str] = []
        self.labels: list[str] = []
        self._made = 0

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self.choose.random() < probability

    def fresh(self) -> str:
        """A new name."""
        self._made += 1
        return f"x{self._made}"

    def number(self) -> float | int:
        """A Python number."""
        return self.choose.choice((2.0, 0.5, -1.0, 3, 1.5, -0.5))

    def array(self, name: str) -> Array:
        """The memory of a name."""
        return self.memory.cells[name].array

    def pick(self, wanted: Callable[[str, Array], bool] = lambda _n, _x: True) -> str | None:
        """A name, rather a recent one."""
        found = [
            name for name, cell in self.memory.cells.items()
            if cell.array.size <= LARGEST and wanted(name, cell.array)
        ]  # fmt: skip
        if not found:
            return None
        if self.chance(RECENT):
            return found[max(0, len(found) - 1 - int(self.choose.expovariate(0.5)))]
        return self.choose.choice(found)

    def floating(self) -> str | None:
        """A name of the program's dtype."""
        return self.pick(lambda _, x: is_float(x.dtype))

    def fitting(self, shape: Sequence[int]) -> Any:
        """A tensor that broadcasts to a shape, or a number."""
        name = self.pick(lambda _, x: is_float(x.dtype) and broadcasts(x.shape, shape))
        return self.number() if name is None or self.chance(0.15) else f"${name}"

    def leaf(self) -> None:
        """A leaf, which requires gradients or not."""
        shape = self.choose.choice(SHAPES)
        dtype = "int64" if self.chance(0.03) else self.dtype
        values: list[Any] = [
            round(self.choose.uniform(-1.5, 1.5), 2)
            if dtype != "int64"
            else self.choose.randrange(-3, 4)
            for _ in range(int(np.prod(shape)))
        ]
        name = self.fresh()
        wants = dtype != "int64" and self.chance(0.75)
        if wants:
            self.requires.add(name)
            self.leaves.append(name)
        self.add({"do": "leaf", "name": name, "shape": list(shape), "dtype": dtype,
                  "values": values, "requires_grad": wants})  # fmt: skip

    def add(self, step: Step) -> bool:
        """Append a step, unless memory refuses it: then seldom; whether it may have worked."""
        before = dict(self.memory.cells)
        try:
            self.memory.do(step)
        except UnknownError:
            pass
        except Exception:
            self.memory.cells = before
            if self.chance(WRONG):
                self.steps.append(step)
            return False
        self.steps.append(step)
        name = step.get("name")
        if isinstance(name, str) and step["do"] != "leaf":
            read = [one[1:] for one in _flat(step.get("args", [])) if one.startswith("$")]
            if self.requires.intersection(read) and "no_grad" not in step.get("modes", ()):
                self.requires.add(name)
        return True


def broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Whether an array of a shape broadcasts to another one."""
    pairs = zip(reversed(shape), reversed(to), strict=False)
    return len(shape) <= len(to) and all(a in (1, b) for a, b in pairs)


def _flat(given: object) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, list):
        return [one for part in given for one in _flat(part)]
    return []


__all__ = ["Cell", "Grower", "broadcasts"]
