"""Adam, with its variant of the largest second moment, and with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
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
    WEIGHT_DECAY,
    Options,
    checked,
    number,
)
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


def _alike(options: Options) -> None:
    betas = options["betas"]
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise OptionError("betas must be either both floats or both Tensors")


class Adam(Optimizer):
    """p -= lr * m̂ / (sqrt(v̂) + eps), of the averages m of g and v of g², without their bias.

    Kingma and Ba (2015). With `amsgrad`, the largest v so far is used (Reddi, Kale and Kumar
    2018); with `decoupled_weight_decay`, p shrinks by lr * weight_decay instead of adding
    weight_decay * p to the gradient. State: "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq".
    ValueError for options out of range.

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.Adam([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3,
        betas: tuple[object, object] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, checked(self, options, LR, EPS, BETAS, WEIGHT_DECAY, _alike))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            largest = ("max_exp_avg_sq",) if group["amsgrad"] else ()
            begin(state, values, "exp_avg", "exp_avg_sq", *largest)
        steps = count(state)
        lr, decay = number(group["lr"]), group["weight_decay"]
        keep_first, keep_second = number(group["betas"][0]), number(group["betas"][1])
        decoupled = decay and group["decoupled_weight_decay"]
        # both corrections of the bias as factors of the step and of eps, to save a pass each
        root = (1 - keep_second**steps) ** 0.5
        rate = lr * root / (1 - keep_first**steps)
        eps = scalar(group["eps"] * root, values.dtype)
        arrays = [values, g, state["exp_avg"]._array, state["exp_avg_sq"]._array]
        arrays.append(state["max_exp_avg_sq"]._array if group["amsgrad"] else values)

        def change(p: Any, d: object, m: Any, v: Any, largest: Any, t: Any, u: Any) -> None:
            if decoupled:
                np.multiply(p, scalar(1 - lr * decay, p.dtype), p)
            d = descent(p, d, 0 if decoupled else decay, group["maximize"], t)
            average(m, d, 1 - keep_first, u)
            average_square(v, d, keep_second, u)
            np.sqrt(np.maximum(largest, v, out=largest) if group["amsgrad"] else v, u)
            np.add(u, eps, u)
            descend(p, np.divide(m, u, u), rate, u)

        in_blocks(change, 2, *arrays)


class AdamW(Adam):
    """Adam whose weight decay does not pass through the averages (Loshchilov and Hutter 2019).

    Example:
        >>> x = dynamic.tensor([2.0], requires_grad=True)
        >>> optimizer = dynamic.optim.AdamW([x], lr=0.1)
        >>> (x**2).sum().backward()
        >>> optimizer.step()
        >>> bool(x < 2)
        True
    """

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3,
        betas: tuple[object, object] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip
