"""A schedule that follows a measurement."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.optim.lr_scheduler.scheduler import (
    EPOCH_TEXT,
    LRScheduler,
    check_optimizer,
    options_of,
    set_option,
)
from staticgraph.dynamic.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """lr *= factor when a metric has not improved for more than `patience` epochs.

    Args:
        optimizer: whose rates to change.
        mode: "min" if lower is better, else "max".
        factor: below 1.
        patience: the number of epochs without improvement that are tolerated.
        threshold: how much better the metric must be than the best so far.
        threshold_mode: "rel": the threshold is a part of the best; "abs": it is a difference.
        cooldown: the number of epochs after a reduction that are not counted.
        min_lr: a lower bound of lr, or one per group.
        eps: a smaller change of lr is not made.

    Example:
        >>> optimizer = dynamic.optim.SGD([dynamic.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = dynamic.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        >>> for loss in (1.0, 2.0):
        ...     schedule.step(loss)
        >>> schedule.get_last_lr()
        [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise OptionError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise OptionError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise OptionError(f"threshold mode {threshold_mode} is unknown!")
        count = len(optimizer.param_groups)
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr: float | None = None
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != count:
                raise OptionError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = options_of(optimizer, "lr")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Note the metric of an epoch, a number or a tensor of one, and reduce lr if due."""
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_TEXT)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = options_of(self.optimizer, "lr")

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs are not counted now."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = sign * self.threshold
        bound = self.best * (1 + margin) if self.threshold_mode == "rel" else self.best + margin
        return value > bound if self.mode == "max" else value < bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise AutogradError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}): set `min_lrs`"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, bound in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, bound)
            if before - after > self.eps:
                set_option(group, "lr", after)
