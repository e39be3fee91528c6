"""Pooling of plain tensors in a short way: one loop over the windows, and one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from staticgraph.compiler.core.bounds import KEPT, Windows, adaptive, sliding
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.layers.pooling import count_along
from staticgraph.dynamic.core import eager_pooling
from staticgraph.dynamic.core.dtypes import F32, F64, INT64
from staticgraph.dynamic.kernels import native
from staticgraph.dynamic.nn.functional.windows import Sizes
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.recorders import Recorder
from staticgraph.dynamic.tensors.tensor import PLAIN, wrap

MOST_ELEMENTS = 1 << 31
"""Of an image: places are numbers of 32 bits."""

_maxima = Recorder(eager_pooling.max_pooled, 2)
_means = Recorder(eager_pooling.avg_pooled, 1)


def image_of(input: Any, axes: int) -> Any:
    """The array of a plain tensor of floats that has one or two axes in front; None of others."""
    if type(input) not in PLAIN or (paused and mode.capture is not None):
        return None
    x = input._array
    if x.dtype is not F32 and x.dtype is not F64:
        return None
    if not 0 < x.ndim - axes < 3 or not x.size or not native.state.enabled:
        return None
    return x


@lru_cache(KEPT)
def sliding_windows(
    kind: str, sizes: Sizes, size: Sizes, step: Sizes, edge: Sizes, spread: Sizes, ceil: bool,
    padded: bool = True, divisor: int | None = None,
) -> Attrs | None:  # fmt: skip
    """What the ops know of such windows; None of those that only the long way may serve.

    `kind` is PyTorch's name of the node.
    """
    given = zip(sizes, size, step, edge, spread, strict=True)
    counts = tuple([count_along(*one, ceil) for one in given])
    if min(counts) < 1:
        return None
    return _attrs(kind, sliding(sizes, size, step, edge, spread, counts, padded, divisor))


@lru_cache(KEPT)
def adaptive_windows(kind: str, sizes: Sizes, parts: Sequence[int | None]) -> Attrs | None:
    """`sliding_windows` of so many parts of each axis, all elements for None."""
    pairs = zip(sizes, parts, strict=True)
    counts = tuple([size if count is None else int(count) for size, count in pairs])
    return _attrs(kind, adaptive(sizes, counts)) if min(counts) > 0 else None


def _attrs(kind: str, windows: Windows | None) -> Attrs | None:
    if windows is None or windows.size >= MOST_ELEMENTS:
        return None
    return {"windows": windows, "kind": kind}


def of_one_axis(pool: Callable[[Any], Any], input: Any) -> Any:
    """Pooling along one axis by that of images one element high, which is what PyTorch records."""
    found = pool(input.unsqueeze(-2))
    return tuple([one.squeeze(-2) for one in found]) if type(found) is tuple else found.squeeze(-2)


def largest(input: Any, x: Any, attrs: Attrs, return_indices: bool) -> Any:
    """The largest element of each window of a tensor that has this array, and where they are."""
    values, found = eager_pooling.largest(np.ascontiguousarray(x), attrs["windows"])
    places = wrap(found)
    result = _maxima.function(values, attrs, input, places)
    if not return_indices:
        return result
    indices = wrap(found.astype(INT64))
    indices._counter = places._counter  # what changes them changes, as in PyTorch, what is kept
    return result, indices


def means(input: Any, x: Any, attrs: Attrs) -> Any:
    """The mean of each window of a tensor that has this array."""
    return _means.function(eager_pooling.avg_pooled.evaluate(x, **attrs), attrs, input)
