"""Hyper-parameters of optimizers: the table of their ranges, with PyTorch's texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.tensors.tensor import Tensor

Options = dict[str, Any]
Check = Callable[[Options], None]
"""Raises ValueError unless a hyper-parameter among the options is within its range."""

SINGLE_TENSOR = ("foreach", "capturable", "differentiable", "fused")
"""What chooses an implementation that does not exist here."""


def number(value: object) -> Any:
    """An option as a Python number: a tensor of one element as its element."""
    return value.item() if isinstance(value, Tensor) else value


def within(name: str, text: str, low: float = 0, high: float = math.inf) -> Check:
    """The check of one that is at least `low` and at most `high`; `text` has {} for its value."""

    def check(options: Options) -> None:
        value = number(options[name])
        if not value >= low or value > high:
            raise OptionError(text.format(value))

    return check


def one_rate(options: Options) -> None:
    """ValueError for a learning rate that is a tensor of several."""
    lr = options["lr"]
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise OptionError("Tensor lr must be 1-element")


def _rate(options: Options) -> None:
    one_rate(options)
    if not number(options["lr"]) >= 0:
        raise OptionError(f"Invalid learning rate: {number(options['lr'])}")


def _betas(options: Options) -> None:
    betas = options["betas"]
    for i in (0, 1):
        if not 0 <= number(betas[i]) < 1:
            raise OptionError(f"Invalid beta parameter at index {i}: {betas[i]}")


LR: Check = _rate
BETAS: Check = _betas
RHO = within("rho", "Invalid rho value: {}", 0, 1)
EPS = within("eps", "Invalid epsilon value: {}")
ALPHA = within("alpha", "Invalid alpha value: {}")
MOMENTUM = within("momentum", "Invalid momentum value: {}")
MOMENTUM_DECAY = within("momentum_decay", "Invalid momentum_decay value: {}")
WEIGHT_DECAY = within("weight_decay", "Invalid weight_decay value: {}")
LR_DECAY = within("lr_decay", "Invalid lr_decay value: {}")
INITIAL_VALUE = within("initial_accumulator_value", "Invalid initial_accumulator_value value: {}")


def checked(optimizer: object, options: Options, *checks: Check) -> Options:
    """The options, after the checks, in this order; ValueError for an implementation not here."""
    for name, value in options.items():
        for one in value if isinstance(value, tuple | list) else [value]:
            if not isinstance(one, Tensor) and np.iscomplexobj(one):
                raise OptionError(f"{type(optimizer).__name__}: {name} must be real, not {one!r}")
    for check in checks:
        check(options)
    for flag in SINGLE_TENSOR:
        if options.get(flag):
            raise OptionError(
                f"{type(optimizer).__name__}: {flag}={options[flag]}: parameters are updated one "
                f"by one on the CPU, without a graph: leave {flag} at its default"
            )
    return options
