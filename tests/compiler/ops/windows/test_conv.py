"""Convolution and pooling: independent loops, unknown sizes, the compiled kernels, the errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.ops.windows import conv
from tests.combinations import some

RNG = np.random.default_rng(0)


def direct(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Cross-correlation by its definition, one multiplication at a time."""
    (n, c, h, w), (f, d, kh, kw) = x.shape, weight.shape
    ph, pw = padding
    padded = np.zeros((n, c, h + 2 * ph, w + 2 * pw), x.dtype)
    padded[:, :, ph : ph + h, pw : pw + w] = x
    oh = (h + 2 * ph - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (w + 2 * pw - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, f, oh, ow), x.dtype)
    for b, k, i, j in np.ndindex(out.shape):
        first = (k // (f // groups)) * d
        for m, p, q in product(range(d), range(kh), range(kw)):
            at = padded[
                b, first + m, i * stride[0] + p * dilation[0], j * stride[1] + q * dilation[1]
            ]
            out[b, k, i, j] += at * weight[k, m, p, q]
    return out


CASES = [
    ((2, 3, 7, 6), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 4, 8, 7), (6, 2, 3, 3), (2, 3), (1, 2), (2, 1), 2),
    ((1, 3, 5, 5), (3, 1, 2, 2), (1, 2), (1, 0), (1, 2), 3),
    ((2, 3, 5, 6), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    ((2, 3, 6, 5), (6, 1, 3, 2), (2, 1), (0, 1), (1, 1), 3),
    ((1, 6, 6, 7), (4, 3, 3, 3), (1, 1), (1, 2), (2, 1), 2),
    ((1, 18, 5, 4), (4, 9, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((2, 18, 6, 5), (6, 9, 3, 3), (2, 1), (0, 1), (1, 1), 2),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", some(["float64", "float32"], 1))
def test_conv2d_is_its_definition_at_any_size(case: Any, dtype: str) -> None:
    shape, filters, stride, padding, dilation, groups = case
    weight = RNG.normal(size=filters).astype(dtype)
    x = sg.placeholder("x", (None, shape[1], None, None), dtype)
    w = sg.placeholder("w", filters, dtype)
    run = sg.compile([x, w], sg.conv2d(x, w, None, stride, padding, dilation, groups))
    for height, width in (shape[2:], (9, 11)):
        for batch in (1, 3):
            array = RNG.normal(size=(batch, shape[1], height, width)).astype(dtype)
            expected = direct(array, weight, stride, padding, dilation, groups)
            assert_allclose(
                run(array, weight), expected, rtol=0, atol=2e-5 if dtype == "float32" else 1e-13
            )


@pytest.mark.slow
@pytest.mark.parametrize("case", some(CASES, 4))
def test_gradients_of_conv2d_are_the_same_eager_and_compiled(case: Any) -> None:
    shape, filters, stride, padding, dilation, groups = case
    arrays = [RNG.normal(size=s) for s in (shape, filters, filters[:1])]
    tensors = [dynamic.tensor(array, requires_grad=True) for array in arrays]
    options = (stride, padding, dilation, groups)
    dynamic.tanh(dynamic.conv2d(*tensors, *options)).sum().backward()
    symbols = [
        sg.placeholder("x", (None, shape[1], None, None), "float64"),
        sg.placeholder("w", filters, "float64"),
        sg.placeholder("b", filters[:1], "float64"),
    ]
    loss = sg.tanh(sg.conv2d(*symbols, *options)).sum()
    compiled = sg.compile(symbols, sg.grad(loss, symbols))
    for tensor, gradient in zip(tensors, compiled(*arrays), strict=True):
        assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("pool", [sg.max_pool2d, sg.avg_pool2d])
def test_pooling_and_its_gradient_compiled(pool: Any) -> None:
    array = RNG.normal(size=(2, 3, 7, 9))
    tensor = dynamic.tensor(array, requires_grad=True)
    (pool(tensor, 3, 2, 1) ** 2).sum().backward()
    x = sg.placeholder("x", (None, None, None, None), "float64")
    pooled = pool(x, 3, 2, 1)
    run = sg.compile([x], [pooled, sg.grad((pooled**2).sum(), x)])
    value, gradient = run(array)
    edge = -np.inf if pool is sg.max_pool2d else 0.0
    padded = np.pad(array, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=edge)
    reduce = np.max if pool is sg.max_pool2d else np.mean
    expected = np.empty(value.shape)
    for i, j in np.ndindex(value.shape[2:]):
        expected[:, :, i, j] = reduce(padded[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3], (2, 3))
    # nine summands up to 4, added in another order
    assert_allclose(value, expected, rtol=1e-14, atol=9 * 4 * 2**-53)
    assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-12)


def test_first_winner_of_a_window_takes_the_gradient() -> None:
    x = sg.placeholder("x", (1, 1, 2, 4))
    gradient = sg.compile([x], sg.grad(sg.max_pool2d(x, 2).sum(), x))
    array = np.array([[[[1, 1, 3, 5], [1, 1, 5, 5]]]], "float32")
    assert_array_equal(gradient(array)[0, 0], [[1, 0, 0, 1], [0, 0, 0, 0]])


def test_errors_name_the_op_and_both_values() -> None:
    x = sg.placeholder("x", (None, 3, 8, 8))
    with pytest.raises(sg.ShapeError, match=r"conv2d: .* has 3 channels, .* expects 2"):
        sg.conv2d(x, sg.zeros((4, 2, 3, 3)))
    with pytest.raises(sg.OptionError, match="conv2d: groups 2 does not divide the 3 filters"):
        sg.conv2d(x, sg.zeros((3, 2, 3, 3)), groups=2)
    with pytest.raises(sg.OptionError, match=r"conv2d: stride is an int from 1, or two, not 0"):
        sg.conv2d(x, sg.zeros((4, 3, 3, 3)), stride=0)
    with pytest.raises(sg.ShapeError, match="both must have four axes"):
        sg.conv2d(x, sg.zeros((4, 3)))
    with pytest.raises(
        sg.ShapeError, match=r"bias float32\[5\] does not have one value per filter: 4"
    ):
        sg.conv2d(x, sg.zeros((4, 3, 3, 3)), sg.zeros((5,)))
    with pytest.raises(sg.ShapeError, match=r"no window \(9, 9\)"):
        sg.conv2d(x, sg.zeros((4, 3, 9, 9)))
    with pytest.raises(
        sg.OptionError, match=r"padding \(2, 2\) is more than half the window \(2, 2\)"
    ):
        sg.max_pool2d(x, 2, padding=2)
    with pytest.raises(sg.ShapeError, match=r"max_pool2d: .* does not have four axes"):
        sg.max_pool2d(sg.zeros((3, 3)), 2)


def test_a_window_that_does_not_fit_at_run_time_is_an_error() -> None:
    x = sg.placeholder("x", (None, 1, None, None))
    run = sg.compile([x], sg.conv2d(x, sg.constant(np.ones((1, 1, 3, 3), "float32"))))
    with pytest.raises(sg.ShapeError, match=r"no window .* fits into .*test_conv.py"):
        run(np.ones((2, 1, 2, 5), "float32"))


# -- windows that are packed piece by piece -------------------------------------------------------


def convolution(
    sizes: Sequence[Any], weight: tuple[int, ...], dtype: str, **options: Any
) -> tuple[list[Any], list[Any]]:
    x, w = sg.placeholder("x", sizes, dtype), sg.placeholder("w", weight, dtype)
    y = sg.conv2d(x, w, **options)
    loss = (y * y).sum()
    return [x, w], [y, *sg.grad(loss, [x, w])]


PACKED = [
    ((None, 3, 9, 8), (4, 3, 3, 2), {}),
    ((None, 3, None, None), (4, 3, 3, 2), {"padding": 1}),
    ((None, 2, 90, 130), (3, 2, 3, 3), {"stride": 2}),
    ((None, 40, 40, 50), (24, 40, 3, 3), {"padding": (2, 1), "dilation": (1, 2)}),
    ((None, 130, 12, 12), (140, 130, 3, 3), {}),
    ((2, 5, 20, 3), (7, 5, 1, 1), {}),
    ((None, 4, 9, 9), (6, 2, 3, 3), {"groups": 2}),
    ((None, 18, 9, 9), (6, 9, 3, 3), {"groups": 2}),
    ((None, 1, 9, 9), (6, 1, 1, 1), {}),
    ((None, 1, 9, 9), (1, 1, 1, 1), {"stride": 3}),
    ((1, 1, 1, 9), (4, 1, 1, 9), {}),
    ((1, 3, 1, 1), (4, 3, 1, 1), {}),
    ((1, 1, 3, 3), (1, 1, 3, 3), {"padding": 1}),
]


@pytest.mark.slow
@pytest.mark.parametrize("batches", some([(0, 5), (1, 2)], 1), ids=str)
@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
@pytest.mark.parametrize("case", some(range(len(PACKED)), 7))
def test_packed_windows_are_numpy(case: int, dtype: str, batches: tuple[int, int]) -> None:
    sizes, weight, options = PACKED[case]
    inputs, outputs = convolution(sizes, weight, dtype, **options)
    run, numpys = sg.compile(inputs, outputs), sg.compile(inputs, outputs, debug=True)
    rng = np.random.default_rng(case)
    for batch in batches:
        known = (sizes[0] or batch, sizes[1], sizes[2] or 11, sizes[3] or 7)
        given = [rng.standard_normal(shape).astype(dtype) for shape in (known, weight)]
        if batch == 5 and known[0] == 5:
            taps = np.prod(weight[1:])
            is_direct = taps == 1 or ("groups" in options and taps <= 64)
            assert ("count = min(" in run.source) != is_direct
        for one, other in zip(run(*given), numpys(*given), strict=True):
            scale = 1 + np.abs(other).max(initial=0)
            atol = 2e-6 if dtype == "float32" else 1e-14
            np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=atol)


def test_windows_are_never_written_out_as_a_whole() -> None:
    inputs, outputs = convolution((None, 64, 56, 56), (64, 64, 3, 3), "float32", padding=1)
    plan = sg.compile(inputs, outputs[0]).plan
    one, more = (plan.peak_bytes({"x.0": n}) for n in (1, 33))
    image = 64 * 58 * 58 * 4 + 64 * 56 * 56 * 4  # padded; the result, image by image at once
    assert more - one < 32 * image + 2**23  # and what chunks pack


def test_a_cotangent_is_never_written_out_place_by_place() -> None:
    x, g = sg.placeholder("x", (None, 8, 18, 18)), sg.placeholder("g", (None, 64, 16, 16))
    w = sg.placeholder("w", (64, 8, 3, 3))
    plan = sg.compile([x, g], sg.grad((sg.conv2d(x, w) * g).sum(), w)).plan
    one, more = (plan.peak_bytes({"x.0": n}) for n in (64, 1024))
    assert more - one < 960 * 64 * 256 * 4 / 100


COTANGENTS: dict[str, tuple[Any, Any]] = {
    "whole": ((5, 12, 7, 9), lambda g: g),
    "of all images": ((12, 7, 9), lambda g: g),
    "of all places": ((5, 12, 1, 1), lambda g: g),
    "images in reverse": ((5, 12, 7, 9), lambda g: sg.flip(g, (0,))),
    "lines in reverse": ((5, 12, 7, 9), lambda g: sg.flip(g, (2,))),
    "turned": ((5, 12, 9, 7), lambda g: sg.transpose(g, (0, 1, 3, 2))),
    "by place": ((5, 7, 9, 12), lambda g: sg.transpose(g, (0, 3, 1, 2))),
    "with filters apart": ((12, 5, 7, 9), lambda g: sg.transpose(g, (1, 0, 2, 3))),
    "of no images": ((0, 12, 7, 9), lambda g: g),
}


@pytest.mark.parametrize("groups", some([1, 2], 1))
@pytest.mark.parametrize("name", some(sorted(COTANGENTS), 5))
def test_a_weight_s_gradient_for_any_layout_of_the_cotangent(name: str, groups: int) -> None:
    shape, arranged = COTANGENTS[name]
    rng = np.random.default_rng(0)
    images = 0 if 0 in shape else 5
    given = rng.standard_normal((images, 16, 9, 11)), rng.standard_normal(shape)
    x, g = (sg.placeholder(n, one.shape, "float64") for n, one in zip("xg", given, strict=True))
    w = sg.placeholder("w", (12, 16 // groups, 3, 3), "float64")
    loss = (sg.conv2d(x, w, groups=groups) * arranged(g)).sum()
    found = sg.compile([x, g], sg.grad(loss, w))(*given)
    windows = np.lib.stride_tricks.sliding_window_view(given[0], (3, 3), (2, 3))
    windows = windows.reshape(images, groups, 16 // groups, 7, 9, 3, 3)
    all_g = np.broadcast_to(np.asarray(arranged(given[1])), (images, 12, 7, 9))
    all_g = all_g.reshape(images, groups, 12 // groups, 7, 9)
    expected = np.einsum("ngchwkl,ngfhw->gfckl", windows, all_g).reshape(w.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_threads_share_packed_windows() -> None:
    inputs, outputs = convolution((None, 16, 20, 20), (8, 16, 3, 3), "float32")
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype("float32") for s in ((30, 16, 20, 20), (8, 16, 3, 3))]
    results = [sg.compile(inputs, outputs, threads=n)(*given) for n in (1, 2, 3)]
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 1, 1, 7), (2, 1, 1, 6), (1, 1, 5, 1)])
def test_windows_that_share_elements_are_no_matrix_of_the_blas(shape: tuple[int, ...]) -> None:
    """One row's windows by 1 lie 1 apart: rows of a matrix that would overlap."""
    rng = np.random.default_rng(0)
    image, filters = rng.normal(size=shape), rng.normal(size=(2, 1, 1, 2))
    if shape[3] == 1:
        filters = filters.transpose(0, 1, 3, 2).copy()
    x = sg.placeholder("x", shape, "float64")
    w = sg.placeholder("w", filters.shape, "float64")
    y = sg.conv2d(x * x, w)
    outputs = [y, *sg.grad((y * y).sum(), [x, w])]
    expected = sg.compile([x, w], outputs, debug=True)(image, filters)
    for options in ({}, {"fuse": False}):
        for value, right in zip(
            sg.compile([x, w], outputs, **options)(image, filters), expected, strict=True
        ):
            assert_allclose(value, right, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "weight", "stride", "padding", "dilation", "groups"),
    [
        ((2, 4, 9, 8), (6, 2, 4, 3), 1, 0, 2, 2),
        ((3, 2, 5, 5), (40, 2, 5, 5), 2, 0, 1, 1),
        ((2, 8, 6, 7), (70, 8, 3, 3), 2, 1, 1, 1),
        ((1, 9, 6, 6), (80, 9, 3, 2), 1, 1, 1, 1),
    ],
)
def test_cotangents_of_images_are_the_same_added_and_convolved(
    monkeypatch: pytest.MonkeyPatch,
    sizes: tuple[int, ...],
    weight: tuple[int, ...],
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(sizes), rng.standard_normal(weight)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    attrs = {name: (value, value) for name, value in options.items()} | {"groups": groups}
    value = conv.conv2d(x, w, None, stride, padding, dilation, groups)
    g = rng.standard_normal(value.shape)
    rule = conv.conv2d.rule(0)
    assert rule is not None
    found = []
    for is_added in (False, True):
        monkeypatch.setattr(conv, "is_added", lambda *_, chosen=is_added: chosen)
        found.append(rule(g, None, x, w, 0.0, **attrs))
    assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-12)
    # the adjoint of the convolution
    assert_allclose((found[0] * x).sum(), (g * value).sum(), rtol=1e-10)
