"""Weights of largest singular value 1 (Miyato et al. 2018): `spectral_norm`."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.functional import normalize
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.drawn import randn


class SpectralNorm:
    """Divides the weight by its largest singular value, by power iteration, before forward."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise OptionError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def matrix(self, weight: Any) -> Any:
        """The weight as a matrix, with a row for each slice along the axis."""
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def iterate(self, matrix: Any, u: Any, v: Any, count: int) -> None:
        """Improve both singular vectors in place."""
        with no_grad():
            for _ in range(count):
                v.copy_(normalize(matrix.t() @ u, dim=0, eps=self.eps))
                u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))

    def weight(self, module: Any, training: bool) -> Any:
        """The divided weight; the vectors are improved in training."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.matrix(weight)
        if training:
            self.iterate(matrix, u, v, self.n_power_iterations)
            u, v = u.clone(), v.clone()
        return weight / ops.dot(u, matrix @ v)

    def __call__(self, module: Any, inputs: Any) -> None:
        """The hook."""
        object.__setattr__(module, self.name, self.weight(module, module.training))


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """The module, whose weight is `weight_orig` divided by its largest singular value.

    `dim` is the axis of the outputs: 1 for transposed convolutions, else 0. The singular vectors
    are random at first, and improved by each call in training; those of `parametrizations` begin
    after 15 such steps.

    Example:
        >>> _ = dynamic.manual_seed(0)
        >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=50)
        >>> _ = layer(dynamic.ones(1, 2))
        >>> round(dynamic.linalg.norm(layer.weight, 2).item(), 3)
        1.0
    """
    if any(isinstance(one.function, SpectralNorm) and one.function.name == name
           for one in module._forward_pre_hooks.values()):  # fmt: skip
        raise AutogradError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    rule = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.pop(name)
    matrix = rule.matrix(weight.detach())
    u = normalize(randn(matrix.shape[0], dtype=weight.dtype), dim=0, eps=eps)
    v = normalize(randn(matrix.shape[1], dtype=weight.dtype), dim=0, eps=eps)
    module.register_parameter(f"{name}_orig", weight)
    object.__setattr__(module, name, weight.detach())
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(rule)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """The module with an ordinary weight again; ValueError if it has no such norm.

    Example:
        >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in list(module._forward_pre_hooks.items()):
        rule = hook.function
        if isinstance(rule, SpectralNorm) and rule.name == name:
            with no_grad():
                weight = rule.weight(module, False)
            del module._forward_pre_hooks[key]
            del module.__dict__[name]
            del module._parameters[f"{name}_orig"]
            for vector in ("u", "v"):
                del module._buffers[f"{name}_{vector}"]
            setattr(module, name, Parameter(weight.detach()))
            return module
    raise OptionError(f"spectral_norm of '{name}' not found in {module}")
