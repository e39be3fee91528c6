"""Functions of the shared library under PyTorch's names of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def taking_input(function: Callable[..., Any], *others: str) -> Any:
    """`function`, whose arguments may be given as `input` and, in their order, by other names."""
    names = ("input", *others)

    @functools.wraps(function)
    def named(*args: Any, **options: Any) -> Any:
        if options:
            for name in names[len(args) :]:
                if name not in options:
                    break
                args = (*args, options.pop(name))
        return function(*args, **options)

    return named
