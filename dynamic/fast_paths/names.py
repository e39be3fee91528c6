"""What a function that stands for an op is called, and how help and pickle find it."""

from __future__ import annotations

from typing import Any

from compiler.core.op import Op


def named_after(op: Op, function: Any) -> Any:
    """The function, which has the name, documentation and signature of the op, and is exported."""
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "dynamic"
    function.__doc__ = op.doc
    function.__wrapped__ = op  # whose signature `inspect` shows
    return function
