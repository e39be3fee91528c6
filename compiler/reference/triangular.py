"""Linear systems of triangular matrices, by the BLAS that NumPy brings, or else by blocks.

NumPy has no routine for them, and its `solve` factors a matrix that is its own factor: two to three
times the time for as many right-hand sides as unknowns, hundreds of times for one, at 1,000
unknowns. Where its library has no trsm or trsv, almost all of the work is products of blocks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.provided import share
from staticgraph.compiler.reference.blas_library import SCALARS, numpy_routines

BLOCK = 64
"""The side of a block of the diagonal, given to `np.linalg.solve`: 32 and 128 are no faster."""

FEWEST = 16
"""The unknowns from which NumPy's library is called: for fewer, a batch takes less by `solve`."""

FEWEST_SHARED = 64
"""The unknowns from which several threads share the right-hand sides."""

SIDES = 128
"""The right-hand sides of a task: fixed, so that results do not depend on the threads."""

NAMES = ("trsm", "trsv", "gemm")

_ROW_MAJOR, _NO_TRANS, _TRANS, _UPPER, _LOWER, _NON_UNIT = 101, 111, 112, 121, 122, 131
_LEFT, _RIGHT = 141, 142


class Solver(NamedTuple):
    """NumPy's library's routines for one dtype: trsm, trsv for one right-hand side, and gemm.

    The methods take matrices whose rows lie whole in memory.
    """

    trsm: Callable[..., None]
    trsv: Callable[..., None]
    gemm: Callable[..., None]

    def solve_on_the_right(self, a: Any, x: Any) -> None:
        """Replace X by Y with Y A^T = X, of a lower triangle A."""
        rows, n = x.shape
        self.trsm(
            _ROW_MAJOR, _RIGHT, _LOWER, _TRANS, _NON_UNIT, rows, n, 1, *_placed(a), *_placed(x)
        )

    def subtract_product(self, c: Any, a: Any, b: Any) -> None:
        """Replace C by C - A B^T."""
        rows, n = c.shape
        self.gemm(
            _ROW_MAJOR, _NO_TRANS, _TRANS, rows, n, a.shape[1],
            -1, *_placed(a), *_placed(b), 1, *_placed(c),
        )  # fmt: skip


def _placed(matrix: Any) -> tuple[int, int]:
    """Where it is, and the elements from row to row."""
    return matrix.ctypes.data, matrix.strides[0] // matrix.itemsize


def solve_triangular(a: Any, b: Any, upper: bool) -> Any:
    """X with A X = B: (..., n, n), (..., n, k) -> (..., n, k); one triangle of A is read.

    Raises:
        np.linalg.LinAlgError: a number on the diagonal is 0.
    """
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = np.empty((*lead, *b.shape[-2:]), b.dtype)
    return found if solve_into(found, a, b, upper) else solve_by_blocks(a, b, upper)


def solve_into(found: Any, a: Any, b: Any, upper: bool) -> bool:
    """Write X to an array, whose matrices lie whole in memory; False if the library is not called.

    For such systems `solve_by_blocks` is faster, or raises what there is to raise.
    """
    if a.shape[-1] < FEWEST or a.dtype != b.dtype:
        return False
    solver = solver_of(a.dtype)
    if solver is None or (np.abs(a.diagonal(0, -2, -1)) < np.finfo(a.dtype).tiny).any():
        # A 0 is an error there. The library multiplies by reciprocals, which would be inf here.
        return False
    found[...] = b
    if found.size:
        lead = found.shape[:-2]
        _solve_in_place(solver, np.broadcast_to(a, (*lead, *a.shape[-2:])), found, upper)
    return True


def _solve_in_place(solver: Solver, a: Any, x: Any, upper: bool) -> None:
    """Solve systems: x are the right-hand sides, row-major, and become the solutions."""
    n, k = x.shape[-2:]
    trans, leading = _NO_TRANS, _leading(a)
    if not leading:
        trans, leading = _TRANS, _leading(np.swapaxes(a, -1, -2))
    if not leading:
        a = np.array(a, order="C")
        trans, leading = _NO_TRANS, n
    triangle = _UPPER if upper == (trans == _NO_TRANS) else _LOWER
    for matrix, sides in zip(_addresses(a), _addresses(x), strict=True):
        if k == 1:
            solver.trsv(_ROW_MAJOR, triangle, trans, _NON_UNIT, n, matrix, leading, sides, 1)
        else:
            solve = partial(solver.trsm, _ROW_MAJOR, _LEFT, triangle, trans, _NON_UNIT, n)
            _share_sides(solve, n, k, (matrix, leading), sides, x.itemsize)


def _share_sides(
    solve: Callable[..., None], n: int, k: int, matrix: tuple[int, int], sides: int, itemsize: int
) -> None:
    """Solve for the right-hand sides at an address, some at a time where that takes long enough."""
    many = SIDES if n >= FEWEST_SHARED else k

    def some(task: int) -> None:
        begin = task * many
        solve(min(many, k - begin), 1, *matrix, sides + begin * itemsize, k)

    share(some, -(-k // many))


def _leading(a: Any) -> int:
    """The elements from row to row of matrices whose rows lie whole in memory; 0 for others."""
    leading, rest = divmod(a.strides[-2], a.itemsize)
    whole = a.strides[-1] == a.itemsize and not rest and leading >= a.shape[-1]
    return leading if whole and a.flags.aligned else 0


def _addresses(matrices: Any) -> list[int]:
    """Where the matrices of an array begin."""
    found = np.array(matrices.ctypes.data)
    for size, stride in zip(matrices.shape[:-2], matrices.strides[:-2], strict=True):
        found = found[..., None] + stride * np.arange(size)
    return found.ravel().tolist()


@Once
def solver_of(dtype: Any) -> Solver | None:
    """The first routines of NumPy's library that compute rightly; None where there are none."""
    if not dtype.isnative or dtype.name not in SCALARS:
        return None
    scalar, pointer, flag = SCALARS[dtype.name], ctypes.c_size_t, ctypes.c_int
    for routines in numpy_routines():
        trsm, trsv, gemm = (routines.named(name)[dtype.name] for name in NAMES)
        if not (trsm and trsv and gemm):
            continue
        integer = ctypes.c_int64 if routines.integer_bits == 64 else ctypes.c_int32
        memory = [pointer, integer, pointer, integer]
        found = Solver(
            ctypes.CFUNCTYPE(None, *[flag] * 5, integer, integer, scalar, *memory)(trsm),
            ctypes.CFUNCTYPE(None, *[flag] * 4, integer, *memory)(trsv),
            ctypes.CFUNCTYPE(
                None, *[flag] * 3, *[integer] * 3, scalar, *memory, scalar, pointer, integer
            )(gemm),
        )
        if _is_right(found, dtype):
            return found
    return None


def _is_right(solver: Solver, dtype: Any) -> bool:
    """Whether small systems of integers have the solutions they were made of, in every form."""
    n = 21
    read = np.tri(n, dtype=np.bool_)
    whole = np.arange(n * n).reshape(n, n) % 5 - 2
    np.fill_diagonal(whole, 2 ** (np.arange(n) % 3))
    for upper in (False, True):
        kept = read.T if upper else read
        padded = np.full((n, n + 2), np.nan, dtype)
        padded[:, :n][kept] = whole[kept]
        a = padded[:, :n]
        for k in (1, 5):
            expected = np.arange(n * k, dtype=dtype).reshape(n, k)
            for form in (a, a.copy("C"), a.copy("F")):
                x = np.where(kept, whole, 0).astype(dtype) @ expected
                _solve_in_place(solver, form, x, upper)
                if not np.array_equal(x, expected):
                    return False
    lower = np.where(read, whole, 0).astype(dtype)
    expected = np.arange(5 * n, dtype=dtype).reshape(5, n)
    x = expected @ lower.T
    solver.solve_on_the_right(lower, x)
    left = x @ x.T
    solver.subtract_product(left, x, x)
    return np.array_equal(x, expected) and not left.any()


def solve_by_blocks(a: Any, b: Any, upper: bool) -> Any:
    """The same by `np.linalg.solve` of the blocks of the diagonal, and products of the others."""
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
