"""Attention: products of queries and keys, what each query sees, and the mean of the values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.functions import public as functions
from staticgraph.compiler.graph.expression import construct
from staticgraph.compiler.ops import leaves
from staticgraph.onnx.call import Call, as_sizes, computed, reads
from staticgraph.onnx.package import dtype_of


@reads("Attention")
def _attention(call: Call) -> Any:
    q, k, v = (_by_heads(call, i) for i in range(3))
    past = call.optional(4)
    if past is not None:
        k, v = ops.concatenate([past, k], 2), ops.concatenate([call.value(5), v], 2)
    kept = (k, v)
    groups = q.shape[1] // k.shape[1]
    if groups != 1:
        k, v = (functions.repeat(one, groups, 1) for one in kept)
    root = math.sqrt(call.attribute("scale", 1 / math.sqrt(q.shape[3])))
    raw = ops.matmul(q * root, ops.transpose(k, (0, 1, 3, 2)) * root)
    cap = call.attribute("softcap", 0.0)
    capped = ops.tanh(raw / cap) * cap if cap else raw
    seen, bias = _mask(call, raw.shape[3])
    seen = _together([seen, *_in_reach(call, raw.shape[2], raw.shape[3], past)])
    scores = capped if bias is None else capped + bias
    scores = scores if seen is None else ops.where(seen, scores, -np.inf)
    number = call.attribute("softmax_precision")
    wide = scores if number is None else ops.astype(scores, dtype_of(number))
    weights = ops.astype(_softmax(wide, seen, bias), q.dtype)
    y = ops.matmul(weights, v)
    if call.value(0).ndim == 3:
        y = ops.transpose(y, (0, 2, 1, 3))
        y = ops.reshape(y, (y.shape[0], y.shape[1], y.shape[2] * y.shape[3]))
    return (y, *kept, (raw, capped, scores, weights)[call.attribute("qk_matmul_output_mode", 0)])


def _by_heads(call: Call, position: int) -> Any:
    """Queries, keys or values as (batch, heads, length, width)."""
    x = call.value(position)
    if x.ndim == 4:
        return x
    heads = call.attribute("kv_num_heads" if position else "q_num_heads")
    if not heads:
        raise call.refuse("the number of heads is not given")
    parts = ops.reshape(x, (x.shape[0], x.shape[1], heads, x.shape[2] // heads))
    return ops.transpose(parts, (0, 2, 1, 3))


def _mask(call: Call, length: Any) -> tuple[Any, Any]:
    """Which keys a mask of bools lets through, and what one of numbers adds."""
    mask = call.optional(3)
    if mask is None:
        return None, None
    is_bool = np.dtype(mask.dtype).kind == "b"
    short = length - mask.shape[-1]
    if short != 0:  # keys behind the mask are not seen
        widths = [(0, 0)] * (mask.ndim - 1) + [(0, short)]
        mask = ops.pad(mask, widths, False if is_bool else -np.inf)
    return (mask, None) if is_bool else (None, mask)


def _in_reach(call: Call, queries: Any, keys: Any, past: Any) -> list[Any]:
    """The conditions of place: before a query, in its window, not behind what is filled."""
    found: list[Any] = []
    filled = call.optional(6)
    place = _places(keys)
    first: Any = 0 if past is None else _number(past.shape[2])
    if filled is not None:
        filled = ops.reshape(filled, (-1, 1, 1, 1))
        first = filled - _number(queries)
        found.append(ops.less(place, filled))
    ahead = ops.reshape(_places(queries), (-1, 1)) + first - place
    if call.attribute("is_causal", 0):
        found.append(ops.greater_equal(ahead, 0))
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if left >= 0:
        found.append(ops.less_equal(ahead, left))
    if right >= 0:
        found.append(ops.greater_equal(ahead, -right))
    return found


def _places(size: Any) -> Any:
    return construct(leaves.iota, (), {"size": size}) if isinstance(size, Dim) else np.arange(size)


def _number(size: Any) -> Any:
    return computed(as_sizes([size]).reshape(()))


def _together(conditions: list[Any]) -> Any:
    found = None
    for one in conditions:
        if one is not None:
            found = one if found is None else ops.logical_and(found, one)
    return found


def _softmax(scores: Any, seen: Any, bias: Any) -> Any:
    """Along the keys; zero for a query that sees none."""
    if bias is not None:
        seen = _together([seen, ops.greater(bias, -np.inf)])
    if seen is None:
        return ops.softmax(scores, -1)
    some = ops.any(seen, -1, True)
    return ops.where(some, ops.softmax(ops.where(some, scores, 0), -1), 0)
