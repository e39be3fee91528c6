"""`torch.lobpcg`: some eigenvalues and vectors, of one symmetric matrix or of two."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch

GENERATOR = np.random.default_rng(0)
HALF = GENERATOR.standard_normal((2, 6, 6))
MATRICES = HALF @ HALF.transpose(0, 2, 1)
WEIGHTS = MATRICES[::-1] + np.eye(6)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("weighed", [True, False])
def test_values_and_vectors_solve_the_problem(largest: bool, weighed: bool) -> None:
    weights = torch.tensor(WEIGHTS) if weighed else None
    values, vectors = torch.lobpcg(torch.tensor(MATRICES), 2, weights, largest=largest)
    e, x = values.numpy(), vectors.numpy()
    b = WEIGHTS if weighed else np.eye(6)
    every = np.sort(np.linalg.eigvals(np.linalg.solve(b, MATRICES)).real)
    np.testing.assert_allclose(e, every[:, :-3:-1] if largest else every[:, :2], rtol=1e-9)
    np.testing.assert_allclose(MATRICES @ x, b @ x * e[:, None], atol=1e-9)
    np.testing.assert_allclose(x.transpose(0, 2, 1) @ b @ x, [np.eye(2)] * 2, atol=1e-9)


def test_the_slope_of_a_value_is_the_product_of_its_vector_with_itself() -> None:
    a = torch.tensor(MATRICES[0], requires_grad=True)
    values, vectors = torch.lobpcg(a, X=torch.eye(6, 1))
    values.sum().backward()
    x = vectors.detach().numpy()
    np.testing.assert_allclose(a.grad.numpy(), x @ x.T, atol=1e-12)
    of_sparse, _ = torch.lobpcg(a.detach().to_sparse(), k=1)
    np.testing.assert_allclose(of_sparse.numpy(), values.detach().numpy(), rtol=1e-12)


def test_more_values_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^lobpcg: k=7 of the 6 eigenvalues of \[6, 6\]$"):
        torch.lobpcg(torch.eye(6), k=7)
