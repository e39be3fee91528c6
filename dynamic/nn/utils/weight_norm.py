"""Weights as directions and lengths (Salimans, Kingma 2016): `weight_norm`."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn.errors import ModuleError
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tape.grad_mode import no_grad


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norms of the slices along an axis, kept as an axis; of the whole for dim = -1."""
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [axis for axis in range(v.ndim) if axis != dim % v.ndim], True)


class _WeightNorm:
    """Puts the weight together before each forward."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def weight(self, module: Any) -> Any:
        """length times direction."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    def __call__(self, module: Any, inputs: Any) -> None:
        object.__setattr__(module, self.name, self.weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """The module, whose weight is made of `weight_g`, lengths, and `weight_v`, directions.

    The lengths are those of the slices along `dim`; of the whole weight for None.

    Example:
        >>> layer = nn.utils.weight_norm(nn.Linear(2, 3))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (torch.Size([3, 1]), torch.Size([3, 2]))
    """
    if any(isinstance(one, _WeightNorm) and one.name == name for one in _hooks(module)):
        raise AutogradError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    rule = _WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    if not isinstance(weight, Parameter):
        raise ModuleError(f"weight_norm: {name!r} of {type(module).__name__} is no parameter")
    del module._parameters[name]
    with no_grad():
        lengths = norm_except_dim(weight, 2, rule.dim)
    module.register_parameter(f"{name}_g", Parameter(lengths.detach()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    object.__setattr__(module, name, rule.weight(module))
    module.register_forward_pre_hook(rule)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """The module with an ordinary weight again; ValueError if it has no such norm.

    Example:
        >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3)))
        >>> [name for name, _ in layer.named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in list(module._forward_pre_hooks.items()):
        rule = hook.function
        if isinstance(rule, _WeightNorm) and rule.name == name:
            weight = rule.weight(module).detach()
            del module._forward_pre_hooks[key]
            del module.__dict__[name]
            del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
            setattr(module, name, Parameter(weight))
            return module
    raise OptionError(f"weight_norm of '{name}' not found in {module}")


def _hooks(module: Any) -> list[Any]:
    return [hook.function for hook in module._forward_pre_hooks.values()]
