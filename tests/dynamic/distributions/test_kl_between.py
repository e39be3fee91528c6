"""Divergences between families, most likely values and entropies, against PyTorch's values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from staticgraph import dynamic as torch
from staticgraph.dynamic import distributions as dist


def _tensor(*values: float) -> Any:
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.float64)


MADE: dict[str, Any] = {
    "Beta": lambda: dist.Beta(_tensor(2.0), _tensor(3.0)),
    "ContinuousBernoulli": lambda: dist.ContinuousBernoulli(_tensor(0.3)),
    "Exponential": lambda: dist.Exponential(_tensor(1.5)),
    "Gamma": lambda: dist.Gamma(_tensor(2.0), _tensor(3.0)),
    "Gumbel": lambda: dist.Gumbel(_tensor(0.5), _tensor(2.0)),
    "Laplace": lambda: dist.Laplace(_tensor(0.5), _tensor(2.0)),
    "Normal": lambda: dist.Normal(_tensor(1.0), _tensor(2.0)),
    "Pareto": lambda: dist.Pareto(_tensor(1.5), _tensor(3.0)),
    "Uniform": lambda: dist.Uniform(_tensor(0.0), _tensor(2.0)),
    "Poisson": lambda: dist.Poisson(_tensor(2.0)),
    "Bernoulli": lambda: dist.Bernoulli(_tensor(0.3)),
    "Binomial": lambda: dist.Binomial(3, _tensor(0.3)),
}

FINITE = {
    ("Beta", "Exponential"): 0.4294415417,
    ("Beta", "Gamma"): 0.3210154058,
    ("Beta", "Normal"): 1.896992364,
    ("Beta", "Uniform"): 0.9280538303,
    ("ContinuousBernoulli", "Exponential"): 0.2692548458,
    ("ContinuousBernoulli", "Normal"): 1.69210586,
    ("Exponential", "Gamma"): 0.1909213038,
    ("Exponential", "Normal"): 1.086995266,
    ("Gamma", "Exponential"): 0.1159315157,
    ("Gamma", "Normal"): 1.175149004,
    ("Gumbel", "Normal"): 0.2177249474,
    ("Laplace", "Normal"): 0.2570413526,
    ("Normal", "Gumbel"): 0.1150868835,
    ("Normal", "Laplace"): 0.0968980438,
    ("Pareto", "Exponential"): 2.329348739,
    ("Pareto", "Gamma"): 3.173790828,
    ("Pareto", "Normal"): 1.378149561,
    ("Uniform", "Exponential"): 0.4013877113,
    ("Uniform", "Normal"): 0.9606051999,
    ("Bernoulli", "Poisson"): 1.181191544,
}
"""PyTorch's values."""

INFINITE = {
    "Beta": "Pareto",
    "ContinuousBernoulli": "Pareto",
    "Exponential": "Beta ContinuousBernoulli Pareto Uniform",
    "Gamma": "Beta ContinuousBernoulli Pareto Uniform",
    "Gumbel": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Laplace": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Normal": "Beta ContinuousBernoulli Exponential Gamma Pareto Uniform",
    "Pareto": "Beta ContinuousBernoulli Uniform",
    "Poisson": "Bernoulli Binomial",
}


def test_divergences_are_pytorchs() -> None:
    found = {(p, q): dist.kl_divergence(MADE[p](), MADE[q]()).item() for p, q in FINITE}
    assert found == pytest.approx(FINITE, rel=1e-8)


def test_a_family_that_gives_what_the_other_does_not_is_infinitely_far() -> None:
    for p, q in ((p, q) for p, names in INFINITE.items() for q in names.split()):
        assert dist.kl_divergence(MADE[p](), MADE[q]()).item() == math.inf


def test_where_moments_or_supports_are_missing_it_is_infinite() -> None:
    heavy = dist.Pareto(_tensor(1.5), _tensor(1.0))
    for q in ("Exponential", "Gamma", "Normal"):
        assert dist.kl_divergence(heavy, MADE[q]()).item() == math.inf
    low = dist.Uniform(_tensor(-1.0), _tensor(2.0))
    assert dist.kl_divergence(low, MADE["Exponential"]()).item() == math.inf
    narrow = dist.Uniform(_tensor(0.25), _tensor(2.0))
    assert dist.kl_divergence(MADE["Beta"](), narrow).item() == math.inf


def test_the_most_likely_values() -> None:
    assert MADE["Beta"]().mode.item() == pytest.approx(1 / 3)
    both = dist.Beta(_tensor(0.5, 3.0), _tensor(0.7, 1.0)).mode
    assert both.tolist() == [1.0, 1.0]
    assert dist.Dirichlet(_tensor(1.0, 2.0, 3.0)).mode.tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert dist.Dirichlet(_tensor(0.2, 0.3)).mode.tolist() == [1.0, 0.0]
    assert dist.Weibull(_tensor(1.0), _tensor(2.0)).mode.item() == pytest.approx(0.5**0.5)
    assert dist.Kumaraswamy(_tensor(2.0), _tensor(3.0)).mode.item() == pytest.approx(0.2**0.5)
    assert math.isnan(dist.Kumaraswamy(_tensor(0.5), _tensor(3.0)).mode.item())


def test_the_entropy_of_counts_of_choices() -> None:
    entropy = dist.Multinomial(5, _tensor(0.2, 0.8)).entropy().item()
    assert entropy == pytest.approx(1.243024162312, rel=1e-9)
    sure = dist.Multinomial(3, _tensor(1.0, 0.0)).entropy().item()
    assert sure == pytest.approx(0.0, abs=1e-6)
