"""Exponentials of matrices."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import TensorType, require_same_dtype, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import of_one_shape
from staticgraph.compiler.ops.declare import zeros_like
from staticgraph.compiler.ops.elementwise.arithmetic import add
from staticgraph.compiler.ops.indexing.getting import getitem
from staticgraph.compiler.ops.linalg.systems import matrix_op, require_square, transposed
from staticgraph.compiler.ops.shapes.slicing import concatenate
from staticgraph.compiler.reference import exponentials

__all__ = ["expm"]


def _frechet_type(a: TensorType, e: TensorType) -> TensorType:
    require_square("expm_frechet", a)
    dtype = require_same_dtype("expm_frechet", a, e)
    if a.ndim != e.ndim or any(unify(*pair) is None for pair in zip(a.shape, e.shape, strict=True)):
        raise ShapeError(f"expm_frechet: {e} is no direction of {a}")
    return TensorType(a.shape, dtype)


def _by_matrix(g: Value, o: Value, a: Value, e: Value) -> Value:
    """The derivative is a corner of exp([[a, e], [0, a]]): the slope of that, where a stands."""
    both = _blocks(a, e, zeros_like(a), a)
    corner = _blocks(zeros_like(g), g, zeros_like(g), zeros_like(g))
    slope = expm_frechet(transposed(both), corner)
    size = a.shape[-1]
    first = getitem(slope, (..., slice(0, size), slice(0, size)))
    return add(first, getitem(slope, (..., slice(size, None), slice(size, None))))


def _blocks(a: Value, b: Value, c: Value, d: Value) -> Any:
    """The matrices [[a, b], [c, d]]."""
    rows = [concatenate([a, b], axis=-1), concatenate([c, d], axis=-1)]
    return concatenate(rows, axis=-2)


expm_frechet: Op = register(
    Op(
        name="expm_frechet",
        infer_type=_frechet_type,
        evaluate=exponentials.expm_frechet,
        vjp=(_by_matrix, lambda g, o, a, e: expm_frechet(transposed(a), g)),
        saves=("ab", "a"),
        checked=True,
        lowering=Host(),
        promotes=slice(None),
        floating=True,
        batching=of_one_shape,
        complex="holomorphic",
        doc="The derivative of exp at square matrices a in directions e: (..., n, n), (..., n, n) "
        "-> (..., n, n).",
    )
)


expm: Op = matrix_op(
    "expm", exponentials.expm, lambda a: a,
    vjp=(lambda g, o, a: expm_frechet(transposed(a), g),), saves=("a",), complex="holomorphic",
    doc="The exponentials of square matrices: (..., n, n), sums of A^k / k!.",
    example=">>> sg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))\n"
    "array([[1., 1.],\n"
    "       [0., 1.]])",
)  # fmt: skip
