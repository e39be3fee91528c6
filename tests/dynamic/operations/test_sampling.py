"""Draws by weights and rates: the short ways on arrays have the numbers of the long ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.dynamic.operations.sampling import _largest


@pytest.mark.parametrize("rates", [[3.0, 0.0], [30.0, 1e4], [3.0, 30.0]])
def test_poisson_numbers_are_those_of_the_key_that_the_stream_gives(rates: list[float]) -> None:
    generator = dynamic.Generator().manual_seed(7)
    key = np.array(generator.source.integers(0, (1 << 63) - 1))
    rate = np.resize(rates, 1000)
    found = dynamic.poisson(dynamic.tensor(rate), generator.manual_seed(7))
    assert_array_equal(found.numpy(), sg.random.poisson(key, rate))


@pytest.mark.parametrize(("n", "p"), [(9.0, 0.3), (1000.0, 0.3), (40.0, 0.9)])
def test_binomial_numbers_are_those_of_the_key_that_the_stream_gives(n: float, p: float) -> None:
    generator = dynamic.Generator().manual_seed(7)
    key = np.array(generator.source.integers(0, (1 << 63) - 1))
    count, prob = np.full(1000, n), np.resize([p, 0.001], 1000)
    given = dynamic.tensor(count), dynamic.tensor(prob)
    found = dynamic.binomial(*given, generator=generator.manual_seed(7))
    assert_array_equal(found.numpy(), sg.random.binomial(key, count, prob))


def test_few_of_many_are_those_of_a_stable_sort() -> None:
    rng = np.random.default_rng(0)
    for keys in (rng.normal(size=500), rng.integers(0, 9, 500) * 1.0, np.full(500, -np.inf)):
        for count in (1, 20, 62, 63, 500):
            wanted = np.argsort(-keys, kind="stable")[:count]
            assert_array_equal(_largest(keys, count), wanted)
