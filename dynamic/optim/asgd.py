"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.core.dtypes import get_default_dtype
from staticgraph.dynamic.optim.blocks import average, descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import LR, WEIGHT_DECAY, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count, new_count
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


class ASGD(Optimizer):
    """p = (1 - lambd * eta) * p - eta * g, with the average of p (Polyak and Juditsky 1992).

    eta = lr / (1 + lambd * lr * steps)**alpha. State: "step", "eta", "mu" (the weight of p in the
    average, 1 until step t0) and "ax", the average. ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.ASGD([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, WEIGHT_DECAY))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        lr, lambd = number(group["lr"]), group["lambd"]
        if not state:
            state["step"] = new_count()
            state["eta"] = wrap(np.array(lr, get_default_dtype().dtype))
            state["mu"] = wrap(np.ones((), get_default_dtype().dtype))
            begin(state, values, "ax")
        steps = count(state)
        eta, weight = state["eta"].item(), state["mu"].item()

        def change(p: Any, d: object, mean: Any, t: object, u: object) -> None:
            d = descent(p, d, group["weight_decay"], group["maximize"], t)
            np.multiply(p, scalar(1 - lambd * eta, p.dtype), p)
            descend(p, d, eta, u)
            if weight == 1:
                np.copyto(mean, p)
            else:
                average(mean, p, weight, u)

        in_blocks(change, 2, values, g, state["ax"]._array)
        state["eta"]._array[()] = lr / (1 + lambd * lr * steps) ** group["alpha"]
        state["mu"]._array[()] = 1 / max(1, steps - group["t0"])
