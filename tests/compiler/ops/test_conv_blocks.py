"""Convolutions in blocks of windows: strides, groups, channels in slabs, for any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    # the cotangent of x by phases: sizes that strides divide, and that they do not; cut and padded
    ((3, 8, 9, 11), (12, 8, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 9, 8, 13), (4, 9, 3, 5), {"stride": (1, 2), "padding": (1, 2)}),
    ((2, 8, 10, 10), (4, 8, 3, 3), {"stride": 2}),
    ((3, 6, 9, 9), (12, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 6}),
    # a product for each group
    ((3, 32, 8, 8), (64, 16, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    # several slabs of channels, several blocks of an image, several parts of the filters
    ((2, 96, 20, 20), (96, 48, 3, 3), {"padding": 1, "groups": 2}),
    ((1, 130, 12, 12), (140, 130, 3, 3), {}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_blocks_are_numpy_for_any_threads(case: int) -> None:
    shape, filters, options = CASES[case]
    rng = np.random.default_rng(case)
    arrays = [rng.standard_normal(size).astype("float32") for size in (shape, filters)]
    x, w = sg.placeholder("x", (None, *shape[1:])), sg.placeholder("w", filters)
    y = sg.conv2d(x, w, **options)
    outputs = [y, *sg.grad((y * y).sum(), [x, w])]
    results = [sg.compile([x, w], outputs, threads=n)(*arrays) for n in (1, 3)]
    wide = [one.astype("float64") for one in arrays]
    x, w = sg.placeholder("x", shape, "float64"), sg.placeholder("w", filters, "float64")
    y = sg.conv2d(x, w, **options)
    exact = sg.compile([x, w], [y, *sg.grad((y * y).sum(), [x, w])], debug=True)(*wide)
    for one, other, right in zip(*results, exact, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, right, rtol=0, atol=3e-6 * np.abs(right).max())


def test_an_empty_batch_has_a_gradient_of_zeros() -> None:
    x, w = sg.placeholder("x", (None, 16, 9, 9)), sg.placeholder("w", (16, 8, 6, 6))
    y = sg.conv2d(x, w, groups=2)
    gradient = sg.compile([x, w], sg.grad((y * y).sum(), w))
    given = np.empty((0, 16, 9, 9), "float32"), np.ones((16, 8, 6, 6), "float32")
    np.testing.assert_array_equal(gradient(*given), np.zeros((16, 8, 6, 6)))
