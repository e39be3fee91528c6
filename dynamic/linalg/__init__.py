"""Linear algebra on matrices and batches of them, evaluated by NumPy's LAPACK (torch.linalg)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from staticgraph.compiler.core.errors import LinAlgError
from staticgraph.compiler.core.published import published as _published
from staticgraph.dynamic.core.no_tensors import of_tensors as _of_tensors
from staticgraph.dynamic.linalg.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from staticgraph.dynamic.linalg.householder import householder_product
from staticgraph.dynamic.linalg.norms import cond, matrix_norm, norm, vector_norm
from staticgraph.dynamic.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_exp,
    matrix_power,
    matrix_rank,
    multi_dot,
    vander,
    vecdot,
)
from staticgraph.dynamic.linalg.solving import (
    det,
    inv,
    lstsq,
    pinv,
    slogdet,
    solve,
    solve_triangular,
)
from staticgraph.dynamic.tensors.outputs import taking_out as _taking_out

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv",
    "lstsq", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "vander",
    "vecdot", "vector_norm",
]  # fmt: skip

for _name in __all__:
    if _name != "LinAlgError":
        globals()[_name] = _of_tensors(globals()[_name])
        if _name in ("householder_product", "matrix_power", "qr"):
            globals()[_name] = _taking_out(globals()[_name])

_published(__name__, globals())

_LATER = ("lu", "lu_factor", "lu_factor_ex", "lu_solve")
"""Functions with a rule of their own, which takes a Function: found when they are asked for."""
__all__ += ["lu", "lu_factor", "lu_factor_ex", "lu_solve"]


def __getattr__(name: str) -> Any:
    """A function that is imported when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'dynamic.linalg' has no attribute {name!r}")
    function = getattr(import_module("staticgraph.dynamic.linalg.triangles"), name)
    globals()[name] = _taking_out(_of_tensors(function))
    _published(__name__, {name: globals()[name]})
    return globals()[name]
