"""Lion: steps by the signs of an average."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.optim.blocks import average, descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import BETAS, LR, WEIGHT_DECAY, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


class Lion(Optimizer):
    """p -= lr * (sign(beta1 * m + (1 - beta1) * g) + weight_decay * p); m averages g with beta2.

    Chen et al. (2023), "Symbolic discovery of optimization algorithms", algorithm 2; PyTorch has
    none. State: "exp_avg". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Lion([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0, *,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        options = {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, checked(self, options, LR, BETAS, WEIGHT_DECAY))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            state["exp_avg"] = wrap(np.zeros_like(values))
        lr, decay = number(group["lr"]), group["weight_decay"]
        keep_first, keep_second = group["betas"]

        def change(p: Any, d: Any, m: Any, t: Any, u: Any) -> None:
            d = descent(p, d, 0, group["maximize"], t)
            if decay:
                np.multiply(p, scalar(1 - lr * decay, p.dtype), p)
            np.subtract(d, m, u)
            np.multiply(u, scalar(1 - keep_first, u.dtype), u)
            np.sign(np.add(m, u, u), u)
            descend(p, u, lr, u)
            average(m, d, 1 - keep_second, u)

        in_blocks(change, 2, values, g, state["exp_avg"]._array)
