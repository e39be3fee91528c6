"""Functions of the shared library under PyTorch's names of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def taking_input(function: Callable[..., Any]) -> Any:
    """`function`, whose first argument may be given as `input`."""

    @functools.wraps(function)
    def named(*args: Any, **options: Any) -> Any:
        if not args and "input" in options:
            args = (options.pop("input"),)
        return function(*args, **options)

    return named
