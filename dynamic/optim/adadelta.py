"""Adadelta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.optim.blocks import average_square, descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import EPS, LR, RHO, WEIGHT_DECAY, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


class Adadelta(Optimizer):
    """p -= lr * d, d = g * sqrt(u + eps) / sqrt(v + eps): u averages d², v averages g².

    Zeiler (2012). State: "step", "square_avg", "acc_delta". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Adadelta([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, RHO, EPS, WEIGHT_DECAY))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            begin(state, values, "square_avg", "acc_delta")
        count(state)
        lr, rho, eps = number(group["lr"]), group["rho"], scalar(group["eps"], values.dtype)
        arrays = (values, g, state["square_avg"]._array, state["acc_delta"]._array)

        def change(p: object, d: Any, squares: Any, deltas: Any, t: object, u: Any, w: Any) -> None:
            d = descent(p, d, group["weight_decay"], group["maximize"], t)
            average_square(squares, d, rho, u)
            np.sqrt(np.add(squares, eps, u), u)
            np.sqrt(np.add(deltas, eps, w), w)
            np.multiply(np.divide(w, u, w), d, w)
            average_square(deltas, w, rho, u)
            descend(p, w, lr, u)

        in_blocks(change, 3, *arrays)
