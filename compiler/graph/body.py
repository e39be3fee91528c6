"""Body: a graph inside a graph, which a loop repeats or a branch computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core.dims import Dim, Size
from staticgraph.compiler.core.errors import (
    GraphError,
    OutOfRangeError,
    ShapeError,
    StaticGraphError,
    located,
)
from staticgraph.compiler.core.types import TensorType, mapped, same_type
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.build import graph_of
from staticgraph.compiler.graph.definition import Definition, Node, define, intern_key
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import fold_records
from staticgraph.compiler.ops import leaves

if TYPE_CHECKING:
    import networkx as nx


class Body:
    """A function of tensors as an attribute of a node: immutable, hashable, compared by content.

    Attributes:
        definition: its DAG, whose inputs are all its placeholders; their keys are 0, 1, ...
        inputs, outputs: the types of what it takes and gives.
    """

    __slots__ = ("_graph", "_hash", "_key", "definition", "inputs", "outputs")

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._graph: nx.MultiDiGraph[int] | None = None
        nodes = definition.nodes
        for node in nodes:
            if node.op is leaves.placeholder and node.id not in definition.inputs:
                raise GraphError(
                    f"a body reads the leaf {node.name!r} ({node.source}), which is none of its "
                    f"{len(definition.inputs)} inputs"
                )
        self.inputs, self.outputs = (
            tuple(nodes[node].type for node in roots)
            for roots in (definition.inputs, definition.outputs)
        )
        self._key = (
            tuple(intern_key(node.op, node.operands, node.attrs) for node in nodes),
            definition.inputs,
            definition.outputs,
        )
        self._hash = hash(self._key)

    @property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The networkx DAG, frozen."""
        if self._graph is None:
            self._graph = graph_of(self.definition)
        return self._graph

    @classmethod
    def of(cls, inputs: Sequence[Expression], outputs: Sequence[Expression]) -> Body:
        """The function from `inputs`, which may be any expressions, to `outputs`.

        What the outputs depend on beside the inputs may have no leaves but constants.
        """
        made: dict[int, Expression] = {}
        taken = []
        for position, one in enumerate(inputs):
            attrs = leaves.leaf_attrs(one.shape, one.dtype, position)
            taken.append(Expression(leaves.placeholder, (), attrs, one.name, one.source))
            made[one.serial] = taken[-1]
        return cls(define(taken, substitute(outputs, made)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self._hash == other._hash and self._key == other._key

    def __copy__(self) -> Body:
        return self

    def __deepcopy__(self, memo: object) -> Body:
        return self

    def __reduce__(self) -> Any:
        return Body, (self.definition,)

    def __str__(self) -> str:
        taken, given = (", ".join(map(str, types)) for types in (self.inputs, self.outputs))
        return f"<({taken}) -> ({given})>"

    __repr__ = __str__

    def expressions(self) -> tuple[list[Expression], list[Expression]]:
        """The inputs and outputs as expressions, to be read, extended and closed again."""
        made = self.definition.expressions()
        inputs, outputs = (
            [made[node] for node in roots]
            for roots in (self.definition.inputs, self.definition.outputs)
        )
        return inputs, outputs

    @property
    def sizes(self) -> tuple[Size, ...]:
        """All unknown sizes that it mentions."""
        found: dict[Size, None] = {}

        def note(size: Dim) -> Size:
            found[size] = None
            return size

        for node in self.definition.nodes:
            mapped((node.type, *node.attrs.values()), note)
        return tuple(found)

    def with_sizes(self, function: Callable[[Dim], Size]) -> Body:
        """The body with each unknown size replaced."""
        if not self.sizes:
            return self
        definition = self.definition
        made = fold_records(
            definition.nodes,
            lambda node, operands: Expression(
                node.op,
                operands,
                {key: mapped(value, function) for key, value in node.attrs.items()},
                node.name,
                node.source,
                node.type.with_sizes(function),
            ),
        )
        taken, given = (
            [made[node] for node in roots] for roots in (definition.inputs, definition.outputs)
        )
        return Body(define(taken, given))

    def infer(self, op: str, types: Sequence[TensorType]) -> tuple[TensorType, ...]:
        """The types of the outputs; the types of all nodes are inferred again.

        Raises:
            ShapeError: the types are not those of the inputs, or sizes inside do not fit.
        """
        if len(types) != len(self.inputs):
            raise ShapeError(f"{op}: {len(types)} operands for a body that takes {self}")
        for given, taken in zip(types, self.inputs, strict=True):
            if not same_type(given, taken):
                raise ShapeError(f"{op}: {given} given to a body that takes {taken}")
        nodes = self.definition.nodes
        for node in nodes:
            operands = [nodes[operand].type for operand in node.operands]
            try:
                inferred = node.op.infer_type(*operands, **node.attrs)
                if inferred != node.type:
                    raise ShapeError(f"{node.op.name}: the result is {inferred}, not {node.type}")
            except (ShapeError, OutOfRangeError) as error:
                raise error.__class__(f"{op}: {error} ({node.source})") from None
        return self.outputs

    def __call__(self, *arrays: object) -> list[Value]:
        """The values of the outputs, evaluated node by node with NumPy; all sizes are known."""
        given = dict(zip(self.definition.inputs, arrays, strict=True))
        values = fold_records(self.definition.nodes, _evaluated, given)
        return [values[node] for node in self.definition.outputs]


def _evaluated(node: Node, operands: tuple[object, ...]) -> Any:
    try:
        return node.op.value(*operands, **node.attrs)
    except StaticGraphError as error:
        raise located(error, node.source, f"{error} ({node.source})") from error
