"""Systems of triangular matrices, by the routines of NumPy's library and by blocks."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from staticgraph.compiler.core.once import Once
from staticgraph.compiler.reference import triangular
from staticgraph.compiler.reference.triangular import FEWEST


def _triangles(n: int, upper: bool, dtype: str = "float64", lead: tuple[int, ...] = ()) -> Any:
    """Triangular matrices, with nan on the side that is not read."""
    a = np.random.default_rng(2).normal(size=(*lead, n, n)) / max(n, 1) + 2 * np.eye(n)
    read = np.tri(n, dtype=np.bool_)
    return np.where(read.T if upper else read, a, np.nan).astype(dtype)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, FEWEST - 1, FEWEST, 70])
def test_triangles_wherever_they_lie_in_memory(n: int, dtype: str, upper: bool) -> None:
    b = np.random.default_rng(3).normal(size=(2, n, 3)).astype(dtype)
    a = _triangles(n, upper, dtype, (2,))
    unaligned = np.frombuffer(b" " + a.tobytes(), dtype, offset=1).reshape(a.shape)
    forms = [
        a, a.swapaxes(1, 2).copy().swapaxes(1, 2), np.concatenate([a, a], -1)[..., :n],
        a.repeat(2, -1)[..., ::2], a[:, ::-1].copy()[:, ::-1], unaligned,
        np.broadcast_to(a[0], a.shape),
    ]  # fmt: skip
    for form, columns in itertools.product(forms, (0, 1, 3)):
        for sides in (b[..., :columns], b[0, :, ::-1][:, :columns]):
            found = triangular.solve_triangular(form, sides, upper)
            expected = triangular.solve_by_blocks(form, sides, upper)
            assert found.dtype == dtype
            assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("size", [1e-310, -1e-310, np.inf])
def test_numbers_on_the_diagonal_of_which_reciprocals_are_not_finite(size: float) -> None:
    a, b = np.eye(20), np.full((20, 2), 1e-310 if abs(size) < 1 else 1.0)
    a[7, 7] = size
    for sides in (b, b[:, :1]):
        found = triangular.solve_triangular(a, sides, False)
        assert_allclose(found, triangular.solve_by_blocks(a, sides, False), rtol=1e-13)


@pytest.mark.parametrize("columns", [1, 2])
def test_what_is_solved_before_a_nan_is_not_nan(columns: int) -> None:
    a = np.tril(np.ones((20, 20)))
    a[7, 7] = np.nan
    found = triangular.solve_triangular(a, np.ones((20, columns)), False)
    assert_array_equal(np.isnan(found), np.broadcast_to(np.arange(20)[:, None] >= 7, found.shape))


def test_triangles_where_the_library_has_no_routines(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _triangles(40, False), np.ones((40, 2))
    expected = triangular.solve_by_blocks(a, b, False)
    monkeypatch.setattr(triangular, "solver_of", Once(triangular.solver_of.make))
    monkeypatch.setattr(triangular, "numpy_routines", lambda: iter(()))
    assert_array_equal(triangular.solve_triangular(a, b, False), expected)


@pytest.mark.parametrize("wrong", ["trsm", "trsv"])
def test_routines_that_compute_wrongly_are_refused(wrong: str) -> None:
    solver = triangular.solver_of(np.dtype(np.float32))
    assert solver is not None
    assert triangular._is_right(solver, np.dtype(np.float32))
    idle = solver._replace(**{wrong: lambda *_arguments: None})
    assert not triangular._is_right(idle, np.dtype(np.float32))
