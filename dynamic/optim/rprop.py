"""Rprop: resilient backpropagation, by the signs of the gradient alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.blocks import descent, in_blocks, scalar
from staticgraph.dynamic.optim.hyperparameters import LR, Options, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor, wrap


def _etas(options: Options) -> None:
    etas = options["etas"]
    if not 0 < etas[0] < 1 < etas[1]:
        raise OptionError(f"Invalid eta values: {etas[0]}, {etas[1]}")


class Rprop(Optimizer):
    """p -= step * sign(g), each step growing while the sign of g lasts (Riedmiller, Braun 1993).

    The step, lr at first, is multiplied by etas[1] where the sign is the one before, by etas[0]
    where it has turned, which also skips that update; it stays within `step_sizes`. For gradients
    of all data. State: "step", "prev", "step_size". ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Rprop([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, _etas))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            begin(state, values, "prev")
            state["step_size"] = wrap(np.full_like(values, number(group["lr"])))
        count(state)
        shrink, grow = (scalar(eta, values.dtype) for eta in group["etas"])
        arrays = (values, g, state["prev"]._array, state["step_size"]._array)

        def change(p: Any, d: Any, before: Any, size: Any, t: object, u: Any) -> None:
            d = descent(p, d, 0, group["maximize"], t)
            np.multiply(d, before, u)
            turned = u < 0
            np.multiply(size, grow, size, where=u > 0)
            np.multiply(size, shrink, size, where=turned)
            np.clip(size, *group["step_sizes"], out=size)
            np.copyto(before, d)
            np.copyto(before, 0, where=turned)
            np.multiply(np.sign(before, u), size, u)
            np.subtract(p, u, p)

        in_blocks(change, 2, *arrays)
