"""The gates of recurrent cells as one op: what would be a dozen of small ones in every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.reference.activation import sigmoid


def _gru(x: Any, own: Any, h: Any) -> Any:
    """The next state in ops."""
    size = h.shape[-1]
    both = ops.sigmoid(x[..., : 2 * size] + own[..., : 2 * size])
    reset, update = both[..., :size], both[..., size:]
    proposal = ops.tanh(x[..., 2 * size :] + reset * own[..., 2 * size :])
    return proposal + update * (h - proposal)


def _gates(x: Any, own: Any, h: Any) -> tuple[Any, Any]:
    """Both gates side by side, and the proposal, as arrays."""
    size = h.shape[-1]
    both = sigmoid(x[..., : 2 * size] + own[..., : 2 * size])
    proposal = both[..., :size] * own[..., 2 * size :]
    np.add(x[..., 2 * size :], proposal, proposal)
    return both, np.tanh(proposal, proposal)


def _gru_array(x: Any, own: Any, h: Any) -> Any:
    both, proposal = _gates(x, own, h)
    found = np.subtract(h, proposal)
    np.multiply(both[..., h.shape[-1] :], found, found)
    return np.add(proposal, found, found)


def _gru_slopes(
    positions: Sequence[int], g: Any, out: object, x: Any, own: Any, h: Any
) -> list[Any]:
    """The cotangents as arrays."""
    size = h.shape[-1]
    both, proposal = _gates(x, own, h)
    reset, update = both[..., :size], both[..., size:]
    by_x = np.empty_like(x)
    opened, by_proposal = by_x[..., : 2 * size], by_x[..., 2 * size :]
    np.subtract(1, both, opened)
    np.multiply(opened, both, opened)
    by_reset, by_update = opened[..., :size], opened[..., size:]
    np.multiply(proposal, proposal, by_proposal)
    np.subtract(1, by_proposal, by_proposal)
    by_h = g * update
    change = g - by_h
    np.multiply(by_proposal, change, by_proposal)
    np.multiply(by_reset, own[..., 2 * size :], by_reset)
    np.multiply(by_reset, by_proposal, by_reset)
    np.subtract(h, proposal, change)
    np.multiply(change, g, change)
    np.multiply(by_update, change, by_update)
    if positions == (0,):
        return [by_x]
    by_own = by_x.copy()
    ours = by_own[..., 2 * size :]
    np.multiply(ours, reset, ours)
    found = by_x, by_own, by_h
    return [found[position] for position in positions]


def _rule(position: int) -> Any:
    """The cotangent of an operand in ops."""

    def rule(g: Any, out: object, x: Any, own: Any, h: Any) -> Any:
        size = h.shape[-1]
        both = ops.sigmoid(x[..., : 2 * size] + own[..., : 2 * size])
        reset, update = both[..., :size], both[..., size:]
        if position == 2:
            return g * update
        part = own[..., 2 * size :]
        proposal = ops.tanh(x[..., 2 * size :] + reset * part)
        by_proposal = g * (1 - update) * (1 - proposal * proposal)
        by_reset = by_proposal * part * reset * (1 - reset)
        by_update = g * (h - proposal) * update * (1 - update)
        last = by_proposal if position == 0 else by_proposal * reset
        return ops.concatenate([by_reset, by_update, last], -1)

    return rule


gru_gates = Op(
    name="gru_gates",
    infer_type=lambda x, own, h: TensorType(h.shape, h.dtype),
    evaluate=_gru_array,
    vjp=(_rule(0), _rule(1), _rule(2)),
    vjp_arrays=_gru_slopes,
    saves=("abc", "abc", "ab"),
    expand=_gru,
    doc="The next state (..., n) of a gated recurrent unit of what its three gates (..., 3 n) get "
    "of the input, and of the state h (Cho et al. 2014).",
)
