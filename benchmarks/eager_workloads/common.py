"""What the workloads have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], Any]
Makers = dict[str, Callable[[], Step]]
"""By name what sets a workload up and returns its step, whose value the contenders share."""


def tensor(torch: Any, *shape: int, scale: float = 1.0, grad: bool = True, seed: int = 0) -> Any:
    """A float32 tensor of normal values, the same for every contender."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    made = torch.from_numpy(values * np.float32(scale))
    return made.requires_grad_(True) if grad else made


def integers(torch: Any, below: int, *shape: int) -> Any:
    """An int64 tensor of values below a number."""
    return torch.from_numpy(np.random.default_rng(1).integers(0, below, shape))


def there_and_back(function: Callable[..., Any], *operands: Any) -> Step:
    """The sum of what a function makes of the operands, and their gradients."""

    def step() -> Any:
        loss = function(*operands).sum()
        loss.backward()
        for one in operands:
            one.grad = None
        return loss

    return step


def with_values(torch: Any, module: Any, scale: float = 0.1) -> Any:
    """The module with matrices that are the same for every contender."""
    for i, parameter in enumerate(module.parameters()):
        drawn = tensor(torch, *parameter.shape, scale=scale, grad=False, seed=i)
        if parameter.dim() > 1:
            parameter.data.copy_(drawn)
        else:
            parameter.data.fill_(0.5)
    return module


def training(loss_of: Step, optimizer: Any) -> Step:
    """A training step."""

    def step() -> Any:
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step
