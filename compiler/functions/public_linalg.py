"""The functions on matrices that the frontends export as `linalg`."""

from staticgraph.compiler.functions.arranging import matrix_transpose
from staticgraph.compiler.functions.last_planes import diagonal, trace
from staticgraph.compiler.functions.norms import cond, norm
from staticgraph.compiler.functions.products import (
    cross,
    multi_dot,
    tensordot,
    tensorinv,
    tensorsolve,
    vecdot,
)

__all__ = [
    "cond", "cross", "diagonal", "matrix_transpose", "multi_dot", "norm", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot",
]  # fmt: skip
