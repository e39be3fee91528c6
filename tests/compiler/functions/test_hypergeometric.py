"""Hypergeometric functions and Faddeeva's, against mpmath, at their edges and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph import dynamic
from staticgraph.compiler.core.errors import NoDerivativeError

S = sg.special
INF = math.inf
CONFLUENT = [  # of which the last cancel, or are far away
    (1.5, 2.5, 3.0), (0.5, 1.25, -8.0), (-4.0, 1.5, 7.0), (2.0, 3.0, 90.0), (1.25, 0.5, -300.0),
    (-60.5, 3.25, 40.0), (12.5, -7.5, -45.0), (-0.5, 2.0, 800.0), (30.0, 1e-5, 1e-5),
]  # fmt: skip
GAUSS = [  # of which the last cancel, are near 1, or grow as the other solution does
    (1.5, 0.5, 2.25, 0.3), (1.5, 0.5, 2.25, -5.0), (-3.0, 2.0, 1.5, 4.0), (2.0, 1.0, 3.0, 0.999),
    (0.5, 1.5, 2.0, 1 - 1e-9), (4.5, -12.25, 0.5, 0.45), (-4.25, -1.0625, -4.375, 0.9375),
    (-7.625, -2.125, -27.25, 0.8125), (3.0, 4.0, 3.25, -1e5),
]  # fmt: skip


def _exact(function: Callable[..., Any], rows: list[tuple[float, ...]]) -> Any:
    with mp.workdps(60):
        return np.array([complex(function(*map(mp.mpmathify, row))) for row in rows])


@pytest.mark.parametrize(
    ("ours", "exact", "rows"),
    [(S.hyp1f1, mp.hyp1f1, CONFLUENT), (S.hyp2f1, mp.hyp2f1, GAUSS)],
)
def test_hypergeometric_functions_are_mpmaths(ours: Any, exact: Any, rows: Any) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    assert_allclose(ours(*columns), _exact(exact, rows).real, rtol=3e-14)
    one = ours(*(column[:1].astype("float32") for column in columns))
    assert one.dtype == "float32"
    assert ours(*([1.0] * (len(columns) - 1)), np.array([])).shape == (0,)


def test_hypergeometric_functions_at_their_edges() -> None:
    a = np.array([-1, -2, -3, 1, 0, 1, 1, 1, 0.5])
    b = np.array([-2, -2, -2, -2, -2, 2, 2, math.nan, 2])
    x = np.array([0.5, 0.5, 0.5, 0.5, 0.5, INF, -INF, 1, 0])
    assert_array_equal(S.hyp1f1(a, b, x), [1.25, 1.625, INF, INF, 1, INF, 0, math.nan, 1])
    a = np.array([1, -1, 1, 1, 1, -2, 0.5, 3, 1, 1])
    b = np.array([2, 2, 2, 2, 1, 3, -2.5, 1, 2, 2])
    c = np.array([3, -3, -3, 3, 3, 2, 1, 2, 3, 3])
    x = np.array([1.5, 1.5, 0.5, 1, 1, 1, 1, 0, -INF, math.nan])
    whole = 0.33953054526271004
    expected = [math.nan, 2, INF, INF, 2, 0, whole, 1, math.nan, math.nan]
    assert_allclose(S.hyp2f1(a, b, c, x), expected, rtol=1e-14)
    assert_array_equal(S.hyp2f1(2.0, 1.0, 1.5, np.array([1.0])), [INF])
    assert_array_equal(S.hyp2f1(-1.5, -2.0, 1.5, 1.0), 3.2)
    assert_allclose(S.hyp2f1(150.0, 1.0, 400.0, 1.0), 399 / 249, rtol=1e-12)  # by logarithms
    assert math.isnan(S.hyp1f1(-100_000.0, 3.0, 2.0))  # has more terms than are tried


@pytest.mark.parametrize(
    ("ours", "slope"),
    [
        (lambda x: S.hyp1f1(1.5, 2.75, x), lambda x: mp.hyp1f1(2.5, 3.75, x) * 1.5 / 2.75),
        (
            lambda x: S.hyp2f1(1.5, -0.75, 2.25, x),
            lambda x: mp.hyp2f1(2.5, 0.25, 3.25, x) * 1.5 * -0.75 / 2.25,
        ),
    ],
)
def test_their_derivative_is_by_the_last_argument(ours: Any, slope: Any) -> None:
    x = np.array([-2.0, 0.25, 0.75])
    exact = _exact(slope, [(one,) for one in x]).real
    assert_allclose(sg.grad(lambda x: sg.sum(ours(x)))(x), exact, rtol=1e-14)
    tensor = dynamic.tensor(x, requires_grad=True)
    ours(tensor).sum().backward()
    assert_allclose(tensor.grad.numpy(), exact, rtol=1e-14)
    with pytest.raises(NoDerivativeError, match="hyp1f1: has a derivative by its last argument"):
        sg.grad(lambda a: sg.sum(S.hyp1f1(a, 2.0, x)))(x)


FADDEEVA = [
    0, 0.5, -3.25, 6.5, 0.125j, 4 + 0.001j, -2 + 3j, 5 + 9j, 1 - 1.5j, -2.75 - 0.5j, 30 + 1e-3j,
    1e-20j, 2e8 + 1j, 3e200 - 1e-3j,
]  # fmt: skip


def _faddeeva(z: Any) -> Any:
    if abs(z) > 1e6:
        return 1j / (mp.sqrt(mp.pi) * z)
    return mp.exp(-z * z) * mp.erfc(-1j * z)


@pytest.mark.slow
def test_faddeevas_function_is_mpmaths_in_both_paradigms() -> None:
    z = np.array(FADDEEVA, complex)
    exact = _exact(_faddeeva, [(complex(one),) for one in z])
    at = sg.placeholder("z", (None,), "complex128")
    for found in (S.wofz(z), sg.compile([at], S.wofz(at))(z), S.wofz(dynamic.tensor(z)).numpy()):
        assert (abs(found - exact) <= 3e-15 * abs(exact)).all()
    assert_allclose(S.wofz(np.array([0.5, -3.25])).real, np.exp([-0.25, -10.5625]), rtol=1e-14)
    for dtype, wanted in (("float32", "complex64"), ("complex64", "complex64"), ("int64", None)):
        found = S.wofz(np.array([2], dtype))
        assert found.dtype == (wanted or "complex128")
        assert_allclose(found, np.exp(-4.0) + 0.3400262170660662j, rtol=1e-6)
    assert_array_equal(S.wofz(np.array([INF, -INF])), [0, 0])
    assert np.isnan(S.wofz(np.array([math.nan]))).all()
    # the derivative is -2 z w + 2 i / sqrt(pi), and of a real loss its conjugate
    inside = z[:-2]
    slope = -2 * inside * exact[:-2] + 2j / math.sqrt(math.pi)
    found = sg.grad(lambda z: sg.sum(sg.real(S.wofz(z))))(inside)
    assert_allclose(found, np.conj(slope), rtol=1e-12, atol=1e-14)
