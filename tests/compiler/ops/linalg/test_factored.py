"""Systems of float32 by LAPACK: what is solved, what is refused, and without routines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.reference import factored
from staticgraph.compiler.reference.factored import FEWEST, solve


def _system(n: int, k: int, lead: tuple[int, ...] = (), sides: tuple[int, ...] = ()) -> Any:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(*lead, n, n)).astype("float32")
    return a, rng.normal(size=(*sides, n, k)).astype("float32")


@pytest.mark.parametrize(
    ("n", "k", "lead", "sides"),
    [(FEWEST, 1, (), ()), (FEWEST + 1, 3, (2, 1), (3,)), (150, 2, (), (2,)), (FEWEST, 2, (0,), ())],
)
def test_the_residuals_are_of_rounding(n: int, k: int, lead: Any, sides: Any) -> None:
    a, b = _system(n, k, lead, sides)
    for form in (a, a.swapaxes(-1, -2).copy().swapaxes(-1, -2)):
        x = solve(form, b)
        assert x.dtype == np.float32
        assert x.shape == np.linalg.solve(a, b).shape
        wide = a.astype("float64"), x.astype("float64")
        # Higham, "Accuracy and stability of numerical algorithms", 2002, theorem 9.4, with growth
        bound = 30 * n * np.finfo("float32").eps * (np.abs(wide[0]) @ np.abs(wide[1]))
        assert (np.abs(wide[0] @ wide[1] - b) <= bound).all()


def test_a_compiled_step_and_threads_have_the_same_bits() -> None:
    a, b = _system(FEWEST, 2, (3,))
    x, y = sg.placeholder("a", (None, FEWEST, FEWEST)), sg.placeholder("b", b.shape)
    for threads in (1, 2):
        found = sg.compile([x, y], sg.linalg.solve(x, y), threads=threads)(a, b)
        assert_array_equal(found, solve(a, b))


def test_a_singular_matrix_is_refused_and_nan_is_not() -> None:
    a, b = _system(FEWEST, 1, (2,))
    a[1, :, 5] = 0
    with pytest.raises(LinAlgError, match=r"solve: matrix \[1\] of float32\[2, 64, 64\] is singul"):
        sg.linalg.solve(a, b)
    assert np.isnan(solve(np.full((FEWEST, FEWEST), np.nan, "float32"), b)).all()


def test_without_routines_it_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factored, "numpy_routines", lambda: iter(()))
    make = factored.factoriser_of_float32.make
    assert make() is None
    monkeypatch.setattr(factored, "factoriser_of_float32", make)
    a, b = _system(FEWEST, 1)
    assert_array_equal(solve(a, b), np.linalg.solve(a, b))


def test_routines_that_compute_wrongly_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert factored.factoriser_of_float32.make() is not None
    monkeypatch.setattr(factored.Factoriser, "solve", lambda self, a, b: b)
    assert factored.factoriser_of_float32.make() is None
