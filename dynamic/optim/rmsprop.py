"""RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.optim.blocks import (
    average,
    average_square,
    descend,
    descent,
    in_blocks,
    scalar,
)
from staticgraph.dynamic.optim.hyperparameters import (
    ALPHA,
    EPS,
    LR,
    MOMENTUM,
    WEIGHT_DECAY,
    checked,
    number,
)
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


class RMSprop(Optimizer):
    """p -= lr * b, where b = momentum * b + g / (sqrt(v) + eps), v the average of g².

    Tieleman and Hinton (2012, lecture 6). With `centered`, v is the variance: the square of the
    average of g is taken off (Graves 2013). State: "step", "square_avg", "momentum_buffer",
    "grad_avg". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.RMSprop([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, EPS, MOMENTUM, WEIGHT_DECAY, ALPHA))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        momentum, centered, alpha = group["momentum"], group["centered"], group["alpha"]
        if not state:
            wanted = {"square_avg": True, "momentum_buffer": momentum, "grad_avg": centered}
            begin(state, values, *(name for name, needed in wanted.items() if needed))
        count(state)
        lr, dtype = number(group["lr"]), values.dtype
        arrays = [values, g, state["square_avg"]._array]
        arrays.append(state["momentum_buffer"]._array if momentum else values)
        arrays.append(state["grad_avg"]._array if centered else values)

        def change(p: object, d: Any, v: Any, buffer: Any, mean: Any, t: Any, u: Any) -> None:
            d = descent(p, d, group["weight_decay"], group["maximize"], t)
            average_square(v, d, alpha, u)
            if centered:
                average(mean, d, 1 - alpha, u)
                np.subtract(v, np.multiply(mean, mean, u), u)
                np.sqrt(u, u)
            else:
                np.sqrt(v, u)
            np.add(u, scalar(group["eps"], dtype), u)
            np.divide(d, u, u)
            if momentum:
                np.multiply(buffer, scalar(momentum, dtype), buffer)
                np.add(buffer, u, buffer)
            descend(p, buffer if momentum else u, lr, u)

        in_blocks(change, 2, *arrays)
