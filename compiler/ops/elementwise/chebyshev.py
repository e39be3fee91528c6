"""Sums of Chebyshev polynomials, by which special functions are approximated."""

from __future__ import annotations

from typing import Any


def chebyshev_sum(coefficients: tuple[float, ...], x: Any) -> Any:
    """The sum of Chebyshev polynomials on [-1, 1], by Clenshaw's recurrence."""
    after: Any = 0.0
    last: Any = 0.0
    for coefficient in reversed(coefficients[1:]):
        last, after = x * 2 * last - after + coefficient, last
    return x * last - after + coefficients[0]
