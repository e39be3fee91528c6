"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.optim.blocks import average, descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import BETAS, EPS, LR, WEIGHT_DECAY, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


class Adamax(Optimizer):
    """p -= lr * m̂ / u, where u = max(beta2 * u, |g| + eps) (Kingma and Ba 2015, section 7.1).

    State: "step", "exp_avg", "exp_inf". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Adamax([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, EPS, BETAS, WEIGHT_DECAY))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            begin(state, values, "exp_avg", "exp_inf")
        steps = count(state)
        keep_first, keep_second = group["betas"]
        rate = number(group["lr"]) / (1 - keep_first**steps)
        keep, eps = scalar(keep_second, values.dtype), scalar(group["eps"], values.dtype)
        arrays = (values, g, state["exp_avg"]._array, state["exp_inf"]._array)

        def change(p: object, d: Any, m: Any, largest: Any, t: object, u: Any) -> None:
            d = descent(p, d, group["weight_decay"], group["maximize"], t)
            average(m, d, 1 - keep_first, u)
            np.add(np.absolute(d, u), eps, u)
            np.maximum(np.multiply(largest, keep, largest), u, out=largest)
            descend(p, np.divide(m, largest, u), rate, u)

        in_blocks(change, 2, *arrays)
