"""Optimizers as symbolic updates: `minimize(loss)` gives what `compile(updates=...)` takes.

Arguments and formulas are PyTorch's; each optimizer keeps its state in variables of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.autodiff import gradients
from compiler.errors import GraphError, OptionError
from compiler.graph.expression import Expression, ancestors
from compiler.ops import maximum, sqrt
from staticgraph.leaves import Variable, variable

Updates = dict[Variable, Expression]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise OptionError(message)


class Optimizer(ABC):
    """What the optimizers share: find the parameters, differentiate, collect the updates."""

    def minimize(self, loss: Expression, parameters: Sequence[Variable] | None = None) -> Updates:
        """The updates of one step.

        Args:
            loss: a floating-point scalar.
            parameters: the variables to change; all floating-point ones that `loss` depends on if
                None.

        Raises:
            GraphError: there is nothing to change, or the loss is no scalar.
        """
        if parameters is None:
            parameters = [
                node
                for node in ancestors([loss])
                if isinstance(node, Variable) and node.dtype.kind == "f"
            ]
        if not parameters:
            raise GraphError("minimize: the loss depends on no floating-point variable")
        updates: Updates = {}
        self._begin(updates)
        for parameter, gradient in zip(parameters, gradients(loss, parameters), strict=True):
            self._step(updates, parameter, gradient)
        return updates

    def _begin(self, updates: Updates) -> None:  # noqa: B027 - most optimizers share nothing
        """Add the updates of what all parameters share."""

    @abstractmethod
    def _step(self, updates: Updates, parameter: Variable, gradient: Any) -> None:
        """Add the updates of one parameter and of its state."""


def _state(parameter: Variable, kind: str) -> Variable:
    name = f"{parameter.name or 'variable'}.{kind}"
    return variable(np.zeros(parameter.state.array.shape, parameter.dtype), name)


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013), as torch.optim.SGD."""

    def __init__(
        self,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
    ) -> None:
        _require(lr >= 0, f"SGD: lr {lr} is negative")
        _require(momentum >= 0, f"SGD: momentum {momentum} is negative")
        _require(weight_decay >= 0, f"SGD: weight_decay {weight_decay} is negative")
        _require(
            not nesterov or (momentum > 0 and dampening == 0),
            "SGD: nesterov needs a momentum and zero dampening",
        )
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.maximize = maximize
        self._first: Variable | None = None

    def _begin(self, updates: Updates) -> None:
        if self.momentum and self.dampening:
            # the first step takes the gradient undamped, as PyTorch's does
            self._first = variable(np.ones((), np.float64), "SGD.first")
            updates[self._first] = self._first * 0

    def _step(self, updates: Updates, parameter: Variable, gradient: Any) -> None:
        if self.maximize:
            gradient = -gradient
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if self.momentum:
            buffer = _state(parameter, "momentum")
            kept: Any = 1.0 - self.dampening
            if self._first is not None:
                kept = (kept + self.dampening * self._first).astype(parameter.dtype)
            moved = self.momentum * buffer + kept * gradient
            updates[buffer] = moved
            gradient = gradient + self.momentum * moved if self.nesterov else moved
        updates[parameter] = parameter - self.lr * gradient


class Adam(Optimizer):
    """Adam (Kingma, Ba 2015), as torch.optim.Adam."""

    def __init__(
        self,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        _require(lr >= 0, f"Adam: lr {lr} is negative")
        _require(eps >= 0, f"Adam: eps {eps} is negative")
        _require(all(0 <= beta < 1 for beta in betas), f"Adam: betas {betas} are not in [0, 1)")
        _require(weight_decay >= 0, f"Adam: weight_decay {weight_decay} is negative")
        self.lr = lr
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        self.amsgrad = amsgrad
        self.maximize = maximize
        self._corrections: tuple[Any, Any] = (1.0, 1.0)

    def _begin(self, updates: Updates) -> None:
        # float64: the bias corrections of late steps are 1 minus something small
        step = variable(np.zeros((), np.float64), "Adam.step")
        updates[step] = now = step + 1.0
        self._corrections = (1.0 - self.betas[0] ** now, 1.0 - self.betas[1] ** now)

    def _step(self, updates: Updates, parameter: Variable, gradient: Any) -> None:
        first_beta, second_beta = self.betas
        first, second = _state(parameter, "exp_avg"), _state(parameter, "exp_avg_sq")
        if self.maximize:
            gradient = -gradient
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        updates[first] = mean = first_beta * first + (1 - first_beta) * gradient
        updates[second] = square = second_beta * second + (1 - second_beta) * (gradient * gradient)
        if self.amsgrad:
            largest = _state(parameter, "max_exp_avg_sq")
            updates[largest] = square = maximum(largest, square)
        by_first, by_second = self._corrections
        rate = (self.lr / by_first).astype(parameter.dtype)
        scale = (1.0 / sqrt(by_second)).astype(parameter.dtype)
        updates[parameter] = parameter - rate * mean / (sqrt(square) * scale + self.eps)
