"""Pooling of plain tensors in a short way says what the shared composition says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.core.bounds import sliding
from staticgraph.compiler.reference import pooling_arrays
from staticgraph.dynamic.core import eager_pooling
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

GENERATOR = np.random.default_rng(0)
SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 8), 3: (2, 2, 5, 6, 4)}
WINDOWS: dict[str, dict[str, Any]] = {
    "max_pool": {"padding": 1, "stride": 2, "kernel_size": 3},
    "max_pool ": {"kernel_size": 2, "dilation": 2, "padding": 1, "return_indices": True},
    "max_pool  ": {"kernel_size": 3, "stride": 2, "ceil_mode": True, "return_indices": True},
    "avg_pool": {"kernel_size": 2},
    "avg_pool ": {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    "avg_pool  ": {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    "adaptive_avg_pool": {"output_size": 3},
    "adaptive_max_pool": {"output_size": 3, "return_indices": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("axes", SHAPES)
@pytest.mark.parametrize(("name", "options"), WINDOWS.items(), ids=list(WINDOWS))
def test_values_places_and_gradients_are_those_of_the_composition(
    name: str, options: dict[str, Any], axes: int
) -> None:
    called = f"{name.strip()}{axes}d"
    function = getattr(F, called)
    values = GENERATOR.permutation(float(np.prod(SHAPES[axes])) + np.arange(np.prod(SHAPES[axes])))
    array = values.reshape(SHAPES[axes])
    expected = getattr(sg.nn, called)(array, **options)
    found = function(torch.tensor(array), **options)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-14)
    x = torch.tensor(array, requires_grad=True)

    def value(x: Any) -> Any:
        found = function(x, **options)
        return found[0] if isinstance(found, tuple) else found

    assert torch.autograd.gradcheck(value, (x,))
    assert torch.autograd.gradgradcheck(lambda x: value(x * x), (x / 64,))


def test_images_in_another_order_of_memory_and_without_a_batch() -> None:
    array = GENERATOR.standard_normal((6, 5, 3, 2))
    x = torch.tensor(array).permute(3, 2, 1, 0)
    expected = sg.nn.max_pool2d(np.ascontiguousarray(array.T), 2)
    np.testing.assert_array_equal(F.max_pool2d(x, 2).numpy(), expected)
    np.testing.assert_array_equal(F.max_pool2d(x[0], 2).numpy(), expected[0])


@pytest.mark.parametrize("pool", [F.max_pool2d, F.adaptive_max_pool2d])
def test_a_graph_that_is_freed_is_refused(pool: Callable[..., Any]) -> None:
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    value = pool(x, 2).sum()
    value.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        value.backward()
    expected = np.zeros((4, 4))
    expected[::2, ::2] = 1
    np.testing.assert_array_equal(x.grad.numpy()[0, 0], expected)


def test_a_window_of_minus_infinity_or_nan_names_an_element_of_its_own() -> None:
    x = torch.tensor([[[-np.inf, -np.inf, np.nan, 1.0, np.nan]]])
    values, places = F.max_pool1d(x, 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(values.numpy(), [[[-np.inf, np.nan, np.nan]]])
    assert places.tolist() == [[[0, 2, 4]]]


@pytest.mark.parametrize("op", [eager_pooling.avg_pooled, eager_pooling.avg_shares])
def test_means_and_shares_are_what_they_expand_to(op: Any) -> None:
    windows = sliding((5, 6), (3, 2), (2, 1), (1, 0), (1, 1), (3, 5), False)
    shape = windows.counts if op is eager_pooling.avg_shares else windows.sizes
    x = GENERATOR.standard_normal((2, *shape))
    attrs = {"windows": windows, "kind": ""}
    np.testing.assert_allclose(op.evaluate(x, **attrs), op.expand(x, **attrs), rtol=1e-13)


@pytest.mark.parametrize("size, step, edge", [(4, 1, 2), (5, 1, 2), (4, 2, 2), (3, 3, 1)])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_windows_longer_than_the_axis_read_nothing_beyond_it(
    length: int, size: int, step: int, edge: int
) -> None:
    """Several of them have all elements, and begin where the axis does."""
    count = max((length + 2 * edge - size) // step + 1, 0)
    windows = sliding((2, length), (1, size), (1, step), (0, edge), (1, 1), (2, count))
    if windows is not None and count:
        begin, number = windows.numbers[-2:]
        starts = [start for start, _, _ in windows.axes[-1][0]]
        assert starts[begin : begin + number] == [starts[begin] + step * i for i in range(number)]
    if length + 2 * edge >= size:
        x = torch.arange(1.0, 2 * length + 1).reshape(1, 2, length)
        found = F.max_pool1d(x, size, step, edge)
        padded = np.pad(x.numpy(), [(0, 0), (0, 0), (edge, edge)], constant_values=-np.inf)
        expected = sliding_window_view(padded, size, -1)[..., ::step, :].max(-1)
        np.testing.assert_array_equal(found.numpy(), expected)


def test_the_place_of_an_infinite_largest_is_in_the_image() -> None:
    x = torch.full((1, 1, 4), -float("inf"), requires_grad=True)
    values, places = F.max_pool1d(x, 3, 1, 1, return_indices=True)
    assert places.tolist() == [[[0, 0, 1, 2]]]
    values.sum().backward()
    assert x.grad.tolist() == [[[2.0, 1.0, 1.0, 0.0]]]


@pytest.mark.slow
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("spread", [1, 2])
def test_places_of_infinite_elements_are_the_same_in_captured_code(axes: int, spread: int) -> None:
    x = torch.full((1, 2) + (5,) * axes, -float("inf"))
    x[..., 4] = 1.0

    def pool(x: Any) -> Any:
        name = f"max_pool{axes}d"
        return getattr(F, name)(x, 3, 2, 1, spread, return_indices=True)[1]

    found = sg.function(pool)(x)
    assert found.tolist() == pool(x).tolist()
    assert int(found.min()) >= 0


def test_an_empty_batch_of_floats_of_16_bits_has_a_gradient() -> None:
    x = torch.zeros(0, 3, 7, 7, dtype=torch.float16, requires_grad=True)
    F.max_pool2d(x, (2, 4), (3, 1), 1).sum().backward()
    assert x.grad.shape == x.shape


def _put_by_hand(x: Any, g: Any, size: Any, stride: Any, padding: Any) -> Any:
    """g where PyTorch puts it: at the last nan of a window, or its first maximum, in the image."""
    found = np.zeros(x.shape)
    for n, c, i, j in np.ndindex(*g.shape):
        corner = [at * step - edge for at, step, edge in zip((i, j), stride, padding, strict=True)]
        best = None
        for a, b in np.ndindex(*size):
            place = n, c, corner[0] + a, corner[1] + b
            if min(place) < 0 or place[2] >= x.shape[2] or place[3] >= x.shape[3]:
                continue
            if best is None or x[place] > x[best] or np.isnan(x[place]):
                best = place
        assert best is not None
        found[best] += g[n, c, i, j]
    return found


@pytest.mark.parametrize(
    "size, stride, padding",
    [((2, 2), (2, 2), (0, 0)), ((3, 2), (2, 1), (1, 0)), ((2, 2), (1, 2), (1, 1))],
)
def test_the_last_nan_and_no_padding_gets_the_gradient(
    size: Any, stride: Any, padding: Any
) -> None:
    x = GENERATOR.integers(-2, 3, (2, 3, 6, 5)).astype("f8")
    x[GENERATOR.random(x.shape) < 0.3] = np.nan
    x[0, 0] = x[1, 1, :3] = -np.inf
    value = sg.max_pool2d(x, size, stride, padding)
    g = np.arange(1.0, value.size + 1).reshape(value.shape)
    expected = _put_by_hand(x, g, size, stride, padding)
    eager = torch.tensor(x, requires_grad=True)
    F.max_pool2d(eager, size, stride, padding).backward(torch.tensor(g))
    np.testing.assert_array_equal(eager.grad.numpy(), expected)
    image = sg.placeholder("image", x.shape, "float64")
    slope = sg.grad(sg.sum(sg.max_pool2d(image, size, stride, padding) * g), image)
    np.testing.assert_array_equal(sg.compile([image], slope)(x), expected)
    attrs: dict[str, Any] = {"size": size, "stride": stride, "padding": padding}
    for count in (1, 40):  # few windows, and many
        several = [np.repeat(one, count, 0) for one in (g, value, x)]
        (found,) = pooling_arrays.max_pool2d_vjp((0,), *several, **attrs)
        np.testing.assert_array_equal(found[::count], expected)


def test_adaptive_pooling_takes_the_last_nan_too() -> None:
    x = torch.tensor([[[np.nan, np.nan, 1.0], [3.0, np.nan, 2.0]]], requires_grad=True)
    values, places = F.adaptive_max_pool2d(x, 1, return_indices=True)
    assert places.item() == 4
    values.sum().backward()
    assert x.grad.tolist() == [[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
