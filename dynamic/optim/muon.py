"""Muon: steps along averages whose singular values were brought near 1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.dtypes import bfloat16
from staticgraph.dynamic.optim.hyperparameters import checked, number, one_rate, within
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.tensors.tensor import Tensor, wrap

_CHECKS = (
    one_rate,
    within("lr", "Learning rate should be >= 0 but is: {}"),
    within("momentum", "momentum should be >= 0 but is: {}"),
    within("weight_decay", "weight decay should be >= 0 but is: {}"),
)


class Muon(Optimizer):
    """p -= lr * scale * O(m), m an average of g, p a matrix and O(m) nearly its polar factor.

    Jordan (2024), "Muon: an optimizer for hidden layers in neural networks": O is `ns_steps`
    steps of the iteration of Newton and Schulz with `ns_coefficients`, in bfloat16 as in PyTorch;
    with `nesterov` of an average of g and m. `scale` is sqrt(max(1, rows / columns)), or with
    adjust_lr_fn="match_rms_adamw" 0.2 * sqrt(max(rows, columns)). State: "momentum_buffer".
    ValueError for options out of range, and for parameters that are no matrices.

    Example:
        >>> w = dynamic.eye(2).requires_grad_()
        >>> optimizer = dynamic.optim.Muon([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> bool((w.diagonal() < 1).all())
        True
    """

    takes_complex = False

    def __init__(
        self, params: Iterable[object], lr: object = 1e-3, weight_decay: float = 0.1,
        momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise OptionError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        if ns_steps >= 100:
            raise OptionError("Number of steps must be less than 100 for computational efficiency")
        if len(ns_coefficients) != 3:
            raise OptionError("Coefficients must be a tuple of exactly 3 values")
        options = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, checked(self, options, *_CHECKS))
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise OptionError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.shape}"
                    )

    def _update(self, param: Tensor, g: Any, group: dict[str, Any]) -> None:
        values, state = param._array, self.state[param]
        if not state:
            state["momentum_buffer"] = wrap(np.zeros_like(values))
        m, keep = state["momentum_buffer"]._array, group["momentum"]
        m += (g - m) * values.dtype.type(1 - keep)
        step = g + (m - g) * values.dtype.type(keep) if group["nesterov"] else m
        along = _orthogonal(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = number(group["lr"])
        values *= values.dtype.type(1 - lr * group["weight_decay"])
        values -= values.dtype.type(lr * _scale(group["adjust_lr_fn"], *values.shape)) * along


def _scale(name: str | None, rows: int, columns: int) -> float:
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(
    matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Any:
    """The matrix with its singular values brought near 1, by a x + b x x' x + c (x x')² x."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = wrap(np.ascontiguousarray(matrix.T) if tall else matrix).to(bfloat16)
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        # each sum is rounded once, as in PyTorch
        wide = gram.float()
        update = (b * wide + c * (wide @ wide)).to(bfloat16)
        x = (a * x.float() + update.float() @ x.float()).to(bfloat16)
    found = x.float()._array
    return (found.T if tall else found).astype(matrix.dtype)
