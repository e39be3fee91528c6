"""Usual parametrizations (torch.nn.utils.parametrizations): `weight_norm`, `spectral_norm`.

`orthogonal` too, which has a module of its own.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.dynamic.nn.functional import normalize
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.utils import parametrize
from staticgraph.dynamic.nn.utils.orthogonal import orthogonal
from staticgraph.dynamic.nn.utils.spectral_norm import SpectralNorm
from staticgraph.dynamic.nn.utils.weight_norm import norm_except_dim
from staticgraph.dynamic.tensors.drawn import randn

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """length times direction."""
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """The length and the direction of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """The module, whose weight is made of lengths and directions (Salimans, Kingma 2016).

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
        >>> layer.parametrizations.weight.original0.shape  # the lengths
        torch.Size([3, 1])
        >>> layer.parametrizations.weight.original1.shape  # the directions
        torch.Size([3, 2])
    """
    rule = _WeightNorm(-1 if dim is None else dim)
    return parametrize.register_parametrization(module, name, rule, unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Any, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self._rule = SpectralNorm("weight", n_power_iterations, dim, eps)
        matrix = self._rule.matrix(weight.detach())
        u = normalize(randn(matrix.shape[0], dtype=weight.dtype), dim=0, eps=eps)
        v = normalize(randn(matrix.shape[1], dtype=weight.dtype), dim=0, eps=eps)
        self._rule.iterate(matrix, u, v, 15)
        self.register_buffer("_u", u)
        self.register_buffer("_v", v)

    def forward(self, weight: Any) -> Any:
        """The weight divided by its largest singular value."""
        matrix = self._rule.matrix(weight)
        if self.training:
            self._rule.iterate(matrix, self._u, self._v, self._rule.n_power_iterations)
        return weight / ops.dot(self._u.clone(), matrix @ self._v.clone())

    def right_inverse(self, value: Any) -> Any:
        """The weight itself."""
        return value


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """The module, whose weight has the largest singular value 1 (Miyato et al. 2018).

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=50)
        >>> round(dynamic.linalg.norm(layer.weight, 2).item(), 3)
        1.0
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    rule = _SpectralNorm(getattr(module, name), n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, rule)
