"""One long row with several passes is a group per pass, which threads share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.schedule.groups import LoopGroup
from tests.combinations import some
from tests.graphs import kernel


def standardised(x: sg.Expression) -> sg.Expression:
    centered = x - sg.mean(x)
    return centered / sg.sqrt(sg.mean(centered**2) + 1e-5)


def groups(x: sg.Expression, *outputs: sg.Expression) -> list[LoopGroup]:
    found = kernel(([x], list(outputs), {})).fusion.groups
    return [group for group in found if isinstance(group, LoopGroup) and group.domain]


@pytest.mark.parametrize(("function", "passes"), [(sg.softmax, 3), (standardised, 3)])
def test_each_pass_is_a_group_if_the_row_is_known_to_be_long(
    function: Callable[[sg.Expression], sg.Expression], passes: int
) -> None:
    unknown, long = sg.placeholder("u", (None,)), sg.placeholder("l", (1, 10**6))
    short, rows = sg.placeholder("s", (1000,)), sg.placeholder("r", (None, 10**6))
    assert len(groups(unknown, function(unknown))) == 1
    assert len(groups(long, function(long))) == passes
    assert len(groups(short, function(short))) == 1
    assert len(groups(rows, sg.softmax(rows))) == 1


def test_what_later_passes_need_lies_where_the_result_will() -> None:
    x = sg.placeholder("x", (10**6,))
    plan = sg.compile([x], sg.softmax(x)).plan
    assert 4 * 10**6 <= plan.peak_bytes({}) < 4 * 10**6 + 1000  # the result, and totals


@pytest.mark.slow
@pytest.mark.parametrize("shape", some([(300_001,), (500, 601), (1, 300_001)], 2))
def test_bits_are_the_same_for_any_number_of_threads(shape: tuple[int, ...]) -> None:
    x = sg.placeholder("x", shape)
    loss = sg.sum(sg.exp(x - sg.max(x)) / sg.sum(sg.exp(x - sg.max(x))) * x)
    outputs = [standardised(x), sg.max(x) - sg.log(sg.sum(sg.abs(x))), loss, sg.grad(loss, x)]
    given = np.random.default_rng(0).normal(size=shape).astype("float32")
    first, *others = (sg.compile([x], outputs, threads=n)(given) for n in (1, 2, 3))
    for found in others:
        for one, other in zip(first, found, strict=True):
            np.testing.assert_array_equal(one, other)
    wide = given.astype("float64")
    expected = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5)
    np.testing.assert_allclose(first[0], expected, rtol=1e-5, atol=1e-6)
    e = np.exp(wide - wide.max())
    p = e / e.sum()
    np.testing.assert_allclose(first[2], (p * wide).sum(), rtol=1e-5)
    plain = sg.compile([x], outputs, fuse=False)(given)
    for one, other in zip(first[:3], plain[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    slope = p * (1 + wide - (p * wide).sum())
    # the largest also gets what each element gives to the maximum, which is 0 but for rounding
    usual = wide < wide.max()
    for one in (first[3], plain[3]):
        error = (one - slope) / (p * (1 + abs(wide)))
        np.testing.assert_allclose(error[usual], 0, atol=2e-6)
        np.testing.assert_allclose(error[~usual], 0, atol=5e-4)


def test_a_row_that_is_updated_by_what_is_known_of_it() -> None:
    start = np.arange(200_000, dtype="float32")
    v = sg.variable(start)
    norm = sg.sqrt(sg.sum(v * v))
    f = sg.compile([], norm, updates={v: v / norm - sg.max(v / norm)})
    found = f()
    expected = np.linalg.norm(start.astype("float64"))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    unit = start / expected
    np.testing.assert_allclose(v.value, unit - unit.max(), rtol=1e-4, atol=1e-7)
