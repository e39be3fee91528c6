"""Eigenvalues and eigenvectors of any square matrices, which are complex, by NumPy's LAPACK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.compiler.core.dtypes import complex_dtype, is_inexact
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.types import TensorType, TupleType
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand, zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import astype
from staticgraph.compiler.ops.elementwise.comparison import where
from staticgraph.compiler.ops.elementwise.complex_numbers import conjugate, real_part
from staticgraph.compiler.ops.linalg.decompositions import as_column, as_row, factors, gaps
from staticgraph.compiler.ops.linalg.products import matmul
from staticgraph.compiler.ops.linalg.systems import (
    adjoint,
    computed_or_failing,
    diagonal,
    finite,
    require_square,
    solve_matrices,
)
from staticgraph.compiler.ops.programs.control import items
from staticgraph.compiler.ops.reductions.reduction import sum

__all__ = ["eig", "eigvals"]


def _eig_type(a: TensorType) -> TupleType:
    return TupleType((TensorType(a.shape[:-1], a.dtype), a))


def _eig_check(name: str, a: TensorType) -> None:
    require_square(name, a)
    if a.dtype.kind != "c":
        raise DTypeError(f"{name}: {a} is not complex: cast it with astype")


def _eig_numpy(a: Any) -> tuple[Any, ...]:
    def found(one: Any) -> tuple[Any, ...]:
        return tuple(np.linalg.eig(finite(one)))

    several: tuple[Any, ...] = computed_or_failing("eig", found, "does not converge", a)
    return several


def _eig_vjp(gs: Sequence[Any], out: Sequence[Any], a: object) -> Any:
    # Boeddeker et al., On the computation of complex-valued gradients, 2017, section 4.14; columns
    # have length 1
    (values, vectors), (gl, gv) = out, gs
    inner: Any = zeros_like(vectors)
    if gv is not None:
        inner = matmul(adjoint(vectors), gv)
        lengths = sum(where(diagonal(inner), real_part(inner), 0), axis=-2)
        inner = inner - matmul(adjoint(vectors), vectors) * as_row(lengths)
        inner = inner / conjugate(gaps(values))
    inner = where(diagonal(inner), 0 if gl is None else as_column(gl), inner)
    return solve_matrices(adjoint(vectors), matmul(inner, adjoint(vectors)))


eig_factors: Op = factors(
    "eig", _eig_numpy, _eig_type, _eig_vjp, check=_eig_check,
    smooth=False,
    doc="The eigenvalues and the eigenvectors, as columns of length 1, of square complex matrices: "
    "(..., n, n) -> (..., n) and (..., n, n).",
)  # fmt: skip


class Eig(NamedTuple):
    """Eigenvalues, and eigenvectors as columns of length 1: complex."""

    eigenvalues: Any
    eigenvectors: Any


def eig(a: Value) -> Eig:
    """The eigenvalues, in no order, and eigenvectors of square matrices: complex.

    The gradient by the eigenvectors needs distinct eigenvalues, and a function that does not
    depend on the phases of the eigenvectors.

    Raises:
        LinAlgError: LAPACK's iteration does not converge.

    Example:
        >>> values, vectors = sg.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]]))
        >>> np.sort(values.imag)
        array([-1.,  1.])
    """
    a = as_operand(a)
    dtype = np.dtype(a.dtype)
    if dtype.kind != "c":
        a = astype(a, complex_dtype(dtype if is_inexact(dtype) else np.dtype(np.float64)))
    return Eig(*items(eig_factors.bound((a,), {})))


def eigvals(a: Value) -> Value:
    """The eigenvalues, in no order, of square matrices: complex. See `eig`.

    Example:
        >>> np.sort(sg.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]])).imag)
        array([-1.,  1.])
    """
    return eig(a).eigenvalues
