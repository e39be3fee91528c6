"""What is computed from Cholesky factors, real and complex, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("imaginary", [0, 1j])
def test_solutions_and_inverses(upper: bool, imaginary: complex) -> None:
    def drawn(*shape: int) -> np.ndarray:
        return RNG.normal(size=shape) + imaginary * RNG.normal(size=shape)

    root, b = drawn(4, 4), drawn(4, 2)
    a = root @ root.conj().T + np.eye(4)
    factor = torch.linalg.cholesky(torch.tensor(a), upper=upper)
    solved = torch.cholesky_solve(torch.tensor(b), factor, upper=upper)
    np.testing.assert_allclose(solved, np.linalg.solve(a, b), rtol=1e-10)
    # only the triangle is read, as LAPACK's potri does
    other = np.triu(drawn(4, 4), 1)
    beside = factor + torch.tensor(other.T if upper else other)
    inverse = torch.cholesky_inverse(beside, upper=upper)
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-8, atol=1e-10)
