"""Small products as sums.

A call of a product takes 70 ns or more, in which a loop computes a product of 6 by 6 matrices; and
as a loop it joins what is done with its operands and its result. Measured on 50,000 pairs in
float32, one thread, calls against loops: 2 x 2 3.4 ms, 0.15; 3 x 3 4.0, 0.5; 4 x 4 8.1, 0.8; 6 x 6
7.0, 2.9; 8 x 8 4.6, 4.8. NumPy takes 4.2, 4.6, 7.6, 6.1, 6.3.

Where one call computes everything, a loop is as fast only if two of the three sizes are tiny, and
the third may be anything: (400000, 2) by (2, 2) 0.46 and 0.27 ms, but (267000, 3) by (3, 3) 0.4 and
1.4; (2, 400000) by (400000, 2) 1.1 and 0.3, by 3 rows 0.8 and 0.5, 4 by 4 0.5 and 1.0. Where both
operands lie along the depth, sums are fast however many there are: 4 by 4 0.9 and 0.4.
"""

from __future__ import annotations

from math import prod

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.graph.definition import Definition
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.passes.loops import optimise_bodies
from staticgraph.compiler.passes.replay import replay

MOST = 256  # products of numbers in a product that is a sum; above, a call is as fast
TINY = 6  # the same of two of the sizes, where one call computes all
FEW_SUMS = 9  # elements of its result
DOTS = 16  # the same, where the depth is the last axis of both operands


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
    if not _is_small(a, b):
        return None
    products = ops.multiply(ops.expand_dims(a, a.ndim), ops.expand_dims(b, b.ndim - 2))
    return ops.sum(products, products.ndim - 2)


def _is_small(a: Expression, b: Expression) -> bool:
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    if b.ndim > 2 or (a.ndim == 2 and _few(MOST, rows, inner, columns)):
        return _few(MOST, rows, inner, columns)
    if a.ndim > 2:  # one product of all rows
        return _few(TINY, inner, columns)
    if _few(TINY, inner, columns) or _few(TINY, rows, inner):
        return True
    are_dots = not _is_turned(a) and _is_turned(b)
    return _few(DOTS if are_dots else FEW_SUMS, rows, columns)


def _few(most: int, *sizes: Size) -> bool:
    """Whether all are known, and there are few of them together, but some."""
    known = [size for size in sizes if isinstance(size, int)]
    return len(known) == len(sizes) and 0 < prod(known) <= most


def _is_turned(matrix: Expression) -> bool:
    return matrix.op is ops.transpose and matrix.attrs["axes"] == (1, 0)


def sum_products_of_bodies(graph: Definition) -> Definition:
    """The same in loops and branches: what moves out of them as a product has done so before."""

    def optimise(body: Definition) -> Definition:
        return sum_products_of_bodies(replay(body, {}, [sum_small_products]))

    return optimise_bodies(graph, optimise)
