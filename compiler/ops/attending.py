"""Attention without its matrix of weights in memory: rows of queries, block by block.

Dao et al., "FlashAttention: fast and memory-efficient exact attention with IO-awareness", 2022.
Here a block has all weights of some queries, since they fit into the cache: each row is
normalised in one go, and the gradients compute the weights of a block again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.lowering import Attention
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import (
    TensorType,
    TupleType,
    broadcast_shapes,
    require_same_dtype,
    type_of,
    unify,
)
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, full, widened
from staticgraph.compiler.ops.declare import as_operand, size_value, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import divide, multiply
from staticgraph.compiler.ops.elementwise.comparison import equal, where
from staticgraph.compiler.ops.elementwise.exponential import sqrt
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.linalg.systems import triangle
from staticgraph.compiler.ops.nn import softmax
from staticgraph.compiler.ops.programs.control import items
from staticgraph.compiler.ops.reductions.reduction import all, sum
from staticgraph.compiler.ops.shapes.shape import broadcast_to, swapaxes

__all__ = ["scaled_dot_product_attention"]

ROWS = 64
"""The queries of a block."""


def require_attention(name: str, q: TensorType, k: TensorType, v: TensorType) -> None:
    """ShapeError or DTypeError unless (..., l, e), (..., s, e) and (..., s, v) floats are given."""
    dtype = require_same_dtype(name, q, k, v)
    if not is_float(dtype):
        raise DTypeError(f"{name}: expected floating point numbers, not {dtype}")
    shown = f"queries {q}, keys {k}, values {v}"
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(f"{name}: {shown}: each needs two axes at least")
    pairs = [
        ("the last axes of queries and keys", q.shape[-1:], k.shape[-1:]),
        ("the numbers of keys and values", k.shape[-2:-1], v.shape[-2:-1]),
        ("the leading axes of queries and keys", q.shape[:-2], k.shape[:-2]),
        ("the leading axes of keys and values", k.shape[:-2], v.shape[:-2]),
    ]
    for what, one, other in pairs:
        same = len(one) == len(other)
        if not same or any(unify(a, b) is None for a, b in zip(one, other, strict=True)):
            raise ShapeError(f"{name}: {shown}: {what} differ")


def _attention_type(
    q: TensorType, k: TensorType, v: TensorType, *, scale: float, causal: bool
) -> TensorType:
    require_attention("attention", q, k, v)
    return TensorType((*q.shape[:-1], v.shape[-1]), q.dtype)


def _gradients_type(
    q: TensorType, k: TensorType, v: TensorType, g: TensorType, *, scale: float, causal: bool
) -> TupleType:
    name = "attention_gradients"
    require_attention(name, q, k, v)
    require_same_dtype(name, q, g)
    result = *q.shape[:-1], v.shape[-1]
    if g.ndim != q.ndim or any(unify(*pair) is None for pair in zip(g.shape, result, strict=True)):
        raise ShapeError(f"{name}: the gradient {g} is not that of a result {list(result)}")
    return TupleType((q, k, v))


def _blocks(queries: int, keys: int, causal: bool) -> Iterator[tuple[slice, int]]:
    """The rows of each block, and how many keys some of them see."""
    for top in range(0, queries, ROWS):
        end = min(queries, top + ROWS)
        yield slice(top, end), min(keys, end) if causal else keys


def _weights_numpy(q: Any, k: Any, first: int, scale: float, causal: bool) -> Any:
    """The weights of some queries, from the `first` on, by the keys that they may see."""
    scores = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(scale)
    if causal:
        seen = np.tri(q.shape[-2], k.shape[-2], first, np.bool_)
        scores = np.where(seen, scores, q.dtype.type(-math.inf))
    most = scores.max(axis=-1, keepdims=True, initial=-math.inf)
    scores = np.exp(scores - most)
    return scores / scores.sum(axis=-1, keepdims=True)


def _attention_numpy(q: Any, k: Any, v: Any, *, scale: float, causal: bool) -> Any:
    found = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        for rows, seen in _blocks(q.shape[-2], k.shape[-2], causal):
            k_seen, v_seen = k[..., :seen, :], v[..., :seen, :]
            weights = _weights_numpy(q[..., rows, :], k_seen, rows.start, scale, causal)
            found[..., rows, :] = np.matmul(weights, v_seen)
    return found


def _gradients_numpy(
    q: Any, k: Any, v: Any, g: Any, *, scale: float, causal: bool
) -> tuple[Any, Any, Any]:
    gq, gk, gv = np.empty_like(q), np.zeros_like(k), np.zeros_like(v)
    factor = q.dtype.type(scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        for rows, seen in _blocks(q.shape[-2], k.shape[-2], causal):
            q_rows, g_rows = q[..., rows, :], g[..., rows, :]
            k_seen, v_seen = k[..., :seen, :], v[..., :seen, :]
            weights = _weights_numpy(q_rows, k_seen, rows.start, scale, causal)
            gv[..., :seen, :] += np.matmul(weights.swapaxes(-1, -2), g_rows)
            by_weights = np.matmul(g_rows, v_seen.swapaxes(-1, -2))
            mean = (weights * by_weights).sum(axis=-1, keepdims=True)
            by_scores = weights * (by_weights - mean) * factor
            gq[..., rows, :] = np.matmul(by_scores, k_seen)
            gk[..., :seen, :] += np.matmul(by_scores.swapaxes(-1, -2), q_rows)
    return gq, gk, gv


def attention_weights(q: Value, k: Value, scale: float, causal: bool) -> Value:
    """The weights (..., l, s), as ops that keep them: for gradients of gradients."""
    scores = multiply(matmul(q, swapaxes(k, -1, -2)), scale)
    if causal:
        scores = where(triangle(scores), scores, -math.inf)
    return softmax(scores, -1)


def _row_sums(x: Any) -> Any:
    return sum(x, axis=-1, keepdims=True)


def _rule(position: int) -> Any:
    def rule(g: object, o: object, q: object, k: object, v: object, **attrs: Any) -> Any:
        return attention_gradients(q, k, v, g, **attrs)[position]

    return rule


def _attention_arrays(
    positions: Sequence[int], g: Any, o: object, q: Any, k: Any, v: Any, **attrs: Any
) -> Sequence[Any]:
    found = _gradients_numpy(q, k, v, g, **attrs)
    return [found[position] for position in positions]


def _gradients_vjp(
    positions: Sequence[int],
    gs: Sequence[Any],
    out: object,
    q: Any,
    k: Any,
    v: Any,
    g: Any,
    *,
    scale: float,
    causal: bool,
) -> Sequence[Any]:
    """By hand: with weights P, of which the gradient is D = g v', and S = P (D - row sums of P D),
    the operand's gradients are scale S k, scale S' q and P' g.
    """
    a, b, c = (zeros_like(x) if one is None else one for one, x in zip(gs, (q, k, v), strict=True))
    p = attention_weights(q, k, scale, causal)
    d = matmul(g, swapaxes(v, -1, -2))
    mean = _row_sums(p * d)
    s = p * (d - mean)
    m = (matmul(a, swapaxes(k, -1, -2)) + matmul(q, swapaxes(b, -1, -2))) * scale
    t = p * (m - _row_sums(m * p))
    by_p = matmul(g, swapaxes(c, -1, -2)) + (m - _row_sums(m * p)) * d - m * mean
    by_scores = p * (by_p - _row_sums(by_p * p)) * scale
    found = (
        lambda: matmul(by_scores, k) + matmul(s, b) * scale,
        lambda: matmul(swapaxes(by_scores, -1, -2), q) + matmul(swapaxes(s, -1, -2), a) * scale,
        lambda: matmul(swapaxes(t, -1, -2), g),
        lambda: matmul(t, v) + matmul(p, c),
    )
    return [found[position]() for position in positions]


def _batched(
    op: Op, examples: Sequence[Example], size: Any, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    ndim = max(one.ndim for one in examples)
    return apply(
        op, [full(Example(widened(x, ndim), x.batched, ndim), size) for x in examples], attrs
    )


def _bind(
    q: Value, k: Value, v: Value, *, scale: float, causal: bool
) -> tuple[Sequence[Value], Attrs]:
    return (q, k, v), {"scale": float(scale), "causal": bool(causal)}


attention: Op = register(
    Op(
        name="attention",
        infer_type=_attention_type,
        evaluate=_attention_numpy,
        vjp=(_rule(0), _rule(1), _rule(2)),
        saves=("abc", "abc", "abc"),
        vjp_arrays=_attention_arrays,
        checked=True,
        batching=_batched,
        cost="expensive",
        bind=_bind,
        lowering=Attention(),
        sweep="blocks",
        doc="softmax(scale * q k') v, block by block of queries: (..., l, e), (..., s, e), (..., "
        "s, v) -> (..., l, v) with equal leading axes. With `causal`, a query sees the keys up to "
        "its own place; whether nan and inf of later values reach it is not specified.",
    )
)

attention_cotangents: Op = register(
    Op(
        name="attention_gradients",
        infer_type=_gradients_type,
        evaluate=_gradients_numpy,
        vjp_items=_gradients_vjp,
        saves=("abcd", "abcd", "abcd", "abcd"),
        checked=True,
        batching=_batched,
        cost="expensive",
        lowering=Attention(),
        doc="The gradients of `attention` by queries, keys and values, given that by its result.",
    )
)


def attention_gradients(
    q: Value, k: Value, v: Value, g: Value, *, scale: float, causal: bool
) -> tuple[Value, ...]:
    """The gradients of `attention` by queries, keys and values, given that by its result."""
    attrs = {"scale": float(scale), "causal": bool(causal)}
    return items(attention_cotangents.bound(tuple(map(as_operand, (q, k, v, g))), attrs))


def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Value:
    """softmax(scale * q k' + mask) v: (..., l, e), (..., s, e) and (..., s, v) -> (..., l, v).

    Without a mask the weights (..., l, s) are never all in memory, nor for the gradients, and of
    causal attention one half is not computed.

    Args:
        attn_mask: broadcasts to (..., l, s): True where a key may be seen, or numbers to add. A
            query that may see none has the value 0.
        is_causal: whether a query sees only the keys up to its own place. Whether nan and inf of
            later values reach it is not specified.
        scale: 1 / sqrt(e) if None.

    Raises:
        ShapeError: the last axes, the numbers of keys and values, or leading axes do not fit.
        DTypeError: they are not floating point numbers, or of several dtypes.
        OptionError: there is a mask, and `is_causal`.

    Example:
        >>> x = np.eye(2)
        >>> sg.scaled_dot_product_attention(x, x, x, is_causal=True, scale=1.0)
        array([[1.        , 0.        ],
               [0.26894142, 0.73105858]])
    """
    name = "scaled_dot_product_attention"
    if is_causal and attn_mask is not None:
        raise OptionError(f"{name}: is_causal=True leaves no room for an attn_mask: give one alone")
    operands = [as_operand(one) for one in (query, key, value)]
    dtypes = [np.dtype(one.dtype) for one in operands]
    if not is_float(dtypes[0]) or dtypes.count(dtypes[0]) != len(dtypes):
        q, k, v = dtypes
        raise DTypeError(
            f"{name}: queries {q}, keys {k}, values {v}: expected floating point numbers of one "
            "dtype: cast them with astype"
        )
    if scale is None:
        operands[0], scale = _scaled(name, operands[0])
    if attn_mask is None:
        return attention.bound(
            _aligned(name, operands), {"scale": float(scale), "causal": bool(is_causal)}
        )
    mask = as_operand(attn_mask)
    query, key, value = operands
    scores = multiply(matmul(query, swapaxes(key, -1, -2)), scale)
    if np.dtype(mask.dtype).kind == "b":
        mask = where(mask, np.asarray(0.0, scores.dtype), np.asarray(-math.inf, scores.dtype))
    return matmul(masked_softmax(scores + mask), value)


def masked_softmax(scores: Value) -> Value:
    """softmax along the last axis; 0, as are its gradients, where a query may see no key."""
    blocked = all(equal(scores, -math.inf), axis=-1, keepdims=True)
    return where(blocked, 0.0, softmax(where(blocked, 0.0, scores), -1))


def _scaled(name: str, query: Any) -> tuple[Any, float]:
    """The queries and the usual scale; queries with it where their width is not known yet."""
    if not len(query.shape):
        raise ShapeError(f"{name}: queries {type_of(query)} need two axes at least")
    width = query.shape[-1]
    if isinstance(width, int):
        return query, 1 / math.sqrt(max(1, width))
    return divide(query, sqrt(size_value(width, query))), 1.0


def _aligned(name: str, operands: Sequence[Any]) -> list[Any]:
    """The operands with equal leading axes."""
    leads = [tuple(one.shape[:-2]) for one in operands]
    if leads[0] == leads[1] == leads[2]:
        return list(operands)
    types = [TensorType(lead, np.dtype(np.float64)) for lead in leads]
    lead = broadcast_shapes(f"{name}: leading axes", *types)
    return [
        one if tuple(one.shape[:-2]) == lead else broadcast_to(one, (*lead, *one.shape[-2:]))
        for one in operands
    ]
