"""Schedules that multiply the rates by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.errors import AbstractMethodError
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler, options_of
from staticgraph.dynamic.optim.optimizer import Optimizer


class FactorLR(LRScheduler):
    """lr *= factor of the epoch; abstract. What others do to lr in between is kept."""

    def _factor(self) -> float:
        """The rate of this epoch over that of the one before."""
        raise AbstractMethodError(f"{type(self).__name__}: _factor is not defined")

    def _total(self) -> float:
        """The rate of this epoch over the initial one."""
        raise AbstractMethodError(f"{type(self).__name__}: _total is not defined")

    def _next(self) -> list[Any]:
        factor = self._factor()
        return [lr * factor for lr in options_of(self.optimizer, "lr")]

    def _get_closed_form_lr(self) -> list[Any]:
        total = self._total()
        return [lr * total for lr in self.base_lrs]


class StepLR(FactorLR):
    """lr *= gamma every `step_size` epochs.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.StepLR(optimizer, 1)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(FactorLR):
    """lr *= gamma at each of the `milestones`, epochs.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.MultiStepLR(optimizer, [1])
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        # get, not an index: a loaded state may hold a plain dict
        times = self.milestones.get(self.last_epoch, 0)
        return float(self.gamma**times) if times else 1

    def _total(self) -> float:
        return float(
            self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        )


class ConstantLR(FactorLR):
    """lr *= factor for the first `total_iters` epochs.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.ConstantLR(optimizer)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.3333]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise OptionError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1 / self.factor if self.last_epoch == self.total_iters else 1

    def _total(self) -> float:
        return 1 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(FactorLR):
    """lr * a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.LinearLR(optimizer)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.4667]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise OptionError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if not 0 <= end_factor <= 1:
            raise OptionError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(FactorLR):
    """lr *= gamma every epoch.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1 if self._is_initial else self.gamma

    def _total(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(FactorLR):
    """lr * (1 - epoch / total_iters)**power.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.PolynomialLR(optimizer, 4)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1
        left = self.total_iters - self.last_epoch
        return float((left / (left + 1)) ** self.power)

    def _total(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return float((1 - done) ** self.power)
