"""Schedules along a cosine (Loshchilov and Hutter 2017)."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler, options_of
from staticgraph.dynamic.optim.optimizer import Optimizer


def _between(low: float, high: Any, part: float) -> Any:
    """From `high` at part 0 to `low` at part 1."""
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


class CosineAnnealingLR(LRScheduler):
    """lr goes from its initial value to `eta_min` in `T_max` epochs, and back.

    Each rate follows from the one before, so that what others do to lr in between is kept.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.9755]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[Any]:
        rates, low = options_of(self.optimizer, "lr"), self.eta_min
        if self._is_initial:
            return rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # the rate was lowest: there is no ratio to it
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self.base_lrs, rates, strict=True)
            return [rate + (base - low) * rise for base, rate in pairs]
        height, before = (
            1 + math.cos(math.pi * epoch / self.T_max)
            for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        return [height / before * (rate - low) + low for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        part = self.last_epoch / self.T_max
        return [_between(self.eta_min, lr, part) for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """lr goes from its initial value to `eta_min` in `T_0` epochs, then starts again.

    Each period is `T_mult` times as long as the one before. `step` takes fractions of epochs.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 10)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.9755]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise OptionError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise OptionError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, int | float):
            raise OptionError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[Any]:
        return [_between(self.eta_min, lr, self.T_cur / self.T_i) for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or those of any."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise OptionError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._locate(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _locate(self, epoch: float) -> None:
        """Set the length of the period of `epoch`, and the place of `epoch` in it."""
        first, growth = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif growth == 1:
            self.T_cur = epoch % first
        else:
            periods = int(math.log(epoch / first * (growth - 1) + 1, growth))
            self.T_cur = epoch - first * (growth**periods - 1) / (growth - 1)
            self.T_i = first * growth**periods
