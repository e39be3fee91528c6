"""NAdam: Adam with Nesterov momentum."""

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
    BETAS,
    EPS,
    LR,
    MOMENTUM_DECAY,
    WEIGHT_DECAY,
    checked,
    number,
)
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count, new_count
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


class NAdam(Optimizer):
    """Adam that looks ahead along its first moment (Dozat 2016).

    The momentum of step t is beta1 * (1 - 0.96**(t * momentum_decay) / 2). State: "step",
    "mu_product" (the product of these), "exp_avg", "exp_avg_sq". ValueError for options out of
    range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.NAdam([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(
            params, checked(self, options, LR, EPS, BETAS, WEIGHT_DECAY, MOMENTUM_DECAY)
        )

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            state["step"] = new_count()
            state["mu_product"] = wrap(np.ones_like(state["step"]._array))
            begin(state, values, "exp_avg", "exp_avg_sq")
        steps = count(state)
        lr, decay, (keep_first, keep_second) = (
            number(group["lr"]), group["weight_decay"], group["betas"],
        )  # fmt: skip
        decoupled = decay and group["decoupled_weight_decay"]
        now, following = (
            keep_first * (1 - 0.5 * 0.96 ** (one * group["momentum_decay"]))
            for one in (steps, steps + 1)
        )
        product = state["mu_product"]._array
        np.multiply(product, now, product)
        by_gradient = lr * (1 - now) / (1 - product.item())
        by_average = lr * following / (1 - product.item() * following)
        unbias = scalar((1 - keep_second**steps) ** 0.5, values.dtype)
        eps = scalar(group["eps"], values.dtype)
        arrays = (values, g, state["exp_avg"]._array, state["exp_avg_sq"]._array)

        def change(p: Any, d: Any, m: Any, v: Any, t: object, u: Any, w: Any) -> None:
            if decoupled:
                np.multiply(p, scalar(1 - lr * decay, p.dtype), p)
            d = descent(p, d, 0 if decoupled else decay, group["maximize"], t)
            average(m, d, 1 - keep_first, u)
            average_square(v, d, keep_second, u)
            np.divide(np.sqrt(v, u), unbias, u)
            np.add(u, eps, u)
            descend(p, np.divide(d, u, w), by_gradient, w)
            descend(p, np.divide(m, u, w), by_average, w)

        in_blocks(change, 3, *arrays)
