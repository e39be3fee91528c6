"""Convolution, pooling and padding: values, gradients and texts against those of PyTorch."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest

import dynamic
from tests.data.conv_cases import ERRORS, TEXTS, VALUES
from tests.expressions import check, evaluate, recorded, text
from tests.paths import TESTS

DATA = TESTS / "data"
EXPECTED = recorded(DATA / "conv_values.npz")
RECORDED = json.loads((DATA / "conv_texts.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("expression", VALUES)
def test_values_and_gradients_are_those_of_pytorch(expression):
    check(dynamic, expression, EXPECTED[expression])


@pytest.mark.parametrize("expression", TEXTS)
def test_texts_are_those_of_pytorch(expression):
    assert text(dynamic, expression) == RECORDED["texts"][expression]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors_are_those_of_pytorch(expression):
    kind, message = RECORDED["errors"][expression]
    with pytest.raises(getattr(builtins, kind)) as raised:
        evaluate(dynamic, expression)
    assert str(raised.value) == message


def test_a_padding_mode_is_one_of_four():
    with pytest.raises(ValueError, match=r"padding_mode must be one of .* got padding_mode='fold'"):
        dynamic.nn.Conv2d(3, 4, 3, padding_mode="fold")


def test_initial_values_are_uniform_within_the_bound_of_the_fan():
    dynamic.manual_seed(0)
    layer = dynamic.nn.Conv2d(16, 64, 3)
    bound = 1 / np.sqrt(16 * 9)
    for parameter in (layer.weight, layer.bias):
        values = parameter.detach().numpy()
        assert np.abs(values).max() <= bound
    values = layer.weight.detach().numpy()
    assert values.std() == pytest.approx(bound / np.sqrt(3), rel=0.02)
    assert values.dtype == np.float32


def test_second_derivatives():
    x = dynamic.randn(1, 2, 5, 4, dtype=dynamic.float64, requires_grad=True)
    weight = dynamic.randn(2, 3, 2, 3, dtype=dynamic.float64, requires_grad=True)

    def slope(x, weight):
        y = dynamic.tanh(dynamic.nn.functional.conv_transpose2d(x, weight, None, 2, 1, 1))
        (g,) = dynamic.autograd.grad(y.sum(), x, create_graph=True)
        return (g**2).sum()

    slope(x, weight).backward()
    step = 1e-6
    for leaf in (x, weight):
        found = leaf.grad.numpy()
        values = leaf.detach().numpy()
        for place in [(0, 0, 0, 0), (0, 1, 1, 2), (-1, 0, 1, 1)]:
            kept = values[place]
            values[place] = kept + step
            above = slope(x, weight).item()
            values[place] = kept - step
            below = slope(x, weight).item()
            values[place] = kept
            assert found[place] == pytest.approx((above - below) / (2 * step), rel=1e-6)
