"""Linear algebra on matrices, the last two axes of an array, in NumPy's names.

What is compiled calls the LAPACK that NumPy ships, as a step of the program.
"""

from compiler.ops import (
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_rank,
    outer,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
    vector_norm,
)

__all__ = [
    "cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "vector_norm",
]  # fmt: skip
