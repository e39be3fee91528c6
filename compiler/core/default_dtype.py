"""The dtype of Python floats, and of what is made without one, on the static side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.types import DType, as_dtype

OF_PROCESS: list[DType] = [np.dtype(np.float32)]
"""What `set_default_dtype` has set: captured functions look whether it is still there."""

BLOCKS: list[object] = []
"""The blocks that are open, in all threads, on which what a captured function computes depends: of
`default_dtype`, and of `autocast`."""

_of_block: ContextVar[DType | None] = ContextVar("default_dtype", default=None)


def get_default_dtype() -> DType:
    """The dtype of Python floats that become tensors, and of what is made without a dtype.

    Example:
        >>> sg.get_default_dtype()
        dtype('float32')
    """
    return _of_block.get() or OF_PROCESS[0]


def set_default_dtype(dtype: object) -> None:
    """Set the dtype of Python floats that become tensors: float32 (as it is at first) or float64.

    It is that of placeholders, variables, constants, `zeros`, `linspace`, random numbers and all
    else that is made without a dtype from then on, in every thread. What is made already stays as
    it is, and numbers beside tensors have the tensors' dtype in any case.

    Raises:
        DTypeError: another dtype.

    Example:
        >>> sg.set_default_dtype("float64")
        >>> sg.placeholder("x", (3,)).dtype
        dtype('float64')
        >>> sg.set_default_dtype("float32")
    """
    OF_PROCESS[0] = _checked("set_default_dtype", dtype)


@contextmanager
def default_dtype(dtype: object) -> Iterator[None]:
    """In the block the dtype that `set_default_dtype` sets is another, in this thread or task.

    Raises:
        DTypeError: a dtype that is neither float32 nor float64.

    Example:
        >>> with sg.default_dtype("float64"):
        ...     sg.zeros((2,)).dtype
        dtype('float64')
    """
    token = _of_block.set(_checked("default_dtype", dtype))
    BLOCKS.append(token)
    try:
        yield
    finally:
        BLOCKS.remove(token)
        _of_block.reset(token)


def _checked(name: str, dtype: object) -> DType:
    found = as_dtype(dtype, name)
    if not is_float(found):
        raise DTypeError(f"{name}: {found.name} is no dtype of floats: float32 or float64")
    return found


def or_default(dtype: object, op: str = "dtype") -> DType:
    """The dtype that was given, or that of Python floats if none was."""
    return get_default_dtype() if dtype is None else as_dtype(dtype, op)
