"""Validate the inputs of a call, and find the sizes that were unknown until then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.core.arrays import to_array, upcast
from staticgraph.compiler.core.dims import Dim, Opaque, Size, Unknown, as_unknown, atoms, evaluate
from staticgraph.compiler.core.errors import DTypeError, FeedError, OutOfRangeError, ShapeError
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import TensorType, Type, collecting_assumptions, mapped
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.definition import Definition, Node
from staticgraph.compiler.graph.expression import Expression, constructing


@record
class Feed(Record):
    """What a call must give for one placeholder."""

    name: str
    type: TensorType
    source: str


def feeds_of(definition: Definition) -> tuple[Feed, ...]:
    """What a call must give."""
    return tuple(_feed(definition.nodes[at], i) for i, at in enumerate(definition.inputs))


def _feed(node: Node, position: int) -> Feed:
    name = f"input{position}" if node.name is None else node.name
    return Feed(name, node.type, node.source)


def as_input(feed: Feed, value: object) -> Any:
    """`value` as an array of the placeholder's dtype and rank.

    Python numbers and nested lists take the placeholder's dtype; an array must have it, or one that
    NumPy casts to it safely, such as float32 to float64, and that loses nothing.

    Raises:
        DTypeError, ShapeError: with the placeholder's name and both types.
    """
    try:
        array = to_array(value, feed.type.dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise FeedError(
            f"feed {feed.name!r}: {feed.type} expected, no array of it: {error} ({feed.source})"
        ) from None
    if array.dtype == object:
        array = _matrix(value, array)
    if array.dtype != feed.type.dtype:
        wider = upcast(array, feed.type.dtype)
        if wider is None:
            raise DTypeError(
                f"feed {feed.name!r}: {array.dtype.name}{list(array.shape)} given, {feed.type} "
                f"expected: cast it with astype ({feed.source})"
            )
        array = wider
    if array.ndim != feed.type.ndim:
        raise ShapeError(
            f"feed {feed.name!r}: {array.dtype.name}{list(array.shape)} has {array.ndim} axes, "
            f"{feed.type} has {feed.type.ndim} ({feed.source})"
        )
    return array


def _matrix(table: Any, array: Any) -> Any:
    """A DataFrame as an array of its columns', which is one of objects where they have masks."""
    if not hasattr(table, "iloc") or not hasattr(table, "columns"):
        return array
    columns = [np.asarray(table.iloc[:, place]) for place in range(len(table.columns))]
    return array if any(one.dtype == object for one in columns) else np.column_stack(columns)


def sizes_of(feeds: Sequence[Feed], arrays: Sequence[Value]) -> dict[Unknown, int]:
    """The value of each unknown size of the placeholders; ShapeError where they contradict."""
    values: dict[Unknown, int] = {}
    origin: dict[Unknown, tuple[str, int]] = {}
    for feed, array in zip(feeds, arrays, strict=True):
        for axis, (size, given) in enumerate(zip(feed.type.shape, array.shape, strict=True)):
            atom = as_unknown(size)
            if atom is not None and values.setdefault(atom, given) != given:
                name, other = origin[atom]
                raise ShapeError(
                    f"feed {feed.name!r}: axis {axis} is {given}, but axis {other} of {name!r}, "
                    f"also {size}, is {values[atom]} ({feed.source})"
                )
            if atom is not None:
                origin.setdefault(atom, (feed.name, axis))
    for feed, array in zip(feeds, arrays, strict=True):
        for axis, (size, given) in enumerate(zip(feed.type.shape, array.shape, strict=True)):
            if evaluate(size, values) != given:
                known = f" = {evaluate(size, values)}" if isinstance(size, Dim) else ""
                raise ShapeError(
                    f"feed {feed.name!r}: axis {axis} of {list(array.shape)} is {given}, "
                    f"not {size}{known}: {feed.type} expected ({feed.source})"
                )
    return values


def check_sizes(definition: Definition, sizes: Mapping[Unknown, int]) -> None:
    """Re-infer the type of every node whose size was unknown, now that all sizes are known.

    Raises:
        ShapeError, OutOfRangeError: what the op's type rule says, and the user's line.
    """
    assumed: dict[int, list[tuple[Size, Size]]] = {}
    for at, left, right in assumptions(definition):
        assumed.setdefault(at, []).append((left, right))
    types: list[Type] = []
    with constructing(Expression):
        for at, node in enumerate(definition.nodes):
            type = _known(node.type, sizes)
            types.append(type)
            if not node.operands or not _unknown(definition, node):
                continue
            attrs = {key: _known(value, sizes) for key, value in node.attrs.items()}
            try:
                inferred = node.op.infer_type(*(types[o] for o in node.operands), **attrs)
                _check_broadcasts(node, assumed.get(at, ()), sizes)
                if inferred != type:
                    raise ShapeError(f"{node.op.name}: the result is {inferred}, not {type}")
            except (ShapeError, OutOfRangeError) as error:
                raise error.__class__(f"{error} ({node.source})") from None


def _check_broadcasts(
    node: Node, assumed: Sequence[tuple[Size, Size]], sizes: Mapping[Unknown, int]
) -> None:
    """ShapeError for sizes of 1 that were taken for equal to others: NumPy would broadcast them."""
    for left, right in assumed:
        found = evaluate(left, sizes), evaluate(right, sizes)
        if found[0] != found[1] and 1 in found:
            raise ShapeError(
                f"{node.op.name}: {left} = {found[0]} and {right} = {found[1]} differ: a size "
                f"that broadcasts is declared 1{_OF_SLICES if _is_cut(left, right) else ''}"
            )


_OF_SLICES = "; a slice such as x[:1], which may be empty, is written x[0][None]"


def _is_cut(*sizes: Size) -> bool:
    """Whether a size is that of a slice, which ends where its axis does."""
    return any(
        isinstance(atom, Opaque)
        for size in sizes
        if isinstance(size, Dim)
        for monomial, _ in size.terms
        for atom in monomial
    )


_assumed: WeakKeyDictionary[Definition, list[tuple[int, Size, Size]]] = WeakKeyDictionary()


def assumptions(definition: Definition) -> list[tuple[int, Size, Size]]:
    """The sizes that type rules took for equal, with the first node whose rule it was."""
    found = _assumed.get(definition)
    if found is None:
        nodes = definition.nodes
        known = atoms([size for node in definition.inputs for size in nodes[node].type.shape])
        pairs: dict[tuple[Size, Size], int] = {}
        for at, node in enumerate(nodes):
            if node.operands and _unknown(definition, node):
                types = (nodes[operand].type for operand in node.operands)
                with collecting_assumptions() as collected, constructing(Expression):
                    node.op.infer_type(*types, **node.attrs)
                for pair in collected:
                    if atoms(pair) <= known:
                        pairs.setdefault(pair, at)
        found = _assumed[definition] = [(at, *pair) for pair, at in pairs.items()]
    return list(found)


def _unknown(definition: Definition, node: Node) -> bool:
    """Whether a node's type rule had to do with a size that was not known."""
    types: list[Type] = [node.type, *(definition.nodes[one].type for one in node.operands)]
    held = [value for value in node.attrs.values() if hasattr(value, "sizes")]
    return any(isinstance(size, Dim) for one in (*types, *held) for size in one.sizes)


def _known(value: object, sizes: Mapping[Unknown, int]) -> Any:
    return mapped(value, lambda size: evaluate(size, sizes))
