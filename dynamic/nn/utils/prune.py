"""Pruning: parameters of which a mask sets elements to zero (PyTorch's torch.nn.utils.prune).

A parameter `name` that is pruned becomes `name_orig`, beside a buffer `name_mask`; before each call
of the module `name` is their product. `remove` makes it a parameter again, with its zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.random_numbers import source_of
from staticgraph.dynamic.tensors.tensor import wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured",
    "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class _Masked:
    """The hook before the forward of a module: the parameter is what the mask leaves of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, inputs: object = None) -> None:
        original = getattr(module, f"{self.name}_orig")
        setattr(module, self.name, original * getattr(module, f"{self.name}_mask"))


def _hook_of(module: Any, name: str) -> tuple[Any, _Masked] | None:
    for key, hook in module._forward_pre_hooks.items():
        masked = getattr(hook, "function", hook)
        if isinstance(masked, _Masked) and masked.name == name:
            return key, masked
    return None


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one inside it, is pruned.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(2, 2)
        >>> prune.is_pruned(layer), prune.is_pruned(prune.identity(layer, "weight"))
        (False, True)
    """
    return any(
        isinstance(getattr(hook, "function", hook), _Masked)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """The module with zeros in a parameter where the mask is 0, or was before.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> _ = prune.custom_from_mask(layer, "weight", dynamic.tensor([[1.0, 0.0]]))
        >>> abs(layer.weight[0, 1].item()), [name for name, _ in layer.named_parameters()]
        (0.0, ['weight_orig'])
    """
    found = _hook_of(module, name)
    if found is None:
        original = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask.to(original.dtype))
        masked = _Masked(name)
        module.register_forward_pre_hook(masked)
    else:
        masked = found[1]
        module.register_buffer(f"{name}_mask", getattr(module, f"{name}_mask") * mask)
    masked(module)
    return module


def remove(module: Any, name: str) -> Any:
    """The module whose parameter is one again, with its zeros. ValueError if it is not pruned.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(3, 1, bias=False)
        >>> _ = layer.weight.data.copy_(dynamic.tensor([[3.0, -1.0, 2.0]]))
        >>> _ = prune.l1_unstructured(layer, "weight", 1)
        >>> prune.remove(layer, "weight").weight.detach()
        tensor([[3., -0., 2.]])
    """
    found = _hook_of(module, name)
    if found is None:
        raise OptionError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    found[1](module)
    del module._forward_pre_hooks[found[0]]
    original = module._parameters.pop(f"{name}_orig")
    original.data = getattr(module, name).detach()
    del module._buffers[f"{name}_mask"]
    delattr(module, name)
    setattr(module, name, original)
    return module


def _count(amount: Any, size: int) -> int:
    """How many of `size` elements to prune: that number, or a part of them between 0 and 1."""
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise ArgumentError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1.0):
        raise OptionError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )
    if isinstance(amount, int) and amount > size:
        raise OptionError(
            f"amount={amount} should be smaller than the number of parameters to prune={size}"
        )
    return amount if isinstance(amount, int) else round(amount * size)


def _before(module: Any, name: str) -> tuple[Any, Any]:
    """What is left of a parameter as an array, and where that is: all, unless it is pruned."""
    mask = getattr(module, f"{name}_mask", None)
    values = np.array(values_of(getattr(module, name)))
    return values, np.ones(values.shape, bool) if mask is None else values_of(mask) != 0


def _without(values: Any, left: Any, scores: Any, amount: Any) -> Any:
    """The mask of the elements left but for those of the lowest scores."""
    places = np.flatnonzero(left)
    lowest = places[np.argsort(scores.reshape(-1)[places], kind="stable")]
    mask = left.astype(values.dtype)
    mask.reshape(-1)[lowest[: _count(amount, len(places))]] = 0
    return wrap(mask)


def _scores(module: Any, name: str, given: Any) -> Any:
    return np.abs(_before(module, name)[0]) if given is None else values_of(given)


def identity(module: Any, name: str) -> Any:
    """The module with a mask of ones.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> prune.identity(nn.Linear(2, 1), "weight").weight_mask
        tensor([[1., 1.]])
    """
    values, _ = _before(module, name)
    return custom_from_mask(module, name, wrap(np.ones_like(values)))


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """The module without the elements of a parameter that are closest to 0, so many of those left.

    `amount` is their number, or a part of them as a float.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(3, 1, bias=False)
        >>> _ = layer.weight.data.copy_(dynamic.tensor([[3.0, -1.0, 2.0]]))
        >>> prune.l1_unstructured(layer, "weight", 1).weight_mask
        tensor([[1., 0., 1.]])
    """
    values, left = _before(module, name)
    scores = _scores(module, name, importance_scores)
    return custom_from_mask(module, name, _without(values, left, scores, amount))


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """The module without some elements of a parameter: see `l1_unstructured`.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> prune.random_unstructured(nn.Linear(4, 1), "weight", 0.5).weight_mask.sum()
        tensor(2.)
    """
    values, left = _before(module, name)
    scores = source_of(None).random(values.shape)
    return custom_from_mask(module, name, _without(values, left, scores, amount))


def _structured(module: Any, name: str, amount: Any, dim: int, scores: Any) -> Any:
    """The module without the slices along an axis of the lowest scores, of those that are left."""
    values, left = _before(module, name)
    others = tuple(axis for axis in range(values.ndim) if axis != dim % values.ndim)
    kept = np.flatnonzero(left.any(others))
    lowest = kept[np.argsort(scores[kept], kind="stable")][: _count(amount, len(kept))]
    mask = np.moveaxis(left.astype(values.dtype), dim, 0)
    mask[lowest] = 0
    return custom_from_mask(module, name, wrap(np.moveaxis(mask, 0, dim).copy()))


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """The module without the slices along `dim` of a parameter that have the lowest n-norms.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(2, 2, bias=False)
        >>> _ = layer.weight.data.copy_(dynamic.tensor([[3.0, 3.0], [1.0, 1.0]]))
        >>> prune.ln_structured(layer, "weight", 1, n=2, dim=0).weight_mask
        tensor([[1., 1.],
                [0., 0.]])
    """
    slices = np.moveaxis(_scores(module, name, importance_scores), dim, 0)
    norms = np.linalg.norm(slices.reshape(len(slices), -1), n, axis=1)
    return _structured(module, name, amount, dim, norms)


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """The module without some slices along `dim` of a parameter.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> prune.random_structured(nn.Linear(4, 3), "weight", 1, dim=1).weight_mask.sum()
        tensor(9.)
    """
    count = getattr(module, name).shape[dim]
    return _structured(module, name, amount, dim, source_of(None).random(count))


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any = l1_unstructured,
    importance_scores: Any = None,
    *,
    amount: Any,
) -> None:
    """Prune the elements closest to 0 of several parameters, (module, name) each, as if one.

    Example:
        >>> from dynamic.nn.utils import prune
        >>> layer = nn.Linear(2, 2, bias=False)
        >>> _ = layer.weight.data.copy_(dynamic.tensor([[3.0, 3.0], [1.0, 1.0]]))
        >>> prune.global_unstructured([(layer, "weight")], amount=0.5)
        >>> layer.weight_mask
        tensor([[1., 1.],
                [0., 0.]])
    """
    pairs: Sequence[tuple[Any, str]] = list(parameters)
    given = importance_scores or {}
    parts = [_before(module, name) for module, name in pairs]
    scores = [_scores(module, name, given.get((module, name))) for module, name in pairs]
    if pruning_method is random_unstructured:
        scores = [source_of(None).random(one.shape) for one in scores]
    values, left, ranked = (
        np.concatenate([one.reshape(-1) for one in each])
        for each in ([one for one, _ in parts], [one for _, one in parts], scores)
    )
    mask = values_of(_without(values, left, ranked, amount))
    start = 0
    for (module, name), (own, _) in zip(pairs, parts, strict=True):
        part = mask[start : start + own.size].reshape(own.shape)
        custom_from_mask(module, name, wrap(part.astype(own.dtype)))
        start += own.size


L1Unstructured, RandomUnstructured = l1_unstructured, random_unstructured
"""What `global_unstructured` takes as its method."""
