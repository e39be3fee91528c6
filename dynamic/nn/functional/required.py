"""What a function asks of the values of its tensors: at once, or when a captured function runs."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.transforms.effects import raise_unless


def require(condition: Any, error: Exception) -> None:
    """Raise an error when a captured function runs, unless a condition holds in all places.

    An array is asked at once. Eager functions ask themselves, and of a transform nothing is asked.
    """
    if isinstance(condition, Handle):
        raise_unless(ops.all(condition.expression), error)
    elif not isinstance(condition, Operand):
        raise_unless(condition, error)
