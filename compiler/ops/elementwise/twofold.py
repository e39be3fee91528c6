"""Products whose rounding errors are known (Dekker 1971)."""

from __future__ import annotations

from typing import Any


def _halves(x: Any) -> tuple[Any, Any]:
    """x as a sum of two numbers, the first of few bits."""
    scaled = x * (4097.0 if x.dtype == "float32" else 134217729.0)
    high = scaled - (scaled - x)
    return high, x - high


def product_and_rest(x: Any, y: Any) -> tuple[Any, Any]:
    """x y and what is rounded off; numbers above 1e300 (float32: 1e34) are too large."""
    found = x * y
    a, b = _halves(x)
    c, d = _halves(y)
    return found, ((a * c - found) + a * d + b * c) + b * d
