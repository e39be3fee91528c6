"""Cholesky factors by blocks: what they are of, what is read, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.reference import triangular
from staticgraph.compiler.reference.cholesky import FEWEST, ROWS, cholesky
from staticgraph.compiler.runtime.blas import limit_threads


def _definite(n: int, dtype: str, lead: tuple[int, ...] = ()) -> Any:
    a = np.random.default_rng(n).normal(size=(*lead, n, n))
    return (a @ a.swapaxes(-1, -2) / n + np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [FEWEST, FEWEST + 1, 2 * ROWS + 131])
def test_the_factor_times_its_transpose_is_the_matrix(n: int, dtype: str) -> None:
    a = _definite(n, dtype)
    read = np.where(np.tri(n, dtype=np.bool_), a, np.nan).astype(dtype)
    factor = cholesky(read)
    assert factor.dtype == dtype
    assert_array_equal(factor, np.tril(factor))
    # Higham, "Accuracy and stability of numerical algorithms", 2002, theorem 10.3; twice, since
    # the product is rounded too
    factor = factor.astype("float64")
    bound = 2 * (n + 1) * np.finfo(dtype).eps * (np.abs(factor) @ np.abs(factor.T))
    assert (np.abs(factor @ factor.T - a) <= bound).all()


def test_stacks_in_any_order_in_memory() -> None:
    a = _definite(FEWEST, "float64", (2, 1))
    whole = np.linalg.cholesky(a)
    for form in (a, a.swapaxes(-1, -2), np.asfortranarray(a), a.repeat(2, -1)[..., ::2]):
        form.flags.writeable = False
        np.testing.assert_allclose(cholesky(form), whole, rtol=0, atol=1e-14)
    assert cholesky(np.ones((0, FEWEST, FEWEST))).shape == (0, FEWEST, FEWEST)


@pytest.mark.parametrize("value", [-1e6, -np.inf])
@pytest.mark.parametrize("place", [0, FEWEST // 2, FEWEST + 9])
def test_what_is_not_definite_is_an_error(place: int, value: float) -> None:
    a = np.stack([_definite(FEWEST + 10, "float64")] * 2)
    a[1, place, place] = value
    with pytest.raises(sg.LinAlgError, match=r"cholesky: matrix \[1\].* is not positive definite"):
        sg.linalg.cholesky(a)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (FEWEST // 2, FEWEST // 2), (FEWEST + 9, 3)])
def test_what_is_not_finite_reaches_what_it_reaches_in_numpy(
    place: tuple[int, int], value: float
) -> None:
    a = _definite(FEWEST + 10, "float64")
    a[place] = value
    assert_array_equal(np.isfinite(cholesky(a)), np.isfinite(np.linalg.cholesky(a)))


def test_bits_are_the_same_for_any_number_of_threads() -> None:
    given = _definite(700, "float64")
    a = sg.placeholder("a", (None, None), "float64")
    factor = sg.linalg.cholesky(a)
    executable = sg.compile([a], [factor, sg.linalg.solve_triangular(factor, a)])
    before, found = sg.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            sg.set_num_threads(threads)
            found.append(executable(given))
    finally:
        sg.set_num_threads(before)
    for one in found[1:]:
        assert_array_equal(one[0], found[0][0])
        assert_array_equal(one[1], found[0][1])
    with limit_threads(1):
        assert_array_equal(cholesky(given), found[0][0])


def test_without_routines_it_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staticgraph.compiler.reference.cholesky.solver_of", lambda dtype: None)
    a = _definite(FEWEST, "float64")
    assert_array_equal(cholesky(a), np.linalg.cholesky(a))


@pytest.mark.parametrize("wrong", ["solve_on_the_right", "subtract_product"])
def test_routines_that_compute_wrongly_are_not_used(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    solver = triangular.solver_of(np.dtype("float64"))
    assert solver is not None
    assert triangular._is_right(solver, np.dtype("float64"))
    monkeypatch.setattr(triangular.Solver, wrong, lambda *arrays: None)
    assert not triangular._is_right(solver, np.dtype("float64"))
