"""Python numbers that begin loops inside loops and branches, and where they meet nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

X = np.array([[1.0, -2.0], [0.5, 3.0]])


def _nested(inner: Any) -> Any:
    return sg.function(lambda x: sg.scan(lambda c, row: (inner(c, row), c), 0.3, x)[0])


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (lambda c, row: sg.fori_loop(0, 2, lambda i, a: a * 0.5 + row[0], c), 1.14375),
        (lambda c, row: sg.scan(lambda a, v: (a + v, v), c, row)[0], 2.8),
        (
            lambda c, row: sg.while_loop(
                lambda s: s[1] < 2, lambda s: (s[0] + row[0], s[1] + 1), (c, 0)
            )[0],
            3.3,
        ),
        (lambda c, row: sg.cond(row[1] > 0, lambda a: a + row[0], lambda a: a * 0.5, c), 0.65),
    ],
)  # fmt: skip
def test_loops_inside_a_loop_take_the_dtype_of_what_the_number_meets(
    inner: Any, expected: float
) -> None:
    found = _nested(inner)(X)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    mapped = sg.function(lambda x: sg.vmap(lambda rows: _nested(inner)(rows))(x))
    np.testing.assert_allclose(mapped(X[None]), [expected], rtol=1e-12)


def test_numbers_that_meet_nothing_have_the_default_dtype() -> None:
    choose = lambda x: sg.cond(x > 0, lambda c: c * x, lambda c: c, 0.1)  # noqa: E731
    with sg.default_dtype("float64"):
        assert sg.function(choose)(np.float64(-1)) == 0.1
    turned = sg.function(lambda x: sg.cond(x > 0, lambda c: c * 2, lambda c: c, 1j))
    assert turned(np.float32(1)) == 2j


def test_errors_name_the_users_function() -> None:
    def widen(i: Any, a: Any) -> Any:
        return a.astype("float64")

    narrow = np.float32(1)
    with pytest.raises(sg.DTypeError, match=r"float32\[\] becomes float64\[\] .*numbers_carried"):
        sg.function(lambda x: sg.fori_loop(0, 2, widen, x))(narrow)
    with pytest.raises(sg.DTypeError, match=r"float32\[\] becomes float64\[\] .*numbers_carried"):
        sg.function(sg.vmap(lambda x: sg.fori_loop(0, 2, widen, x)))(np.ones(2, "float32"))
