"""What is beside the CPU: nothing, so that scripts choose the CPU (torch.accelerator).

Example:
    >>> dynamic.accelerator.is_available(), dynamic.accelerator.device_count()
    (False, 0)
"""

from __future__ import annotations

from typing import Any, NoReturn

from staticgraph.dynamic.core.errors import AutogradError

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "empty_cache", "is_available",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "set_device_index", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is one: no.

    Example:
        >>> dynamic.accelerator.is_available()
        False
    """
    return False


def device_count() -> int:
    """How many there are: 0.

    Example:
        >>> dynamic.accelerator.device_count()
        0
    """
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The one in use: None.

    Example:
        >>> dynamic.accelerator.current_accelerator()
    """


def empty_cache() -> None:
    """Nothing to do: there is none.

    Example:
        >>> dynamic.accelerator.empty_cache()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def _refuse(*args: object) -> NoReturn:
    raise AutogradError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.current_device_index()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def set_device_index(device: Any) -> None:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.set_device_index(0)
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def synchronize(device: Any = None) -> None:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.synchronize()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def memory_allocated(device: Any = None) -> int:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.memory_allocated()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def memory_reserved(device: Any = None) -> int:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.memory_reserved()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def max_memory_allocated(device: Any = None) -> int:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.max_memory_allocated()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def max_memory_reserved(device: Any = None) -> int:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.max_memory_reserved()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()


def reset_peak_memory_stats(device: Any = None) -> None:
    """RuntimeError: there is none.

    Example:
        >>> dynamic.accelerator.reset_peak_memory_stats()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: Cannot access accelerator device when ...
    """
    _refuse()
