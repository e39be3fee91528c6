"""Exponentials of matrices."""

from __future__ import annotations

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.getting import getitem
from staticgraph.compiler.ops.slicing import concatenate
from staticgraph.compiler.ops.systems import matrix_op, transposed
from staticgraph.compiler.reference.exponentials import expm as evaluate

__all__ = ["expm"]


def _slope(g: Value, o: Value, a: Value) -> Value:
    """The corner of exp([[A', G], [0, A']]): the derivative at A', which is the transposed one.

    R. Mathias, A chain rule for matrix functions and applications, SIAM Journal on Matrix Analysis
    and Applications 17 (1996), theorem 2.1.
    """
    across = transposed(a)
    above = concatenate([across, g], axis=-1)
    below = concatenate([zeros_like(g), across], axis=-1)
    whole = expm(concatenate([above, below], axis=-2))
    rows, columns = a.shape[-2:]
    return getitem(whole, (..., slice(0, rows), slice(columns, None)))


expm: Op = matrix_op(
    "expm", evaluate, lambda a: a,
    vjp=(_slope,), saves=("a",), complex="holomorphic",
    doc="The exponentials of square matrices: (..., n, n), sums of A^k / k!.",
    example=">>> sg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))\n"
    "array([[1., 1.],\n"
    "       [0., 1.]])",
)  # fmt: skip
