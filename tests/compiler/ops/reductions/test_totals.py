"""Sums and extremes of arrays, whichever way NumPy computes them."""

import itertools
import math

import numpy as np
import pytest

from staticgraph.compiler.reference.extremes import largest, smallest
from staticgraph.compiler.reference.totals import SMALL, total

SHAPES = ((), (1,), (8,), (0,), (3, 0), (0, 3, 2), (2, 4), (4, 1), (2, 3, 4), (2, 1, 3, 2))


def _exact(x, axes, keepdims):
    """The sums of the elements as Python numbers, rounded once."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    rows = np.transpose(x, (*kept, *axes)).reshape(math.prod(x.shape[i] for i in kept), -1)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
    sums = np.array([math.fsum(row.tolist()) for row in rows])
    return sums.reshape(shape if keepdims else [x.shape[i] for i in kept])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_along_all_choices_of_axes(shape, dtype):
    x = np.asarray(np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    kind = dtype if dtype.startswith("float") else "int64"
    for number in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), number):
            for keepdims in (False, True):
                found = np.asarray(total(x, axes, keepdims))
                expected = _exact(x, axes, keepdims) if x.size else x.sum(axes, keepdims=keepdims)
                assert found.dtype == kind and found.shape == expected.shape
                # at most 47 additions
                bound = 47 * np.finfo(kind).eps * np.abs(x).sum() if kind != "int64" else 0
                np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("size", [SMALL, SMALL + 1])
def test_sums_of_strided_and_special_values(size):
    x = np.linspace(-1, 1, 2 * size)[::2]
    assert total(x, (0,), False) == pytest.approx(math.fsum(x.tolist()), abs=1e-12)
    y = np.stack([x, x[::-1]]).T
    np.testing.assert_allclose(total(y, (0,), False), y.sum(0), rtol=0, atol=1e-12)
    x[3] = np.inf
    assert total(x, (0,), False) == np.inf
    x[5] = -np.inf
    with np.errstate(invalid="ignore"):
        assert np.isnan(total(x, (0,), False))


@pytest.mark.parametrize("shape", [(8,), (2, 4), (4, 1), (20, 3), (5, 4, 7), (16, 33)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_extremes_are_those_of_the_elements(shape, dtype):
    x = (np.random.default_rng(1).standard_normal(shape) * 50).astype(dtype)
    for y in (x, x.T):
        for number in range(1, y.ndim + 1):
            for axes in itertools.combinations(range(y.ndim), number):
                for keepdims in (False, True):
                    for found, ufunc in ((largest, np.maximum), (smallest, np.minimum)):
                        value = np.asarray(found(y, axes, keepdims))
                        expected = np.asarray(ufunc.reduce(y, axes, keepdims=keepdims))
                        assert value.dtype == expected.dtype
                        np.testing.assert_array_equal(value, expected)


def test_nan_is_an_extreme_of_its_row():
    x = np.random.default_rng(2).standard_normal((20, 3))
    x[4, 1] = np.nan
    for find in (largest, smallest):
        assert np.flatnonzero(np.isnan(find(x, (1,), False))).tolist() == [4]
        assert np.isnan(find(x, (0, 1), False))
