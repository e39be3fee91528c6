"""What a run op by op shows: every step with its values and the line that it comes from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.errors import NonFiniteWarning
from staticgraph.compiler.core.notebook import as_printed
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.source import gradient_of, is_line, place_of
from staticgraph.compiler.core.types import type_of
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.bodies import NESTED, Iteration, observed
from staticgraph.compiler.inspect.interpreted import Interpreted
from staticgraph.compiler.runtime.sizes import Feed


@frozen(eq=False)
class Step:
    """One op that was run.

    Attributes:
        op: its name.
        name: the name that the user gave to the expression, or None.
        source: the user's `file:line`; of a gradient, `gradient of OP at file:line`.
        operands, attrs: what it was applied to: arrays, and the op's options.
        value: what came out, an array.
        iterations: in which iteration of which loop, or branch, it ran, the outermost first; empty
            outside of them.
    """

    op: str
    name: str | None
    source: str
    operands: tuple[Value, ...]
    attrs: Mapping[str, object]
    value: Value
    iterations: tuple[Iteration, ...] = ()

    @property
    def is_gradient(self) -> bool:
        """Whether it, or a loop that it runs in, is a part of a gradient."""
        sources = [self.source, *(one.source for one in self.iterations)]
        return any(map(gradient_of, sources))

    def __str__(self) -> str:
        operands = ", ".join(map(_typed, self.operands))
        label = f" {self.name!r}" if self.name else ""
        return f"{self.op}{label}({operands}) = {_shown(self.value)}  ({self.source})"


@frozen(eq=False)
class Trace:
    """The steps of one run, in order; `print(trace)` lists them, those of gradients at last.

    What ran in loops and branches comes before the step of the loop or branch itself.
    """

    steps: tuple[Step, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, position: int) -> Step:
        return self.steps[position]

    def at(self, line: str) -> list[Step]:
        """The steps that come from a line, given as the end of `file:line`: `"train.py:12"`."""
        return [step for step in self.steps if is_line(place_of(step.source), line)]

    @property
    def forward(self) -> Trace:
        """The steps of what the user wrote."""
        return Trace(tuple(step for step in self.steps if not step.is_gradient))

    @property
    def gradient(self) -> Trace:
        """The steps of gradients, with what these compute again."""
        return Trace(tuple(step for step in self.steps if step.is_gradient))

    _repr_html_ = as_printed

    def __str__(self) -> str:
        lines = _indented(self.forward.steps)
        gradient = _indented(self.gradient.steps)
        return "\n".join([*lines, "gradient:", *gradient] if gradient else lines)


def _indented(steps: Sequence[Step]) -> list[str]:
    """The lines of steps; what runs in an iteration is indented below a line that names it."""
    lines: list[str] = []
    above: tuple[Iteration, ...] = ()
    for step in steps:
        here = step.iterations
        start = 0
        while start < min(len(here), len(above)) and here[start] == above[start]:
            start += 1
        lines += [f"{'  ' * i}{here[i]}:" for i in range(start, len(here))]
        lines.append("  " * len(here) + str(step))
        above = here
    return lines


def trace(
    definition: Definition,
    feeds: tuple[Feed, ...],
    name: str,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    most: int | None = None,
) -> Trace:
    """The steps of a graph's run on the arguments of a call; variables stay what they are.

    `most`: of how many iterations of each loop; None for all.
    """
    steps: list[Step] = []

    def observe(node: Expression, operands: Sequence[object], value: object) -> None:
        steps.append(step_of(node, operands, value))

    def inside(
        node: Node, operands: Sequence[Any], value: object, path: tuple[Iteration, ...]
    ) -> None:
        steps.append(step_of(node, operands, value, path))

    run = observed(inside, most)
    Interpreted(definition, feeds, list, name).watch(args, kwargs, observe, run)
    return Trace(tuple(steps))


def step_of(
    node: Expression | Node,
    operands: Sequence[object],
    value: object,
    iterations: tuple[Iteration, ...] = (),
) -> Step:
    """The record of an op that was run."""
    parts = node.op.name, node.name, node.source, tuple(operands), node.attrs, value
    return Step(*parts, iterations)


class NonFinite:
    """Warns of each line that makes inf or nan out of finite operands; once per line."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._below: list[tuple[Iteration, ...]] = []

    def __call__(
        self,
        node: Expression | Node,
        operands: Sequence[object],
        value: object,
        iterations: tuple[Iteration, ...] = (),
    ) -> None:
        """Look at an op that was run; those inside a loop or branch are shown before itself."""
        depth = len(iterations)
        is_told = node.op in NESTED and any(len(path) > depth for path in self._below)
        if node.op in NESTED:
            self._below = [path for path in self._below if len(path) <= depth]
        place = place_of(node.source)
        if _finite(value) or not all(map(_finite, operands)):
            return
        if not operands:  # a constant of the user's
            return
        self._below.append(iterations)
        if place in self._known or is_told:
            return
        file, _, line = place.rpartition(":")
        message = ", ".join([_message(node, operands, value), *map(str, iterations)])
        warnings.warn_explicit(message, NonFiniteWarning, file, int(line))
        self._known.add(place)


def _finite(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_finite, value))
    array = np.asarray(value)
    return not is_inexact(array.dtype) or bool(np.isfinite(array).all())


def _message(node: Expression | Node, operands: Sequence[Any], value: object) -> str:
    types = ", ".join(map(_typed, operands))
    if isinstance(value, tuple):
        return f"{node.op.name}({types}) is not finite ({node.source})"
    array = np.asarray(value)
    wrong = ~np.isfinite(array)
    first = tuple(map(int, np.argwhere(wrong)[0]))
    place = f" at {list(first)}" if first else ""
    origin = ""
    if node.op.elementwise:
        read = [np.broadcast_to(operand, array.shape)[first] for operand in operands]
        origin = f" of {' and '.join(map(str, read))}"
    return (
        f"{node.op.name}({types}): {int(wrong.sum())} of {array.size} values are not finite, "
        f"the first is {array[first]}{place}{origin} ({node.source})"
    )


def _typed(value: object) -> str:
    return f"({', '.join(map(_typed, value))})" if isinstance(value, tuple) else str(type_of(value))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    array = np.asarray(value)
    if array.size <= 4:
        text = np.array2string(array, separator=", ", precision=6)
        return f"{type_of(array)} {' '.join(text.split())}"
    if array.dtype.kind == "b":
        return f"{type_of(array)}, {int(array.sum())} of {array.size} true"
    finite = array[np.isfinite(array)]
    lost = f", {array.size - finite.size} not finite" if finite.size < array.size else ""
    if not finite.size:
        return f"{type_of(array)}{lost}"
    mean = finite.mean(dtype=np.float64)
    return f"{type_of(array)} from {finite.min():.6g} to {finite.max():.6g}, mean {mean:.6g}{lost}"
