"""Activations of linear pieces: their gradients where these meet, in both paradigms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - as everybody calls it

KINKS = np.array([-3.0, -2.0, -0.5, 0.0, 0.5, 2.0, 3.0])
FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[float]]] = {
    "hardtanh": (
        lambda x: sg.hardtanh(x, -2.0, 0.5), lambda x: F.hardtanh(x, -2.0, 0.5),
        [0, 0, 1, 1, 0, 0, 0],
    ),
    "threshold": (
        lambda x: sg.threshold(x, 0.5, 7.0), lambda x: F.threshold(x, 0.5, 7.0),
        [0, 0, 0, 0, 0, 1, 1],
    ),
    "softshrink": (sg.softshrink, F.softshrink, [1, 1, 0, 0, 0, 1, 1]),
    "hardshrink": (
        lambda x: sg.hardshrink(x, 2.0), lambda x: F.hardshrink(x, 2.0), [1, 0, 0, 0, 0, 0, 1],
    ),
    "hardsigmoid": (
        sg.hardsigmoid, F.hardsigmoid, [0, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 0],
    ),
    "prelu": (
        lambda x: sg.prelu(x, 0.25), lambda x: F.prelu(x, torch.tensor([0.25]).to(x.dtype)),
        [0.25, 0.25, 0.25, 0.25, 1, 1, 1],
    ),
}  # fmt: skip
"""Per op the call in either package, and its slopes at KINKS: those of PyTorch."""


@pytest.mark.parametrize("name", FORMS)
def test_gradients_at_the_kinks_are_those_of_pytorch(name: str) -> None:
    static, eager, slopes = FORMS[name]
    symbol = sg.placeholder("x", (None,), "float64")
    value, slope = sg.compile([symbol], [y := static(symbol), *sg.grad(sg.sum(y), [symbol])])(KINKS)
    tensor = torch.tensor(KINKS, requires_grad=True)
    result = eager(tensor)
    result.sum().backward()
    assert_array_equal(slope, slopes)
    assert_array_equal(tensor.grad.numpy(), slopes)
    assert_array_equal(value, result.detach().numpy())
    assert_array_equal(value, static(KINKS))


@pytest.mark.parametrize("name", FORMS)
def test_a_captured_function_gives_what_the_eager_one_does(name: str) -> None:
    eager, x = FORMS[name][1], torch.tensor(KINKS)
    assert_array_equal(sg.function(lambda x: eager(x))(x).numpy(), eager(x).numpy())


def test_slopes_of_channels_are_pytorchs_in_dynamic_and_broadcast_in_staticgraph() -> None:
    x, slopes = np.array([[-1.0, -1.0], [2.0, -4.0]]), np.array([0.5, 0.25])
    assert_array_equal(sg.prelu(x, slopes), [[-0.5, -0.25], [2.0, -1.0]])
    images, weight = torch.tensor(x[:, :, None]), torch.tensor(slopes)
    expected = [[[-0.5], [-0.25]], [[2.0], [-1.0]]]
    for found in (torch.prelu(images, weight), images.prelu(weight), F.prelu(images, weight)):
        assert_array_equal(found.numpy(), expected)


def test_limits_in_the_wrong_order_and_negative_widths_are_refused() -> None:
    with pytest.raises(sg.OptionError, match=r"hardtanh: min_val=1\.0 is greater than"):
        sg.hardtanh(KINKS, 1.0, 0.5)
    with pytest.raises(sg.OptionError, match=r"softshrink: lambd=-1\.0 is less than 0"):
        sg.softshrink(KINKS, -1.0)


def test_integers_are_cast_first() -> None:
    found = sg.hardtanh(np.array([-3, 0, 2]))
    assert found.dtype == np.float64
    assert_array_equal(found, [-1.0, 0.0, 1.0])
