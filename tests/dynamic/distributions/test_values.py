"""Densities, moments, entropies and divergences against those recorded from PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dynamic as torch
from tests.data.distribution_cases import computed
from tests.paths import ROOT

RECORDED = json.loads((ROOT / "tests" / "data" / "distributions.json").read_text())
NOT_HERE = {
    "D.Weibull(t([1, 2.5]), t([0.7, 2])).mode",
    "D.Beta(t([0.5, 2]), t([1.5, 3])).mode",
    "D.Dirichlet(t([[0.5, 2, 1.5], [3, 1, 1]])).mode",
    "D.Multinomial(4, t([1.0, 2, 3])).entropy()",
    "D.Multinomial(4, t([1.0, 2, 3])).perplexity()",
    "D.Kumaraswamy(t([0.5, 2]), t([1.5, 3])).mode",
    "D.Kumaraswamy(t([0.5, 2]), t([1.5, 3])).entropy()",
    "D.Kumaraswamy(t([0.5, 2]), t([1.5, 3])).perplexity()",
}
"""What PyTorch has, and there is not."""


def test_distributions_give_what_pytorchs_give() -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        found = computed(torch.distributions, lambda data: torch.tensor(data, dtype=torch.float64))
    finally:
        torch.set_default_dtype(before)
    assert found.keys() == RECORDED.keys()
    wrong = []
    for expression, wanted in RECORDED.items():
        if wanted == "refused" or expression in NOT_HERE:
            continue
        if found[expression] == "refused":
            wrong.append((expression, "refused", wanted))
        elif np.shape(found[expression]) != np.shape(wanted) or not np.allclose(
            found[expression], wanted, rtol=1e-9, atol=1e-10, equal_nan=True
        ):
            wrong.append((expression, found[expression], wanted))
    assert wrong == []


def test_a_larger_batch_of_relaxed_choices_has_the_same_temperature() -> None:
    temperature, probs = torch.tensor(0.5), torch.tensor([0.2, 0.3, 0.5])
    for family in (
        torch.distributions.RelaxedOneHotCategorical,
        torch.distributions.RelaxedBernoulli,
    ):
        one = family(temperature, probs)
        grown = one.expand((4, *one.batch_shape))
        assert grown.has_rsample
        assert grown.temperature is temperature
        values = grown.rsample((2,))
        assert tuple(values.shape) == (2, 4, 3)
        np.testing.assert_array_equal(grown.log_prob(values), one.log_prob(values))


def test_certain_success_comes_without_failures() -> None:
    geometric = torch.distributions.Geometric(torch.tensor([1.0, 0.5]))
    assert geometric.log_prob(torch.tensor(0.0)).tolist() == [0.0, np.float32(np.log(0.5))]
    assert geometric.log_prob(torch.tensor(1.0)).tolist() == [-np.inf, np.float32(2 * np.log(0.5))]


def test_binomials_of_different_numbers_of_trials_are_refused() -> None:
    binomial = torch.distributions.Binomial
    mixed = binomial(torch.tensor([2.0, 3.0]), torch.tensor(0.5))
    with pytest.raises(NotImplementedError, match="Inhomogeneous total count not supported"):
        mixed.enumerate_support()
    with pytest.raises(NotImplementedError, match="Inhomogeneous total count not supported"):
        mixed.entropy()
    with pytest.raises(NotImplementedError, match=r"q\.total_count > p\.total_count is not impl"):
        torch.distributions.kl_divergence(mixed, binomial(3, torch.tensor(0.5)))
