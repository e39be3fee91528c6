"""The extension `fft` of the array API standard, of expressions."""

from __future__ import annotations

from compiler.array_api import FFT
from staticgraph.xp.creation import fftfreq, rfftfreq

__all__ = [*FFT, "fftfreq", "rfftfreq"]  # noqa: PLE0604 - the table has them

globals().update(FFT)
