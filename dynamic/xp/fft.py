"""The extension `fft` of the array API standard, of tensors."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.array_api import FFT
from staticgraph.compiler.array_api.examples import document
from staticgraph.compiler.core.published import published
from staticgraph.compiler.functions import fft as _shared
from staticgraph.dynamic.xp.creation import frequencies
from staticgraph.dynamic.xp.functions import namespace

__all__ = [*FFT, "fftfreq", "rfftfreq"]  # noqa: PLE0604 - the table has them

_TABLE = namespace(FFT)
published(__name__, _TABLE)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Any:
    """The frequencies of `fft` of n numbers that are d apart."""
    return frequencies(_shared.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Any:
    """The frequencies of `rfft` of n numbers that are d apart."""
    return frequencies(_shared.rfftfreq, n, d, dtype, device)


document({**_TABLE, "fftfreq": fftfreq, "rfftfreq": rfftfreq}, of_tensors=True, place="fft.")


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in _TABLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TABLE[name]
