"""Norms and condition numbers in NumPy's names, composed of shared ops."""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.types import normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.reductions.reduction import positions

__all__ = ["cond", "norm"]


def norm(x: Value, ord: Value = None, axis: Any = None, keepdims: bool = False) -> Value:
    """A norm of vectors along one axis, or of matrices in the planes of two.

    Without `axis` of a vector or a matrix; without `ord` too, the Euclidean one of all elements.
    See `vector_norm` and `matrix_norm` for `ord`.

    Example:
        >>> sg.linalg.norm(np.array([3.0, 4.0]))
        np.float64(5.0)
    """
    x = as_operand(x)
    if axis is None and ord is None:
        return ops.vector_norm(x, 2, None, keepdims)
    if axis is None:
        if x.ndim not in (1, 2):
            raise ShapeError(f"norm: ord={ord!r} of {x.ndim} axes needs axis=")
        axes: tuple[int, ...] = tuple(range(x.ndim))
    else:
        given = (axis,) if hasattr(axis, "__index__") else tuple(axis)
        axes = tuple(normalise_axis("norm", one, x.ndim) for one in given)
    if len(axes) == 1:
        return ops.vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError(f"norm: over {len(axes)} axes, of 1 or 2")
    return ops.matrix_norm(x, "fro" if ord is None else ord, (axes[0], axes[1]), keepdims)


def cond(x: Value, p: Value = None) -> Value:
    """The condition numbers of matrices: the norm times that of the inverse.

    The largest singular value divided by the smallest unless `p` names another norm of
    `matrix_norm`. inf of a singular matrix, nan where there is a nan.

    Example:
        >>> sg.linalg.cond(np.array([[2.0, 0.0], [0.0, 1.0]]))
        array(2.)
    """
    x = floats(x)
    missing = ops.any(ops.isnan(x), axis=(-2, -1))
    if p in (None, 2, -2):
        values = ops.svdvals(ops.where(_each(missing), 1, x))
        largest, smallest = ops.max(values, axis=-1), ops.min(values, axis=-1)
        found = largest / smallest if p != -2 else smallest / largest
    else:
        singular = ops.equal(ops.slogdet(x)[0], 0)
        unit = ops.equal(positions(x, x.ndim - 2), positions(x, x.ndim - 1))
        regular = ops.where(_each(singular), ops.astype(unit, x.dtype), x)
        found = ops.matrix_norm(x, p) * ops.matrix_norm(ops.inv(regular), p)
        found = ops.where(singular, math.inf, found)
    found = ops.where(ops.isnan(found), math.inf, found)
    return ops.where(missing, math.nan, found)


def _each(x: Any) -> Any:
    """One number per matrix, to broadcast with the matrices."""
    return ops.expand_dims(x, (x.ndim, x.ndim + 1))
