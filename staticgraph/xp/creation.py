"""What makes expressions, in the array API standard's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph import creation, leaves
from staticgraph.compiler.core.default_dtype import get_default_dtype, or_default
from staticgraph.compiler.core.dtypes import complex_dtype
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.functions import fft as _fft

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones",
    "ones_like", "zeros", "zeros_like",
]  # fmt: skip


def _check(name: str, device: object) -> None:
    if device not in (None, "cpu"):
        raise OptionError(f"{name}: there is the device 'cpu' alone, not {device!r}")


def asarray(
    obj: Any, /, *, dtype: Any = None, device: object = None, copy: bool | None = None
) -> Any:
    """A constant, or an expression as it is; ValueError for `copy=False` of what is none."""
    _check("asarray", device)
    if copy is False and not isinstance(obj, Operand):
        raise OptionError(f"asarray: a constant is a copy, and copy=False of {type(obj).__name__}")
    if dtype is None and not hasattr(obj, "dtype") and np.asarray(obj).dtype.kind == "c":
        dtype = complex_dtype(get_default_dtype())
    return creation.asarray(obj, dtype)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: object = None
) -> Any:
    """The numbers from `start` (0) up to `stop`, without it, by `step`."""
    _check("arange", device)
    return leaves.arange(start, stop, step, dtype)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: object = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` numbers from `start` to `stop`, equally far apart."""
    _check("linspace", device)
    return creation.linspace(start, stop, num, endpoint, dtype)


def eye(
    n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: object = None
) -> Any:
    """Ones on a diagonal, and zeros; the sizes may be unknown."""
    _check("eye", device)
    return creation.eye(n_rows, n_cols, k, dtype)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: object = None) -> Any:
    """One number in this shape, of which sizes may be unknown."""
    _check("full", device)
    if dtype is None and type(fill_value) is complex:
        dtype = complex_dtype(get_default_dtype())
    elif dtype is None and isinstance(fill_value, int | complex):
        dtype = np.asarray(fill_value).dtype
    return leaves.full(shape, fill_value, dtype)


def zeros(shape: Any, *, dtype: Any = None, device: object = None) -> Any:
    """Zeros in this shape."""
    return full(shape, 0, dtype=or_default(dtype), device=device)


def ones(shape: Any, *, dtype: Any = None, device: object = None) -> Any:
    """Ones in this shape."""
    return full(shape, 1, dtype=or_default(dtype), device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: object = None) -> Any:
    """One number in the shape and the dtype of x."""
    _check("full_like", device)
    return creation.full_like(x, fill_value, dtype)


def zeros_like(x: Any, /, *, dtype: Any = None, device: object = None) -> Any:
    """Zeros in the shape and the dtype of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: object = None) -> Any:
    """Ones in the shape and the dtype of x."""
    return full_like(x, 1, dtype=dtype, device=device)


empty, empty_like = zeros, zeros_like


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Any:
    """The frequencies of `fft` of n numbers that are d apart."""
    _check("fftfreq", device)
    return leaves.constant(_fft.fftfreq(n, d), or_default(dtype))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Any:
    """The frequencies of `rfft` of n numbers that are d apart."""
    _check("rfftfreq", device)
    return leaves.constant(_fft.rfftfreq(n, d), or_default(dtype))
