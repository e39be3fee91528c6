"""What of linear algebra is in the main package too, and as methods of tensors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.ops.linalg.systems import adjoint
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.core.no_tensors import of_tensors
from staticgraph.dynamic.linalg import decompositions, products, solving
from staticgraph.dynamic.tensors.narrowing import widening
from staticgraph.dynamic.tensors.outputs import taking_out

__all__ = [
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "inverse",
    "lobpcg",
    "logdet",
    "lu",
    "lu_solve",
    "matrix_exp",
    "matrix_power",
    "pinverse",
    "slogdet",
]  # fmt: skip


def cholesky(input: object, upper: bool = False) -> Any:
    """The Cholesky factors: see `linalg.cholesky`.

    Example:
        >>> dynamic.cholesky(dynamic.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    return decompositions.cholesky(input, upper=upper)


@widening
def cholesky_solve(B: object, L: Any, upper: bool = False) -> Any:
    """X with A X = B, given the Cholesky factor L of A.

    Example:
        >>> dynamic.cholesky_solve(dynamic.tensor([[8.0]]), dynamic.tensor([[2.0]]))
        tensor([[2.]])
    """
    lower = adjoint(L) if upper else L
    half = solving.solve_triangular(lower, B, upper=False)
    return solving.solve_triangular(adjoint(lower), half, upper=True)


@widening
def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of A, given its Cholesky factor L.

    Example:
        >>> dynamic.cholesky_inverse(dynamic.tensor([[2.0]]))
        tensor([[0.2500]])
    """
    lower = adjoint(L) if upper else L
    inverse = solving.inv(ops.where(np.tri(lower.shape[-1], dtype=np.bool_), lower, 0))
    return adjoint(inverse) @ inverse


def pinverse(input: object, rcond: float = 1e-15) -> Any:
    """The pseudoinverses of matrices: see `linalg.pinv`.

    Example:
        >>> dynamic.pinverse(dynamic.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    return solving.pinv(input, rtol=rcond)


def chain_matmul(*matrices: object) -> Any:
    """The product of several matrices: see `linalg.multi_dot`.

    Example:
        >>> dynamic.chain_matmul(dynamic.ones(1, 2), dynamic.ones(2, 3), dynamic.ones(3, 1))
        tensor([[6.]])
    """
    return products.multi_dot(matrices)


def lu(input: Any, pivot: bool = True, get_infos: bool = False) -> tuple[Any, ...]:
    """The factors of `linalg.lu_factor`, and with `get_infos` which pivot is 0: see `lu_unpack`.

    Example:
        >>> dynamic.lu(dynamic.tensor([[2.0, 1.0], [4.0, 4.0]]))[1]
        tensor([2, 2], dtype=torch.int32)
    """
    triangles = import_module("staticgraph.dynamic.linalg.triangles")  # with Function: late
    found = triangles.lu_factor_ex(input, pivot=pivot, check_errors=not get_infos)
    return tuple(found if get_infos else found[:2])


def lu_solve(
    b: Any,
    LU_data: Any,
    LU_pivots: Any,
) -> Any:
    """X with A X = b, of the factors of A: see `linalg.lu_solve`.

    Example:
        >>> factors = dynamic.lu(dynamic.tensor([[2.0, 1.0], [4.0, 4.0]]))
        >>> dynamic.lu_solve(dynamic.tensor([[3.0], [8.0]]), *factors)
        tensor([[1.],
                [1.]])
    """
    triangles = import_module("staticgraph.dynamic.linalg.triangles")
    return triangles.lu_solve(LU_data, LU_pivots, b)


def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None,
    iK: Any = None, niter: int | None = None, tol: float | None = None, largest: bool | None = None,
    method: str | None = None, tracker: object = None, ortho_iparams: object = None,
    ortho_fparams: object = None, ortho_bparams: object = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The k largest or smallest eigenvalues of symmetric matrices, and their vectors as columns.

    With positive definite B those of A x = e B x. All are computed, with LAPACK, and to the last
    digit: where to start (X, n) and how and how long to search is not needed. k is 1, or the number
    of columns of X, unless given. ValueError for more than there are.

    Example:
        >>> values, _ = dynamic.lobpcg(dynamic.diag(dynamic.tensor([2.0, 5.0, 3.0])), k=2)
        >>> values
        tensor([5., 3.])
    """
    A = A.to_dense() if A.is_sparse else A
    size = A.shape[-1]
    count = (1 if X is None else X.shape[-1]) if k is None else k
    if not 0 < count <= size:
        raise OptionError(f"lobpcg: k={count} of the {size} eigenvalues of {list(A.shape)}")
    root: Any = None
    symmetric = (A + adjoint(A)) / 2
    if B is not None:
        root = decompositions.cholesky(B.to_dense() if B.is_sparse else B)
        half = solving.solve_triangular(root, symmetric, upper=False)
        symmetric = solving.solve_triangular(root, adjoint(half), upper=False)
    values, vectors = decompositions.eigh(symmetric)
    if largest is not False:
        values, vectors = ops.flip(values, -1), ops.flip(vectors, -1)
    values, vectors = values[..., :count], vectors[..., :count]
    if root is not None:
        vectors = solving.solve_triangular(adjoint(root), vectors, upper=True)
    return values, vectors


det, inverse, logdet, slogdet = solving.det, solving.inv, solving.logdet, solving.slogdet
matrix_exp, matrix_power = products.matrix_exp, products.matrix_power


for _name in __all__:
    _function = of_tensors(globals()[_name])
    if _name in ("det", "inverse", "matrix_power", "slogdet"):
        _function = taking_input(_function)
    if _name not in ("det", "lobpcg", "logdet", "matrix_exp", "pinverse", "slogdet"):
        _function = taking_out(_function)
    globals()[_name] = _function
