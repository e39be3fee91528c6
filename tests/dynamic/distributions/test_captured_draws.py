"""Numbers whose distributions tensors give are the same in captured functions as eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
import staticgraph as sg

of = torch.distributions
X = np.random.default_rng(2).uniform(0.05, 0.95, (4, 5))

DISCRETE: dict[str, Callable[[Any], Any]] = {
    "poisson": lambda x: torch.poisson(x * 30),
    "binomial": lambda x: torch.binomial(torch.full((4, 5), 40.0), x),
    "Poisson": lambda x: of.Poisson(x * 5).sample((2,)),
    "Binomial": lambda x: of.Binomial(10, x).sample(),
    "NegativeBinomial": lambda x: of.NegativeBinomial(10, x).sample(),
    "Geometric": lambda x: of.Geometric(x).sample(),
    "Multinomial": lambda x: of.Multinomial(10, x).sample(),
    "geometric_": lambda x: x.clone().geometric_(0.3),
    "histogramdd": lambda x: torch.histogramdd(x[:, :2], [3, 2])[0],
    "histc": lambda x: torch.histc(x, 4) + torch.histc(x, 4, 0.2, 0.7),
    "histc of one value": lambda x: torch.histc(x * 0, 3),
}
CONTINUOUS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda x: x + torch.normal(1.0, 2.0, (4, 5)),
    "cauchy_": lambda x: x.clone().cauchy_(1.0, 2.0),
    "log_normal_": lambda x: x.clone().log_normal_(),
    "Uniform": lambda x: of.Uniform(x, x + 1).rsample(),
    "Gamma": lambda x: of.Gamma(x * 3, 2.0).rsample((2,)),
    "Beta": lambda x: of.Beta(x, x + 2).rsample(),
    "Dirichlet": lambda x: of.Dirichlet(x + 1).rsample(),
    "StudentT": lambda x: of.StudentT(x + 2).rsample(),
    "Chi2": lambda x: of.Chi2(x + 1).rsample(),
    "FisherSnedecor": lambda x: of.FisherSnedecor(x + 3, 5.0).rsample(),
    "InverseGamma": lambda x: of.InverseGamma(x + 1, 1.0).rsample(),
    "Wishart": lambda x: of.Wishart(x[0, 0] + 7, torch.eye(3, dtype=torch.float64)).rsample(),
    "LKJCholesky": lambda x: of.LKJCholesky(3, x[0, 0]).sample(),
}


def _twice(function: Callable[[Any], Any], x: Any) -> list[np.ndarray]:
    torch.manual_seed(4)
    return [function(x).detach().numpy() for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DISCRETE, *CONTINUOUS])
def test_captured_draws_are_the_eager_ones(name: str) -> None:
    draw = DISCRETE.get(name) or CONTINUOUS[name]
    x = torch.tensor(X)
    first, second = _twice(draw, x)
    found = _twice(sg.function(draw), x)
    if name in DISCRETE:
        assert_array_equal(found, [first, second])
    else:
        assert_allclose(found, [first, second], rtol=1e-13)
    if not name.startswith("hist"):
        assert np.any(first != second)


@pytest.mark.slow
def test_gamma_numbers_have_gradients_when_captured() -> None:
    def loss(x: Any) -> Any:
        return of.Gamma(x, 2.0).rsample().log().sum()

    slopes = []
    for function in (loss, sg.function(loss)):
        x = torch.tensor(X * 4, requires_grad=True)
        torch.manual_seed(1)
        function(x).backward()
        slopes.append(x.grad.numpy())
    assert_allclose(slopes[0], slopes[1], rtol=1e-12)
    assert np.all(slopes[0] > 0)  # a larger shape, a larger number at the same quantile


def test_what_is_no_parameter_is_refused_in_both() -> None:
    for draw, text in (
        (torch.poisson, "invalid Poisson rate, expected rate to be non-negative"),
        (lambda x: torch.binomial(x * 0 + 3, x), "binomial: probabilities are from 0 to 1"),
    ):
        bad = torch.tensor([0.5, -1.0])
        with pytest.raises(RuntimeError, match=text):
            draw(bad)
        with pytest.raises((RuntimeError, sg.CheckError), match=text):
            sg.function(draw)(bad)
    with pytest.raises(RuntimeError, match="invalid Poisson rate"):
        torch.poisson(torch.tensor(float("nan")))
