"""Optimizer: what all optimizers share, groups of parameters and their options (PyTorch's)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from compiler.errors import OptionError
from dynamic.errors import ArgumentError
from dynamic.grad_mode import enable_grad
from dynamic.tensor import Tensor


class Optimizer:
    """Changes parameters by their gradients; abstract: `step` is the algorithm's.

    Args:
        params: leaves that require grad, or dicts of such "params" and options of their own.
        defaults: the options of the groups that do not set them.

    Attributes:
        param_groups: dicts of "params" and options, read at each step.
        state: what the algorithm keeps per parameter.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}"
            )
        groups = list(params)
        if not groups:
            raise OptionError("optimizer got an empty parameter list")
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Tensor, dict[str, Any]] = {}
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        for param in params:
            if not isinstance(param, Tensor):
                raise ArgumentError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(param).__name__}"
                )
            if not param.is_leaf:
                raise OptionError("can't optimize a non-leaf Tensor")
        identities = {id(param) for param in params}
        if len(identities) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters", stacklevel=3
            )
        if any(id(param) in identities for one in self.param_groups for param in one["params"]):
            raise OptionError("some parameters appear in more than one parameter group")
        self.param_groups.append({**self.defaults, **group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or set them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad.detach_()
                    param.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` computes the loss anew, which is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, group)
        return loss

    def _update(self, param: Tensor, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])
