"""Adafactor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import limits
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.hyperparameters import Options, checked, number, one_rate, within
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


def _epsilons(options: Options) -> None:
    first, second = options["eps"][0], options["eps"][1]
    if first is not None and not first >= 0:
        raise OptionError(f"epsilon1 should be >= 0 but is: {first}")
    if not second >= 0:
        raise OptionError(f"epsilon2 should be >= 0 but is: {second}")


_RANGES = (
    one_rate,
    within("lr", "Learning rate should be >= 0 but is: {}"),
    within("beta2_decay", "beta2_decay should be <= 0 but is: {}", -math.inf, 0),
    _epsilons,
    within("d", "Clipping threshold d should be >= 1 but is: {}", 1),
    within("weight_decay", "weight_decay should be >= 0 but is: {}"),
)


class Adafactor(Optimizer):
    """Adam's second moments by the means of their rows and columns (Shazeer and Stern 2018).

    The update g / sqrt(v), clipped to a root mean square of d, is taken in steps of
    max(eps[1], rms(p)) * min(lr, 1 / sqrt(step)). State: "step", and "row_var" and "col_var" of
    matrices and beyond, or "variance" of vectors. ValueError for options out of range.

    Example:
        >>> w = dynamic.ones(2, 2, requires_grad=True)
        >>> optimizer = dynamic.optim.Adafactor([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> bool((w < 1).all())
        True
    """

    takes_complex = False

    def __init__(
        self, params: Iterable[object], lr: object = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0,
        *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, checked(self, options, *_RANGES))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        state = self.state[param]
        if not state:
            if g.ndim < 2:
                begin(state, g, "variance")
            else:
                begin(state, g[..., :1], "row_var")
                begin(state, g[..., :1, :], "col_var")
        steps, p, lr = count(state), param._array, number(group["lr"])
        first, second = group["eps"]
        first = float(limits(p.dtype).eps) if first is None else first
        g = -g if group["maximize"] else g
        size = math.sqrt(p.size)
        rate = max(second, float(np.linalg.norm(p)) / size) * min(lr, 1 / math.sqrt(steps))
        if group["weight_decay"]:
            np.multiply(p, p.dtype.type(1 - lr * group["weight_decay"]), p)
        estimate = _estimate(state, g, steps ** group["beta2_decay"], first)
        update = g / np.sqrt(np.maximum(estimate, first * first))
        clipped = max(1.0, float(np.linalg.norm(update)) / (size * group["d"]))
        np.subtract(p, update * p.dtype.type(rate / clipped), p)


def _estimate(state: dict[str, Any], g: Any, weight: float, eps: float) -> Any:
    """The second moments after the step, as far as they are known."""
    squares = g * g
    if g.ndim < 2:
        variance = state["variance"]._array
        variance += (squares - variance) * weight
        return variance
    rows, columns = state["row_var"]._array, state["col_var"]._array
    rows += (squares.mean(-1, keepdims=True) - rows) * weight
    columns += (squares.mean(-2, keepdims=True) - columns) * weight
    return rows @ columns / np.maximum(rows.mean(-2, keepdims=True), eps)
