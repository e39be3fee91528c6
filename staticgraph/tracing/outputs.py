"""What traced functions return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.graph.expression import Expression, Handle, constant, construct
from staticgraph.compiler.ops import leaves

Plain: TypeAlias = "tuple[tuple[int, Callable[[Any], Any]], ...]"
"""Results that are numbers, and what makes them of arrays."""


def plain_result(value: object) -> Callable[[Any], Any] | None:
    """What makes a number of Python's, or a scalar of NumPy's, of the array that stands for one.

    None for what is an array. A size of an argument and what is computed of it, or of a number that
    is given, are numbers: the call has them.
    """
    if type(value) in (bool, int, float, Dim):
        return _as_number
    if isinstance(value, Expression) and value.weak:  # Python computes with operators
        of_python = value.op.name in _OPERATORS or not value.operands
        return _as_number if of_python else _as_scalar
    return _as_scalar if isinstance(value, np.generic) else None


_OPERATORS = frozenset(
    (
        "abs", "absolute", "add", "divide", "equal", "floor_divide", "greater", "greater_equal",
        "less", "less_equal", "multiply", "negative", "not_equal", "power", "remainder", "subtract",
    )
)  # fmt: skip
"""The ops that operators of Python's numbers are."""


def _as_number(array: Any) -> Any:
    return array.item()


def _as_scalar(array: Any) -> Any:
    return array[()]


def as_output(name: str, value: object) -> Expression:
    """What a traced function returned, as an expression; OptionError for an eager tensor."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, Handle):
        return value.expression
    if isinstance(value, Dim):
        return construct(leaves.size_of, (), {"size": value})
    if isinstance(value, np.ndarray | np.generic | bool | int | float | complex):
        return constant(value)
    raise OptionError(
        f"{name}: returned an eager tensor, but no argument is one, so that it is a function of "
        "arrays: pass a tensor it reads, or a module, as an argument, or use its numpy()"
    )
