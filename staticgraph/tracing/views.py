"""Results of functions of arrays that are arguments, or views of them: as NumPy's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Unknown, as_unknown, evaluate
from staticgraph.compiler.core.types import mapped
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.ops.programs.effects import after

_VIEWS = (
    ops.broadcast_to, ops.expand_dims, ops.flip, ops.reshape, ops.squeeze, ops.strided_slice,
    ops.stop_gradient, ops.transpose, after,
)  # fmt: skip
"""The ops whose value is a view in NumPy, where it can be."""


class View(NamedTuple):
    """A result that is an argument, or a view of one.

    Attributes:
        result: which one.
        argument: of which.
        made: the expressions from the argument to the result.
    """

    result: int
    argument: int
    made: tuple[Expression, ...]


def views_of(outputs: Sequence[Expression], inputs: Sequence[Expression]) -> tuple[View, ...]:
    """The results that are arguments or views; numbers are none."""
    places = {one.serial: i for i, one in enumerate(inputs)}
    found = []
    for i, one in enumerate(outputs):
        made: list[Expression] = []
        while one.op in _VIEWS:
            if one.op not in (after, ops.stop_gradient):
                made.append(one)
            one = one.operands[0]
        if one.serial in places and outputs[i].ndim:
            found.append(View(i, places[one.serial], tuple(reversed(made))))
    return tuple(found)


def with_views(
    views: Sequence[View],
    inputs: Sequence[Expression],
    arrays: Sequence[object],
    results: Sequence[Array],
) -> list[Array]:
    """The results, of which some are views of the arrays of a call."""
    found = list(results)
    sizes = _sizes(inputs, arrays) if any(view.made for view in views) else {}
    for view in views:
        value = arrays[view.argument]
        if isinstance(value, np.ndarray) and value.dtype == found[view.result].dtype:
            for one in view.made:
                attrs = {name: _known(attr, sizes) for name, attr in one.attrs.items()}
                value = one.op.evaluate(value, **attrs)
            found[view.result] = value
    return found


def _known(attribute: object, sizes: Mapping[Unknown, int]) -> Any:
    def known(size: Dim) -> int:
        return evaluate(size, sizes)

    return mapped(attribute, known)


def _sizes(inputs: Sequence[Expression], arrays: Sequence[object]) -> dict[Unknown, int]:
    """The unknown sizes of a call."""
    found: dict[Unknown, int] = {}
    for one, array in zip(inputs, arrays, strict=True):
        for size, actual in zip(one.shape, getattr(array, "shape", ()), strict=True):
            atom = as_unknown(size)
            if atom is not None:
                found[atom] = actual
    return found
