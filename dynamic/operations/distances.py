"""Distances between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.layers.distances import row_pairs
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import require_dtype
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.narrowing import widening as _wide
from staticgraph.dynamic.tensors.tensor import PLAIN

__all__ = ["cdist", "cross", "dist", "pdist"]


@called("Dist")
def dist(input: object, other: Any, p: float = 2) -> Any:
    """The p-norm of the difference of two tensors, which broadcast.

    Example:
        >>> dynamic.dist(dynamic.tensor([0.0, 0.0]), dynamic.tensor([3.0, 4.0]))
        tensor(5.)
    """
    found = (input - other).norm(p)
    return keep(found, found)


@_wide
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """The p-norm distances of all pairs of rows: (..., m, k), (..., n, k) -> (..., m, n).

    The gradient at distance 0 is 0. `compute_mode` changes nothing: differences are always taken.

    Example:
        >>> dynamic.cdist(dynamic.tensor([[0.0, 0.0]]), dynamic.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    for name, one in (("X1", x1), ("X2", x2)):
        if one.ndim < 2:
            raise AutogradError(f"cdist only supports at least 2D tensors, {name} got: {one.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise AutogradError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    require_dtype("expected scalar type {0} but found {1}", x1, x2)
    if p < 0:
        raise AutogradError("cdist only supports non-negative p values")
    if p == 2 and type(x1) in PLAIN and type(x2) in PLAIN and is_float(x1._array.dtype):
        return x1._apply(eager_ops.distances, (x1, x2), {})
    away = ops.expand_dims(x1, -2) - ops.expand_dims(x2, -3)
    if not x1.shape[-1]:  # rows without an element are at distance 0 by every norm
        return away.sum(-1)
    return away.norm(p, -1)


@called("Pdist")
def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances of each row from those after it, in one vector.

    Example:
        >>> dynamic.pdist(dynamic.tensor([[0.0], [1.0], [3.0]]))
        tensor([1., 3., 2.])
    """
    if input.ndim != 2:
        raise AutogradError("pdist only supports 2D tensors, got: " + f"{input.ndim}D")
    if p < 0:
        raise AutogradError("pdist only supports non-negative p values")
    first, second = row_pairs(input)
    return (ops.take(input, first, 0) - ops.take(input, second, 0)).norm(p, -1)


@called("LinalgCross")
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along an axis of size 3: the first such axis if None.

    Example:
        >>> dynamic.cross(dynamic.tensor([1.0, 0.0, 0.0]), dynamic.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    if dim is None:
        shape = np.broadcast_shapes(input.shape, other.shape)
        if 3 not in shape:
            raise AutogradError("no dimension of size 3 in input")
        dim = shape.index(3) - len(shape)
    for one in (input, other):
        if one.shape[dim] != 3:
            raise AutogradError(
                "linalg.cross: inputs dimension "
                f"{dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
            )
    (a, b, c), (d, e, f) = input.unbind(dim), other.unbind(dim)
    return ops.stack([b * f - c * e, c * d - a * f, a * e - b * d], dim)
