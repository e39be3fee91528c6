"""The ops that came from the eager engine: names on the tape, capture, edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError, OptionError
from tests.combinations import some
from tests.samples import elementwise

PAIR = np.array([0.25, 0.5]), np.array([0.75, -0.5])


@pytest.mark.parametrize("name", elementwise(1))
def test_functions_of_one_tensor_are_captured(name: str) -> None:
    x = torch.tensor(PAIR[0])
    function = getattr(torch, name)
    assert_allclose(sg.function(lambda x: function(x))(x).numpy(), function(x).numpy(), rtol=1e-14)


def test_they_are_methods_of_expressions() -> None:
    x = sg.placeholder("x", (2,), "float64")
    assert str(x.log2().op) == "<op log2>"
    assert_allclose(sg.compile([x], x.lgamma() + x.sinc())(PAIR[0]), [2.1883390, 1.2089850], 1e-6)


@pytest.mark.parametrize("name", sorted({*elementwise(2)} - {"equal", "floor_divide", "prelu"}))
def test_functions_of_two_tensors_are_captured(name: str) -> None:
    x, y = (torch.tensor(one) for one in PAIR)
    function = getattr(torch, name)
    found = sg.function(lambda x, y: function(x, y))(x, y).numpy()
    assert_allclose(found, function(x, y).numpy(), rtol=1e-14)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda x: torch.log2(x), "Log2Backward0"),
        (lambda x: torch.deg2rad(x), "Deg2RadBackward0"),
        (lambda x: torch.rad2deg(x), "Rad2DegBackward0"),
        (lambda x: torch.logaddexp2(x, x), "Logaddexp2Backward0"),
        (lambda x: torch.fmod(x, 2.0), "FmodBackward0"),
        (lambda x: torch.fmod(x, x), "FmodBackward1"),
        (lambda x: torch.remainder(x, 2.0), "RemainderBackward0"),
        (lambda x: torch.remainder(x, x), "RemainderBackward1"),
        (lambda x: torch.copysign(x, x), "CopysignBackward0"),
        (lambda x: torch.copysign(x, -1.0), "CopysignBackward1"),
        (lambda x: torch.xlogy(x, x), "XlogyBackward0"),
        (lambda x: torch.xlogy(2.0, x), "XlogyBackward1"),
        (lambda x: torch.xlogy(x, 2.0), "XlogyBackward2"),
        (lambda x: x**x, "PowBackward1"),
        (lambda x: 2.0**x, "PowBackward2"),
        (lambda x: x.logit(0.1), "LogitBackward0"),
        (lambda x: x.polygamma(1), "PolygammaBackward0"),
        (lambda x: (x * 1).log2_(), "Log2Backward0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nodes_have_pytorchs_names(made: Callable[[Any], Any], name: str) -> None:
    x = torch.tensor(PAIR[0], requires_grad=True)
    assert made(x).grad_fn.name() == name


def test_nodes_tell_their_options() -> None:
    x = torch.tensor(PAIR[0], requires_grad=True)
    assert x.logit(eps=0.125).grad_fn._saved_eps == 0.125
    assert x.polygamma(2).grad_fn._saved_n == 2


def test_in_place_with_options() -> None:
    x = torch.tensor([0.1, 0.5])
    assert_allclose(x.clone().logit_(0.25).numpy(), [-math.log(3), 0], atol=1e-7)
    assert_allclose(x.clone().polygamma_(0).numpy(), torch.digamma(x).numpy())


def test_a_derivative_that_there_is_not_is_refused() -> None:
    for n in (-1, 101):
        with pytest.raises(OptionError, match=f"polygamma: n={n} is not between 0 and 100"):
            sg.polygamma(n, np.ones(2))


def test_divisors_are_of_integers() -> None:
    x = sg.placeholder("x", (2,), "float64")
    with pytest.raises(DTypeError, match=r"gcd: float64\[2\] is not an integer"):
        sg.gcd(x, x)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8"])
@pytest.mark.parametrize("name", ["gcd", "lcm", "fmod"])
def test_integers_at_their_limits(name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, 0, 1, 2, 6, 100, info.max], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(edges, edges))
    x, y = sg.placeholder("x", (None,), dtype), sg.placeholder("y", (None,), dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    assert_array_equal(sg.compile([x, y], getattr(sg, name)(x, y))(a, b), expected)


def test_the_slope_of_sinc_is_right_near_zero() -> None:
    x = torch.tensor([0.0, 1e-8, 0.2499, 0.2501], requires_grad=True, dtype=torch.float64)
    (first,) = torch.autograd.grad(torch.sinc(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    at = x.detach().numpy()
    assert_allclose(first.detach().numpy()[:2], -(math.pi**2) / 3 * at[:2], rtol=1e-14)
    assert_allclose(second.numpy()[:2], -(math.pi**2) / 3, rtol=1e-14)
    angle = math.pi * at[2:]
    expected = np.cos(angle) / at[2:] - np.sin(angle) / (math.pi * at[2:] ** 2)
    assert_allclose(first.detach().numpy()[2:], expected, rtol=1e-13)


def test_polygamma_is_accurate_on_both_sides_of_zero() -> None:
    # Wolfram's values of psi(1, x) and psi(2, x) at multiples of 1/2, from pi and zeta(3)
    zeta3 = 1.2020569031595942
    x = np.array([1.0, 0.5, -0.5, -1.5])
    first = math.pi**2 * np.array([1 / 6, 1 / 2, 1 / 2, 1 / 2]) + [0, 0, 4, 4 + 4 / 9]
    second = zeta3 * np.array([-2.0, -14, -14, -14]) + [0, 0, 16, 16 + 16 / 27]
    assert_allclose(sg.polygamma(1, x), first, rtol=1e-14)
    assert_allclose(sg.polygamma(2, x), second, rtol=2e-14)


def test_lgamma_is_infinite_where_every_number_is_a_pole() -> None:
    # above 2.6e305 lgamma(-x) overflows too: an infinity was taken from another
    x = -np.array([1e300, 2.5e305, 2.6e305, 1e307, np.finfo(float).max, np.inf])
    assert_array_equal(sg.function(sg.lgamma)(x), np.full(6, np.inf))
    assert_array_equal(sg.lgamma(x), np.full(6, np.inf))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_there_is_no_entropy_outside_of_probabilities(dtype: str) -> None:
    x = np.array([-1.25, -1e-40, 1 + 1e-6, 2, np.nan, 0, -0.0, 1, 1e-45], dtype)
    with np.errstate(all="ignore"):
        for target in (0.0, 1.0, 0.5):
            for found in (
                ops.binary_cross_entropy(x, target),
                sg.function(lambda x, t=target: ops.binary_cross_entropy(x, t))(x),
            ):
                logs = np.array([np.log(x), np.log1p(-x)], np.float64).clip(-100)
                expected = -target * logs[0] - (1 - target) * logs[1]
                assert np.isnan(found[:5]).all()
                assert_allclose(found[5:], expected[5:], rtol=1e-6)


def second(function: Callable[[Any], Any], x: Any) -> Any:
    return np.stack([sg.grad(sg.grad(function))(one) for one in x])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_derivatives_far_out_are_numbers(dtype: str) -> None:
    far = np.array([0.25, 0.75, 12345.75, 2.0**23, 1e30, np.finfo(dtype).max], dtype)
    # sinc'(n) is cos(pi n) / n, and sinc''(n) -2 cos(pi n) / n^2: all large floats are even
    slopes = np.stack([sg.grad(sg.sinc)(x) for x in far[3:]])
    assert_allclose(slopes, 1 / far[3:], rtol=1e-6)
    assert_allclose(second(sg.sinc, far)[3:], -2 / far[3:] / far[3:], rtol=1e-6)
    angle = math.pi * far[:3].astype(np.float64)
    bend = 2 * (np.sin(angle) - angle * np.cos(angle)) - angle**2 * np.sin(angle)
    assert_allclose(second(sg.sinc, far)[:3], bend * math.pi**2 / angle**3, rtol=1e-4)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_second_derivatives_of_sums_that_one_term_outweighs(name: str, dtype: str) -> None:
    function = getattr(sg, name)
    x = np.array([-5000, -200, 0, 200, 5000], dtype)
    zero = np.zeros((), dtype)
    slope = math.log(2) / 4 if name == "logaddexp2" else 1 / 4
    for given in (lambda x: function(x, zero), lambda x: function(zero, x)):
        assert_allclose(second(given, x), [0, 0, slope, 0, 0], atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("n", some([40, 12, 20, 30, 100], 1))
def test_float32_polygamma_is_in_range_where_its_value_is(n: int) -> None:
    x = np.array([0.75, 20, 127, -2.25], np.float32)
    exact = sg.polygamma(n, x.astype(np.float64))
    with np.errstate(over="ignore"):
        expected = exact.astype(np.float32)
        assert_array_equal(sg.polygamma(n, x), expected)
    assert_allclose(sg.function(lambda x: sg.polygamma(n, x))(x), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["isposinf", "isneginf", "signbit", "isreal"])
def test_what_is_asked_of_elements_is_captured(name: str) -> None:
    x = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, -1.0])
    function = getattr(torch, name)
    numpys = getattr(np, name)(x.numpy())
    assert_array_equal(function(x).numpy(), numpys)
    assert_array_equal(sg.function(lambda x: function(x))(x).numpy(), numpys)
