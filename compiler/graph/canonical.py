"""The canonical form of a definition: all that passes and emitter see of it, as text.

Two definitions with the same form have the same kernel. What names things is left out: the names
of users and their lines, serial numbers, the identities of variables. Unknown sizes are numbered as
the nodes mention them; as passes order sizes by `Unknown.order`, so does the form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from compiler.core.dims import Dim, Opaque, Size, Unknown
from compiler.core.op import Op, op_named
from compiler.core.types import TensorType, TupleType
from compiler.graph.definition import Definition, Node
from compiler.ops import LIBRARY, leaves, regions

_NAMED = {leaves.placeholder: "key", leaves.variable: "key", regions.checkpoint: "region"}
"""The attributes that only say what is the same."""

Form: TypeAlias = "tuple[Any, ...]"
"""A kind, and ints, texts, bools and forms."""


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """The text of a definition, and its unknown sizes by their numbers."""

    text: str
    unknowns: tuple[Unknown, ...]


def canonical(definition: Definition) -> Canonical | None:
    """The canonical form; None if there is none, because of an op or an attribute."""
    writer = _Writer()
    try:
        nodes = writer.nodes(definition.nodes)
    except _NoFormError:
        return None
    unknowns = tuple(writer.unknowns)
    order = sorted(range(len(unknowns)), key=lambda number: unknowns[number].order())
    roots = definition.inputs, definition.outputs, definition.updates
    return Canonical(repr((nodes, roots, order)), unknowns)


class _NoFormError(Exception):
    """A value is of a kind that has no form."""


class _Writer:
    def __init__(self) -> None:
        self.unknowns: dict[Unknown, int] = {}
        self.keys: dict[Any, int] = {}

    def nodes(self, nodes: Iterable[Node]) -> Form:
        return tuple([self._node(node) for node in nodes])

    def _node(self, node: Node) -> Form:
        if not _is_known(node.op):
            raise _NoFormError
        attrs = []
        for name, value in sorted(node.attrs.items()):
            if node.op in _NAMED and name == _NAMED[node.op]:
                # by what it is equal to, since nothing else is asked of it
                attrs.append((name, self.keys.setdefault((name, value), len(self.keys))))
            else:
                attrs.append((name, self._value(value)))
        return node.op.name, node.operands, tuple(attrs), self._value(node.type)

    def _value(self, value: Any) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return "float", value.hex()
        if isinstance(value, np.integer | np.bool_):
            return "scalar", value.dtype.str, value.item()
        if isinstance(value, tuple):
            return "tuple", *[self._value(part) for part in value]
        if isinstance(value, Dim):
            return self._size(value)
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if isinstance(value, TensorType):
            return "tensor", value.dtype.str, *map(self._size, value.shape)
        if isinstance(value, TupleType):
            return "tensors", *map(self._value, value.items)
        if isinstance(value, leaves.Literal):
            dtype, shape, content = value.key
            return "array", dtype, shape, hashlib.sha256(content).hexdigest()
        return self._graph(value)

    def _graph(self, value: Any) -> Form:
        """A body of a loop or branch."""
        body = getattr(value, "definition", None)
        if not isinstance(body, Definition):
            raise _NoFormError
        return "graph", self.nodes(body.nodes), body.inputs, body.outputs

    def _size(self, size: Size) -> Any:
        if not isinstance(size, Dim):
            return int(size)
        return "size", *[(factor, *map(self._atom, atoms)) for atoms, factor in size.terms]

    def _atom(self, atom: Unknown | Opaque) -> Any:
        if isinstance(atom, Unknown):
            return self.unknowns.setdefault(atom, len(self.unknowns))
        return atom.function, *map(self._size, atom.arguments)


def _is_known(op: Op) -> bool:
    """Whether an op is one that the library declares: another may be called the same."""
    return op.name in LIBRARY and op_named(op.name) is op
