"""Arrays of shapes that do not fit are refused as symbolic operands are, not as LAPACK puts it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import LinAlgError, OutOfRangeError, ShapeError

ROW, WIDE, SQUARE = np.ones(3), np.ones((2, 3)), np.eye(3)


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        *[(name, (WIDE,)) for name in ("inv", "det", "cholesky", "eigh", "eigvalsh", "slogdet")],
        *[(name, (ROW,)) for name in ("inv", "det", "qr", "svd", "svdvals", "pinv")],
        *[(name, (SQUARE, ROW)) for name in ("solve_triangular",)],
        *[(name, (WIDE, np.ones((2, 2)))) for name in ("solve", "solve_triangular")],
        *[(name, (SQUARE, np.ones((2, 2)))) for name in ("solve", "solve_triangular", "matmul")],
    ],
)
def test_the_error_is_that_of_symbolic_operands(name: str, operands: tuple[Any, ...]) -> None:
    op = getattr(sg.linalg, name)
    symbols = [sg.placeholder(f"x{i}", one.shape, "float64") for i, one in enumerate(operands)]
    with pytest.raises(ShapeError) as expected:
        op(*symbols)
    with pytest.raises(ShapeError) as found:
        op(*operands)
    assert str(found.value) == str(expected.value)


def test_errors_of_values_stay_what_they_are() -> None:
    with pytest.raises(LinAlgError, match="singular"):
        sg.linalg.inv(np.zeros((2, 2)))
    with pytest.raises(OutOfRangeError):
        sg.take(ROW, np.array([7]))
