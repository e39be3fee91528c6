"""Ops of several results on the tape: one node for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.pytorch import stem_of
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.tape.mutated import mutated
from staticgraph.dynamic.tape.nodes import FREED, Cotangents, SeveralOutputs, next_number
from staticgraph.dynamic.tape.observers import announce, observers

LETTERS = "abcdefghijklmn"  # of operands


class SeveralNode(SeveralOutputs):
    """A recorded op whose value is a tuple.

    Attributes:
        operands: per operand its array if the rule reads it, else its type; None once freed.
        outputs: the arrays of the results.
        guards: per array that is kept its version counter, what that was, the array, and the node
            that made it, or the number of the result that it is.
    """

    __slots__ = ("attrs", "found", "guards", "op", "operands", "outputs")

    def __init__(
        self, op: Op, attrs: Attrs, operands: Sequence[Any], arrays: Sequence[object]
    ) -> None:
        super().__init__((), np.dtype(np.float32))
        self.op, self.attrs = op, attrs
        self.edges = tuple([operand._node for operand in operands])
        self.hooks = None
        self.count = len(arrays)
        self.heads = {}
        read = op.saved(0)
        self.operands: tuple[Any, ...] | None = tuple([
            one._array if letter in read else Spec(one._array.shape, one._array.dtype)
            for letter, one in zip(LETTERS, operands, strict=False)
        ])  # fmt: skip
        self.outputs = tuple(arrays)
        self.guards: list[tuple[Any, int, Any, Any]] = [
            (one._counter, one._counter[0], one._array, edge)
            for letter, one, edge in zip(LETTERS, operands, self.edges, strict=False)
            if letter in read
        ]
        self.found: list[int] = []
        self.serial = next_number()

    def guard(self, results: Sequence[Any]) -> None:
        """Note the versions of the results, which the rule reads."""
        for number, one in enumerate(results):
            self.guards.append((one._counter, one._counter[0], one._array, number))

    def pull(self, g: Cotangents, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands that have a node."""
        if self.operands is None:
            raise AutogradError(FREED)
        for counter, version, array, maker in self.guards:
            if counter[0] != version:
                if isinstance(maker, int):
                    maker = self.head(maker, array)
                raise AutogradError(mutated(array, maker, counter, version, self.name()))
        gs = g.listed(self.count)
        operands, outputs = self.operands, self.outputs
        if create_graph:
            like = next(one for one in gs if one is not None)
            operands = tuple(map(_tensor, [like] * len(operands), operands, self.edges))
            heads = [self.head(i, array) for i, array in enumerate(outputs)]
            outputs = tuple(map(_tensor, [like] * len(outputs), outputs, heads))
        positions = [i for i, edge in enumerate(self.edges) if edge is not None]
        assert self.op.vjp_items is not None
        parts = self.op.vjp_items(positions, gs, outputs, *operands, **self.attrs)
        pairs = [(i, part) for i, part in zip(positions, parts, strict=True) if part is not None]
        self.found = [i for i, _ in pairs]
        return [(self.edges[i], part) for i, part in pairs]

    def undefined(self, create_graph: bool) -> list[tuple[Any, Any]]:
        """No cotangent for any operand."""
        self.found = [i for i, edge in enumerate(self.edges) if edge is not None]
        return super().undefined(create_graph)

    def places(self) -> tuple[int, ...]:
        """The operands that got a cotangent when the node ran last."""
        return tuple(self.found)

    def release(self) -> None:
        """Let go of what was saved."""
        self.operands = None
        self.outputs = ()
        self.guards = []

    def name(self) -> str:
        """PyTorch's name of the node."""
        return f"{stem_of(self.op)}Backward0"


def _tensor(like: Any, array: object, node: object) -> Any:
    """An array as a tensor that belongs to the graph."""
    if not isinstance(array, np.ndarray):
        return array
    tensor = like._constant(array)
    tensor._node = node
    return tensor


def record_several(
    op: Op, attrs: Attrs, operands: Sequence[object], results: Sequence[Any]
) -> None:
    """Put new results of an op on the tape, one of whose operands requires grad."""
    node = SeveralNode(op, attrs, operands, [one._array for one in results])
    for i, one in enumerate(results):
        if is_inexact(one._array.dtype):
            one._maker = node.head(i, one._array)
    if "o" in op.saved(0):
        node.guard(results)
    if observers:
        announce(node)
