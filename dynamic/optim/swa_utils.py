"""Averages of weights over a run (Izmailov et al. 2018), and what goes with them (PyTorch's)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.normalization import _BatchNorm
from staticgraph.dynamic.optim.errors import GroupCountError
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler, per_group
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.creation import tensor

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip

Average = Callable[[Any, Any, Any], Any]
"""The next average, of the average, the parameter, and how many were averaged before."""
Averages = Callable[[Sequence[Any], Sequence[Any], Any], None]
"""The same of several, in place."""


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay * average + (1 - decay) * parameter; ValueError unless decay is in [0, 1].

    Example:
        >>> from dynamic.optim import swa_utils
        >>> average = swa_utils.get_ema_avg_fn(0.75)
        >>> average(dynamic.tensor(4.0), dynamic.tensor(8.0), 1)
        tensor(5.)
    """
    _check_decay(decay)

    def averaged(average: Any, parameter: Any, count: object) -> Any:
        return decay * average + (1 - decay) * parameter

    return averaged


def get_swa_avg_fn() -> Average:
    """The mean of all parameters so far.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> swa_utils.get_swa_avg_fn()(dynamic.tensor(4.0), dynamic.tensor(7.0), dynamic.tensor(2))
        tensor(5.)
    """

    def averaged(average: Any, parameter: Any, count: Any) -> Any:
        return average + (parameter - average) / (count + 1)

    return averaged


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """`get_ema_avg_fn` of several parameters, in place.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> averages = [dynamic.tensor(4.0)]
        >>> swa_utils.get_ema_multi_avg_fn(0.75)(averages, [dynamic.tensor(8.0)], 1)
        >>> averages
        [tensor(5.)]
    """
    return _of_several(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """`get_swa_avg_fn` of several parameters, in place.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> averages = [dynamic.tensor(4.0)]
        >>> swa_utils.get_swa_multi_avg_fn()(averages, [dynamic.tensor(7.0)], dynamic.tensor(2))
        >>> averages
        [tensor(5.)]
    """
    return _of_several(get_swa_avg_fn())


def _of_several(average: Average) -> Averages:
    def changed(averages: Sequence[Any], parameters: Sequence[Any], count: object) -> None:
        with no_grad():
            for mean, parameter in zip(averages, parameters, strict=True):
                mean.copy_(average(mean, parameter, count))

    return changed


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise OptionError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Args:
        model: what is copied, as `module`.
        device: the CPU, if any.
        avg_fn: the next average; the mean of all if None.
        multi_avg_fn: the same of all parameters at once, in place of `avg_fn`.
        use_buffers: whether buffers are averaged too; otherwise they are the model's last ones.

    AssertionError if both functions are given.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> layer = nn.Linear(1, 1, bias=False)
        >>> average = swa_utils.AveragedModel(layer)
        >>> for value in (1.0, 3.0):
        ...     _ = nn.init.constant_(layer.weight, value)
        ...     average.update_parameters(layer)
        >>> average(dynamic.ones(1)).item()
        2.0
    """

    n_averaged: Any

    def __init__(
        self, model: Any, device: object = None, avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise GroupCountError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """The copy's result."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Any) -> None:
        """Take the parameters of the model as they are now into the averages."""
        pairs = list(zip(self.module.parameters(), model.parameters(), strict=True))
        buffers = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            pairs += buffers
        averages, given = [mean for mean, _ in pairs], [one.detach() for _, one in pairs]
        with no_grad():
            count = self.n_averaged
            is_first = count == 0
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(averages, given, count)
                new = averages
            else:
                average = self.avg_fn or get_swa_avg_fn()
                new = [
                    average(mean.detach(), one, count)
                    for mean, one in zip(averages, given, strict=True)
                ]
            for mean, one, after in zip(averages, given, new, strict=True):
                # the first ones are the model's; by value, so that a captured step can do it
                mean.copy_(ops.where(is_first, one, after))
            if not self.use_buffers:
                for mean, one in buffers:
                    mean.copy_(one)
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Any, device: object = None) -> None:
    """Set the running statistics of batch norms to plain averages over the data of a loader.

    A batch that is a list or a tuple begins with the input.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> norm = nn.BatchNorm1d(1)
        >>> loader = [dynamic.tensor([[1.0], [3.0]]), dynamic.tensor([[5.0], [7.0]])]
        >>> swa_utils.update_bn(loader, norm)
        >>> norm.running_mean
        tensor([4.])
    """
    layers = {
        one: one.momentum
        for one in model.modules()
        if isinstance(one, _BatchNorm) and one.running_mean is not None
    }
    if not layers:
        return
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    with no_grad():
        for batch in loader:
            given = batch[0] if isinstance(batch, list | tuple) else batch
            model(given if device is None else given.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """lr goes from what it is to `swa_lr` in `anneal_epochs` epochs, and stays there.

    Args:
        optimizer: its groups get "swa_lr".
        swa_lr: the last rate, or one per group.
        anneal_epochs: in how many epochs it is reached.
        anneal_strategy: "cos" or "linear".
        last_epoch: the number of steps taken before, -1 for a new run.

    Example:
        >>> from dynamic.optim import swa_utils
        >>> optimizer = dynamic.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.3)
        >>> scheduler = swa_utils.SWALR(optimizer, 0.1, anneal_epochs=2, anneal_strategy="linear")
        >>> for _ in range(3):
        ...     print(round(scheduler.get_last_lr()[0], 2))
        ...     optimizer.step()
        ...     scheduler.step()
        0.3
        0.2
        0.1
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
        anneal_strategy: str = "cos", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for lr, group in zip(
            per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise OptionError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise OptionError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """How much of the way is done after some steps."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def _next(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            last, rate = group["swa_lr"], group["lr"]
            # what others do to lr in between is kept: the first rate follows from the present one
            first = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
