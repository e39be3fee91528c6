"""Factors of matrices: the shared ops under PyTorch's names, with its errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.ops.linalg.decompositions import COMPLETE, FULL
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.results import named
from staticgraph.dynamic.linalg.checks import (
    not_positive_definite,
    require_matrices,
    require_square,
)
from staticgraph.dynamic.tape.grad_mode import recording
from staticgraph.dynamic.tape.nodes import Failing
from staticgraph.dynamic.tensors.narrowing import widening
from staticgraph.dynamic.tensors.tensor import has_values


class QR(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any

    def __repr__(self) -> str:
        return named("linalg_qr", self)


class Eigh(NamedTuple):
    """Eigenvalues in order, and orthonormal eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return named("linalg_eigh", self)


class SVD(NamedTuple):
    """Orthonormal columns, singular values from the largest on, orthonormal rows."""

    U: Any
    S: Any
    Vh: Any

    def __repr__(self) -> str:
        return named("linalg_svd", self)


@widening
def cholesky(A: object, *, upper: bool = False) -> Any:
    """L with A = L L^T of symmetric positive definite matrices, lower; or its transpose.

    RuntimeError where there is none. Only the lower triangle is read.

    Example:
        >>> dynamic.linalg.cholesky(dynamic.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    require_square("linalg.cholesky", A)
    try:
        return ops.cholesky(A, upper=upper)
    except LinAlgError:
        raise not_positive_definite("linalg.cholesky", A) from None


_ONLY_R = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
    "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
)


def _failing(of: Any, result: Any, text: str, name: str) -> Any:
    """A result whose gradient is an error, if it is to be recorded."""
    if has_values(of) and of.requires_grad and recording():
        result = result.detach()
        result._node = Failing(result._array, AutogradError(text), name)
    return result


@widening
def qr(A: Any, mode: str = "reduced") -> QR:
    """A = Q R with orthonormal columns in Q and an upper triangle R.

    mode="reduced": (..., m, k) and (..., k, n) with k = min(m, n); "complete": k = m, without a
    gradient where m > n; "r": R alone, Q empty.

    Example:
        >>> q, r = dynamic.linalg.qr(dynamic.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> q @ r
        tensor([[3.0000, 1.0000],
                [4.0000, 2.0000]])
    """
    require_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise AutogradError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    if mode == "r":
        empty = A._constant(np.empty(0, A._array.dtype))
        return QR(empty, _failing(A, ops.qr(A, "r"), _ONLY_R, "LinalgQrBackward0"))
    factors = ops.qr(A, mode)
    if mode == "complete" and A.shape[-2] > A.shape[-1]:
        return QR(*(_failing(A, one, COMPLETE, "LinalgQrBackward0") for one in factors))
    return QR(*factors)


@widening
def eigh(A: object, UPLO: str = "L") -> Eigh:
    """The eigenvalues in order and eigenvectors of symmetric matrices; one triangle is read.

    The gradient needs distinct eigenvalues: see `eigvalsh`.

    Example:
        >>> values, vectors = dynamic.linalg.eigh(dynamic.tensor([[2.0, 1.0], [1.0, 2.0]]))
        >>> (vectors * values) @ vectors.T
        tensor([[2.0000, 1.0000],
                [1.0000, 2.0000]])
    """
    require_square("linalg.eigh", A)
    return Eigh(*ops.eigh(A, _triangle(UPLO)))


class Eig(NamedTuple):
    """Eigenvalues, and eigenvectors as columns of length 1: complex."""

    eigenvalues: Any
    eigenvectors: Any

    def __repr__(self) -> str:
        return named("linalg_eig", self)


@widening
def eig(A: object) -> Eig:
    """The eigenvalues and eigenvectors of square matrices: complex.

    The gradient needs distinct eigenvalues, and a function that does not depend on the phases of
    the eigenvectors.

    Example:
        >>> values, vectors = dynamic.linalg.eig(dynamic.eye(2))
        >>> values
        tensor([1.+0.j, 1.+0.j])
    """
    require_square("linalg.eig", A)
    return Eig(*ops.eig(A))


@widening
def eigvals(A: object) -> Any:
    """The eigenvalues of square matrices: complex.

    Example:
        >>> dynamic.linalg.eigvals(dynamic.eye(2))
        tensor([1.+0.j, 1.+0.j])
    """
    require_square("linalg.eigvals", A)
    return ops.eigvals(A)


def _triangle(triangle: str) -> str:
    if triangle.upper() not in ("L", "U"):
        raise AutogradError(f"Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    return triangle.upper()


@widening
def eigvalsh(A: object, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices in order, which may be equal: see `eigh`.

    Example:
        >>> dynamic.linalg.eigvalsh(dynamic.tensor([[2.0, 1.0], [1.0, 2.0]]))
        tensor([1., 3.])
    """
    require_square("linalg.eigvalsh", A)
    return ops.eigvalsh(A, _triangle(UPLO))


@widening
def svd(A: Any, full_matrices: bool = True) -> SVD:
    """A = U diag(S) Vh, singular values from the largest on: (..., m, n).

    The gradient needs distinct singular values; that of the vectors full_matrices=False, unless
    m = n.

    Example:
        >>> u, s, vh = dynamic.linalg.svd(dynamic.tensor([[3.0, 1.0], [1.0, 3.0]]))
        >>> (u * s) @ vh
        tensor([[3.0000, 1.0000],
                [1.0000, 3.0000]])
    """
    require_matrices("linalg.svd", A)
    factors = SVD(*ops.svd(A, full_matrices))
    if not full_matrices or A.shape[-2] == A.shape[-1]:
        return factors
    u, vh = (_failing(A, one, FULL, "LinalgSvdBackward0") for one in (factors.U, factors.Vh))
    return SVD(u, factors.S, vh)


@widening
def svdvals(A: object) -> Any:
    """The singular values of matrices, from the largest on.

    Example:
        >>> dynamic.linalg.svdvals(dynamic.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor([4., 3.])
    """
    require_matrices("linalg.svdvals", A)
    return ops.svdvals(A)
