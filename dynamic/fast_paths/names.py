"""What a function that stands for an op is called."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.op import Op


def named_after(op: Op, function: Any) -> Any:
    """The function, with the name, the documentation and the signature of the op."""
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    function.__wrapped__ = op
    function.__annotations__ = {}  # of names that are not those of the op's module
    return function
