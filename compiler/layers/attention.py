"""Attention with several heads of queries for one of keys and values."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.layers.axes import shown
from staticgraph.compiler.ops.declare import as_operand

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(scale * q k' + mask) v: see `staticgraph.scaled_dot_product_attention`.

    With `enable_gqa` several heads (axis -3) of the queries share one of keys and values (Ainslie
    et al. 2023).

    Raises:
        ShapeError: the heads of the queries are no multiple of the others.

    Example:
        >>> q, k = np.zeros((4, 1, 2)), np.zeros((2, 1, 2))
        >>> v = np.array([[[1.0]], [[2.0]]])
        >>> sg.nn.scaled_dot_product_attention(q, k, v, enable_gqa=True).ravel()
        array([1., 1., 2., 2.])
    """
    if enable_gqa:
        query, key, value = (as_operand(one) for one in (query, key, value))
        key, value = (_shared(query, one) for one in (key, value))
    return ops.scaled_dot_product_attention(query, key, value, attn_mask, is_causal, scale)


def _shared(query: Any, x: Any) -> Any:
    shown_both = f"queries {shown(query)} and {shown(x)}"
    if query.ndim < 3 or x.ndim < 3:
        raise ShapeError(f"scaled_dot_product_attention: {shown_both} have no heads: axis -3")
    heads, groups = query.shape[-3], x.shape[-3]
    known = not isinstance(heads, Dim) and not isinstance(groups, Dim)
    if known and (not groups or heads % groups):
        raise ShapeError(
            f"scaled_dot_product_attention: {shown_both}: {heads} heads are no multiple of {groups}"
        )
    return repeated(x, heads // groups)


def repeated(x: Value, times: Value) -> Value:
    """Each head (axis -3) as many times in a row."""
    shape = tuple(x.shape)
    wide = ops.broadcast_to(ops.expand_dims(x, -3), (*shape[:-2], times, *shape[-2:]))
    return ops.reshape(wide, (*shape[:-3], shape[-3] * times, *shape[-2:]))
