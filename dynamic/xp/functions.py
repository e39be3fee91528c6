"""The shared functions of the standard with arrays as their results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from staticgraph.compiler.array_api import Table
from staticgraph.dynamic.xp.array import as_arrays


def arrays_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with arrays instead of tensors as its results."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return as_arrays(function(*args, **options), *args)

    return call


def namespace(table: Table) -> dict[str, Callable[..., Any]]:
    """A table of functions with arrays as their results."""
    return {name: arrays_of(function) for name, function in table.items()}
