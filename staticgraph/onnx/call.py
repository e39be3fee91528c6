"""One application of an operator, as those who read operators see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.expression import construct
from staticgraph.compiler.ops import leaves
from staticgraph.onnx.reading import Graph, Step

Read: TypeAlias = "Callable[[Call], Any]"
"""How an operator is read: its value, or a tuple of them."""

OPERATORS: dict[str, Read] = {}
"""By their names the operators that are read."""


def reads(*operators: str) -> Callable[[Read], Read]:
    """Register how operators of these names are read."""

    def register(function: Read) -> Read:
        OPERATORS.update(dict.fromkeys(operators, function))
        return function

    return register


class RefusedError(FormatError):
    """An operator is read, but not what a model does with it."""


@frozen(eq=False)
class Call:
    """An operator with the values that it takes.

    Attributes:
        step: the node.
        opset: the version of the operators.
        values: what it takes: arrays, expressions, tensors, arrays of sizes; None for nothing.
        run: computes a graph within the node, of values.
    """

    step: Step
    opset: int
    values: Sequence[Any]
    run: Callable[[Graph, Sequence[Any]], list[Any]]

    def refuse(self, reason: str) -> RefusedError:
        """What is raised for what cannot be read."""
        return RefusedError(f"onnx: {self.step.name}, opset {self.opset}: {reason}")

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or what stands for it where it is not given."""
        return self.step.attributes.get(name, default)

    def raw(self, position: int) -> Any:
        """A value as it is, or None."""
        return self.values[position] if position < len(self.values) else None

    def value(self, position: int) -> Any:
        """A value to be computed with; FormatError where there is none."""
        found = self.optional(position)
        if found is None:
            raise self.refuse(f"it lacks input {position}")
        return found

    def optional(self, position: int) -> Any:
        """A value to be computed with, or None."""
        return computed(self.raw(position))

    @property
    def operands(self) -> list[Any]:
        """All values."""
        return [self.value(i) for i in range(len(self.values))]

    def sizes(self, position: int, what: str = "sizes") -> list[Any]:
        """Numbers that have to be known before anything is computed, or sizes."""
        found = self.raw(position)
        if not isinstance(found, np.ndarray | np.generic):
            raise self.refuse(f"the {what} are computed by the model, and have to be known before")
        return [one if isinstance(one, Dim) else int(one) for one in np.ravel(found)]

    def numbers(self, position: int, what: str) -> list[int]:
        """Numbers that have to be known before anything is computed."""
        found = self.sizes(position, what)
        if any(isinstance(one, Dim) for one in found):
            raise self.refuse(f"the {what} depend on unknown sizes")
        return found

    def given(self, name: str, position: int) -> list[int] | None:
        """Numbers that old versions have as an attribute, and new ones as an input, or None."""
        if self.raw(position) is not None:
            return self.numbers(position, name)
        found = self.attribute(name)
        return None if found is None else [int(one) for one in found]


def computed(value: Any) -> Any:
    """A value to be computed with: of sizes that are unknown the expression of them."""
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    parts = [
        construct(leaves.size_of, (), {"size": one})
        if isinstance(one, Dim)
        else np.asarray(one, np.int64)
        for one in value.ravel()
    ]
    if not value.ndim:
        return parts[0]
    return ops.reshape(ops.concatenate([ops.reshape(one, (1,)) for one in parts]), value.shape)


def as_sizes(sizes: Iterable[Any]) -> Any:
    """An array of sizes: of integers where all are known."""
    found = list(sizes)
    if all(not isinstance(one, Dim) for one in found):
        return np.array(found, np.int64)
    made = np.empty(len(found), object)
    made[:] = found
    return made


def is_sizes(value: object) -> bool:
    """Whether a value is an array with unknown sizes in it."""
    return isinstance(value, np.ndarray) and value.dtype == object
