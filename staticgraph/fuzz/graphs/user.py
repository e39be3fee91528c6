"""Ops as users declare them, among those of random programs: of numbers, and of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Array, Value
from staticgraph.user_ops import UserOp, op


@op
def softened(x: float) -> float:
    """A square near 0, and a line beyond 1."""
    return x * x if abs(x) < 1 else 2 * abs(x) - 1


@softened.vjp
def _(g: Value, out: Value, x: Value) -> Value:
    return g * ops.where(ops.abs(x) < 1, 2 * x, 2 * ops.sign(x))


@op(like=0)
def reversed_rows(x: Array) -> Array:
    """Twice the elements of each row, the last one first."""
    return x[..., ::-1] * x.dtype.type(2)


@reversed_rows.vjp
def _(g: Value, out: Value, x: Value) -> Value:
    return ops.flip(g, (g.ndim - 1,)) * 2


USER: dict[str, UserOp] = {"softened": softened, "reversed_rows": reversed_rows}
"""The ops by the names that programs call them."""

REFERENCE: dict[str, Callable[..., Any]] = {
    "softened": lambda x: np.where(np.abs(x) < 1, x * x, 2 * np.abs(x) - 1).astype(x.dtype),
    "reversed_rows": reversed_rows.function,
}
"""What they compute, with NumPy."""
