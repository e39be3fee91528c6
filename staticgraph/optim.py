"""Optimizers as symbolic updates: `minimize(loss)` gives what `compile(updates=...)` takes.

Arguments and formulas are PyTorch's; each optimizer keeps its state in variables of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from compiler.core.errors import GraphError, OptionError
from compiler.graph.expression import Expression
from compiler.graph.state import State
from compiler.graph.traversal import ancestors
from compiler.ops import astype, maximum, sqrt
from compiler.transforms.autodiff import gradients
from staticgraph.leaves import Variable, variable

Updates = dict[Variable, Expression]


Rate: TypeAlias = "float | Expression"
"""A number, or an expression of one, such as a variable whose value is changed between calls."""


def _check_rate(name: str, lr: object) -> None:
    if isinstance(lr, Expression):
        if lr.shape != () or lr.dtype.kind != "f":
            raise OptionError(f"{name}: lr is a floating-point scalar, not {lr} ({lr.source})")
        return
    _check_number(name, "lr", lr)


def _check_number(name: str, option: str, value: object, least: float = 0.0) -> None:
    if not isinstance(value, Real) or value != value:
        raise OptionError(f"{name}: {option} {value!r} is no number")
    if value < least:
        raise OptionError(f"{name}: {option} {value} is negative")


def _check_switches(name: str, **switches: object) -> None:
    for option, value in switches.items():
        if not isinstance(value, bool):
            raise OptionError(f"{name}: {option} is True or False, not {value!r}")


class Optimizer(ABC):
    """What the optimizers share: find the parameters, differentiate, collect the updates.

    What `minimize` returned does not change any more: to set an attribute of the optimizer after it
    raises OptionError. A rate that changes is a variable: `SGD(lr=rate)`, `rate.value = 0.01`.
    """

    _minimized = False

    def __setattr__(self, name: str, value: object) -> None:
        if self._minimized and not name.startswith("_"):
            raise OptionError(
                f"{type(self).__name__}: {name} is part of the updates that minimize has made, and "
                "cannot be set: make another optimizer; an lr that changes is a variable"
            )
        super().__setattr__(name, value)

    def minimize(self, loss: Expression, parameters: Sequence[Variable] | None = None) -> Updates:
        """The updates of one step.

        Args:
            loss: a floating-point scalar.
            parameters: the variables to change; all floating-point ones that `loss` depends on if
                None.

        Raises:
            GraphError: there is nothing to change, or the loss is no scalar.

        Example:
            >>> w = sg.variable(3.0)
            >>> step = sg.compile([], w * w, updates=sg.optim.SGD(lr=0.25).minimize(w * w))
            >>> float(step()), float(step())
            (9.0, 2.25)
        """
        implied = parameters is None
        if parameters is None:
            parameters = [
                node
                for node in ancestors([loss])
                if isinstance(node, Variable) and node.dtype.kind == "f"
            ]
        if isinstance(parameters, Expression):
            raise GraphError(f"minimize: the parameters are a list of variables, not {parameters}")
        if not parameters:
            raise GraphError("minimize: the loss depends on no floating-point variable")
        seen: set[State] = set()
        for one in parameters:
            if not isinstance(one, Variable):
                raise GraphError(f"minimize: the parameter {one!r} is no variable")
            if one.state in seen:
                raise GraphError(f"minimize: {one.state.label} is given twice ({one.source})")
            seen.add(one.state)
        updates: Updates = {}
        self._begin(updates)
        found = gradients(loss, parameters, implied=implied)
        for parameter, gradient in zip(parameters, found, strict=True):
            self._step(updates, parameter, gradient)
        self._minimized = True
        return updates

    def _begin(self, updates: Updates) -> None:  # noqa: B027 - most optimizers share nothing
        """Add the updates of what all parameters share."""

    @abstractmethod
    def _step(self, updates: Updates, parameter: Variable, gradient: object) -> None:
        """Add the updates of one parameter and of its state."""


def _state(parameter: Variable, kind: str) -> Variable:
    name = f"{parameter.name or 'variable'}.{kind}"
    return variable(np.zeros(parameter.state.array.shape, parameter.dtype), name)


def _as(parameter: Variable, rate: object) -> Any:
    """A rate in the dtype of a parameter."""
    return astype(rate, parameter.dtype) if isinstance(rate, Expression) else rate


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Sutskever et al. 2013), as torch.optim.SGD.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.SGD(lr=0.25).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 1.5)
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
    ) -> None:
        _check_rate("SGD", lr)
        _check_number("SGD", "momentum", momentum)
        _check_number("SGD", "weight_decay", weight_decay)
        _check_number("SGD", "dampening", dampening, least=-math.inf)
        _check_switches("SGD", nesterov=nesterov, maximize=maximize)
        if nesterov and (momentum == 0 or dampening != 0):
            raise OptionError("SGD: nesterov needs a momentum and zero dampening")
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
        updates[parameter] = parameter - _as(parameter, self.lr) * gradient


class Adam(Optimizer):
    """Adam (Kingma, Ba 2015), as torch.optim.Adam.

    Example:
        >>> w = sg.variable(3.0)
        >>> step = sg.compile([], w * w, updates=sg.optim.Adam(lr=0.5).minimize(w * w))
        >>> float(step()), float(w.value)
        (9.0, 2.5)
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        name = type(self).__name__
        _check_rate(name, lr)
        _check_number(name, "eps", eps)
        _check_number(name, "weight_decay", weight_decay)
        _check_switches(name, amsgrad=amsgrad, maximize=maximize)
        if len(betas) != 2 or not all(isinstance(beta, Real) and 0 <= beta < 1 for beta in betas):
            raise OptionError(f"{name}: betas {betas} are not in [0, 1)")
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
        kept, gradient = self._decayed(parameter, gradient)
        updates[first] = mean = first_beta * first + (1 - first_beta) * gradient
        updates[second] = square = second_beta * second + (1 - second_beta) * (gradient * gradient)
        if self.amsgrad:
            largest = _state(parameter, "max_exp_avg_sq")
            updates[largest] = square = maximum(largest, square)
        by_first, by_second = self._corrections
        rate = _as(parameter, self.lr / by_first)
        scale = (1.0 / sqrt(by_second)).astype(parameter.dtype)
        updates[parameter] = kept - rate * mean / (sqrt(square) * scale + self.eps)

    def _decayed(self, parameter: Variable, gradient: object) -> tuple[Any, Any]:
        """What a step starts from, and the gradient, with the decay in one of them."""
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        return parameter, gradient


class AdamW(Adam):
    """Adam whose decay is no part of the gradient (Loshchilov, Hutter 2019), as torch.optim.AdamW.

    Example:
        >>> w = sg.variable(2.0)
        >>> updates = sg.optim.AdamW(lr=0.5, weight_decay=1.0).minimize(w * w)
        >>> step = sg.compile([], w * w, updates=updates)
        >>> float(step()), float(w.value)
        (4.0, 0.5)
    """

    def __init__(
        self,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        maximize: bool = False,
    ) -> None:
        super().__init__(lr, betas, eps, weight_decay, amsgrad, maximize)

    def _decayed(self, parameter: Variable, gradient: object) -> tuple[Any, Any]:
        return parameter * _as(parameter, 1.0 - self.lr * self.weight_decay), gradient
