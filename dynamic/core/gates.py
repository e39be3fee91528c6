"""The gates of recurrent cells as one op: what would be a dozen of small ones in every step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType


def _gru(x: Any, own: Any, h: Any) -> Any:
    """The next state in ops."""
    size = h.shape[-1]
    both = ops.sigmoid(x[..., : 2 * size] + own[..., : 2 * size])
    reset, update = both[..., :size], both[..., size:]
    proposal = ops.tanh(x[..., 2 * size :] + reset * own[..., 2 * size :])
    return proposal + update * (h - proposal)


def _gru_array(x: Any, own: Any, h: Any) -> Any:
    out = np.empty(h.shape, h.dtype)
    provided.gru((out,), *map(np.ascontiguousarray, (x, own, h)))
    return out


def _gru_slopes(
    positions: Sequence[int], g: Any, out: object, x: Any, own: Any, h: Any
) -> list[Any]:
    """The cotangents as arrays."""
    found = [np.empty(one.shape, one.dtype) for one in (x, own, h)]
    provided.gru(tuple(found), *map(np.ascontiguousarray, (g, x, own, h)))
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
