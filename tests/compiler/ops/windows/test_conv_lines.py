"""Convolutions whose lines are packed once: against direct sums, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import staticgraph as sg
from tests.combinations import some

Array = npt.NDArray[Any]
Case = tuple[tuple[int, ...], tuple[int, ...], tuple[int, int], tuple[int, int], tuple[int, int]]

# image, weight, stride, padding, dilation; the groups are those that the channels give
CASES: list[Case] = [
    ((5, 16, 28, 28), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1)),  # lines of one image
    ((9, 24, 9, 11), (8, 24, 5, 3), (1, 1), (2, 1), (1, 1)),  # several images, the last ones fewer
    ((3, 32, 15, 14), (20, 16, 5, 5), (1, 1), (4, 2), (2, 1)),  # in groups, dilated, far padded
    ((4, 32, 17, 15), (12, 32, 5, 3), (2, 2), (3, 0), (1, 2)),  # even lines, and then odd ones
    ((4, 32, 23, 13), (8, 32, 5, 3), (3, 1), (1, 1), (2, 1)),  # lines by the rest of three
    ((3, 40, 60, 1), (6, 40, 7, 1), (1, 1), (0, 0), (1, 1)),  # a column, without padding
    ((2, 32, 3, 9), (9, 32, 5, 3), (1, 1), (7, 1), (1, 1)),  # results of padding alone
    ((0, 16, 28, 28), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1)),  # no image
]


def convolved(
    x: Array, w: Array, stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int]
) -> Array:
    """The sum over the places of a window."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    filters, channels, *window = w.shape
    groups = x.shape[1] // channels
    steps = list(zip(window, stride, dilation, strict=True))
    reach = [
        (size - d * (k - 1) - 1) // s * s + 1
        for size, (k, s, d) in zip(x.shape[2:], steps, strict=True)
    ]
    total = 0.0
    for place in np.ndindex(*window):
        start = [at * d for at, d in zip(place, dilation, strict=True)]
        rows, columns = (
            slice(first, first + size, s)
            for first, size, s in zip(start, reach, stride, strict=True)
        )
        part = x[:, :, rows, columns]
        part = part.reshape(len(x), groups, channels, *part.shape[2:])
        each = w[:, :, place[0], place[1]].reshape(groups, filters // groups, channels)
        total = total + np.einsum("ngchw,gfc->ngfhw", part, each)
    assert isinstance(total, np.ndarray)
    return total.reshape(len(x), filters, *total.shape[3:])


@pytest.mark.parametrize("case", some(range(len(CASES)), 4))
@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
def test_lines_are_direct_sums_for_any_threads(case: int, dtype: str) -> None:
    shape, filters, *steps = CASES[case]
    rng = np.random.default_rng(case)
    image, weight = (rng.standard_normal(size) for size in (shape, filters))
    x, w = sg.placeholder("x", (None, *shape[1:]), dtype), sg.placeholder("w", filters, dtype)
    y = sg.conv2d(x, w, None, *steps, shape[1] // filters[1])
    given = image.astype(dtype), weight.astype(dtype)
    one, several = (sg.compile([x, w], y, threads=n) for n in (1, 3))
    assert "for place in" in one.source  # lines are packed once
    result = one(*given)
    np.testing.assert_array_equal(result, several(*given))
    expected = convolved(*(array.astype("float64") for array in given), *steps)
    assert result.shape == expected.shape
    size = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(
        result, expected, rtol=0, atol=size * {"float32": 2e-6, "float64": 1e-14}[dtype]
    )


def test_an_image_has_the_same_bits_among_others() -> None:
    shape, filters, *steps = CASES[1]
    rng = np.random.default_rng(0)
    x, w = sg.placeholder("x", (None, *shape[1:])), sg.placeholder("w", filters)
    convolve = sg.compile([x, w], sg.conv2d(x, w, None, *steps))
    images, weight = (rng.standard_normal(size).astype("float32") for size in (shape, filters))
    every = convolve(images, weight)
    for i in (0, 4, 8):
        np.testing.assert_array_equal(convolve(images[i : i + 1], weight)[0], every[i])


@pytest.mark.parametrize("where", ["images", "weight"])
def test_what_is_not_finite_stays_where_windows_meet_it(where: str) -> None:
    """Zeros around an image are multiplied, too: by an infinite weight they are nan."""
    shape, filters, *steps = CASES[0]
    rng = np.random.default_rng(0)
    images, weight = (rng.standard_normal(size).astype("float32") for size in (shape, filters))
    if where == "images":
        images[1, 3, 5, 7], images[2, 0, 0, 0], images[4, 15, 27, 27] = np.nan, np.inf, -np.inf
    else:
        weight[2, 3, 0, 1] = np.inf
    x, w = sg.placeholder("x", (None, *shape[1:])), sg.placeholder("w", filters)
    found = sg.compile([x, w], sg.conv2d(x, w, None, *steps))(images, weight)
    with np.errstate(invalid="ignore"):
        expected = convolved(*(one.astype("float64") for one in (images, weight)), *steps)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.parametrize("read", ["itself", "its sum", "windows without a product"])
def test_a_padded_image_that_is_read_elsewhere_is_what_windows_are_packed_from(read: str) -> None:
    rng = np.random.default_rng(0)
    image, weight = rng.standard_normal((2, 8, 9, 9)), rng.standard_normal((4, 8, 3, 3))
    x = sg.placeholder("x", (None, 8, 9, 9), "float64")
    w = sg.placeholder("w", (4, 8, 3, 3), "float64")
    around = sg.pad(x * x + 1, [(0, 0), (0, 0), (1, 1), (1, 1)])
    padded = np.pad(image * image + 1, ((0, 0), (0, 0), (1, 1), (1, 1)))
    other, expected = {
        "itself": (around, padded),
        "its sum": (sg.sum(around), padded.sum()),
        "windows without a product": (
            sg.sliding_windows(around, (3, 3), (1, 1), (1, 1)),
            np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)),
        ),
    }[read]
    y, found = sg.compile([x, w], [sg.conv2d(around, w), other])(image, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    by_sums = convolved(padded, weight, (1, 1), (0, 0), (1, 1))
    np.testing.assert_allclose(y, by_sums, rtol=0, atol=1e-12 * np.abs(by_sums).max())


def test_second_order_through_a_transposed_convolution_of_single_places() -> None:
    """The cotangent between zeros is packed for one product, and written for another."""
    rng = np.random.default_rng(0)
    shapes = {"x": (None, 1, 1, 1), "w": (1, 2, 3, 5), "g": (None, 2, 3, 1)}
    x, w, g = (sg.placeholder(name, shape, "float64") for name, shape in shapes.items())
    y = sg.nn.conv_transpose2d(x, w, padding=(0, 2))
    by_x, by_w = sg.grad((y * y * g).sum(), [x, w])
    outputs = [by_x, sg.grad((by_w**2).sum(), x)]
    given = [rng.standard_normal(shape) for shape in ((3, 1, 1, 1), (1, 2, 3, 5), (3, 2, 3, 1))]
    image, weight, factor = given
    # the middle column of the weight alone: y = x w, by_x = 2 x sum(g w**2), by_w = 2 w sum(g x**2)
    middle = weight[0, :, :, 2]
    over_w = (factor[..., 0] * middle**2).sum((1, 2))
    over_x = (factor[..., 0] * image[:, 0] ** 2).sum(0)
    # of the sum of (2 w sum(g x**2))**2 by x
    second = 16 * image[:, 0, 0, 0] * (middle**2 * over_x * factor[..., 0]).sum((1, 2))
    first = 2 * image[:, 0, 0, 0] * over_w
    found = sg.compile([x, w, g], outputs)(*given)
    np.testing.assert_allclose(found[0].ravel(), first, rtol=1e-12)
    np.testing.assert_allclose(found[1].ravel(), second, rtol=1e-12)
