"""Linear algebra on matrices, the last two axes of an array, in NumPy's names.

What is compiled calls the LAPACK that NumPy ships, as a step of the program.
"""

from compiler.ops import cholesky, det, inv, matmul, outer, pinv, slogdet, solve, vector_norm

__all__ = [
    "cholesky", "det", "inv", "matmul", "outer", "pinv", "slogdet", "solve", "vector_norm",
]  # fmt: skip
