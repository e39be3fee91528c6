"""Adafactor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from compiler.core.errors import OptionError
from dynamic.optim.optimizer import Optimizer, count, new_count
from dynamic.optim.options import check_single_tensor, number
from dynamic.tensors.tensor import Tensor, wrap


class Adafactor(Optimizer):
    """Adam's second moments by the means of their rows and columns (Shazeer and Stern 2018).

    The update g / sqrt(v), clipped to a root mean square of d, is taken in steps of
    max(eps[1], rms(p)) * min(lr, 1 / sqrt(step)). State: "step", and "row_var" and "col_var" of
    matrices and beyond, or "variance" of vectors. ValueError for options out of range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise OptionError("Tensor lr must be 1-element")
        for text, value, holds in (
            ("Learning rate should be >= 0", lr, number(lr) >= 0),
            ("beta2_decay should be <= 0", beta2_decay, beta2_decay <= 0),
            ("epsilon1 should be >= 0", eps[0], eps[0] is None or eps[0] >= 0),
            ("epsilon2 should be >= 0", eps[1], eps[1] >= 0),
            ("Clipping threshold d should be >= 1", d, d >= 1),
            ("weight_decay should be >= 0", weight_decay, weight_decay >= 0),
        ):
            if not holds:
                raise OptionError(f"{text} but is: {value}")
        check_single_tensor(self, foreach=foreach)
        options = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, options)

    def _start(self, g: Any) -> dict[str, Tensor]:
        """The state of a parameter before its first step."""
        if g.ndim < 2:
            return {"step": new_count(), "variance": wrap(np.zeros_like(g))}
        rows, columns = list(g.shape), list(g.shape)
        rows[-1] = columns[-2] = 1
        return {
            "step": new_count(),
            "row_var": wrap(np.zeros(rows, g.dtype)),
            "col_var": wrap(np.zeros(columns, g.dtype)),
        }

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        state = self.state[param]
        if not state:
            state.update(self._start(g))
        steps, p, lr = count(state), param._array, number(group["lr"])
        first, second = group["eps"]
        first = float(np.finfo(p.dtype).eps) if first is None else first
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
