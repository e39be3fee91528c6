"""Which operands of a function are biases: vectors that are only added to products."""

from __future__ import annotations

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.graph.definition import Definition, Node

_VIEWS = ("expand_dims", "reshape", "squeeze", "transpose")


def biases_of(definition: Definition) -> dict[int, tuple[int, ...]]:
    """Per input that is a vector, broadcast and added to products alone, the other factors.

    These are inputs, too; both by their positions.
    """
    places = {node: i for i, node in enumerate(definition.inputs)}
    readers: dict[int, list[Node]] = {}
    for node in definition.nodes:
        for operand in node.operands:
            readers.setdefault(operand, []).append(node)
    found: dict[int, tuple[int, ...]] = {}
    for one, place in places.items():
        type, sums = definition.nodes[one].type, readers.get(one, ())
        if not is_float(type.dtype) or len(type.shape) != 1 or not sums:
            continue
        if all(node.op.name == "add" and node.type.shape != type.shape for node in sums):
            others = [other for node in sums for other in node.operands if other != one]
            factors = [i for other in others for i in _factors(definition, other, places)]
            if factors:
                found[place] = tuple(factors)
    return found


def _factors(definition: Definition, node: int, places: dict[int, int]) -> list[int]:
    """The positions of the inputs that are factors of a product, views between left out."""
    made = _viewed(definition, definition.nodes[node])
    if made.op.linearity != "multilinear":
        return []
    factors = [_viewed(definition, definition.nodes[one]).id for one in made.operands]
    return [places[one] for one in factors if one in places]


def _viewed(definition: Definition, node: Node) -> Node:
    """What a node is a view of."""
    while node.op.name in _VIEWS:
        node = definition.nodes[node.operands[0]]
    return node
