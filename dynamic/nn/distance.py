"""Distances of vectors as layers."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.module import Module


class CosineSimilarity(Declared, functional=F.cosine_similarity):
    """The cosine of the angle between vectors along `dim`.

    Example:
        >>> nn.CosineSimilarity()(dynamic.tensor([[3.0, 0.0]]), dynamic.tensor([[0.0, 4.0]]))
        tensor([0.])
    """

    dim: int = 1
    eps: float = 1e-8


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last axis.

    Example:
        >>> nn.PairwiseDistance(eps=0)(dynamic.tensor([[0.0, 0.0]]), dynamic.tensor([[3.0, 4.0]]))
        tensor([5.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
