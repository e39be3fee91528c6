"""Schedules that move lr up and down, and the momentum the other way (Smith 2017, 2018)."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.optim.lr_scheduler.scheduler import (
    LRScheduler,
    check_optimizer,
    per_group,
    set_option,
)
from staticgraph.dynamic.optim.optimizer import Optimizer


def _cycle_momentum(
    optimizer: Optimizer, base_momentum: object, max_momentum: object, new: bool
) -> tuple[bool, list[float], list[float]]:
    """Whether beta1 is the momentum, and its bounds per group; a `new` run starts at the upper."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise OptionError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    beta = "betas" in optimizer.defaults
    lower = per_group("base_momentum", optimizer, base_momentum)
    upper = per_group("max_momentum", optimizer, max_momentum)
    if new:
        for group, low, high in zip(optimizer.param_groups, lower, upper, strict=True):
            _set_momentum(group, high, beta)
            group["max_momentum"], group["base_momentum"] = high, low
    return beta, lower, upper


def _set_momentum(group: dict[str, Any], value: float, beta: bool) -> None:
    if beta:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """lr goes from `base_lr` up to `max_lr` in `step_size_up` steps, and down again, in cycles.

    The height of cycle c is 1 ("triangular"), 1 / 2**(c - 1) ("triangular2"), gamma**steps
    ("exp_range"), or `scale_fn` of the cycle or of the steps, as `scale_mode` says: "cycle" or
    "iterations". The momentum, or the first of the betas, goes from `max_momentum` to
    `base_momentum` meanwhile, if `cycle_momentum`.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.1005]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise OptionError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, self.base_momentums, self.max_momentums = _cycle_momentum(
                optimizer, base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, given its number, or the number of steps."""
        if self._scale_fn_custom is not None:
            return float(self._scale_fn_custom(x))
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else float(self.gamma**x)

    def _next(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        ratio = self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, bounds, strict=True):
                _set_momentum(group, high - (high - low) * height, self.use_beta1)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * height for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler keeps; of `scale_fn`, its attributes if it is an object."""
        state = super().state_dict()
        custom = state["_scale_fn_custom"]
        plain = custom is None or isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else dict(vars(custom))
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; `scale_fn` stays."""
        own = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = own
        if state_dict["_scale_fn_custom"] is not None:
            vars(own).update(state_dict["_scale_fn_custom"])


_Phase = dict[str, Any]


class OneCycleLR(LRScheduler):
    """lr goes from max_lr / div_factor up to max_lr, then far down: one cycle for a whole run.

    Args:
        optimizer: whose rates to change.
        max_lr: the highest rate, or one per group.
        total_steps: the length of the run, or else `epochs` * `steps_per_epoch`.
        epochs: the number of epochs.
        steps_per_epoch: the number of steps of each.
        pct_start: the part of the steps in which lr rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether the momentum, or the first of the betas, goes the other way.
        base_momentum: its lower bound, or one per group.
        max_momentum: its upper bound, or one per group.
        div_factor: max_lr over the initial rate.
        final_div_factor: the initial rate over the last one.
        three_phase: go back to the initial rate as slowly as up, and only then further down.
        last_epoch: the number of steps taken before, -1 for a new run.

    Example:
        >>> optimizer = dynamic.optim.SGD(
        ...     [dynamic.ones(1, requires_grad=True)], lr=1.0, momentum=0.9
        ... )
        >>> schedule = dynamic.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10)
        >>> optimizer.step()
        >>> schedule.step()
        >>> [round(rate, 4) for rate in schedule.get_last_lr()]
        [0.52]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise OptionError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise OptionError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1, _, _ = _cycle_momentum(
                optimizer, base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)

    def _next(self) -> list[Any]:
        step, phases = self.last_epoch, self._schedule_phases
        if step > self.total_steps:
            raise OptionError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        i = next((i for i, one in enumerate(phases) if step <= one["end_step"]), len(phases) - 1)
        phase, start = phases[i], phases[i - 1]["end_step"] if i else 0
        part = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                bounds = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self._anneal(*bounds, part), self.use_beta1)
        return rates

    def _anneal(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return start + (end - start) * part
        return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


def _total_steps(total: object, epochs: object, steps_per_epoch: Any) -> int:
    if total is None and (epochs is None or steps_per_epoch is None):
        raise OptionError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total is not None:
        given = {"total_steps": total}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise OptionError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(total: int, part: float, three: bool) -> list[_Phase]:
    """Per phase its last step, and the options of a group from and to which it goes."""
    corners = [("initial_lr", "max_momentum"), ("max_lr", "base_momentum")]
    ends = [part * total - 1]
    if three:
        corners.append(("initial_lr", "max_momentum"))
        ends.append(2 * part * total - 2)
    corners.append(("min_lr", "max_momentum"))
    ends.append(total - 1)
    return [
        {
            "end_step": end, "start_lr": start[0], "end_lr": stop[0],
            "start_momentum": start[1], "end_momentum": stop[1],
        }
        for end, start, stop in zip(ends, corners, corners[1:], strict=False)
    ]  # fmt: skip
