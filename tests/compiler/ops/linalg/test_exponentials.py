"""Exponentials of matrices, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import staticgraph as sg

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 30.0])
def test_values_of_any_size_are_scipys(scale: float) -> None:
    a = scale * RNG.normal(size=(3, 4, 4))
    expected = scipy.linalg.expm(a)
    np.testing.assert_allclose(sg.linalg.expm(a), expected, atol=1e-11 * np.abs(expected).max())


def test_each_matrix_is_scaled_by_itself() -> None:
    a = RNG.normal(size=(2, 3, 3)) * np.array([1.0, 300.0])[:, None, None]
    np.testing.assert_array_equal(sg.linalg.expm(a)[0], sg.linalg.expm(a[0]))


def test_float32_is_computed_in_double_precision() -> None:
    a = RNG.normal(size=(5, 5)).astype(np.float32)
    found = sg.linalg.expm(a)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, scipy.linalg.expm(a.astype(float)).astype(np.float32))


def test_the_gradient_is_the_derivative_of_the_transposed_matrix() -> None:
    x = sg.placeholder("x", (None, None), "float64")
    (found,) = sg.compile([x], sg.grad(sg.sum(sg.linalg.expm(x) ** 2), [x]))(
        a := RNG.normal(size=(4, 4))
    )
    along = 2 * scipy.linalg.expm(a)
    expected = scipy.linalg.expm_frechet(a.T, along, compute_expm=False)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_what_has_no_exponential_is_not_finite() -> None:
    a = np.zeros((3, 2, 2))
    a[0, 0, 0], a[1, 0, 1] = np.nan, np.inf
    found = sg.linalg.expm(a)
    assert not np.isfinite(found[:2]).all(axis=(1, 2)).any()
    np.testing.assert_array_equal(found[2], np.eye(2))
    assert sg.linalg.expm(np.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert sg.linalg.expm(np.zeros((2, 0, 0))).shape == (2, 0, 0)
