"""Densities, moments, entropies and divergences against those recorded from PyTorch."""

from __future__ import annotations

import json

import numpy as np

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
