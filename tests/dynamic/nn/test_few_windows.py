"""Convolution and pooling of a few pixels: the calls after the first, which are checked no more."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

GENERATOR = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return torch.tensor(GENERATOR.standard_normal(shape), requires_grad=True)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "conv": lambda x, w: F.conv2d(x, w),
    "conv of steps": lambda x, w: F.conv2d(x, w, None, (2, 1), (1, 2), (1, 2)),
    "adjoint": lambda x, w: F.conv_transpose2d(x, w[:3]),
    "adjoint of steps": lambda x, w: F.conv_transpose2d(
        x, w[:3, :1], None, (2, 3), (1, 2), (1, 0), 3, (1, 2)
    ),
    "max": lambda x, w: F.max_pool2d(x, 2) * w.sum(),
    "max of overlaps": lambda x, w: F.max_pool2d(x, 3, 2, 1) * w.sum(),
    "mean": lambda x, w: F.avg_pool2d(x, 3, 2, 1) * w.sum(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_second_call_is_as_the_first(call: Callable[[Any, Any], Any]) -> None:
    """The first goes the long way, as symbols do; and the gradient is that of differences."""
    x, w = drawn(2, 3, 7, 6), drawn(4, 3, 3, 2)
    found = []
    for _ in range(2):
        value = call(x, w)
        found.append((value, value.grad_fn.name(), *torch.autograd.grad(value.sum(), (x, w))))
    for first, second in zip(*found, strict=True):
        if isinstance(first, str):
            assert first == second
        else:
            np.testing.assert_array_equal(first.detach().numpy(), second.detach().numpy())
    assert torch.autograd.gradcheck(call, (x, w))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("padding", [0, (1, 0)])
def test_one_image_has_the_gradients_that_it_has_among_others(padding: Any, groups: int) -> None:
    """And they are memory of their own, which accumulation keeps."""
    images, w, b = drawn(2, 4, 6, 5), drawn(6, 4 // groups, 3, 2), drawn(6)
    image = images.detach()[:1].requires_grad_(True)
    for _ in range(2):
        one = F.conv2d(image, w, b, 1, padding, 1, groups)
        g = torch.tensor(GENERATOR.standard_normal(one.shape))
        found = torch.autograd.grad(one, (image, w, b), g)
        several = F.conv2d(images, w, b, 1, padding, 1, groups)
        np.testing.assert_allclose(one.detach(), several.detach()[:1], rtol=1e-13)
        padded = torch.cat((g, torch.zeros_like(g)))
        expected = torch.autograd.grad(several, (images, w, b), padded)
        for mine, other in zip(found, (expected[0][:1], *expected[1:]), strict=True):
            assert mine._array.base is None
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def test_a_call_that_went_well_lets_no_other_pass() -> None:
    x, w = drawn(1, 2, 5, 5), drawn(4, 2, 3, 3)
    for _ in range(2):
        F.conv2d(x, w, stride=1)
        F.max_pool2d(x, 2, padding=1)
    with pytest.raises(RuntimeError, match="to have 2 channels, but got 3 channels"):
        F.conv2d(drawn(1, 3, 5, 5), w)
    with pytest.raises(RuntimeError, match="negative padding is not supported"):
        F.conv2d(x, w, padding=-1)
    with pytest.raises(TypeError, match="stride"):
        F.conv2d(x, w, stride=1.0)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool2d(x, 2, padding=2)
    assert F.conv2d(x.detach(), w.detach()).grad_fn is None


@pytest.mark.parametrize("size", [(1, 1), (1, 3), (3, 1), (2, 3)])
def test_the_first_of_equals_and_nan_win_in_few_windows_as_in_many(size: tuple[int, int]) -> None:
    """One image is few windows, many of the same are many, which another way adds to."""
    image = np.array(GENERATOR.integers(0, 3, (1, 3, 9, 8)), np.float64)
    image[0, 0, 4, 4] = image[0, 1, 0, 0] = np.nan
    found = []
    for count in (1, 60):
        x = torch.tensor(np.repeat(image, count, 0), requires_grad=True)
        value = F.max_pool2d(x, size, (2, 1))
        g = torch.arange(float(value[0].numel()), dtype=torch.float64).reshape(value.shape[1:])
        value.backward(g.expand(value.shape))
        found.append((value.detach().numpy()[0], x.grad.numpy()[0]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][0], largest(image, size)[0])


def largest(image: Any, size: tuple[int, int]) -> Any:
    """The largest elements of windows, one by one."""
    n, c, height, width = image.shape
    rows = range(0, height - size[0] + 1, 2)
    columns = range(width - size[1] + 1)
    result = np.empty((n, c, len(rows), len(columns)))
    for (i, row), (j, column) in itertools.product(enumerate(rows), enumerate(columns)):
        part = image[:, :, row : row + size[0], column : column + size[1]]
        result[:, :, i, j] = part.max((2, 3))
    return result
