"""Densities, moments, entropies and divergences against those recorded from PyTorch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.special
import scipy.stats

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


def _accuracy(expression: str) -> float:
    """PyTorch's Bessel functions in VonMises are polynomials, good to seven digits."""
    return 1e-5 if "VonMises" in expression else 1e-9


def test_angles_are_as_scipy_has_them() -> None:
    loc, k = np.array([0.5, -1.0]), np.array([0.7, 20.0])
    made = torch.distributions.VonMises(torch.tensor(loc), torch.tensor(k))
    places = np.array([0.3, -1.7])
    exact = scipy.stats.vonmises.logpdf(places, k, loc)
    np.testing.assert_allclose(made.log_prob(torch.tensor(places)), exact, rtol=1e-12)
    spread = 1 - scipy.special.i1e(k) / scipy.special.i0e(k)
    np.testing.assert_allclose(made.variance, spread, rtol=1e-10)


MOMENTS = {
    "ContinuousBernoulli": (torch.tensor([0.2, 0.5, 0.9]),),
    "GeneralizedPareto": (
        torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0]), torch.tensor([0.1, -0.3]),
    ),
    "LowRankMultivariateNormal": (
        torch.tensor([0.5, -1.0]), torch.tensor([[1.0], [2.0]]), torch.tensor([0.5, 1.0]),
    ),
    "Wishart": (torch.tensor(6.0), torch.tensor([[2.0, 0.3], [0.3, 1.0]])),
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_means_and_variances_of_samples(name: str) -> None:
    torch.manual_seed(0)
    arguments = [one.clone().requires_grad_() for one in MOMENTS[name]]
    made = getattr(torch.distributions, name)(*arguments)
    values = made.rsample((3000,))
    error = (made.variance / 3000).sqrt().detach().numpy()
    assert (np.abs((values.mean(0) - made.mean).detach().numpy()) < 5 * error).all()
    np.testing.assert_allclose(values.var(0).detach(), made.variance.detach(), rtol=0.25)
    values.sum().backward()
    assert all(one.grad is not None for one in arguments)


def test_drawn_factors_are_of_correlations() -> None:
    torch.manual_seed(0)
    made = torch.distributions.LKJCholesky(3, torch.tensor([1.0, 4.0]))
    factors = made.sample((4000,))
    matrices = (factors @ factors.mT).numpy()
    np.testing.assert_allclose(matrices.diagonal(0, -2, -1), 1, rtol=1e-5)
    # the entries are 2 B - 1, B of Beta(a, a), a = concentration + dim / 2 - 1
    for i, a in enumerate((1.5, 4.5)):
        for row, column in ((1, 0), (2, 0), (2, 1)):
            found = matrices[:, i, row, column].var()
            assert found == pytest.approx(1 / (2 * a + 1), rel=0.15)
    made.log_prob(factors[:3])


def test_arguments_that_make_no_distribution() -> None:
    d, one = torch.distributions, torch.ones(2)
    for make, text in (
        (lambda: d.LowRankMultivariateNormal(torch.tensor(1.0), one, one), "at least one-dim"),
        (lambda: d.LowRankMultivariateNormal(one, torch.ones(3, 1), one), "with shape 2 x m"),
        (lambda: d.LowRankMultivariateNormal(one, torch.ones(2, 1), torch.ones(3)), "vectors with"),
        (lambda: d.Wishart(torch.tensor(3.0)), "Exactly one of covariance_matrix or precision"),
        (lambda: d.Wishart(torch.tensor(0.5), torch.eye(2)), "greater than ndim - 1 = 1"),
        (lambda: d.LKJCholesky(1), "Found dim=1"),
        (lambda: d.LKJCholesky(2).log_prob(torch.ones(2, 2)), "within the support"),
    ):
        with pytest.raises(ValueError, match=text):
            make()


def test_a_shared_factor_is_not_taken_for_a_batch() -> None:
    made = torch.distributions.MultivariateNormal(torch.zeros(2, 2), torch.eye(2))
    grown = made.expand((3, 2))
    assert tuple(grown.log_prob(torch.ones(3, 2, 2)).shape) == (3, 2)


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
            found[expression], wanted, rtol=_accuracy(expression), atol=1e-10, equal_nan=True
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


def test_certain_bernoullis_have_the_probabilities_that_they_say() -> None:
    certain = torch.tensor([np.inf, np.inf, -np.inf, -np.inf])
    made = torch.distributions.Bernoulli(logits=certain)
    found = made.log_prob(torch.tensor([0.0, 1.0, 0.0, 1.0]))
    assert found.tolist() == [-np.inf, 0, 0, -np.inf]
    others = torch.distributions.Bernoulli(logits=torch.tensor([np.inf, -np.inf, -np.inf, 0.0]))
    found = torch.distributions.kl_divergence(made, others)
    np.testing.assert_allclose(found.numpy(), [0, np.inf, 0, np.log(2)], rtol=1e-6)
    found = torch.distributions.kl_divergence(others, made)
    assert found.tolist() == [0, np.inf, 0, np.inf]


def test_the_gradient_of_bernoullis_is_what_was_seen_less_what_was_expected() -> None:
    logits = torch.tensor([-3.0, 0.0, 2.0, 30.0], requires_grad=True)
    seen = torch.tensor([1.0, 0.0, 0.25, 1.0])
    torch.distributions.Bernoulli(logits=logits, validate_args=False).log_prob(
        seen
    ).sum().backward()
    wanted = seen.numpy() - 1 / (1 + np.exp(-logits.detach().numpy()))
    np.testing.assert_allclose(logits.grad.numpy(), wanted, rtol=1e-5, atol=1e-12)


def test_normal_vectors_at_infinity_have_no_density() -> None:
    factor = torch.tensor([[2.0, 0.0], [0.5, 1.0]])
    made = torch.distributions.MultivariateNormal(
        torch.zeros(2), scale_tril=factor, validate_args=False
    )
    places = torch.tensor([[np.inf, 0.0], [0.0, -np.inf], [np.inf, np.inf], [np.inf, np.nan]])
    np.testing.assert_array_equal(made.log_prob(places), [-np.inf, -np.inf, -np.inf, np.nan])
