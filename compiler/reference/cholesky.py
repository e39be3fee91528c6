"""Cholesky factors by blocks: almost all of the work is products, which threads share.

LAPACK's own factorisation, as NumPy calls it, copies the matrix to another order and back, and
within a kernel, which has the BLAS use one thread, nobody shares it: at 1,000 unknowns four times
the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.provided import share
from staticgraph.compiler.reference.triangular import Solver, solver_of

BLOCK = 128
"""The unknowns up to which LAPACK factors: 64 and 256 are no faster at 1,000."""

FEWEST = 256
"""The unknowns from which this is faster than LAPACK alone."""

ROWS = 192
"""The rows of a task: fixed, so that results do not depend on the threads."""


def cholesky(a: Any) -> Any:
    """The lower factors of positive definite matrices, of which the lower triangles are read.

    Raises:
        np.linalg.LinAlgError: a matrix is not positive definite.
    """
    found = np.empty(a.shape, a.dtype) if a.shape[-1] >= FEWEST else None
    return np.linalg.cholesky(a) if found is None or not factor_into(found, a) else found


def factor_into(found: Any, a: Any) -> bool:
    """Write the factors to an array in row-major order; False where LAPACK alone is to be asked.

    Raises:
        np.linalg.LinAlgError: a matrix is not positive definite.
    """
    solver = solver_of(a.dtype) if a.shape[-1] >= FEWEST else None
    if solver is None:
        return False
    found[...] = a
    for matrix in found.reshape(-1, *a.shape[-2:]):
        _factor(solver, matrix)
    return True


def _factor(solver: Solver, a: Any) -> None:
    """Replace a matrix by its factor: that of its first half, and of what that leaves."""
    n = len(a)
    if n <= BLOCK:
        a[...] = np.linalg.cholesky(a)
        return
    half = -(-n // (2 * BLOCK)) * BLOCK
    first, below, rest = a[:half, :half], a[half:, :half], a[half:, half:]
    _factor(solver, first)
    a[:half, half:] = 0
    tasks = -(-len(rest) // ROWS)

    def solve(task: int) -> None:
        solver.solve_on_the_right(first, below[task * ROWS : (task + 1) * ROWS])

    def subtract(task: int) -> None:
        rows = slice(task * ROWS, min((task + 1) * ROWS, len(rest)))
        solver.subtract_product(rest[rows, : rows.stop], below[rows], below[: rows.stop])

    share(solve, tasks)
    share(subtract, tasks)
    _factor(solver, rest)
