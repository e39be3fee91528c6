"""Orthogonal polynomials on plain arrays, by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Step: TypeAlias = tuple[float, float, float, float]

# (a, b, c, d) of d p[j + 1] = (a x + b) p[j] - c p[j - 1]: Abramowitz and Stegun 22.7
FAMILIES: dict[str, Callable[[int], Step]] = {
    "chebyshev_t": lambda j: (2.0 if j else 1.0, 0.0, 1.0, 1.0),
    "chebyshev_u": lambda j: (2.0, 0.0, 1.0, 1.0),
    "chebyshev_v": lambda j: (2.0, 0.0 if j else -1.0, 1.0, 1.0),
    "chebyshev_w": lambda j: (2.0, 0.0 if j else 1.0, 1.0, 1.0),
    "hermite_h": lambda j: (2.0, 0.0, 2.0 * j, 1.0),
    "hermite_he": lambda j: (1.0, 0.0, float(j), 1.0),
    "laguerre_l": lambda j: (-1.0, 2.0 * j + 1, float(j), j + 1.0),
    "legendre_p": lambda j: (2.0 * j + 1, 0.0, float(j), j + 1.0),
}


def orthogonal_polynomial(x: Any, n: Any, *, family: str, order: int = 0) -> Any:
    """The polynomial of degree n, or its derivative of an order; 0 of a negative degree.

    The derivatives follow the same recurrence, with k a times the one of order k - 1 besides.
    """
    x, n = np.asarray(x), np.asarray(n)
    step = FAMILIES[family]
    at = x.astype(np.float64)
    shape = np.broadcast_shapes(x.shape, n.shape)
    before = [np.zeros_like(at) for _ in range(order + 1)]
    now = [np.zeros_like(at) for _ in range(order + 1)]
    now[0] = np.ones_like(at)
    found = np.where(n == 0, now[order], 0.0) + np.zeros(shape)
    with np.errstate(all="ignore"):
        for j in range(int(n.max(initial=0))):
            a, b, c, d = step(j)
            line = a * at + b
            after = [
                (line * now[k] - c * before[k] + (k * a * now[k - 1] if k else 0.0)) / d
                for k in range(order + 1)
            ]
            before, now = now, after
            found = np.where(n == j + 1, now[order], found)
        return found.astype(x.dtype)
