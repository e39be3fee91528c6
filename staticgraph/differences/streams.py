"""Loops whose values inside take too much memory at once: a few iterations at a time.

A loop is repeated as many loops of a few iterations, each of which begins with the carries that
the one before has ended with: those of the eager engine, of the kernel, and of each run that is
moved by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import TensorType, mapped
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression, at_line, construct
from staticgraph.compiler.graph.loop import items_of
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.control_gradients import stand_in
from staticgraph.differences.loops import Opened
from staticgraph.differences.records import Row
from staticgraph.differences.rows import Both, Far, Within
from staticgraph.fuzz.graphs.rounding import distance, largest_of, moved, sizes, tight

Engine: TypeAlias = "Callable[[Sequence[Expression], Mapping[Expression, Array]], list[Array]]"
"""What computes expressions, given the values of placeholders."""


@frozen
class Engines:
    """What a loop is computed by: eagerly, by a kernel, and moved by rounding, some times."""

    eager: Engine
    compiled: Engine
    moved: Sequence[Engine]

    @property
    def all(self) -> list[Engine]:
        """The engines in this order."""
        return [self.eager, self.compiled, *self.moved]


def movers(runs: int) -> list[Engine]:
    """Engines that move everything that is computed at random, as rounding does."""

    def mover(seed: int) -> Engine:
        rng = np.random.default_rng(seed)

        def run(roots: Sequence[Expression], feeds: Mapping[Expression, Array]) -> list[Array]:
            try:
                return moved(roots, feeds, rng)
            except LinAlgError:  # a decomposition that does not converge any more
                return [np.full(one.shape, np.nan).astype(one.dtype) for one in roots]

        return run

    return [mover(seed) for seed in range(runs)]


def streamed(
    opened: Opened,
    inputs: Mapping[Expression, Array],
    engines: Engines,
    most: int,
    far: Far,
) -> Iterator[Row]:
    """The rows of a loop.

    Args:
        opened: the loop.
        inputs: of the graph.
        engines: what computes it.
        most: bytes of the values inside that are looked at at once.
        far: whether a value is too far apart.
    """
    known = sizes(inputs)
    pieces = _Pieces(opened, known)
    count = max(1, most * pieces.length // opened.bytes(known))
    operands = [engine(opened.operands, inputs) for engine in engines.all]
    rows = [Within(one, far) for one in opened.inside]
    states = [pieces.first(given) for given in operands]
    for before in range(0, pieces.length, count):
        found = []
        for i, (engine, given) in enumerate(zip(engines.all, operands, strict=True)):
            size = min(count, pieces.length - before)
            states[i], values = pieces.run(engine, given, states[i], before, size)
            found.append(values)
        for row, one in zip(rows, opened.inside, strict=True):
            taken = np.ones(()) if one.taken is None else found[0][pieces.place(one.taken)]
            if one.taken is not None:
                taken = taken & found[1][pieces.place(one.taken)]
            eager, compiled, *others = (values[pieces.place(one.stack)] for values in found)
            axes = len(one.loops)
            explained = largest_of(tight(eager), axes)
            for other in others:
                explained = np.maximum(explained, largest_of(distance(other, eager), axes))
            row.add(Both(eager, compiled, explained), taken, before, pieces.length)
    yield from (one.row for one in rows if one.row is not None)


class _Pieces:
    """A scan as scans of a few of its iterations.

    Attributes:
        length: how many iterations it has.
    """

    def __init__(self, opened: Opened, known: Mapping[dims.Unknown, int]) -> None:
        def size(one: dims.Dim) -> int:
            return dims.evaluate(one, known)

        self._attrs = {key: mapped(one, size) for key, one in opened.attrs.items()}
        self._source = opened.node.source
        self.length: int = self._attrs["length"]
        self._types = [one.type.with_sizes(size) for one in opened.operands]
        self._places = {one.serial: i for i, one in enumerate(opened.wanted)}
        self._start = self._attrs["consts"] + self._attrs["carries"]
        self._made: dict[int, tuple[list[Expression], list[Expression]]] = {}

    def place(self, wanted: Expression) -> int:
        """Where among the values of a piece those of an expression are."""
        return self._places[wanted.serial]

    def first(self, operands: Sequence[Array]) -> list[Array]:
        """The first carries."""
        return list(operands[self._attrs["consts"] : self._start])

    def run(
        self, engine: Engine, operands: Sequence[Array], carry: list[Array], before: int, count: int
    ) -> tuple[list[Array], list[Array]]:
        """The next carries and the values inside, of `count` iterations behind the first."""
        end = self.length - before
        which = slice(end - count, end) if self._attrs["reverse"] else slice(before, before + count)
        fixed, xs = operands[: self._attrs["consts"]], operands[self._start :]
        if count not in self._made:
            self._made[count] = self._scan(count)
        inputs, outputs = self._made[count]
        given = [*fixed, *carry, *(np.ascontiguousarray(x[which]) for x in xs)]
        found = engine(outputs, dict(zip(inputs, given, strict=True)))
        carries = self._attrs["carries"]
        return found[:carries], found[carries:]

    def _scan(self, count: int) -> tuple[list[Expression], list[Expression]]:
        """The inputs and the values of a scan of so many iterations."""
        inputs = []
        for i, type in enumerate(self._types):
            shape = type.shape if i < self._start else (count, *type.shape[1:])
            inputs.append(stand_in(TensorType(shape, type.dtype), f"operand {i}"))
        with at_line(self._source):
            made = construct(control.scan, tuple(inputs), {**self._attrs, "length": count})
            return inputs, items_of(made, self._attrs["carries"] + len(self._places))
