"""RAdam: Adam whose adaptive rate waits until its variance is known."""

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
from staticgraph.dynamic.optim.hyperparameters import BETAS, EPS, LR, WEIGHT_DECAY, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


class RAdam(Optimizer):
    """Adam with a rectified rate, and momentum alone in the first steps (Liu et al. 2020).

    State: "step", "exp_avg", "exp_avg_sq". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.RAdam([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, EPS, BETAS, WEIGHT_DECAY))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            begin(state, values, "exp_avg", "exp_avg_sq")
        steps = count(state)
        lr, decay = number(group["lr"]), group["weight_decay"]
        keep_first, keep_second = group["betas"]
        decoupled = decay and group["decoupled_weight_decay"]
        rate = lr / (1 - keep_first**steps)
        rectified = _rectification(keep_second, steps)
        unbias = (1 - keep_second**steps) ** 0.5
        eps = scalar(group["eps"], values.dtype)
        arrays = (values, g, state["exp_avg"]._array, state["exp_avg_sq"]._array)

        def change(p: Any, d: object, m: Any, v: Any, t: object, u: Any) -> None:
            if decoupled:
                np.multiply(p, scalar(1 - lr * decay, p.dtype), p)
            d = descent(p, d, 0 if decoupled else decay, group["maximize"], t)
            average(m, d, 1 - keep_first, u)
            average_square(v, d, keep_second, u)
            if rectified is None:
                descend(p, m, rate, u)
            else:
                np.add(np.sqrt(v, u), eps, u)
                descend(p, np.divide(m, u, u), rate * unbias * rectified, u)

        in_blocks(change, 2, *arrays)


def _rectification(keep: float, steps: float) -> float | None:
    """The factor of the rate after `steps`; None while the variance has no finite estimate."""
    limit = 2 / (1 - keep) - 1
    length = limit - 2 * steps * keep**steps / (1 - keep**steps)
    if length <= 5:
        return None
    ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
    return float(ratio**0.5)
