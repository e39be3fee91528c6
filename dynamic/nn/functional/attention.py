"""Attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.layers.attention import repeated
from staticgraph.compiler.layers.axes import number
from staticgraph.compiler.ops.attending import masked_softmax
from staticgraph.dynamic.core.dtypes import c_name, get_default_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional.dropout import dropout


def additive_mask(mask: Any, blocked: bool, dtype: Any) -> Any:
    """A bool mask as 0 and -inf, -inf where the mask is `blocked`; a float mask as it is."""
    if np.dtype(mask.dtype).kind != "b":
        return mask
    low = np.asarray(-math.inf, np.dtype(dtype))
    zero = np.asarray(0.0, np.dtype(dtype))
    return ops.where(mask, low, zero) if blocked else ops.where(mask, zero, low)


_NAMES = ("query", "key", "value")


def _causal(queries: int, keys: int) -> Any:
    return np.tril(np.ones((queries, keys), np.bool_))


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(scale * q k.T + mask) v: (..., l, e), (..., s, e), (..., s, v) -> (..., l, v).

    Args:
        attn_mask: broadcasts to (..., l, s): True where a key may be seen, or numbers to add. A
            query that may see none has the value 0.
        dropout_p: the probability with which weights are dropped.
        is_causal: whether a query sees only the keys up to its own place.
        scale: 1 / sqrt(e) if None.
        enable_gqa: whether several heads (axis -3) of the queries share one of key and value.

    Example:
        >>> q, k = dynamic.zeros((4, 1, 2)), dynamic.zeros((2, 1, 2))
        >>> v = dynamic.tensor([[[1.0]], [[2.0]]])
        >>> nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True).ravel()
        tensor([1., 1., 2., 2.])
    """
    if is_causal and attn_mask is not None:
        raise AutogradError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if any(len(one.shape) < 2 for one in (query, key, value)):
        q, k, v = (len(one.shape) for one in (query, key, value))
        raise AutogradError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {q} key.dim: {k} and value.dim: {v} instead."
        )
    dtypes = [one.dtype for one in (query, key, value)]
    if dtypes[0] != dtypes[1] or dtypes[0] != dtypes[2]:
        names = [f"{what}.dtype: {c_name(one)}" for what, one in zip(_NAMES, dtypes, strict=True)]
        raise AutogradError(
            "Expected query, key, and value to have the same dtype, but got "
            f"{names[0]} {names[1]} and {names[2]} instead."
        )
    if not is_float(np.dtype(dtypes[0])):
        raise AutogradError(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name(get_default_dtype())} != {c_name(dtypes[0])}"
        )
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (repeated(x, groups) for x in (key, value))
    if scale is None and not isinstance(query.shape[-1], Dim):
        scale = 1 / math.sqrt(max(1, query.shape[-1]))  # queries without elements meet no key
    if attn_mask is None and not dropout_p:
        return ops.scaled_dot_product_attention(query, key, value, None, is_causal, scale)
    if is_causal:
        mask = _causal(query.shape[-2], key.shape[-2])
        attn_mask = query._constant(mask)
    scaled = (
        query / ops.sqrt(number(query.shape[-1], query, query.dtype))
        if scale is None
        else (query * scale)
    )
    scores = _scores(scaled, key, attn_mask)
    return ops.matmul(dropout(masked_softmax(scores), dropout_p), value)


def attention_weights(query: object, key: object, mask: object) -> Any:
    """softmax(q k.T + mask) along the keys: (..., l, e), (..., s, e) -> (..., l, s)."""
    return ops.softmax(_scores(query, key, mask), -1)


def _scores(query: object, key: object, mask: object) -> Any:
    scores = ops.matmul(query, ops.swapaxes(key, -1, -2))
    if mask is not None:
        scores = scores + additive_mask(mask, False, scores.dtype)
    return scores


def split_heads(x: Any, heads: int) -> Any:
    """(length, n, heads * d) -> (n, heads, length, d)."""
    length, batch, size = x.shape
    return ops.transpose(ops.reshape(x, (length, batch, heads, size // heads)), (1, 2, 0, 3))
