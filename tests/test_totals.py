"""Sums on arrays, whichever way NumPy computes them."""

import itertools
import math

import numpy as np
import pytest

from compiler.ops.totals import SMALL, total

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
