"""Whether ops are recorded: per thread, switched by contexts that are also decorators."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any


class _Mode(threading.local):
    enabled = True


mode = _Mode()
"""`mode.enabled`: whether this thread records."""


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require grad are recorded in this thread."""
    return mode.enabled


class _Switch:
    """A context that sets the mode on entry and puts the old one back on exit; a decorator too."""

    enabled = True

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(mode.enabled)
        mode.enabled = self.enabled

    def __exit__(self, *exception: object) -> None:
        mode.enabled = self._before.pop()

    def _again(self) -> _Switch:
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return switched


class no_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Inside, results do not require grad; `@no_grad` and `@no_grad()` decorate."""

    enabled = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """The context, or `function` decorated with it."""
        return super().__new__(cls) if function is None else cls()(function)


class enable_grad(no_grad):  # noqa: N801 - PyTorch's name
    """Inside, ops are recorded again, within `no_grad`; `@enable_grad` decorates too."""

    enabled = True


class set_grad_enabled(_Switch):  # noqa: N801 - PyTorch's name
    """Switch recording on or off: at once, and back when a `with` block ends."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.enabled = bool(mode)
        self._outside = _set(self.enabled)

    def __enter__(self) -> None:
        self._before.append(self._outside)
        mode.enabled = self.enabled

    def _again(self) -> _Switch:
        switch = _Switch()
        switch.enabled = self.enabled
        return switch

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, run in this mode; the mode outside stays as it was."""
        mode.enabled = self._outside
        return super().__call__(function)


def _set(enabled: bool) -> bool:
    before = mode.enabled
    mode.enabled = enabled
    return before
