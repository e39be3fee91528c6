"""The canonical form of a definition: all that passes and emitter see of it, as text.

Two definitions with the same form have the same kernel. What names things is left out: the names
of users and their lines, serial numbers, the identities of variables. Unknown sizes are numbered as
the nodes mention them; as passes order sizes by `Unknown.order`, so does the form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.compiler.core.digest import blake2b
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Op, is_own, is_registered
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.forms import Encoder, Form
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.ops.programs import regions

_NAMED = {leaves.placeholder: "key", leaves.variable: "key", regions.checkpoint: "region"}
"""The attributes that only say what is the same."""


@frozen(eq=False)
class Canonical:
    """The text of a definition, and its unknown sizes by their numbers."""

    text: str
    unknowns: tuple[Unknown, ...]


def canonical(definition: Definition) -> Canonical | None:
    """The canonical form; None if there is none, because of an op or an attribute."""
    writer = _Writer()
    try:
        nodes = writer.nodes(definition.nodes)
    except FormatError:
        return None
    unknowns = tuple(writer.unknowns)
    order = sorted(range(len(unknowns)), key=lambda number: unknowns[number].order())
    roots = definition.inputs, definition.outputs, definition.updates
    return Canonical(repr((nodes, roots, order)), unknowns)


class _Writer(Encoder):
    def __init__(self) -> None:
        self.unknowns: dict[Unknown, int] = {}
        self.keys: dict[Any, int] = {}

    def nodes(self, nodes: Iterable[Node]) -> Form:
        types: dict[int, Any] = {}
        found = []
        for node in nodes:
            types[node.id] = node.type
            found.append(self._node(node, types))
        return tuple(found)

    def _node(self, node: Node, types: Mapping[int, Any]) -> Form:
        if not _is_known(node.op):
            raise FormatError(f"{node.op.name} is no op of the library")
        attrs = []
        for name, value in sorted(node.attrs.items()):
            if node.op in _NAMED and name == _NAMED[node.op]:
                # by what it is equal to, since nothing else is asked of it
                attrs.append((name, self.keys.setdefault((name, value), len(self.keys))))
            else:
                attrs.append((name, self.value(value)))
        called: Form = node.op.name
        if is_own(node.op):
            called = called, _code(node, types)
        return called, node.operands, tuple(attrs), self.value(node.type)

    def scalar(self, value: Any) -> Form:
        return "scalar", value.dtype.str, value.item()

    def other(self, value: object) -> Form:
        if isinstance(value, leaves.Literal):
            dtype, shape, content = value.key
            return "array", dtype, shape, blake2b(content).hexdigest()
        body = getattr(value, "definition", None)  # of a loop or branch
        if isinstance(body, Definition):
            return "graph", self.nodes(body.nodes), body.inputs, body.outputs
        return super().other(value)

    def unknown(self, atom: Unknown) -> Form:
        return self.unknowns.setdefault(atom, len(self.unknowns))


class _Outlined(_Writer):
    """A writer of lines, which says of all values what it can."""

    def line(self, node: Node) -> str:
        """A node as a line."""
        attrs = [
            f" {name}={self.value(value)}"
            for name, value in sorted(node.attrs.items())
            if node.op not in (leaves.placeholder, leaves.variable) and _NAMED.get(node.op) != name
        ]
        operands = ", ".join(map(str, node.operands))
        type = self.value(node.type)
        return f"{node.id}: {node.op.name}({operands}){''.join(attrs)} {_plain(type)}"

    def other(self, value: object) -> Form:
        try:
            form = super().other(value)
            if isinstance(value, leaves.Literal):
                return value.array.item() if value.array.size == 1 else form[3][:16]
            return form
        except FormatError:
            return type(value).__name__


def outline(definition: Definition) -> list[str]:
    """The nodes of a definition and what it gives, as lines that are equal on all ranks."""
    writer = _Outlined()
    lines = list(map(writer.line, definition.nodes))
    return [*lines, f"gives {definition.outputs}, updates {definition.updates}"]


def _plain(form: Form) -> str:
    """A type of a line, with words for sizes: n0 is the first one that is unknown."""
    if "tensor" not in form:
        return str(form)
    tensor = form["tensor"]
    sizes = [
        f"n{size[0][1]}" if isinstance(size, list) and _is_atom(size) else str(size)
        for size in tensor["shape"]
    ]
    return f"{tensor['dtype']}[{', '.join(sizes)}]"


def _is_atom(size: Form) -> bool:
    return len(size) == 1 and len(size[0]) == 2 and size[0][0] == 1 and type(size[0][1]) is int


def _is_known(op: Op) -> bool:
    """Whether an op is one that is declared: another may be called the same."""
    return is_registered(op)


def _code(node: Node, types: Mapping[int, Any]) -> str:
    """What a kernel has of the code of a user's op: a function of arrays is called by its name."""
    lowering = node.op.lowering
    if isinstance(lowering, Pointwise) and lowering.of_dtype is not None:
        return lowering.of_dtype(types[node.operands[0]].dtype)
    return ""
