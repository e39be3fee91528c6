"""What operands become before they meet: the standard's promotion, in either frontend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.functions import LINALG, NAMES, function_named

_NUMBERS = (bool, int, float, complex)


def named(name: str) -> Callable[..., Any]:
    """The op or the function in NumPy's names that is called so."""
    return function_named(name, NAMES) if name in NAMES else getattr(ops, name)


def named_linear(name: str) -> Callable[..., Any]:
    """The function of linear algebra that is called so."""
    return function_named(name, LINALG) if name in LINALG else getattr(ops, name)


def dtype_of(value: Any) -> Any:
    """The dtype of an operand, or one that is given, as NumPy's; a number as Python's."""
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) in _NUMBERS:
        return value
    return np.dtype(getattr(value, "dtype", value))


def result_dtype(*values: object) -> np.dtype[Any]:
    """The dtype that operands, dtypes and Python's numbers have together; these are weak.

    An integer that meets floats does not make them wider: mixed kinds are left open by the
    standard, and are NumPy's here.
    """
    return np.result_type(*map(dtype_of, values))


def cast(x: Any, dtype: np.dtype[Any], like: Any) -> Any:
    """An operand in a dtype; a number as a constant beside the handle `like`."""
    if isinstance(x, Operand):
        return x if np.dtype(x.dtype) == dtype else ops.astype(x, dtype)
    array = np.asarray(x)
    return like._constant(array.astype(dtype))


def together(*values: Any) -> list[Any]:
    """The operands in the dtype that they have together; at least one is a handle."""
    like = next((one for one in values if isinstance(one, Operand)), None)
    if like is None:
        kinds = ", ".join(type(one).__name__ for one in values)
        raise DTypeError(f"an operand must be an array, not only {kinds}")
    dtype = result_dtype(*values)
    return [cast(one, dtype, like) for one in values]
