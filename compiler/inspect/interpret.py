"""Evaluation of expressions node by node with NumPy: the reference, and the debug mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Unknown
from staticgraph.compiler.core.errors import (
    FeedError,
    GraphError,
    ShapeError,
    StaticGraphError,
    located,
)
from staticgraph.compiler.core.types import TupleType, Type, collecting_assumptions, mapped, type_of
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import fold
from staticgraph.compiler.inspect.bodies import NESTED, Run, run_nested

Observer: TypeAlias = "Callable[[Expression, Sequence[Any], Any], None]"


def interpret(
    outputs: Sequence[Expression],
    feeds: Mapping[Expression, object],
    observe: Observer | None = None,
    run: Run | None = None,
    *,
    ordered: bool = False,
) -> list[Array]:
    """The values of expressions, every node evaluated by its op's NumPy function.

    Args:
        outputs: what to evaluate.
        feeds: the value of every placeholder and variable that the outputs depend on; any other
            expression may be fed too, and is then not evaluated.
        observe: called with each node that was evaluated, the values of its operands, and its own.
        run: what runs the bodies of loops and branches, see `compiler.inspect.bodies`.
        ordered: whether each op gets row-major arrays. Else it may get views, of which NumPy adds
            the elements in the order of memory.

    Returns:
        One array per output. Unknown sizes are those of the fed values. Each value is dropped when
        its last reader is evaluated.

    Raises:
        FeedError: a leaf is not fed, or a fed value has another dtype, rank or size.
        ShapeError: sizes that the type rules assume to be equal differ.
        GraphError: a value has not the type that was inferred for it.

    Each message names the node and the user's line that made it.
    """
    fed = {expression.serial: np.asarray(value) for expression, value in feeds.items()}
    for expression, value in feeds.items():
        _check_kind(expression, np.asarray(value))
    sizes = _bind_sizes(feeds)
    # the type rules have compared known sizes when the expressions were made
    assumes = any(isinstance(size, dims.Dim) for node in feeds for size in node.shape)

    def step(node: Expression, arrays: tuple[object, ...]) -> Any:
        if assumes:
            _check_assumptions(node, sizes)
        given = tuple(map(_in_rows, arrays)) if ordered else arrays
        value = _evaluate(node, given, sizes, run, ordered)
        if observe is not None:
            observe(node, arrays, value)
        return value

    return [np.asarray(value) for value in fold(outputs, fed, step)]


def _in_rows(value: object) -> Any:
    """Copies, because an array of one element is row-major with any stride, but not to NumPy."""
    if isinstance(value, tuple):
        return tuple(map(_in_rows, value))
    return np.array(value, order="C")


def _check_kind(node: Expression, value: Array) -> None:
    if value.dtype != node.dtype or value.ndim != node.ndim:
        raise FeedError(f"{_place(node)} is fed {type_of(value)}")


def _bind_sizes(feeds: Mapping[Expression, Any]) -> dict[Unknown, int]:
    """The values of the unknown sizes, read off the shapes of what is fed."""
    sizes: dict[Unknown, int] = {}
    for node, value in feeds.items():
        for size, actual in zip(node.shape, np.shape(value), strict=True):
            atom = dims.as_unknown(size)
            if atom is not None:
                sizes.setdefault(atom, actual)
    for node, value in feeds.items():
        for axis, (size, actual) in enumerate(zip(node.shape, np.shape(value), strict=True)):
            if _size(size, sizes, actual) != actual:
                raise FeedError(
                    f"{_place(node)} is fed an array of shape {np.shape(value)}: "
                    f"axis {axis} is {actual}, not {size} = {dims.evaluate(size, sizes)}"
                )
    return sizes


def _size(size: dims.Size, sizes: Mapping[Unknown, int], otherwise: int) -> int:
    """The size, or `otherwise` where it depends on unknowns that no fed shape gives."""
    return dims.evaluate(size, sizes) if dims.atoms([size]) <= sizes.keys() else otherwise


class _OrderedBody:
    """The body of a loop or a branch in which each op gets row-major arrays too."""

    def __init__(self, body: Body) -> None:
        self.outputs = body.outputs
        self._inputs, self._results = body.expressions()

    def __call__(self, *arrays: object) -> list[Array]:
        return interpret(self._results, dict(zip(self._inputs, arrays, strict=True)), ordered=True)


def _evaluate(
    node: Expression,
    arrays: Sequence[object],
    sizes: Mapping[Unknown, int],
    run: Run | None,
    ordered: bool,
) -> Any:
    if node.op.name in ("placeholder", "variable"):
        raise FeedError(f"{_place(node)} is not fed")
    attrs = {name: _known(value, sizes) for name, value in node.attrs.items()}
    if ordered:
        bodies = {name: one for name, one in attrs.items() if isinstance(one, Body)}
        attrs |= {name: _OrderedBody(one) for name, one in bodies.items()}
    try:
        with np.errstate(all="ignore"):
            if run is not None and node.op in NESTED:
                value: Any = run_nested(node, arrays, attrs, run)
            else:
                value = node.op.value(*arrays, **attrs)
    except StaticGraphError as error:
        raise located(error, node.source, f"{error}, in {_place(node)}") from error
    except Exception as error:
        error.add_note(f"in {_place(node)}")
        raise
    found: Type = TupleType(tuple(map(type_of, value))) if node.op.vjp_items else type_of(value)
    if found != _known(node.type, sizes):
        raise GraphError(f"{_place(node)} evaluates to {found}, inferred {node.type}")
    return value


def _check_assumptions(node: Expression, sizes: Mapping[Unknown, int]) -> None:
    types = [operand.type for operand in node.operands]
    with collecting_assumptions() as pairs:
        node.op.infer_type(*types, **node.attrs)
    for left, right in pairs:
        actual = dims.evaluate(left, sizes), dims.evaluate(right, sizes)
        if actual[0] != actual[1]:
            listed = ", ".join(map(str, types))
            raise ShapeError(
                f"{_place(node)} of {listed}: {left} = {actual[0]} and {right} = {actual[1]} differ"
            )


def _known(value: object, sizes: Mapping[Unknown, int]) -> Any:
    """An attribute or a type with its unknown sizes replaced by their values."""
    return mapped(value, lambda size: dims.evaluate(size, sizes))


def _place(node: Expression) -> str:
    return f"{node!r} ({node.source})"
