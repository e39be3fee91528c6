"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from compiler.errors import OptionError
from dynamic.inplace import touch
from dynamic.optim.optimizer import Optimizer
from dynamic.tensor import Tensor, wrap


class SGD(Optimizer):
    """p -= lr * v, where v = momentum * v + (1 - dampening) * g, and v = g at first.

    g is the gradient plus weight_decay * p. With `nesterov`, g + momentum * v is the step
    (Sutskever, Martens, Dahl, Hinton 2013); with `maximize`, the gradient is ascended. The state
    of a parameter is its "momentum_buffer". ValueError for options out of range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        for name, value in (
            ("learning rate", lr), ("momentum value", momentum),
            ("weight_decay value", weight_decay),
        ):  # fmt: skip
            if value < 0:
                raise OptionError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise OptionError("Nesterov momentum requires a momentum and zero dampening")
        options = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, options)

    def _update(self, param: Tensor, group: dict[str, Any]) -> None:
        values, g = param._array, param.grad._array
        momentum, decay = group["momentum"], group["weight_decay"]
        if group["maximize"]:
            g = -g
        if decay:
            g = g + decay * values
        if momentum:
            state = self.state.setdefault(param, {})
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = wrap(np.array(g))
            else:
                buffer._array *= momentum
                buffer._array += (1 - group["dampening"]) * g
            g = g + momentum * buffer._array if group["nesterov"] else buffer._array
        values -= group["lr"] * g
        touch(param)
