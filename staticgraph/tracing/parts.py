"""Executables for a part of a trace: of the inputs those that its outputs need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compilation import compile
from staticgraph.compiler.core.dims import Dim, Unknown, as_unknown
from staticgraph.compiler.core.types import mapped
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import cut
from staticgraph.executables.executable import Executable


class Part:
    """An executable for some of the inputs that a caller has: those that its outputs need."""

    __slots__ = ("executable", "used")

    def __init__(
        self,
        name: str,
        inputs: Sequence[Expression],
        outputs: Any,
        options: Mapping[str, Any],
        givens: Mapping[Expression, Expression] | None = None,
    ) -> None:
        roots = [outputs] if isinstance(outputs, Expression) else outputs
        needed = needed_inputs(inputs, roots, givens or {})
        self.used = None if len(needed) == len(inputs) else needed
        self.executable: Executable = compile(
            [inputs[i] for i in needed], outputs, givens=givens, name=name, **options
        )

    def __call__(self, arrays: Sequence[object]) -> Any:
        """The outputs, given all inputs."""
        if self.used is None:
            return self.executable(*arrays)
        return self.executable(*[arrays[i] for i in self.used])

    def needed(self, arrays: Sequence[object]) -> Sequence[object]:
        """Those of all inputs that the executable takes."""
        return arrays if self.used is None else [arrays[i] for i in self.used]


def needed_inputs(
    inputs: Sequence[Expression],
    roots: Sequence[Expression],
    givens: Mapping[Expression, Expression],
) -> list[int]:
    """The positions of the inputs that some roots read, or that give a size of what they read."""
    inside, border = cut(roots, lambda node: node not in givens)
    values = [*inside, *(givens[node] for node in border)]
    serials = {node.serial for node in values}
    read = [i for i, one in enumerate(inputs) if one.serial in serials]
    missing = _sizes_of(values) - _given([inputs[i] for i in read])
    for i, one in enumerate(inputs):
        if missing & _given([one]):
            read.append(i)
            missing -= _given([one])
    return sorted(read)


def _sizes_of(nodes: Sequence[Expression]) -> set[Unknown]:
    found: set[Unknown] = set()

    def collect(size: Dim) -> Dim:
        found.update(size.atoms())
        return size

    for node in nodes:
        for value in (node.type, *node.attrs.values()):
            mapped(value, collect)
    return found


def _given(nodes: Sequence[Expression]) -> set[Unknown]:
    return {atom for one in nodes for size in one.shape if (atom := as_unknown(size)) is not None}
