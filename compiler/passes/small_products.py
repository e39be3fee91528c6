"""Small products as sums.

A call of a product takes 70 ns or more, in which a loop computes a product of 6 by 6 matrices; and
as a loop it joins what is done with its operands and its result. Measured on 50,000 pairs in
float32, one thread, calls against loops: 2 x 2 3.4 ms, 0.15; 3 x 3 4.0, 0.5; 4 x 4 8.1, 0.8; 6 x 6
7.0, 2.9; 8 x 8 4.6, 4.8. NumPy takes 4.2, 4.6, 7.6, 6.1, 6.3.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from compiler import ops
from compiler.core.dtypes import is_float
from compiler.core.op import Attrs, Op
from compiler.graph.expression import Expression
from compiler.passes.loops import optimise_bodies
from compiler.passes.replay import replay

if TYPE_CHECKING:
    import networkx as nx

MOST = 256  # products of numbers in a product that is a sum; above, a call is as fast
MOST_SHARED = 32  # the same where one operand is no batch, so that one call computes all: 50,000 of
# 3 x 3 take 0.43 ms as loops and 1.3 as a call, 25,000 of 8 x 4 by 4 x 8 1.5 and 0.9


def sum_small_products(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """A @ B = sum(A[..., :, :, None] * B[..., None, :, :], axis -2), for matrices of few floats.

    Their sizes are known, or they are rows and columns.
    """
    if op is not ops.matmul or not is_float(operands[0].dtype):
        return None
    a, b = operands
    if a.ndim < 2 or b.ndim < 2:
        return None
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    if inner == 1:
        return ops.multiply(a, b)
    if rows == columns == 1:
        return ops.sum(ops.multiply(a, ops.swapaxes(b, -2, -1)), -1, keepdims=True)
    sizes = [size for size in (rows, inner, columns) if isinstance(size, int)]
    most = MOST if (a.ndim == 2) == (b.ndim == 2) else MOST_SHARED
    if len(sizes) < 3 or not 0 < prod(sizes) <= most:
        return None
    products = ops.multiply(ops.expand_dims(a, a.ndim), ops.expand_dims(b, b.ndim - 2))
    return ops.sum(products, products.ndim - 2)


def sum_products_of_bodies(graph: nx.MultiDiGraph[int]) -> nx.MultiDiGraph[int]:
    """The same in loops and branches: what moves out of them as a product has done so before."""

    def optimise(body: nx.MultiDiGraph[int]) -> nx.MultiDiGraph[int]:
        return sum_products_of_bodies(replay(body, {}, [sum_small_products]))

    return optimise_bodies(graph, optimise)
