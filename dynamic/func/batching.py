"""Batching rules of the ops that only the eager engine has: see `compiler.transforms.batching`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler import ops
from compiler.core.op import Attrs, Op
from compiler.transforms import batching
from compiler.transforms.batching import (
    Apply,
    BatchRule,
    Example,
    aligned,
    evaluated,
    full,
    multiplied,
    reordered,
    shifted,
    shifted_one,
    taken,
    widened,
)
from dynamic.core import eager_ops


def _aligned_to_first(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    first, *rest = examples
    return apply(op, [full(first, size), *(widened(one, first.ndim) for one in rest)], attrs)


def _selected(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    key = attrs["key"]
    batch = {**attrs, "key": (slice(None), *(key if isinstance(key, tuple) else (key,)))}
    if "shape" in attrs:
        batch["shape"] = (size, *attrs["shape"])
    return apply(op, [examples[0].tensor], batch)


def _put(
    op: Op, examples: Sequence[Example], size: int, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    x, values, index = examples
    whole = full(x, size)
    count = int(np.prod(whole.shape[1:]))
    places = ops.astype(full(index, size), "int64")
    offsets = (np.arange(size) * count).reshape((size,) + (1,) * index.ndim)
    places = ops.where(ops.less(places, 0), places + count, places) + offsets
    return apply(op, [whole, widened(values, index.ndim), places], attrs)


_RULES: dict[Op, BatchRule] = {
    **dict.fromkeys(
        (
            eager_ops.clone,
            eager_ops.contiguous,
            eager_ops.fill,
            eager_ops.fill_of_tensor,
            eager_ops.zero,
        ),
        aligned,
    ),
    eager_ops.copy: _aligned_to_first,
    **dict.fromkeys((eager_ops.norm, eager_ops.mean_dim, eager_ops.squeeze_dim), shifted),
    eager_ops.stack: shifted_one,
    **dict.fromkeys((eager_ops.transpose_2d, eager_ops.swap), reordered),
    eager_ops.select: _selected,
    eager_ops.place: _selected,
    ops.put: _put,
    eager_ops.index_select: taken,
    eager_ops.bmm: multiplied,
}


def rule_of(op: Op) -> BatchRule | None:
    """The batching rule of an op, or None."""
    return _RULES.get(op) or batching.rule_of(op)
