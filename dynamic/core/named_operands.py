"""Names of arguments: PyTorch's of functions of the shared library, NumPy's of PyTorch's."""

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


NUMPYS = {"axis": "dim", "keepdims": "keepdim"}
"""NumPy's names of arguments, which PyTorch takes for its own."""


def in_pytorchs_words(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a function with PyTorch's names of axes, where NumPy's are given.

    PyTorch takes both names, not at once; a function with NumPy's name itself keeps it.
    """
    if NUMPYS.keys().isdisjoint(options):
        return options
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    own = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {
        NUMPYS[key] if key in NUMPYS and NUMPYS[key] in own and key not in own else key: one
        for key, one in options.items()
    }


def taking_numpys_words(function: Callable[..., Any]) -> Any:
    """`function`, whose `dim` and `keepdim` may be given by NumPy's names as well."""

    @functools.wraps(function)
    def named(*args: Any, **options: Any) -> Any:
        if options:
            options = in_pytorchs_words(function, options)
        return function(*args, **options)

    return named
