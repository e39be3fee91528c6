"""Whether reverse passes may use several threads: they run in the caller's thread either way."""

from __future__ import annotations

import threading

__all__ = ["is_multithreading_enabled", "set_multithreading_enabled"]


class _Mode(threading.local):
    enabled = True


_mode = _Mode()


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` says in this thread: True at first.

    Example:
        >>> dynamic.autograd.is_multithreading_enabled()
        True
    """
    return _mode.enabled


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """Note whether reverse passes may use several threads: at once, and for a `with` block.

    It changes nothing: they run in the thread that calls `backward`.

    Example:
        >>> with dynamic.autograd.set_multithreading_enabled(False):
        ...     print(dynamic.autograd.is_multithreading_enabled())
        False
    """

    def __init__(self, mode: bool) -> None:
        self._before = _mode.enabled
        _mode.enabled = bool(mode)

    def __enter__(self) -> None:
        """The mode is set already."""

    def __exit__(self, *exception: object) -> None:
        _mode.enabled = self._before
