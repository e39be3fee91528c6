"""Graphs as JSON and back: ops by name, attributes by explicit forms, types inferred again.

A record has no code in it, and reading one runs none: what is read is checked value by value, and
every type is inferred by the op it belongs to and compared with the one that was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np

from compiler.core import dims
from compiler.core.dims import Dim, Opaque, Size, Unknown
from compiler.core.errors import FormatError, StaticGraphError
from compiler.core.op import op_named
from compiler.core.types import TensorType, TupleType, Type, as_dtype
from compiler.graph.body import Body
from compiler.graph.definition import define
from compiler.graph.expression import Expression
from compiler.graph.state import State
from compiler.graph.view import Node, nodes_of
from compiler.ops.leaves import Literal

MAX_SIZE = 1 << 62
"""The most elements that a tensor may have."""

Form = Any
"""What JSON has: None, bool, int, str, list, dict."""


@dataclass(slots=True)
class Writer:
    """What records refer to by number, shared by all graphs that are written with it.

    Attributes:
        arrays: the values of constants.
        states: the variables.
    """

    arrays: list[Any] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def graph(self, graph: nx.MultiDiGraph[int]) -> Form:
        """The record of a graph; FormatError if an attribute has no form."""
        roots: Mapping[str, Any] = graph.graph
        return {
            "nodes": [self._node(node) for node in nodes_of(graph).values()],
            "inputs": list(roots["inputs"]),
            "outputs": list(roots["outputs"]),
            "updates": [list(pair) for pair in roots["updates"]],
        }

    def _node(self, node: Node) -> Form:
        return {
            "op": node.op.name,
            "operands": list(node.operands),
            "attrs": {key: self.value(value) for key, value in node.attrs.items()},
            "type": self.value(node.type),
            "name": node.name,
            # a name of a file may have any characters
            "source": "".join(c if c.isprintable() else "?" for c in node.source),
        }

    def value(self, value: Any) -> Form:
        """The form of an attribute: itself, or `{kind: ...}`; FormatError if it has none."""
        if value is None or type(value) in (bool, int):
            return value
        if type(value) is str:
            return _text(value)
        if isinstance(value, np.integer | np.bool_):
            return value.item()
        for kind, form in FORMS.items():
            if isinstance(value, form.type):
                return {kind: form.write(self, value)}
        raise FormatError(f"a value of type {type(value).__name__} cannot be saved: {value!r}")


class Reader:
    """What records refer to by number, and the unknown sizes that they mention.

    Args:
        arrays: the values of constants.
        states: the variables.
    """

    def __init__(self, arrays: Sequence[Any], states: Sequence[State]) -> None:
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
        _only(record, {"op", "operands", "attrs", "type", "name", "source"})
        op = op_named(_text(record["op"]))
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
        make = variable if op.name == "variable" else Expression
        made = make(op, operands, attrs, name, source or "-")
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

    def value(self, form: Form) -> Any:
        """The attribute of a form; FormatError if there is none."""
        if form is None or isinstance(form, bool | int):
            return form
        if isinstance(form, str):
            return _text(form)
        if not isinstance(form, dict) or len(form) != 1:
            raise FormatError(f"{form!r:.80} is no value")
        ((kind, content),) = form.items()
        if kind not in FORMS:
            raise FormatError(f"no value is of kind {kind!r:.80}")
        return FORMS[kind].read(self, content)

    def size(self, form: Form) -> Size:
        """A size, made by arithmetic so that it has its normal form."""
        if type(form) is int:
            return form
        total: Size = 0
        for term in _listed(form):
            factor, *atoms = _listed(term)
            size: Size = _int(factor)
            for atom in atoms:
                size = size * self._atom(atom)
            total = total + size
        return total

    def _atom(self, form: Form) -> Size:
        if not isinstance(form, dict):
            raise FormatError(f"{form!r:.80} is no size")
        if set(form) == {"name"}:
            return dims.unknown(_label_text(form["name"]))
        if set(form) == {"number", "label"}:
            number = _int(form["number"])
            if number not in self._unknown:
                self._unknown[number] = dims.unknown(label=_label_text(form["label"]))
            return self._unknown[number]
        if set(form) == {"function", "left", "right"}:
            left, right = self.size(form["left"]), self.size(form["right"])
            if form["function"] == "floordiv":
                return dims.floor_divide(left, right)
            if form["function"] == "max":
                return dims.maximum(left, right)
        raise FormatError(f"{form!r:.80} is no size")


@dataclass(frozen=True, slots=True)
class AttributeForm:
    """How values of a type are written and read.

    Attributes:
        type: the class, or a tuple of classes.
        write: `(writer, value) -> form`.
        read: `(reader, form) -> value`; raises FormatError.
    """

    type: Any
    write: Callable[[Writer, Any], Form]
    read: Callable[[Reader, Form], Any]


def _write_size(size: Size) -> Form:
    if not isinstance(size, Dim):
        return int(size)
    return [[factor, *map(_write_atom, atoms)] for atoms, factor in size.terms]


def _write_atom(atom: Unknown | Opaque) -> Form:
    if isinstance(atom, Opaque):
        left, right = map(_write_size, atom.arguments)
        return {"function": atom.function, "left": left, "right": right}
    if isinstance(atom.key, str):
        return {"name": atom.key}
    return {"number": atom.key, "label": atom.label}


def _write_array(writer: Writer, literal: Literal) -> Form:
    writer.arrays.append(literal.array)
    return len(writer.arrays) - 1


def _write_state(writer: Writer, state: State) -> Form:
    for place, known in enumerate(writer.states):
        if known is state:
            return place
    writer.states.append(state)
    return len(writer.states) - 1


def _read_float(reader: Reader, form: Form) -> float:
    return float.fromhex(_text(form))


def _read_tensor(reader: Reader, form: Form) -> TensorType:
    _only(form, {"dtype", "shape"})
    shape = tuple(reader.size(size) for size in _list(form, "shape"))
    return TensorType(shape, as_dtype(_text(form["dtype"])))


def _read_tuple_type(reader: Reader, form: Form) -> TupleType:
    return TupleType(tuple(_read_tensor(reader, one) for one in _listed(form)))


def _write_tensor(writer: Writer, type: TensorType) -> Form:
    return {"dtype": type.dtype.name, "shape": [_write_size(size) for size in type.shape]}


def _read_body(reader: Reader, form: Form) -> Body:
    inputs, outputs, updates = reader.graph(form)
    if updates:
        raise FormatError("a body has no updates")
    return Body(define(inputs, outputs))


FORMS: dict[str, AttributeForm] = {
    "float": AttributeForm(float, lambda writer, value: value.hex(), _read_float),
    "tuple": AttributeForm(
        tuple,
        lambda writer, value: [writer.value(part) for part in value],
        lambda reader, form: tuple(reader.value(part) for part in _listed(form)),
    ),
    "dtype": AttributeForm(
        np.dtype, lambda writer, value: value.name, lambda reader, form: as_dtype(_text(form))
    ),
    "size": AttributeForm(
        Dim, lambda writer, value: _write_size(value), lambda reader, form: reader.size(form)
    ),
    "array": AttributeForm(
        Literal, _write_array, lambda reader, form: _at(reader.literals, form, "array")
    ),
    "variable": AttributeForm(
        State, _write_state, lambda reader, form: _at(reader.states, form, "variable")
    ),
    "tensor": AttributeForm(TensorType, _write_tensor, _read_tensor),
    "tensors": AttributeForm(
        TupleType,
        lambda writer, value: [_write_tensor(writer, one) for one in value.items],
        _read_tuple_type,
    ),
    "graph": AttributeForm(Body, lambda writer, value: writer.graph(value.graph), _read_body),
}
"""The forms of attributes that JSON does not have, under the name that they are written with."""


def _check_size(type: Type) -> None:
    for one in type.items if isinstance(type, TupleType) else (type,):
        known = [size for size in one.shape if isinstance(size, int)]
        if any(size < 0 for size in known) or math.prod(known) > MAX_SIZE:
            raise FormatError(f"a tensor of type {one} cannot exist")


def _label(record: Form) -> str:
    return f"{record.get('op')!r:.80}" if isinstance(record, dict) else f"{record!r:.80}"


def _only(record: Form, names: set[str]) -> None:
    if not isinstance(record, dict) or set(record) != names:
        raise FormatError(f"{record!r:.80} has not the entries {sorted(names)}")


def _list(record: Form, name: str) -> list[Any]:
    if not isinstance(record, dict) or not isinstance(record.get(name), list):
        raise FormatError(f"there is no list {name!r}")
    found: list[Any] = record[name]
    return found


def _listed(form: Form) -> list[Any]:
    if not isinstance(form, list):
        raise FormatError(f"{form!r:.80} is no list")
    return form


def _int(form: Form) -> int:
    if type(form) is not int:
        raise FormatError(f"{form!r:.80} is no whole number")
    return form


_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,64}")


def _text(form: Form) -> str:
    """A short word, as names of ops and attributes are: it may become part of generated code."""
    if not isinstance(form, str) or not _WORD.fullmatch(form):
        raise FormatError(f"{form!r:.80} is no word")
    return form


def _label_text(form: Form) -> str:
    if not isinstance(form, str):
        raise FormatError(f"{form!r:.80} is no text")
    return form


def _at(values: Sequence[Any], place: Form, name: str) -> Any:
    if type(place) is not int or not 0 <= place < len(values):
        raise FormatError(f"{name}: there is no number {place!r:.80}")
    return values[place]
