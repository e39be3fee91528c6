"""Expressions as nodes of an ONNX graph, each written once, operands first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.dims import Atom, Dim, Opaque, Size, Unknown, as_unknown
from staticgraph.compiler.core.errors import DTypeError, GraphError
from staticgraph.compiler.core.types import TensorType, Type
from staticgraph.compiler.graph.expression import Expression, at_line
from staticgraph.compiler.graph.traversal import between
from staticgraph.compiler.ops import leaves
from staticgraph.compiler.passes.widen import widen
from staticgraph.onnx.package import number_of, onnx

Names: TypeAlias = "str | tuple[str, ...]"
"""The name of a value, or those of the tensors of which it consists."""
Form: TypeAlias = "Callable[[Writer, Expression, tuple[Any, ...]], Names]"
"""How an op is written, given the names of its operands."""


class Writer:
    """A graph that is being written.

    Attributes:
        opset: the version of ONNX's operators.
        forms: per name of an op how it is written.
        initializers: the arrays of the model, by their names.
    """

    def __init__(self, opset: int, forms: dict[str, Form]) -> None:
        self.opset = opset
        self.forms = forms
        self.initializers: dict[str, Any] = {}
        self._package = onnx("save")
        self._root: list[Any] = []
        self._nodes = self._root
        self._taken: set[str] = set()
        self._names: dict[int, Names] = {}
        self._sizes: dict[object, str] = {}
        self._axes: dict[Unknown, tuple[str, int]] = {}
        self._arrays: dict[object, str] = {}
        self._states: dict[int, str] = {}

    @property
    def nodes(self) -> list[Any]:
        """The nodes of the model's graph."""
        return self._root

    # -- names -------------------------------------------------------------------------------

    def fresh(self, wanted: str) -> str:
        """A name that no other value has."""
        name, count = wanted or "value", 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    def know(self, expression: Expression, name: Names) -> None:
        """Say what an expression is called: an input, or what stands for one in a body."""
        self._names[expression.serial] = name

    def array(self, value: object, wanted: str = "constant") -> str:
        """The name of an initializer; equal ones are written once."""
        literal = leaves.Literal(value)
        if literal.key not in self._arrays:
            self._arrays[literal.key] = self.initializer(wanted, literal.array)
        return self._arrays[literal.key]

    def initializer(self, wanted: str, value: Any) -> str:
        """The name of an initializer of its own."""
        _require_real(wanted, value.dtype)
        name = self.fresh(wanted)
        self.initializers[name] = value
        return name

    # -- nodes -------------------------------------------------------------------------------

    def node(self, operator: str, *inputs: str, count: int = 0, **attributes: object) -> Any:
        """Write a node; the name of its result, or a tuple of names if there are `count`."""
        names = [self.fresh(operator.lower()) for _ in range(count or 1)]
        made = self._package.helper.make_node(operator, inputs, names, **attributes)
        self._nodes.append(made)
        return tuple(names) if count else names[0]

    def cast(self, name: str, dtype: Any) -> str:
        """A value cast to a dtype."""
        made: str = self.node("Cast", name, to=number_of(dtype))
        return made

    @contextmanager
    def body(self) -> Iterator[list[Any]]:
        """Write what is written inside the block as nodes of a graph of its own."""
        outside, self._nodes = self._nodes, []
        try:
            yield self._nodes
        finally:
            self._nodes = outside

    def value(self, expression: Expression) -> str:
        """The name of a tensor, which is written if it is not yet."""
        found = self.values([expression])[0]
        assert isinstance(found, str)
        return found

    def values(self, expressions: Sequence[Expression]) -> list[Names]:
        """The names of values, which are written with what they depend on."""
        for one in between(expressions, self._names):
            with at_line(one.source):
                self._names[one.serial] = self._written(one)
        return [self._names[one.serial] for one in expressions]

    def rewritten(self, expression: Expression, others: object) -> Names:
        """The names of an expression's value written in other ops."""
        if isinstance(others, Expression):
            return self.values([others])[0]
        assert isinstance(others, Sequence)
        return tuple(str(one) for one in self.values(list(others)))

    def _written(self, one: Expression) -> Names:
        _refuse_complex(one.op.name, one.type, one.source)
        wide = widen(one.op, one.operands, one.attrs)
        if wide is not None:
            return self.values([wide])[0]
        operands = tuple(self._names[operand.serial] for operand in one.operands)
        form = self.forms.get(one.op.name)
        if form is not None:
            return form(self, one, operands)
        if one.op.expand is not None:
            return self.rewritten(one, one.op.expand(*one.operands, **one.attrs))
        raise refused(one, "it is an op of yours, of which ONNX knows nothing")

    # -- leaves and sizes --------------------------------------------------------------------

    def variable(self, one: Expression) -> str:
        """The initializer with the value that a variable has now."""
        state = one.attrs["key"]
        if id(state) not in self._states:
            self._states[id(state)] = self.initializer(one.name or "variable", state.array.copy())
        return self._states[id(state)]

    def know_sizes(self, name: str, type: TensorType) -> None:
        """Let unknown sizes be read off an input."""
        for axis, size in enumerate(type.shape):
            atom = as_unknown(size)
            if atom is not None:
                self._axes.setdefault(atom, (name, axis))

    def sizes(self, sizes: Sequence[Size]) -> str:
        """The name of sizes as int64[len(sizes)]."""
        if all(not isinstance(size, Dim) for size in sizes):
            return self.array(np.array([int(size) for size in sizes], np.int64), "sizes")
        with self._in_root():
            parts = [self._size(size) for size in sizes]
            made: str = parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0)
        return made

    @contextmanager
    def _in_root(self) -> Iterator[None]:
        """Write nodes of the model's graph, whose values bodies read too."""
        outside, self._nodes = self._nodes, self._root
        try:
            yield
        finally:
            self._nodes = outside

    def _size(self, size: Size) -> str:
        """The name of a size as int64[1]."""
        if not isinstance(size, Dim):
            return self.array(np.array([int(size)], np.int64), "size")
        key = size.terms
        if key not in self._sizes:
            total = ""
            for atoms, factor in size.terms:
                term = self._product(factor, atoms)
                total = self.node("Add", total, term) if total else term
            self._sizes[key] = total
        return self._sizes[key]

    def _product(self, factor: int, atoms: Sequence[Atom]) -> str:
        names = [self._atom(atom) for atom in atoms]
        if factor != 1 or not names:
            names.append(self._size(factor))
        product = names[0]
        for name in names[1:]:
            product = self.node("Mul", product, name)
        return product

    def _atom(self, atom: Atom) -> str:
        if atom in self._sizes:
            return self._sizes[atom]
        made = self._axis(atom) if isinstance(atom, Unknown) else self._opaque(atom)
        self._sizes[atom] = made
        return made

    def _axis(self, atom: Unknown) -> str:
        if atom not in self._axes:
            raise GraphError(
                f"onnx: the size {atom} is no axis of an input, so that a model cannot know it: "
                "declare an input of that size"
            )
        name, axis = self._axes[atom]
        made: str = self.node("Shape", name, start=axis, end=axis + 1)
        return made

    def _opaque(self, atom: Opaque) -> str:
        left, right = map(self._size, atom.arguments)
        if atom.function == "max":
            name: str = self.node("Max", left, right)
            return name
        rest = self.node("Mod", left, right)  # has the sign of the divisor: Div rounds to zero
        return self.node("Div", self.node("Sub", left, rest), right)


def refused(one: Expression, reason: str) -> GraphError:
    """What is raised for an op that has no form in ONNX."""
    return GraphError(f"onnx: {one.op.name} cannot be exported: {reason} ({one.source})")


def _require_real(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise DTypeError(f"onnx: {name!r} is {dtype}: ONNX computes with no complex numbers")


def _refuse_complex(name: str, type: Type, source: str) -> None:
    for one in [type] if isinstance(type, TensorType) else type.items:
        if one.dtype.kind == "c":
            raise DTypeError(
                f"onnx: {name} gives {one} ({source}): ONNX computes with no complex numbers"
            )
