"""Batching rules of the ops that only the eager engine has: see `compiler.transforms.batching`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
    x, value = examples
    places = np.asarray(attrs["places"])
    offsets = np.arange(size) * int(np.prod(x.tensor.shape[1 if x.batched else 0 :]))
    batch = places + offsets.reshape((size,) + (1,) * places.ndim)
    return apply(op, [full(x, size), widened(value, places.ndim)], {"places": batch})


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
    eager_ops.put: _put,
    eager_ops.index_select: taken,
    eager_ops.bmm: multiplied,
}


def rule_of(op: Op) -> BatchRule | None:
    """The batching rule of an op, or None."""
    return _RULES.get(op) or batching.rule_of(op)
