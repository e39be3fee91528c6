"""What is beside the CPU: nothing, so that scripts choose the CPU (torch.accelerator)."""

from __future__ import annotations

from typing import Any, NoReturn

from staticgraph.dynamic.core.errors import AutogradError

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "set_device_index", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one: no."""
    return False


def device_count() -> int:
    """How many there are: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The one in use: None."""


def empty_cache() -> None:
    """Nothing to do: there is none."""
    _refuse()


def _refuse(*args: object) -> NoReturn:
    raise AutogradError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """RuntimeError: there is none."""
    _refuse()


def set_device_index(device: Any) -> None:
    """RuntimeError: there is none."""
    _refuse()


def synchronize(device: Any = None) -> None:
    """RuntimeError: there is none."""
    _refuse()


def memory_allocated(device: Any = None) -> int:
    """RuntimeError: there is none."""
    _refuse()


def memory_reserved(device: Any = None) -> int:
    """RuntimeError: there is none."""
    _refuse()


def max_memory_allocated(device: Any = None) -> int:
    """RuntimeError: there is none."""
    _refuse()


def max_memory_reserved(device: Any = None) -> int:
    """RuntimeError: there is none."""
    _refuse()


def reset_peak_memory_stats(device: Any = None) -> None:
    """RuntimeError: there is none."""
    _refuse()
