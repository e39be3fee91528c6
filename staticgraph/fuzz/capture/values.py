"""A function under construction, with the values that its names have."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.fuzz.eager.program import Step

SHAPES = ((), (1,), (3,), (3,), (2, 3), (3, 2), (3, 3), (3, 3), (2, 1), (1, 3), (2, 3, 4),
          (2, 3, 3), (2, 2, 3, 4), (0,), (2, 0))  # fmt: skip
DTYPES = ("float64",) * 8 + ("float32", "int64", "int64", "bool", "int32", "uint8")


class Values:
    """Names, the tensors they are bound to, and guesses around one of them.

    Attributes:
        bound: every name's value.
        leaves: the steps that are arguments of the function.
        drawn: leaves that the step in construction reads for the first time.
        subject: the name, as an argument, of the tensor that the step is of.
    """

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.bound: dict[str, Any] = {}
        self.leaves: list[Step] = []
        self.drawn: list[Step] = []
        self.subject = ""
        self._made = 0

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self.choose.random() < probability

    def fresh(self) -> str:
        """A new name."""
        self._made += 1
        return f"x{self._made}"

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the subject."""
        return tuple(self.bound[self.subject[1:]].shape)

    def tensors(self) -> list[str]:
        """The names of tensors."""
        return [name for name, one in self.bound.items() if isinstance(one, dynamic.Tensor)]

    def tensor(self, dtype: str, shape: Any) -> str:
        """A new leaf, as an argument."""
        count = int(np.prod(shape, dtype=int))
        return self.given(dtype, shape, [self._element(dtype) for _ in range(count)])

    def given(self, dtype: str, shape: Any, values: list[Any]) -> str:
        """A new leaf of these values, as an argument."""
        name = self.fresh()
        step = {"do": "leaf", "name": name, "shape": list(shape), "dtype": dtype,
                "values": values,
                "requires_grad": dtype.startswith("float") and self.chance(0.7)}  # fmt: skip
        self.drawn.append(step)
        return "$" + name

    def _element(self, dtype: str) -> Any:
        if dtype == "bool":
            return self.chance(0.5)
        if dtype.startswith("float"):
            low = -1.0 if self.chance(0.3) else 0.1
            return round(self.choose.uniform(low, 1.5), 3)
        return self.choose.choice((0, 1, 1, 2))

    def leaf(self) -> str:
        """A new leaf of any kind."""
        return self.tensor(self.choose.choice(DTYPES), self.choose.choice(SHAPES))

    def like(self) -> str:
        """A tensor that fits the subject, elementwise."""
        found = [name for name in self.tensors() if tuple(self.bound[name].shape) == self.shape]
        if self.chance(0.6):
            return "$" + self.choose.choice(found)
        dtype = "float64" if self.chance(0.5) else str(self.bound[self.subject[1:]].dtype)[6:]
        return self.tensor(dtype, self.nearby())

    def nearby(self) -> list[int]:
        """A shape that broadcasts with that of the subject, mostly the same."""
        shape = list(self.shape)
        if self.chance(0.3) and shape:
            shape[self.choose.randrange(len(shape))] = 1
        return shape[1:] if self.chance(0.15) else shape

    def any(self) -> str:
        """Any tensor."""
        return "$" + self.choose.choice(self.tensors())

    def number(self) -> Any:
        """A Python number."""
        return self.choose.choice((2.0, 0.5, -1.0, 3, 2, 1, 0, 0.25, True))

    def dim(self) -> int:
        """An axis of the subject, rarely one more."""
        rank = max(1, len(self.shape))
        return self.choose.randrange(-rank, rank)

    def size(self) -> Any:
        """A size of a tensor, read in the function."""
        if not self.shape:
            return 1
        return {"size": [self.subject, self.choose.randrange(len(self.shape))]}
