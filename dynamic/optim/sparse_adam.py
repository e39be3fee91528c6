"""SparseAdam: Adam of the rows that have a gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.optim.hyperparameters import BETAS, EPS, LR, checked, number
from staticgraph.dynamic.optim.optimizer import Optimizer, begin, count
from staticgraph.dynamic.tensors.tensor import Tensor


class SparseAdam(Optimizer):
    """Adam that changes a row, and its averages, only in steps in which it has a gradient.

    For embeddings. Their gradients are dense here, `sparse=True` or not, and a row of zeros is one
    without a gradient; in PyTorch a row that was looked up has one even if all of it is 0.
    State: "step", "exp_avg", "exp_avg_sq". ValueError for options out of range, RuntimeError for a
    parameter without axes.

    Example:
        >>> words = nn.Embedding(3, 1)
        >>> before = words.weight.detach().clone()
        >>> optimizer = dynamic.optim.SparseAdam(words.parameters(), lr=0.1)
        >>> words(dynamic.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> (words.weight != before).ravel()
        tensor([False,  True, False])
    """

    takes_complex = False

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False,
    ) -> None:  # fmt: skip
        options = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, checked(self, options, LR, EPS, BETAS))

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not values.ndim:
            raise AutogradError("SparseAdam: a parameter without axes has no rows")
        if not state:
            begin(state, values, "exp_avg", "exp_avg_sq")
        steps = count(state)
        rows = np.flatnonzero(g.reshape(len(g), -1).any(1))
        taken = -g[rows] if group["maximize"] else g[rows]
        keep_first, keep_second = group["betas"]
        first, second = state["exp_avg"]._array, state["exp_avg_sq"]._array
        first[rows] += (1 - keep_first) * (taken - first[rows])
        second[rows] += (1 - keep_second) * (taken * taken - second[rows])
        rate = number(group["lr"]) * math.sqrt(1 - keep_second**steps) / (1 - keep_first**steps)
        values[rows] -= rate * (first[rows] / (np.sqrt(second[rows]) + group["eps"]))
