"""Checks of the options that several algorithms have, with PyTorch's texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.core.errors import OptionError
from dynamic.tensors.tensor import Tensor


def number(value: Any) -> Any:
    """An option as a Python number: a tensor of one element as its element."""
    return value.item() if isinstance(value, Tensor) else value


def check_rate(lr: Any) -> None:
    """ValueError unless `lr` is a number, or a tensor of one element, of at least 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise OptionError("Tensor lr must be 1-element")
    if not number(lr) >= 0:
        raise OptionError(f"Invalid learning rate: {number(lr)}")


def check_not_negative(**options: Any) -> None:
    """ValueError unless each option is at least 0; a name may have blanks as underscores."""
    for name, value in options.items():
        if not number(value) >= 0:
            raise OptionError(f"Invalid {name}: {number(value)}")


def check_betas(betas: Sequence[Any]) -> None:
    """ValueError unless both coefficients of the running averages are in [0, 1)."""
    for i in (0, 1):
        if not 0 <= number(betas[i]) < 1:
            raise OptionError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_single_tensor(optimizer: Any, **flags: Any) -> None:
    """ValueError for an implementation (foreach, fused, ...) that does not exist here."""
    for flag, value in flags.items():
        if value:
            raise OptionError(
                f"{type(optimizer).__name__}: {flag}={value}: parameters are updated one by one on "
                f"the CPU, without a graph: leave {flag} at its default"
            )
