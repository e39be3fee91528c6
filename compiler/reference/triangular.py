"""Linear systems of triangular matrices, by blocks: almost all of it is products.

NumPy has no routine for them, and its `solve` factors a matrix that is its own factor: twice the
time for as many right-hand sides as unknowns, forty times for one, at 1,000 unknowns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 64
"""The side of a block of the diagonal, given to `np.linalg.solve`: 32 and 128 are no faster."""


def solve_triangular(a: Any, b: Any, upper: bool) -> Any:
    """X with A X = B: (..., n, n), (..., n, k) -> (..., n, k); one triangle of A is read.

    Raises:
        np.linalg.LinAlgError: a number on the diagonal is 0.
    """
    n = a.shape[-1]
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = np.empty((*lead, *b.shape[-2:]), b.dtype)
    starts = range(0, n, BLOCK)
    for start in reversed(starts) if upper else starts:
        rows = slice(start, min(start + BLOCK, n))
        known = slice(rows.stop, n) if upper else slice(start)
        rest = b[..., rows, :]
        if known.start != known.stop:
            rest = rest - a[..., rows, known] @ found[..., known, :]
        block = a[..., rows, rows]
        block = np.triu(block) if upper else np.tril(block)
        found[..., rows, :] = np.linalg.solve(block, rest)
    return found
