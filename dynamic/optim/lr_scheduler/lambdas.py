"""Schedules that are functions of the user's."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler, options_of
from staticgraph.dynamic.optim.optimizer import Optimizer

Function = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """Keeps one function per group; abstract. Objects are saved with their attributes."""

    lr_lambdas: list[Any]

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1
    ) -> None:
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise OptionError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise ArgumentError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler keeps; of the functions, the attributes of those with any."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(one, types.FunctionType) else dict(vars(one))
            for one in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; functions stay."""
        own = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = own
        for function, attributes in zip(own, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                vars(function).update(attributes)


class LambdaLR(_FunctionLR):
    """lr = initial lr * lr_lambda(epoch); a list has one function per group.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.5]
    """

    def _next(self) -> list[Any]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]


class MultiplicativeLR(_FunctionLR):
    """lr *= lr_lambda(epoch), from epoch 1; a list has one function per group.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.5]
    """

    def _next(self) -> list[Any]:
        rates = options_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        pairs = zip(rates, self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]
