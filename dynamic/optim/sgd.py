"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.blocks import BLOCK, descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import (
    LR,
    MOMENTUM,
    WEIGHT_DECAY,
    Options,
    checked,
    number,
)
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


def _nesterov(options: Options) -> None:
    if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
        raise OptionError("Nesterov momentum requires a momentum and zero dampening")


class SGD(Optimizer):
    """p -= lr * v, where v = momentum * v + (1 - dampening) * g, and v = g at first.

    g is the gradient plus weight_decay * p. With `nesterov`, g + momentum * v is the step
    (Sutskever, Martens, Dahl, Hinton 2013); with `maximize`, the gradient is ascended. The state
    of a parameter is its "momentum_buffer". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.SGD([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3, momentum: float = 0,
        dampening: float = 0, weight_decay: float = 0, nesterov: bool = False, *,
        maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, MOMENTUM, WEIGHT_DECAY, _nesterov))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        lr, momentum = number(group["lr"]), group["momentum"]
        decay, maximize = number(group["weight_decay"]), group["maximize"]
        if not momentum:
            values = param._array
            if not decay and not maximize and values.size <= BLOCK:  # without a temporary to find
                np.subtract(values, np.multiply(g, scalar(lr, g.dtype)), values)
                return

            def step_along(p: object, d: object, t: object) -> None:
                descend(p, descent(p, d, decay, maximize, t), lr, t)

            in_blocks(step_along, 1, param._array, g)
            return
        state = self.state[param]
        first = state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = wrap(np.empty_like(param._array))
        buffer = state["momentum_buffer"]._array
        keep, add = scalar(momentum, g.dtype), scalar(1 - group["dampening"], g.dtype)

        def change(p: object, d: Any, v: Any, t: object, u: Any) -> None:
            d = descent(p, d, decay, maximize, t)
            if first:
                np.copyto(v, d)
            else:
                np.multiply(v, keep, v)
                np.add(v, np.multiply(d, add, u) if group["dampening"] else d, v)
            if group["nesterov"]:
                descend(p, np.add(d, np.multiply(v, keep, u), u), lr, u)
            else:
                descend(p, v, lr, u)

        in_blocks(change, 2, param._array, g, buffer)
