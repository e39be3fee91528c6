"""LRScheduler: what all schedulers share (PyTorch's)."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.optim.errors import AbstractMethodError, MissingOptionError
from staticgraph.dynamic.optim.hooks import at_each_call
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.tape.grad_mode import mode, no_grad, paused
from staticgraph.dynamic.tensors.constructors import name_constructor
from staticgraph.dynamic.tensors.tensor import Tensor

EPOCH_TEXT = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler."
)


def check_optimizer(optimizer: object) -> None:
    """TypeError unless it is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")


def options_of(optimizer: Optimizer, key: str) -> list[Any]:
    """The option of each group; of tensors, copies."""
    values = [group[key] for group in optimizer.param_groups]
    return [value.detach().clone() if isinstance(value, Tensor) else value for value in values]


def set_option(group: dict[str, Any], key: str, value: object) -> None:
    """Set an option of a group, in place if it is a tensor."""
    if isinstance(group[key], Tensor):
        with no_grad():
            group[key].fill_(value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """One value per group, from such a list or from one for all; ValueError for another length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise OptionError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {count}."
        )
    return list(value)


class LRScheduler:
    """Sets the learning rates of an optimizer at each `step`; abstract: `get_lr` is the schedule's.

    Args:
        optimizer: its groups get "initial_lr", unless they have it.
        last_epoch: the number of steps taken before, -1 for a new run.

    Attributes:
        base_lrs: the initial rate of each group.
        last_epoch: the number of steps so far.

    Example:
        >>> issubclass(dynamic.optim.lr_scheduler.StepLR, dynamic.optim.lr_scheduler.LRScheduler)
        True
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name_constructor(cls)
        for name in {"step", "load_state_dict"} & vars(cls).keys():
            setattr(cls, name, at_each_call(vars(cls)[name]))

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise MissingOptionError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    f"scheduler with last_epoch >= 0 ({last_epoch}): load the optimizer's state "
                    "first, or leave last_epoch out in a new run"
                )
        self.base_lrs = options_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler keeps, except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    @at_each_call
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set; CaptureError in a function that is captured."""
        if paused and mode.capture is not None:
            refuse("asks a scheduler for its rates, which steps change", "ask outside")
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of this step, from those of the step before; only for `step` to call."""
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`."
            )
        return self._next()

    def _next(self) -> list[Any]:
        raise AbstractMethodError(f"{type(self).__name__}: get_lr is not defined")

    @at_each_call
    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step, or those of an epoch, which is deprecated."""
        if self._step_count == 1:
            _check_order(self.optimizer)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_TEXT)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(values)

    def _set_rates(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_option(group, "lr", lr)
        self._last_lr = options_of(self.optimizer, "lr")


def _track_steps(optimizer: Optimizer) -> None:
    """Have the optimizer note from now on that its step was called, unless it does."""
    if optimizer._step_called is None:
        optimizer._step_called = False
        optimizer._step_tracked = vars(optimizer).get("step")


def _check_order(optimizer: Optimizer) -> None:
    """Warn unless the optimizer has stepped before its scheduler."""
    if vars(optimizer).get("step") is not optimizer._step_tracked:
        warn(
            "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
            "initialization. Please, make sure to call `optimizer.step()` before "
            "`lr_scheduler.step()`."
        )
    elif optimizer._step_called is False:  # of a copy it is not known
        warn(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the "
            "opposite order, or the first value of the learning rate schedule is skipped."
        )
