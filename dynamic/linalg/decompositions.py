"""Factors of matrices, with gradients that can be differentiated again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from compiler import ops
from compiler.core.errors import LinAlgError
from compiler.ops.systems import transposed
from dynamic.autograd.function import Function
from dynamic.core.results import named
from dynamic.errors import AutogradError
from dynamic.linalg.checks import not_positive_definite, require_matrices, require_square
from dynamic.tape.grad_mode import recording
from dynamic.tape.nodes import Failing
from dynamic.tensors.tensor import wrap


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


def cholesky(A: Any, *, upper: bool = False) -> Any:
    """L with A = L L^T of symmetric positive definite matrices, lower; or its transpose.

    RuntimeError where there is none. Only the lower triangle is read.
    """
    require_square("linalg.cholesky", A)
    try:
        return ops.cholesky(A, upper=upper)
    except LinAlgError:
        raise not_positive_definite("linalg.cholesky", A) from None


def _skew(x: Any) -> Any:
    return x - transposed(x)


class LinalgQr(Function):
    """The reduced factors of matrices with at least as many rows as columns."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        """Q (..., m, n) and R (..., n, n)."""
        q, r = (wrap(one) for one in np.linalg.qr(a._array))
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, gq: Any, gr: Any) -> Any:
        """Walter, Lehmann, On algorithmic differentiation of the QR factorization, 2018."""
        q, r = ctx.saved_tensors
        inner = r @ transposed(gr) - transposed(gq) @ q
        inner = inner.tril() + transposed(inner.tril(-1))
        return (gq + q @ inner) @ transposed(ops.inv(r))


_COMPLETE = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
_ONLY_R = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
    "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
)
_FULL = (
    "svd_backward: The singular vectors with full_matrices=True have no gradient: use "
    "full_matrices=False"
)


def _failing(of: Any, result: Any, text: str, name: str) -> Any:
    """A result whose gradient is an error, if it is to be recorded."""
    if of.requires_grad and recording():
        result._node = Failing(result._array, AutogradError(text), name)
    return result


def qr(A: Any, mode: str = "reduced") -> QR:
    """A = Q R with orthonormal columns in Q and an upper triangle R.

    mode="reduced": (..., m, k) and (..., k, n) with k = min(m, n); "complete": k = m, without a
    gradient where m > n; "r": R alone, Q empty.
    """
    require_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise AutogradError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    rows, columns = A.shape[-2:]
    if mode == "complete" and rows > columns:
        factors = (wrap(one) for one in np.linalg.qr(A._array, "complete"))
        return QR(*(_failing(A, one, _COMPLETE, "LinalgQrBackward0") for one in factors))
    if mode == "r":
        factor = wrap(np.linalg.qr(A._array, "r"))
        empty = wrap(np.empty(0, A._array.dtype))
        return QR(empty, _failing(A, factor, _ONLY_R, "LinalgQrBackward0"))
    if rows < columns:  # the first columns have the factor, the others are turned by it
        q, r = LinalgQr.apply(A[..., :rows])
        r = ops.concatenate([r, transposed(q) @ A[..., rows:]], -1)
    else:
        q, r = LinalgQr.apply(A)
    return QR(q, r)


def _gaps(values: Any) -> Any:
    """values[j] - values[i] at (i, j), 1 on the diagonal."""
    apart = ops.expand_dims(values, values.ndim - 1) - ops.expand_dims(values, values.ndim)
    return ops.where(np.eye(values.shape[-1], dtype=np.bool_), 1, apart)


class LinalgEigh(Function):
    """Eigenvalues and eigenvectors of symmetric matrices."""

    @staticmethod
    def forward(ctx: Any, a: Any, lower: bool) -> Any:
        """The values (..., n) and the vectors (..., n, n)."""
        values, vectors = (wrap(one) for one in np.linalg.eigh(a._array, "L" if lower else "U"))
        ctx.save_for_backward(values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, gl: Any, gv: Any) -> Any:
        """Giles, An extended collection of matrix derivative results, 2008, section 3.1."""
        values, vectors = ctx.saved_tensors
        inner = transposed(vectors) @ gv / _gaps(values)
        diagonal = np.eye(values.shape[-1], dtype=np.bool_)
        inner = ops.where(diagonal, ops.expand_dims(gl, gl.ndim), inner)
        return vectors @ inner @ transposed(vectors), None


def eigh(A: Any, UPLO: str = "L") -> Eigh:
    """The eigenvalues in order and eigenvectors of symmetric matrices; one triangle is read.

    The gradient needs distinct eigenvalues: see `eigvalsh`.
    """
    require_square("linalg.eigh", A)
    return Eigh(*LinalgEigh.apply(A, _is_lower(UPLO)))


def _is_lower(triangle: str) -> bool:
    if triangle.upper() not in ("L", "U"):
        raise AutogradError(f"Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    return triangle.upper() == "L"


class LinalgEigvalsh(Function):
    """Eigenvalues of symmetric matrices, which may be equal."""

    @staticmethod
    def forward(ctx: Any, a: Any, lower: bool) -> Any:
        """The values (..., n)."""
        values, vectors = np.linalg.eigh(a._array, "L" if lower else "U")
        ctx.save_for_backward(a)
        ctx.lower = lower
        ctx.vectors = vectors
        return wrap(values)

    @staticmethod
    def backward(ctx: Any, gl: Any) -> Any:
        """The eigenvectors, weighted; they are recorded themselves if the pass is."""
        (a,) = ctx.saved_tensors
        recorded = gl.requires_grad or a.requires_grad
        vectors = LinalgEigh.apply(a, ctx.lower)[1] if recorded else wrap(ctx.vectors)
        return (vectors * ops.expand_dims(gl, gl.ndim - 1)) @ transposed(vectors), None


def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices in order: see `eigh`."""
    require_square("linalg.eigvalsh", A)
    return LinalgEigvalsh.apply(A, _is_lower(UPLO))


class LinalgSvd(Function):
    """The reduced singular value decomposition."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        """U (..., m, k), S (..., k) and Vh (..., k, n)."""
        u, s, vh = (wrap(one) for one in np.linalg.svd(a._array, full_matrices=False))
        ctx.save_for_backward(u, s, vh)
        return u, s, vh

    @staticmethod
    def backward(ctx: Any, gu: Any, gs: Any, gvh: Any) -> Any:
        """Townsend, Differentiating the singular value decomposition, 2016."""
        u, s, vh = ctx.saved_tensors
        ut, v, gv = transposed(u), transposed(vh), transposed(gvh)
        row, column = ops.expand_dims(s, s.ndim - 1), ops.expand_dims(s, s.ndim)
        apart = _gaps(ops.square(s))
        inner = _skew(ut @ gu) / apart * row + column * (_skew(vh @ gv) / apart)
        diagonal = np.eye(s.shape[-1], dtype=np.bool_)
        found = u @ ops.where(diagonal, column * 0 + ops.expand_dims(gs, gs.ndim), inner) @ vh
        if u.shape[-2] > s.shape[-1]:
            rest = gu / row
            found = found + (rest - u @ (ut @ rest)) @ vh
        if vh.shape[-1] > s.shape[-1]:
            rest = gvh / column
            found = found + u @ (rest - (rest @ v) @ vh)
        return found


def svd(A: Any, full_matrices: bool = True) -> SVD:
    """A = U diag(S) Vh, singular values from the largest on: (..., m, n).

    The gradient needs distinct singular values; that of the vectors full_matrices=False, unless
    m = n.
    """
    require_matrices("linalg.svd", A)
    if not full_matrices or A.shape[-2] == A.shape[-1]:
        return SVD(*LinalgSvd.apply(A))
    u, _, vh = (wrap(one) for one in np.linalg.svd(A._array))
    u, vh = (_failing(A, one, _FULL, "LinalgSvdBackward0") for one in (u, vh))
    return SVD(u, svdvals(A), vh)


def svdvals(A: Any) -> Any:
    """The singular values of matrices, from the largest on."""
    require_matrices("linalg.svdvals", A)
    return LinalgSvd.apply(A)[1]
