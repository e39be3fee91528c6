"""Gaussian elimination: SciPy's factors, and gradients by finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dynamic as torch

RNG = np.random.default_rng(0)


def _matrix(*shape: int) -> Any:
    return torch.from_numpy(RNG.normal(size=shape))


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (1, 1)])
def test_factors_are_scipys(shape: tuple[int, int]) -> None:
    a = _matrix(*shape)
    wanted = scipy.linalg.lu(a.numpy())
    for found in (torch.linalg.lu(a), torch.lu_unpack(*torch.lu(a))):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other, atol=1e-14)
    if shape[0] == shape[1]:
        packed, pivots = scipy.linalg.lu_factor(a.numpy())
        ours = torch.linalg.lu_factor(a)
        np.testing.assert_allclose(ours.LU.numpy(), packed, atol=1e-14)
        assert ours.pivots.tolist() == (pivots + 1).tolist() and ours.pivots.dtype == torch.int32


def test_stacks_of_matrices_and_complex_ones() -> None:
    a = _matrix(2, 4, 4) + 1j * _matrix(2, 4, 4)
    p, lower, upper = torch.linalg.lu(a)
    np.testing.assert_allclose((p @ lower @ upper).numpy(), a.numpy(), atol=1e-14)
    b = _matrix(2, 4, 3) + 0j
    factors = torch.linalg.lu_factor(a)
    for adjoint in (False, True):
        whole = np.conj(np.swapaxes(a.numpy(), -1, -2)) if adjoint else a.numpy()
        x = torch.linalg.lu_solve(*factors, b, adjoint=adjoint).numpy()
        np.testing.assert_allclose(whole @ x, b.numpy(), atol=1e-12)
        x = torch.linalg.lu_solve(*factors, b.mT, adjoint=adjoint, left=False).numpy()
        np.testing.assert_allclose(x @ whole, b.mT.numpy(), atol=1e-12)
    np.testing.assert_allclose(a.numpy() @ torch.lu_solve(b, *factors).numpy(), b.numpy())


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_gradients(shape: tuple[int, ...]) -> None:
    a = _matrix(*shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.linalg.lu(x)[1:], (a,))
    if shape[-1] == shape[-2]:
        b = _matrix(*shape[:-1], 2)
        found = torch.linalg.lu_solve
        check = (lambda x: found(*torch.linalg.lu_factor(x), b),)
        assert torch.autograd.gradcheck(*check, (a,)) and torch.autograd.gradgradcheck(*check, (a,))


def test_without_exchanges_and_with_a_pivot_of_zero() -> None:
    a = torch.tensor([[2.0, 1.0], [4.0, 4.0]])
    p, lower, upper = torch.linalg.lu(a, pivot=False)
    assert p.numel() == 0
    assert lower.tolist() == [[1, 0], [2, 1]] and upper.tolist() == [[2, 1], [0, 2]]
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert torch.linalg.lu_factor_ex(singular).info.item() == 2
    assert torch.lu(singular, get_infos=True)[2].item() == singular.lu(get_infos=True)[2] == 2
    with pytest.raises(RuntimeError, match=r"lu_factor: U\[2,2\] is zero and using it on lu_solve"):
        torch.linalg.lu_factor(singular)
    empty, lower, upper = torch.lu_unpack(*torch.lu(a), unpack_data=False)
    assert lower.numel() == upper.numel() == 0 and empty.shape == (2, 2)


def test_matrices_without_columns() -> None:
    p, lower, upper = torch.linalg.lu(torch.ones(4, 0))
    assert (p.shape, lower.shape, upper.shape) == ((4, 4), (4, 0), (0, 0))
