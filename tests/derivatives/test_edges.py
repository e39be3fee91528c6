"""Derivatives at edges, where a rule that is right elsewhere gives nan: in both paradigms.

What they are follows from limits, and from what PyTorch and JAX take where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg

inf, nan = math.inf, math.nan


class Edge(NamedTuple):
    """An elementwise function of one operand, points, and its derivatives there."""

    function: Callable[[Any], Any]
    points: list[float]
    first: list[float]
    second: list[float]


def _angle(x: Any) -> Any:
    return sg.atan2(x, x * 0.0)


EDGES = {
    "huber_loss": Edge(
        lambda x: sg.nn.huber_loss(x, np.zeros(4), delta=2.0, reduction="none"),
        [inf, -inf, 1e308, 1.0], [2.0, -2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0],
    ),
    "smooth_l1_loss": Edge(
        lambda x: sg.nn.smooth_l1_loss(x, np.zeros(4), reduction="none"),
        [inf, -inf, -1e308, 0.5], [1.0, -1.0, -1.0, 0.5], [0.0, 0.0, 0.0, 1.0],
    ),
    "entr": Edge(
        sg.special.entr, [nan, 0.0, 0.5], [nan, 0.0, math.log(2.0) - 1.0], [nan, 0.0, -2.0]
    ),
    "erfcx": Edge(sg.special.erfcx, [-inf, -30.0, inf], [-inf, -inf, 0.0], [inf, inf, 0.0]),
    "softsign": Edge(sg.softsign, [1e308, inf, -1.0], [0.0, 0.0, 0.25], [0.0, 0.0, 0.25]),
    "logit": Edge(sg.logit, [-1.0, 0.5, 2.0], [nan, 4.0, nan], [0.0, 0.0, 0.0]),
    "atan2": Edge(_angle, [0.0], [0.0], [0.0]),
}  # fmt: skip


_LONG = ("erfcx",)
"""Whose second derivatives take long to compile."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.long) if one in _LONG else one for one in EDGES]
)
def test_derivatives_at_edges(name: str) -> None:
    edge = EDGES[name]
    points, ones = np.array(edge.points), np.ones(len(edge.points))
    x = sg.placeholder("x", points.shape, "float64")
    slope = sg.grad(sg.sum(edge.function(x)), x)
    tangent = sg.jvp(edge.function, (x,), (ones,))[1]
    found = sg.compile([x], [slope, tangent, sg.grad(sg.sum(slope), x)], lint="off")(points)
    tensor = dynamic.tensor(points, requires_grad=True)
    (first,) = dynamic.autograd.grad(edge.function(tensor).sum(), tensor, create_graph=True)
    (second,) = dynamic.autograd.grad(first.sum(), tensor)
    moved = dynamic.func.jvp(edge.function, (dynamic.tensor(points),), (dynamic.tensor(ones),))[1]
    for one in (*found[:2], first.detach().numpy(), moved.numpy()):
        assert_allclose(one, edge.first, rtol=1e-15)
    for one in (found[2], second.numpy()):
        assert_allclose(one, edge.second, rtol=1e-15)


def test_a_tangent_of_xlogy_is_not_lost_where_its_rule_asks_for_a_cotangent_of_zero() -> None:
    a, b = np.array([1.0, 1.0, 0.0]), np.array([0.0, -1.0, 2.0])
    found = sg.jvp(lambda a: sg.xlogy(a, b), (a,), (np.ones(3),))[1]
    x = sg.placeholder("x", (3,), "float64")
    tangent = sg.jvp(lambda a: sg.xlogy(a, b), (x,), (np.ones(3),))[1]
    for one in (found, sg.compile([x], tangent)(a)):
        assert_allclose(one, [-inf, nan, math.log(2.0)])


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_winners_share_the_gradient_along_one_axis(name: str) -> None:
    points = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
    points[:, 2] += 1 if name == "amin" else -1
    function = getattr(sg, name)
    x = sg.placeholder("x", (2, 3), "float64")
    found = sg.compile([x], sg.grad(sg.sum(function(x, axis=1)), x))(points)
    assert_array_equal(found, [[0.5, 0.5, 0.0]] * 2)
    tensor = dynamic.tensor(points, requires_grad=True)
    function(tensor, axis=1).sum().backward()
    assert_array_equal(tensor.grad.numpy(), found)
    assert_array_equal(function(points, axis=1, keepdims=True), points[:, :1])


def test_gelu_of_the_largest_numbers_is_finite() -> None:
    points = np.array([1.5e308, -1.5e308])
    for approximate in ("tanh", "none"):
        with np.errstate(over="ignore"):  # of the cube
            assert_array_equal(sg.gelu(points, approximate), [1.5e308, 0.0])
