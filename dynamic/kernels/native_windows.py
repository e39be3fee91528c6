"""Convolution and pooling by compiled kernels, forward and backward.

NumPy passes over every element of every window several times, so a kernel is worth its call for
arrays far smaller than those of `dynamic.kernels.native`: what counts is the number of
multiplications. A kernel knows all sizes but that of the batch, since products of matrices are
blocked by known sizes: another batch compiles nothing, images of another size do. Operands that are
no row-major arrays are copied first. What no kernel serves is left to NumPy: little work, other
dtypes, and sizes of images beyond the first `MOST_SIZES`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core.dtypes import F32, F64
from staticgraph.dynamic.kernels import native
from staticgraph.dynamic.kernels.layouts import held_by

LEAST_WORK = 1 << 18
"""The least number of multiplications that is worth a kernel.

Kernels are faster from a few windows on. But a first step, forward and backward, takes 10 to 50 ms
with the kernels in the cache and 100 to 400 ms without, which at 2**18 some hundred steps save, or
one to two thousand."""
A_COMPARISON = 16
"""As how many multiplications an element of a window counts in pooling, by NumPy's time for it."""
MOST_SIZES = 16
"""How many sizes of images get kernels, per op, options and sizes of the weight."""

_sizes: dict[Any, set[Any]] = {}


def evaluate(op: Op, arrays: Sequence[object], attrs: Attrs) -> Any:
    """The value of an op by a kernel, an array; None where no kernel serves the call."""
    found = _compute(op, None, attrs, arrays, arrays)
    return None if found is None else found[0]


def cotangents(
    op: Op,
    positions: Sequence[int],
    g: object,
    out: object,
    operands: Sequence[object],
    attrs: Attrs,
) -> Sequence[Any] | None:
    """The cotangents of the operands at `positions` by one kernel; None as in `evaluate`.

    What the rules do not read may be anything that has a shape and a dtype.
    """
    return _compute(op, tuple(positions), attrs, operands, (g, out, *operands))


def work(operands: Sequence[Any], attrs: Attrs) -> int:
    """About how many multiplications the value takes: edges count as the rest."""
    x = operands[0].shape
    places = x[0] * math.prod(x[2:])
    if "output_padding" in attrs:  # the adjoint of a convolution, whose places are those of x
        return math.prod(operands[1].shape) * places
    if len(operands) > 1:
        per_place = math.prod(operands[1].shape)
    else:
        per_place = A_COMPARISON * x[1] * math.prod(attrs["size"])
    return per_place * places // math.prod(attrs["stride"])


def _compute(
    op: Op,
    positions: tuple[int, ...] | None,
    attrs: Attrs,
    operands: Sequence[object],
    given: Sequence[object],
) -> list[Any] | None:
    """The value of an op, or the cotangents at `positions`, of what is `given`."""
    if not native.state.enabled or work(operands, attrs) < LEAST_WORK:
        return None
    # a weight and a bias follow the images
    described = _describe(given, len(given) - len(operands) + 1)
    if described is None or not _among_first(op, positions, attrs, operands):
        return None
    make = native.by_rules(op, positions, attrs) if positions else native.by_value(op, attrs)
    return native.run((op, positions), attrs, make, given, *described)


def _describe(given: Sequence[Any], batched: int) -> tuple[list[Any], tuple[Any, ...]] | None:
    """The arrays that a kernel takes, and the fields of a `native.Operand` for each operand.

    The first axis of the first `batched` ones is the batch. None if one does not fit a kernel.
    """
    arrays, kinds = [], []
    for place, one in enumerate(given):
        dtype = one.dtype
        if dtype not in (F32, F64):
            return None
        sizes = (-1, *one.shape[1:]) if place < batched else tuple(one.shape)
        held = None
        if isinstance(one, np.ndarray):
            array = held_by(np.array(one, order="C", copy=None))
            if array is None:
                return None
            arrays.append(array)
            held = sizes
        kinds.append((dtype, sizes, held))
    return arrays, tuple(kinds)


def _among_first(
    op: Op, positions: tuple[int, ...] | None, attrs: Attrs, operands: Sequence[Any]
) -> bool:
    """Whether the images have one of the first sizes that come with these options."""
    x, *weights = operands
    weight = [one.shape for one in weights]
    seen = _sizes.setdefault((op, *attrs.values(), x.shape[1], x.dtype, *weight), set())
    sizes = x.shape[2:]
    if sizes in seen:
        return True
    if len(seen) >= MOST_SIZES:
        return False
    seen.add(sizes)
    return True
