"""Linear systems of float32 matrices, by the LAPACK that NumPy brings.

`np.linalg.solve` computes those of float32 in float64, which takes two to three times as long; JAX
and PyTorch compute them in float32, as this does where there are so many unknowns that it counts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.core.provided import share
from staticgraph.compiler.reference.blas_library import numpy_routines

FEWEST = 64
"""The unknowns from which this is faster than `np.linalg.solve`, by a quarter there."""

_F32 = np.dtype(np.float32)


class Factoriser(NamedTuple):
    """getrf and getrs for float32, as Fortran has them, and the integers that they take."""

    getrf: Callable[..., None]
    getrs: Callable[..., None]
    integer: Any

    def solve(self, a: Any, b: Any) -> Any:
        """The solution of one system; a is overwritten, and both lie column by column.

        Raises:
            np.linalg.LinAlgError: the matrix is singular.
        """
        n, k = self.integer(a.shape[0]), self.integer(b.shape[1])
        failed, places = self.integer(0), np.empty(a.shape[0], self.integer)
        self.getrf(n, n, a.ctypes.data, n, places.ctypes.data, failed)
        if failed.value:
            raise np.linalg.LinAlgError("a singular matrix")
        self.getrs(b"N", n, k, a.ctypes.data, n, places.ctypes.data, b.ctypes.data, n, failed, 1)
        return b


def solve(a: Any, b: Any) -> Any:
    """X with A X = B: (..., n, n), (..., n, k) -> (..., n, k).

    Raises:
        np.linalg.LinAlgError: a matrix is singular.
    """
    is_large = a.shape[-1] >= FEWEST and b.size
    factoriser = factoriser_of_float32() if is_large and a.dtype == b.dtype == _F32 else None
    if factoriser is None:
        return np.linalg.solve(a, b)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    matrices = np.broadcast_to(a, (*lead, *a.shape[-2:])).reshape(-1, *a.shape[-2:])
    sides = np.broadcast_to(b, (*lead, *b.shape[-2:])).reshape(-1, *b.shape[-2:])
    found = np.empty(sides.shape, _F32)

    def one(i: int) -> None:
        copies = np.array(matrices[i], order="F"), np.array(sides[i], order="F")
        found[i] = factoriser.solve(*copies)

    share(one, len(found))
    return found.reshape(*lead, *b.shape[-2:])


@Once
def factoriser_of_float32() -> Factoriser | None:
    """The first routines of NumPy's library that compute rightly; None where there are none."""
    for routines in numpy_routines():
        addresses = [routines.of_lapack(f"s{name}") for name in ("getrf", "getrs")]
        if not all(addresses):
            continue
        integer = ctypes.c_int64 if routines.integer_bits == 64 else ctypes.c_int32
        number, memory = ctypes.POINTER(integer), ctypes.c_size_t
        factor: list[Any] = [number, number, memory, number, memory, number]
        finish: list[Any] = [
            ctypes.c_char_p,
            number,
            number,
            memory,
            number,
            memory,
            memory,
            number,
            number,
        ]
        found = Factoriser(
            ctypes.CFUNCTYPE(None, *factor)(addresses[0]),
            ctypes.CFUNCTYPE(None, *finish, ctypes.c_size_t)(addresses[1]),
            integer,
        )
        if _is_right(found):
            return found
    return None


def _is_right(factoriser: Factoriser) -> bool:
    """Whether a system of small integers has the solution that it was made of."""
    n = 13
    a = np.array(np.eye(n)[::-1] * 4 + np.tri(n), _F32, order="F")
    expected = np.arange(2 * n, dtype=_F32).reshape(n, 2)
    found = factoriser.solve(a.copy("F"), np.array(a @ expected, order="F"))
    return bool(np.allclose(found, expected, rtol=1e-4, atol=1e-4))
