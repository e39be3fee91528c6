"""Schedulers of schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.optim.lr_scheduler.plateau import ReduceLROnPlateau
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler, options_of, set_option
from staticgraph.dynamic.optim.optimizer import Optimizer


class _CompositeLR(LRScheduler):
    """Holds other schedulers, and saves them with its own state; abstract."""

    _schedulers: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler keeps, with the state of the schedulers."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned, in the schedulers too."""
        own = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = own
        for scheduler, state in zip(own, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


def _check(composite: LRScheduler, schedulers: Sequence[object], optimizer: object) -> None:
    """Raise unless the schedulers step without arguments and share the optimizer."""
    name = type(composite).__name__
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise ArgumentError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise OptionError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {i} in the "
                "given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise OptionError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is "
                f"different from {type(optimizer).__name__}."
            )


class SequentialLR(_CompositeLR):
    """Each scheduler in turn; the next one starts, at its epoch 0, at each of the `milestones`.

    Example:
        >>> optimizer = dynamic.optim.SGD([dynamic.ones(1, requires_grad=True)], lr=1.0)
        >>> of = dynamic.optim.lr_scheduler
        >>> parts = [of.ConstantLR(optimizer, 0.5), of.StepLR(optimizer, 1, 0.5)]
        >>> schedule = of.SequentialLR(optimizer, parts, milestones=[1])
        >>> schedule.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[Any],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise OptionError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler."
            )
        _check(self, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise OptionError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # each scheduler took its first step when it was made: only that of the first one counts
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        _undo(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Set the rates of the next step."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo(scheduler: Any) -> None:
    if hasattr(scheduler, "_schedulers"):
        for one in scheduler._schedulers:
            _undo(one)
    else:
        scheduler.last_epoch -= 1


class ChainedScheduler(_CompositeLR):
    """All schedulers at each step, each changing what those before it made of the rates.

    Example:
        >>> optimizer = dynamic.optim.SGD([dynamic.ones(1, requires_grad=True)], lr=1.0)
        >>> of = dynamic.optim.lr_scheduler
        >>> chained = of.ChainedScheduler(
        ...     [of.StepLR(optimizer, 1, 0.5), of.StepLR(optimizer, 1, 0.5)]
        ... )
        >>> optimizer.step()
        >>> chained.step()
        >>> chained.get_last_lr()
        [0.25]
    """

    def __init__(self, schedulers: Sequence[object], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise OptionError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        if optimizer is None:
            optimizer = getattr(schedulers[0], "optimizer", None)
        _check(self, schedulers, optimizer)
        assert optimizer is not None
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = options_of(optimizer, "lr")

    def step(self) -> None:
        """Step all schedulers in turn."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = options_of(self.optimizer, "lr")
