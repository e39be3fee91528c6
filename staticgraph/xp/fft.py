"""The extension `fft` of the array API standard, of expressions."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.array_api import FFT
from staticgraph.compiler.array_api.examples import document
from staticgraph.compiler.core.published import published
from staticgraph.xp.creation import fftfreq, rfftfreq

__all__ = [*FFT, "fftfreq", "rfftfreq"]  # noqa: PLE0604 - the table has them

_TABLE = FFT
published(__name__, _TABLE)


document({**FFT, "fftfreq": fftfreq, "rfftfreq": rfftfreq}, of_tensors=False, place="fft.")


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in _TABLE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _TABLE[name]
