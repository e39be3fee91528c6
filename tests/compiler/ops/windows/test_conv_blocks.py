"""Convolutions in blocks of windows: strides, groups, channels in slabs, for any threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from tests.combinations import some
from tests.fences import fenced, placed

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    # the cotangent of x by phases: sizes that strides divide, and that they do not; cut and padded
    ((3, 8, 9, 11), (12, 8, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 9, 8, 13), (4, 9, 3, 5), {"stride": (1, 2), "padding": (1, 2)}),
    ((2, 8, 10, 10), (4, 8, 3, 3), {"stride": 2}),
    ((3, 6, 9, 9), (12, 1, 3, 3), {"stride": 2, "padding": 1, "groups": 6}),
    # sums over windows: rows of less than a vector, several filters for a channel
    ((3, 16, 7, 7), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
    ((2, 6, 9, 14), (12, 2, 3, 2), {"stride": (1, 2), "dilation": (2, 1), "groups": 3}),
    ((2, 6, 9, 14), (12, 2, 3, 2), {"padding": (1, 2), "dilation": (2, 3), "groups": 3}),
    # a product for each group
    ((3, 32, 8, 8), (64, 16, 3, 3), {"stride": 2, "padding": 1, "groups": 2}),
    # several slabs of channels, several blocks of an image, several parts of the filters
    ((2, 96, 20, 20), (96, 48, 3, 3), {"padding": 1, "groups": 2}),
    ((1, 130, 12, 12), (140, 130, 3, 3), {}),
    # more blocks than processors, the last part of the filters of other rows
    ((23, 64, 12, 9), (150, 64, 3, 3), {"padding": 1}),
    # as many places as columns, of which every other one meets padding
    ((2, 36, 18, 3), (63, 12, 4, 3), {"stride": (1, 2), "padding": (3, 2), "groups": 3}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", some(range(len(CASES)), 4))
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


@pytest.mark.parametrize("case", range(len(CASES)))
def test_cotangents_are_those_of_a_linear_map(case: int) -> None:
    """<conv(x, w), g> is <x, its cotangent> and <w, its cotangent>, however they are taken."""
    shape, filters, options = CASES[case]
    rng = np.random.default_rng(case)
    x, w = sg.placeholder("x", shape, "float64"), sg.placeholder("w", filters, "float64")
    y = sg.conv2d(x, w, **options)
    g = sg.placeholder("g", y.shape, "float64")
    inner = (y * g).sum()
    given = [rng.standard_normal(one.shape) for one in (x, w, g)]
    found = sg.compile([x, w, g], [inner, *sg.grad(inner, [x, w])], debug=True)(*given)
    for array, cotangent in zip(given, found[1:], strict=False):
        np.testing.assert_allclose((array * cotangent).sum(), found[0], rtol=1e-10)


LINES: list[tuple[tuple[int, ...], tuple[int, int], dict[str, Any], int]] = [
    ((2, 3, 12, 9), (5, 4), {"padding": 1}, 2),
    ((2, 2, 9, 9), (7, 7), {"padding": 6, "dilation": 2}, 3),
    ((2, 2, 13, 6), (7, 7), {"padding": 3}, 4),  # three lines below the image
    ((1, 2, 20, 23), (7, 7), {"stride": (1, 2)}, 2),
]


@pytest.mark.parametrize(("shape", "window", "options", "filters"), LINES)
def test_lines_that_are_computed_at_once_are_direct_sums(
    shape: tuple[int, ...], window: tuple[int, int], options: dict[str, Any], filters: int
) -> None:
    rng = np.random.default_rng(0)
    image = rng.standard_normal(shape).astype("float32")
    weight = rng.standard_normal((filters * shape[1], 1, *window)).astype("float32")
    x, w = sg.placeholder("x", (None, *shape[1:])), sg.placeholder("w", weight.shape)
    y = sg.conv2d(x, w, groups=shape[1], **options)
    found, other = (sg.compile([x, w], y, threads=n)(image, weight) for n in (1, 3))
    np.testing.assert_array_equal(found, other)
    p, d, s = options.get("padding", 0), options.get("dilation", 1), options.get("stride", (1, 1))
    whole = np.pad(image.astype("float64"), ((0, 0), (0, 0), (p, p), (p, p)))
    reach = [d * (size - 1) + 1 for size in window]
    seen = np.lib.stride_tricks.sliding_window_view(whole, reach, (2, 3))
    seen = seen[:, :, :: s[0], :: s[1], ::d, ::d]
    each = weight.astype("float64").reshape(shape[1], filters, *window)
    right = np.einsum("ncijhw,cfhw->ncfij", seen, each).reshape(found.shape)
    np.testing.assert_allclose(found, right, rtol=0, atol=3e-6 * np.abs(right).max())


def test_a_weight_s_gradient_by_strides_reads_columns_side_by_side() -> None:
    x, w = sg.placeholder("x", (None, 4, 9, 12)), sg.placeholder("w", (4, 1, 3, 3))
    y = sg.conv2d(x, w, stride=2, groups=4)
    g = sg.placeholder("g", y.shape)
    run = sg.compile([g, x], sg.grad((y * g).sum(), [w])[0])
    (summing,) = (unit for unit in run.source.split("def ") if " = g[" in unit)
    assert not re.search(r"\* 2\b", summing)


@pytest.mark.parametrize("batch", [None, 0])
def test_an_empty_batch_has_a_gradient_of_zeros(batch: int | None) -> None:
    x, w = sg.placeholder("x", (batch, 16, 9, 9)), sg.placeholder("w", (16, 8, 6, 6))
    y = sg.conv2d(x, w, groups=2)
    seed = sg.placeholder("seed", (batch, 16, 4, 4))
    gradient = sg.compile([x, w, seed], sg.grad((y * seed).sum(), w), on_unused_input="ignore")
    given = np.empty((0, 16, 9, 9), "float32"), np.ones((16, 8, 6, 6), "float32")
    found = np.ones((16, 8, 6, 6), "float32")
    gradient(*given, np.empty((0, 16, 4, 4), "float32"), out=found)
    np.testing.assert_array_equal(found, np.zeros((16, 8, 6, 6)))


@pytest.mark.parametrize("batch", [None, 0])
def test_an_empty_batch_of_images_side_by_side_has_a_gradient_of_zeros(batch: int | None) -> None:
    x, w = sg.placeholder("x", (batch, 6, 3, 1)), sg.placeholder("w", (6, 6, 1, 5))
    y = sg.conv2d(x, w, stride=(3, 1), padding=(0, 5))
    seed = sg.placeholder("seed", y.shape)
    gradient = sg.compile([x, w, seed], sg.grad((y * seed).sum(), w), on_unused_input="ignore")
    given = np.empty((0, 6, 3, 1), "float32"), np.ones((6, 6, 1, 5), "float32")
    found = np.ones((6, 6, 1, 5), "float32")
    gradient(*given, np.empty((0, 6, 1, 7), "float32"), out=found)
    np.testing.assert_array_equal(found, np.zeros((6, 6, 1, 5)))


@pytest.mark.parametrize("at_end", [False, True])
def test_places_of_a_window_that_meet_no_column_read_nothing(at_end: bool) -> None:
    x, w = sg.placeholder("x", (None, 14, 5, 1)), sg.placeholder("w", (16, 7, 5, 5))
    seed, y = sg.placeholder("seed", (None, 16, 5, 1)), sg.conv2d(x, w, None, 1, 6, 3, groups=2)
    gradient = sg.compile([x, w, seed], sg.grad((y * seed).sum(), w), on_unused_input="ignore")
    rng = np.random.default_rng(0)
    image, cotangent = (rng.integers(-9, 9, (8, c, 5, 1)).astype("float32") for c in (14, 16))
    expected = np.zeros((16, 7, 5, 5))
    halves = image.reshape(8, 2, 7, 5), cotangent.reshape(8, 2, 8, 5)
    for tap, moved in ((1, -3), (2, 0), (3, 3)):  # line i of the result meets line i + moved
        lines, places = (slice(max(0, one), 5 + min(0, one)) for one in (moved, -moved))
        products = np.einsum("ngci,ngfi->gfc", halves[0][..., lines], halves[1][..., places])
        expected[:, :, tap, 2] = products.reshape(16, 7)
    with fenced(image.nbytes) as memory:
        given = placed(memory, image, at_end), np.zeros((16, 7, 5, 5), "float32"), cotangent
        found = gradient(*given)
        del given
    np.testing.assert_array_equal(found, expected)


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "several": lambda y, w: [y, sg.relu(y), y.sum((0, 2, 3)), sg.transpose(y, (2, 3, 1, 0))],
    "pooled, flattened and multiplied": lambda y, w: (
        sg.reshape(sg.max_pool2d(y, 2), (y.shape[0], -1)) @ sg.ones((8 * 4 * 5, 3))
    ),
    "convolved again": lambda y, w: sg.conv2d(sg.relu(y), w, padding=1),
    "put side by side": lambda y, w: sg.concatenate([y, -y], axis=1),
    "as a matrix for each place": lambda y, w: sg.transpose(y, (0, 2, 3, 1)) @ sg.ones((8, 2)),
    "with the filters first": lambda y, w: sg.transpose(y, (1, 0, 2, 3)),
    "in a loop": lambda y, w: sg.scan(
        lambda carry, _: (sg.tanh(sg.conv2d(carry, w, padding=1)), None), y, length=3
    )[0],
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("batch", some([None, 3], 1))
def test_whatever_reads_the_result(reader: str, batch: int | None) -> None:
    """The product puts its columns image by image: each reader finds them there."""
    rng = np.random.default_rng(0)
    x = sg.placeholder("x", (batch, 8, 9, 11))
    w = sg.placeholder("w", (8, 8, 3, 3))
    outputs = READERS[reader](sg.conv2d(x, w, padding=1), w)
    given = [rng.standard_normal(s).astype("float32") / 4 for s in ((3, 8, 9, 11), (8, 8, 3, 3))]
    found = sg.compile([x, w], outputs)(*given)
    expected = sg.compile([x, w], outputs, debug=True)(*given)
    pairs = zip(found, expected, strict=True) if reader == "several" else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-6 * np.abs(other).max())


def test_an_image_that_is_updated_by_its_convolution() -> None:
    rng = np.random.default_rng(0)
    start, filters = (
        rng.standard_normal(s).astype("float32") for s in ((2, 8, 9, 9), (8, 8, 3, 3))
    )
    image, w = sg.variable(start.copy()), sg.placeholder("w", filters.shape)
    new = sg.conv2d(image, w, padding=1)
    expected = sg.compile([w], new, debug=True)(filters)
    sg.compile([w], [], updates={image: new})(filters)
    np.testing.assert_allclose(image.value, expected, rtol=0, atol=1e-5)


def test_what_is_not_finite_only_meets_its_places_of_the_window() -> None:
    x, w = sg.placeholder("x", (1, 2, 3, 4)), sg.placeholder("w", (2, 1, 1, 2))
    image = np.ones((1, 2, 3, 4), "float32")
    image[0, 0, 1, 0] = np.inf
    by_weight = sg.grad(sg.conv2d(x, w, groups=2).sum(), w)
    (found,) = sg.compile([x], [by_weight])(image)
    np.testing.assert_array_equal(found.reshape(2, 2), [[np.inf, 9], [9, 9]])


@pytest.mark.parametrize("read", [False, True])
def test_padding_is_written_out_only_where_it_is_read(read: bool) -> None:
    x, w = sg.placeholder("x", (3, 16, 12, 12)), sg.placeholder("w", (16, 16, 3, 3))
    wide = sg.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    outputs = [sg.conv2d(wide, w), *([wide] if read else [])]
    compiled = sg.compile([x, w], outputs)
    assert ("[3, 16, 14, 14]" in compiled.source) == read
    rng = np.random.default_rng(0)
    image, weight = rng.standard_normal(x.shape), rng.standard_normal(w.shape)
    expected = sg.conv2d(np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)]), weight)
    found = compiled(image.astype("float32"), weight.astype("float32"))[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_columns_of_large_images_are_not_written_out() -> None:
    x, g = sg.placeholder("x", (None, 64, 64, 64)), sg.placeholder("g", (None, 64, 62, 62))
    w = sg.placeholder("w", (64, 1, 3, 3))
    by_weight = sg.grad((sg.conv2d(x, w, groups=64) * g).sum(), w)
    assert sg.compile([x, g], by_weight).plan.peak_bytes({"x.0": 16}) < 16 * 64 * 64 * 64 * 4
