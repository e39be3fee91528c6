"""Discrete Fourier transforms, in the standard's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import complex_dtype
from staticgraph.compiler.functions import fft

_ALONG_ONE = "fft ifft rfft irfft hfft ihfft"
_ALONG_SEVERAL = "fftn ifftn rfftn irfftn"
_SHIFTS = "fftshift ifftshift"
_OF_COMPLEX = frozenset(("fft", "ifft", "fftn", "ifftn", "irfft", "irfftn", "hfft"))


def _operand(name: str, x: Any) -> Any:
    dtype = np.dtype(x.dtype)
    real = name in _OF_COMPLEX and dtype.kind == "f"
    return ops.astype(x, complex_dtype(dtype)) if real else x


def _along_one(name: str) -> Callable[..., Any]:
    def function(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return getattr(fft, name)(_operand(name, x), n=n, axis=axis, norm=norm)

    return function


def _along_several(name: str) -> Callable[..., Any]:
    def function(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        return getattr(fft, name)(_operand(name, x), s=s, axes=axes, norm=norm)

    return function


def _shift(name: str) -> Callable[..., Any]:
    def function(x: Any, /, *, axes: Any = None) -> Any:
        return getattr(fft, name)(x, axes=axes)

    return function


def _by_table() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    kinds = ((_ALONG_ONE, _along_one), (_ALONG_SEVERAL, _along_several), (_SHIFTS, _shift))
    for names, make in kinds:
        for name in names.split():
            function: Any = make(name)
            function.__name__ = function.__qualname__ = name
            function.__doc__ = getattr(fft, name).__doc__
            found[name] = function
    return found


FUNCTIONS = _by_table()
