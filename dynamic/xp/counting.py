"""Functions whose results are as long as values say: of tensors that have values.

In a function that is captured there are none yet, and the shared functions say so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.array_api import FUNCTIONS
from staticgraph.compiler.functions.sets import Unique
from staticgraph.dynamic.tensors.creation import from_numpy
from staticgraph.dynamic.tensors.tensor import has_values
from staticgraph.dynamic.tensors.values import values_of
from staticgraph.dynamic.xp.array import as_array, as_arrays
from staticgraph.dynamic.xp.creation import asarray

__all__ = ["nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class Counts(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class Inverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The places, by axis, of elements that are not 0; ShapeError without an axis."""
    if not has_values(x) or not x.ndim:
        return as_arrays(FUNCTIONS["nonzero"](x))
    return tuple(asarray(places) for places in np.nonzero(values_of(x)))


def unique_all(x: Any, /) -> Unique:
    """The different elements in order, where each is first, which each is, how often it comes.

    Each nan is an element of its own. Gradients of the values flow to where they are first.
    """
    if not has_values(x):
        return as_arrays(FUNCTIONS["unique_all"](x))
    _, first, inverse, counts = np.unique(
        values_of(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    places = from_numpy(first.astype(np.int64))
    values = ops.take(ops.reshape(x, (-1,)), places, axis=0)
    return Unique(as_array(values), as_array(places), asarray(inverse), asarray(counts))


def unique_counts(x: Any, /) -> Counts:
    """The different elements in order, and how often each comes."""
    found = unique_all(x)
    return Counts(found.values, found.counts)


def unique_inverse(x: Any, /) -> Inverse:
    """The different elements in order, and which of them each element is."""
    found = unique_all(x)
    return Inverse(found.values, found.inverse_indices)


def unique_values(x: Any, /) -> Any:
    """The different elements in order."""
    return unique_all(x).values
