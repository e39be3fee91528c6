"""The loss of scores, as the one node that it is in PyTorch: an op that only tensors have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.reductions.reduction import positions
from staticgraph.compiler.reference import classes


def _type(x: TensorType, target: TensorType, *, reduction: str) -> TensorType:
    return TensorType(target.shape if reduction == "none" else (), x.dtype)


def _losses(x: Any, target: Any, *, reduction: str) -> Any:
    return classes.reduced(-classes.named(x, target), reduction)


def _seed(g: Any, target: Any, reduction: str) -> Any:
    """The cotangent of the score that each target names."""
    if reduction == "mean":
        return -g / target.shape[0]
    return -g if reduction == "sum" else ops.expand_dims(-g, 1)


def _by_scores(g: object, o: object, x: object, target: Any, *, reduction: str) -> Any:
    hot = ops.equal(positions(x, 1), ops.expand_dims(target, 1))
    return ops.where(hot, _seed(g, target, reduction), 0)


def _by_scores_arrays(
    wanted: Sequence[int], g: Any, o: object, x: Any, target: Any, *, reduction: str
) -> Sequence[Any]:
    found = np.zeros(x.shape, g.dtype)
    share = -g / g.dtype.type(len(target)) if reduction == "mean" else -g
    found.put(classes.places(found, target), share)
    return (found,)


def _in_ops(x: object, target: object, *, reduction: str) -> Any:
    # where nothing is captured it is not needed
    from staticgraph.compiler.layers.classification import of_scores

    return of_scores(x, target, None, None, reduction)


nll_loss = Op(
    name="nll_loss",
    infer_type=_type,
    evaluate=_losses,
    vjp=(_by_scores, None),
    vjp_arrays=_by_scores_arrays,
    saves=("ab", ""),  # PyTorch keeps the scores too: who changes them in place is told
    expand=_in_ops,
    doc="-x[target], x (n, c), target the class indices (n,); reduction as `cross_entropy`'s.",
)
