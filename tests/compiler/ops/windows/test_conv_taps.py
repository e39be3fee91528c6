"""Convolutions of images side by side, tap by tap: against direct sums, in float64."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import staticgraph as sg
from tests.combinations import some
from tests.compiler.ops.windows.test_conv_lines import convolved

Array = npt.NDArray[Any]
Case = tuple[tuple[int, ...], tuple[int, ...], tuple[int, int], tuple[int, int], tuple[int, int]]

# channels, height and width; weight; stride, padding, dilation
CASES: list[Case] = [
    ((32, 5, 5), (40, 32, 7, 7), (1, 1), (3, 3), (1, 1)),
    ((48, 6, 5), (48, 48, 5, 5), (1, 1), (4, 4), (2, 2)),  # taps that meet a line or two
    ((64, 5, 4), (96, 64, 5, 5), (1, 1), (4, 2), (2, 1)),
    ((48, 3, 5), (64, 48, 7, 5), (1, 1), (6, 2), (1, 1)),  # taps that some lines do not meet
]
STRIDED: list[Case] = [
    ((32, 6, 5), (64, 32, 7, 5), (2, 1), (3, 2), (1, 1)),
    ((64, 4, 5), (64, 64, 5, 5), (2, 2), (3, 3), (1, 1)),
    ((32, 9, 5), (64, 32, 3, 5), (3, 1), (3, 4), (1, 2)),
]
BESIDE = "if n0 < "  # there are two ways, for few images and for many


def _graph(case: Case, dtype: str) -> tuple[Any, Any, Any]:
    shape, filters, *steps = case
    x, w = sg.placeholder("x", (None, *shape), dtype), sg.placeholder("w", filters, dtype)
    return x, w, sg.conv2d(x, w, None, *steps)


def _drawn(case: Case, images: int, dtype: str = "float32") -> list[Array]:
    rng = np.random.default_rng(images)
    return [rng.standard_normal(size).astype(dtype) for size in ((images, *case[0]), case[1])]


def _close(found: Array, expected: Array) -> None:
    size = np.abs(expected).max(initial=1.0)
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-13
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=size * tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("case", some(range(len(CASES)), 1))
@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
def test_any_number_of_images_is_a_direct_sum_with_the_same_bits(case: int, dtype: str) -> None:
    x, w, y = _graph(CASES[case], dtype)
    one, several = (sg.compile([x, w], y, threads=n) for n in (1, 3))
    assert BESIDE in one.source
    every, weight = _drawn(CASES[case], 19, dtype)
    result = one(every, weight)
    _close(result, convolved(every.astype("float64"), weight.astype("float64"), *CASES[case][2:]))
    for images in (slice(0, 0), slice(4, 5), slice(7, 10), slice(1, 18)):
        for found in (one(every[images], weight), several(every[images], weight)):
            np.testing.assert_array_equal(found, result[images])
    for place in ((2, 3, 0, 0), (5, 1, 2, 2)):  # zeros around an image are nan by inf
        weight[place] = np.inf
        with np.errstate(invalid="ignore"):
            expected = convolved(every, weight, *CASES[case][2:])
        for images in (slice(0, 2), slice(0, 19)):
            found = one(every[images], weight)
            np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected[images]))
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected[images]))


@pytest.mark.slow
@pytest.mark.parametrize("case", some(range(len(CASES) + len(STRIDED)), 1))
def test_cotangents_are_those_of_a_linear_map(case: int) -> None:
    given = [*CASES, *STRIDED][case]
    x, w, y = _graph(given, "float64")
    g = sg.placeholder("g", (x.shape[0], *y.shape[1:]), "float64")
    grads = sg.grad((y * g).sum(), [x, w])
    one, several = (sg.compile([x, w, g], grads, threads=n) for n in (1, 3))
    assert BESIDE in one.source
    rng = np.random.default_rng(case)
    for images in (0, 2, 18):
        x0, w0 = _drawn(given, images, "float64")
        dx, dw = rng.standard_normal(x0.shape), rng.standard_normal(w0.shape)
        g0 = rng.standard_normal((images, *y.shape[1:]))
        found = one(x0, w0, g0)
        for mine, other in zip(found, several(x0, w0, g0), strict=True):
            np.testing.assert_array_equal(mine, other)
        for mine, step, moved in zip(found, (dx, dw), ((dx, w0), (x0, dw)), strict=True):
            expected = float((g0 * convolved(*moved, *given[2:])).sum()) if images else 0.0
            assert float((mine * step).sum()) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if case == 0:
        g0[1, 3, 0, 2] = np.inf  # zeros around an image are nan by it, and nothing else
        _, by_w = one(x0, w0, g0)
        taps = np.pad(x0[1], ((0, 0), (3, 3), (3, 3)))[:, 0:7, 2:9]
        np.testing.assert_array_equal(np.isnan(by_w[3]), taps == 0)
        assert np.isfinite(np.delete(by_w, 3, 0)).all()


def test_kernels_are_python_as_export_and_numba_need_it() -> None:
    x, w, y = _graph(CASES[0], "float32")
    seed = sg.placeholder("seed", y.shape)
    source = sg.compile([x, w, seed], [y, *sg.grad((y * seed).sum(), [x, w])]).source
    assert BESIDE in source
    ast.parse(source)


def test_a_short_axis_that_is_the_end_of_a_long_loop_is_no_short_loop() -> None:
    """Of images side by side into each for itself: columns are four, but lie behind lines."""
    x = sg.placeholder("x", (32, 4, 4, None))
    source = sg.compile([x], sg.transpose(x, (3, 0, 1, 2))).source
    assert "for strip in range(0, 512, 16)" in source
    array = np.arange(32 * 16 * 5, dtype="float32").reshape(32, 4, 4, 5)
    np.testing.assert_array_equal(
        sg.compile([x], sg.transpose(x, (3, 0, 1, 2)))(array), array.transpose(3, 0, 1, 2)
    )
