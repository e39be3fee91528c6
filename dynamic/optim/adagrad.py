"""Adagrad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.optim.blocks import descend, descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import (
    EPS,
    INITIAL_VALUE,
    LR,
    LR_DECAY,
    WEIGHT_DECAY,
    checked,
    number,
)
from staticgraph.dynamic.optim.optimizer import Optimizer, count, new_count
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


class Adagrad(Optimizer):
    """p -= lr * g / (sqrt(s) + eps), s the sum of g² (Duchi, Hazan and Singer 2011).

    The rate is divided by 1 + lr_decay * steps. State, from the start: "step", and "sum", which
    begins at initial_accumulator_value. ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Adagrad([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-2, lr_decay: float = 0,
        weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(
            params, checked(self, options, LR, LR_DECAY, WEIGHT_DECAY, INITIAL_VALUE, EPS)
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, and the state of each."""
        super().add_param_group(param_group)
        for param in param_group["params"]:
            initial = param_group["initial_accumulator_value"]
            # of a complex parameter both parts
            total = np.full_like(param._array, initial)
            if total.dtype.kind == "c":
                total.imag = initial
            self.state[param] = {"step": new_count(), "sum": wrap(total)}

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        state, dtype = self.state[param], g.dtype
        steps = count(state)
        rate = number(group["lr"]) / (1 + (steps - 1) * group["lr_decay"])

        def change(p: object, d: Any, total: Any, t: object, u: Any) -> None:
            d = descent(p, d, group["weight_decay"], group["maximize"], t)
            np.add(total, np.multiply(d, d, u), total)
            np.add(np.sqrt(total, u), scalar(group["eps"], dtype), u)
            descend(p, np.divide(d, u, u), rate, u)

        in_blocks(change, 2, param._array, g, state["sum"]._array)
