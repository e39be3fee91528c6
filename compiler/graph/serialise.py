"""Graphs as JSON and back: ops by name, attributes by explicit forms, types inferred again.

A record has no code in it, and reading one runs none: what is read is checked value by value, and
every type is inferred by the op it belongs to and compared with the one that was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size, Unknown
from staticgraph.compiler.core.errors import FormatError, StaticGraphError
from staticgraph.compiler.core.own_ops import op_saved_as, saved_name
from staticgraph.compiler.core.source import Scope, in_scope, scope_of
from staticgraph.compiler.core.types import TensorType, TupleType, Type
from staticgraph.compiler.core.values import Array, Value
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.definition import Definition, Node, define
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.forms import Decoder, Encoder, Form, int_of, require_entries, str_of
from staticgraph.compiler.graph.state import State
from staticgraph.compiler.ops.leaves import Literal

MAX_SIZE = 1 << 62
"""The most elements that a tensor may have."""


@dataclass
class Writer(Encoder):
    """What records refer to by number, shared by all graphs that are written with it.

    Attributes:
        arrays: the values of constants.
        states: the variables.
    """

    arrays: list[Array] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def graph(self, definition: Definition) -> Form:
        """The record of a graph; FormatError if an attribute has no form."""
        return {
            "nodes": [self._node(node) for node in definition.nodes],
            "inputs": list(definition.inputs),
            "outputs": list(definition.outputs),
            "updates": [list(pair) for pair in definition.updates],
        }

    def _node(self, node: Node) -> Form:
        scope = [_printable(name) for name in scope_of(node.source)]
        return {
            "op": saved_name(node.op),
            "operands": list(node.operands),
            "attrs": {key: self.value(value) for key, value in node.attrs.items()},
            "type": self.value(node.type),
            "name": node.name,
            # a name of a file may have any characters
            "source": _printable(node.source),
            **({"scope": scope} if scope else {}),
        }

    def text(self, value: str) -> Form:
        """A word, itself; FormatError for other texts."""
        return _word(value)

    def unknown(self, atom: Unknown) -> Form:
        """Its name, or a number that is the same wherever the size is."""
        if isinstance(atom.key, str):
            return {"name": atom.key}
        return {"number": atom.key, "label": atom.label}

    def other(self, value: object) -> Form:
        """Constants and variables by their places among the arrays; the graphs of loops."""
        if isinstance(value, Literal):
            self.arrays.append(value.array)
            return {"array": len(self.arrays) - 1}
        if isinstance(value, State):
            return {"variable": self._place(value)}
        if isinstance(value, Body):
            return {"graph": self.graph(value.definition)}
        return super().other(value)

    def _place(self, state: State) -> int:
        for place, known in enumerate(self.states):
            if known is state:
                return place
        self.states.append(state)
        return len(self.states) - 1


class Reader(Decoder):
    """What records refer to by number, and the unknown sizes that they mention.

    Args:
        arrays: the values of constants.
        states: the variables.
    """

    def __init__(self, arrays: Sequence[object], states: Sequence[State]) -> None:
        self.literals = [Literal(array) for array in arrays]
        self.states = states
        self._unknown: dict[int, Dim] = {}

    def graph(
        self, record: Form, variable: Callable[..., Expression] = Expression
    ) -> tuple[list[Expression], list[Expression], list[tuple[Expression, Expression]]]:
        """The inputs, outputs and updates of a graph, as expressions; `variable` makes a variable.

        Raises:
            FormatError: the record is damaged; the message says where.
        """
        nodes: list[Expression] = []
        for i, one in enumerate(_list(record, "nodes")):
            try:
                nodes.append(self._node(one, nodes, variable))
            except StaticGraphError as error:
                raise FormatError(f"node {i} ({_label(one)}): {error}") from None
            except Exception as error:  # whatever an op raises for attributes it does not know
                raise FormatError(f"node {i} ({_label(one)}): {error!r}") from None
        inputs, outputs = (
            [_at(nodes, place, name) for place in _list(record, name)]
            for name in ("inputs", "outputs")
        )
        updates = []
        for pair in _list(record, "updates"):
            if not isinstance(pair, list) or len(pair) != 2:
                raise FormatError(f"updates: {pair!r} is no pair")
            updates.append((_at(nodes, pair[0], "updates"), _at(nodes, pair[1], "updates")))
        return inputs, outputs, updates

    def _node(
        self, record: Form, nodes: Sequence[Expression], variable: Callable[..., Expression]
    ) -> Expression:
        entries = {"op", "operands", "attrs", "type", "name", "source"}
        if isinstance(record, dict) and "scope" in record:
            entries.add("scope")
        require_entries(record, entries)
        op = op_saved_as(_word(record["op"]))
        operands = tuple(_at(nodes, place, "operands") for place in _list(record, "operands"))
        if not isinstance(record["attrs"], dict):
            raise FormatError("the attributes are no object")
        attrs = {key: self.value(form) for key, form in record["attrs"].items()}
        name = record["name"]
        if name is not None and not isinstance(name, str):
            raise FormatError(f"the name {name!r} is no text")
        source = record["source"]
        if not isinstance(source, str) or not source.isprintable():
            raise FormatError(f"the source {source!r} is no line of printable text")
        source = in_scope(source or "-", _scope(record.get("scope", [])))
        make = variable if op.name == "variable" else Expression
        made = make(op, operands, attrs, name, source)
        written = self.value(record["type"])
        if made.type != written:
            raise FormatError(f"{op.name}: the type is {made.type}, the file says {written}")
        _check_size(made.type)
        if op.name == "variable":
            self._check_variable(made)
        return made

    def _check_variable(self, made: Expression) -> None:
        state = made.attrs["key"]
        if not isinstance(state, State):
            raise FormatError("variable: the key is no variable of the file")
        array = state.array
        if made.type != TensorType(array.shape, array.dtype):
            raise FormatError(
                f"variable {made.name!r}: the type is {made.type}, the array "
                f"{array.dtype.name}{list(array.shape)}"
            )

    def text(self, form: str) -> str:
        """The word."""
        return _word(form)

    def unknown(self, form: Form) -> Size:
        """The size of this name, or one for all places with this number."""
        if isinstance(form, dict) and set(form) == {"name"}:
            return dims.unknown(str_of(form["name"]))
        if isinstance(form, dict) and set(form) == {"number", "label"}:
            number = int_of(form["number"])
            if number not in self._unknown:
                self._unknown[number] = dims.unknown(label=str_of(form["label"]))
            return self._unknown[number]
        raise FormatError(f"{form!r:.80} is no size")

    def other(self, kind: str, content: Form) -> Value:
        """A constant, a variable, or the graph of a loop."""
        if kind == "array":
            return _at(self.literals, content, "array")
        if kind == "variable":
            return _at(self.states, content, "variable")
        if kind == "graph":
            return self._body(content)
        return super().other(kind, content)

    def _body(self, form: Form) -> Body:
        inputs, outputs, updates = self.graph(form)
        if updates:
            raise FormatError("a body has no updates")
        return Body(define(inputs, outputs))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _scope(form: Form) -> Scope:
    """The names of scopes; FormatError for anything but printable texts."""
    if not isinstance(form, list):
        raise FormatError(f"the scope {form!r:.80} is no list of names")
    for name in form:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise FormatError(f"the scope {form!r:.80} is no list of names")
    return tuple(form)


def _check_size(type: Type) -> None:
    for one in type.items if isinstance(type, TupleType) else (type,):
        known = [size for size in one.shape if isinstance(size, int)]
        if any(size < 0 for size in known) or math.prod(known) > MAX_SIZE:
            raise FormatError(f"a tensor of type {one} cannot exist")


def _label(record: Form) -> str:
    return f"{record.get('op')!r:.80}" if isinstance(record, dict) else f"{record!r:.80}"


def _list(record: Form, name: str) -> list[Any]:
    if not isinstance(record, dict) or not isinstance(record.get(name), list):
        raise FormatError(f"there is no list {name!r}")
    found: list[Any] = record[name]
    return found


_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,64}")


def _word(form: Form) -> str:
    """A short word, as names of ops and attributes are: it may become part of generated code."""
    if not isinstance(form, str) or not _WORD.fullmatch(form):
        raise FormatError(f"{form!r:.80} is no word")
    return form


def _at(values: Sequence[object], place: Form, name: str) -> Any:
    if type(place) is not int or not 0 <= place < len(values):
        raise FormatError(f"{name}: there is no number {place!r:.80}")
    return values[place]
