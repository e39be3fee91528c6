"""Orthogonal polynomials whose degrees are operands: a host step, which runs their recurrence."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import TensorType, broadcast_shapes, require_float
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import as_operand, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import divide
from staticgraph.compiler.reference import orthogonal

__all__ = ["orthogonal_polynomial"]

_NAME = "orthogonal_polynomial"


def _infer(x: TensorType, n: TensorType, *, family: str, order: int) -> TensorType:
    require_float(_NAME, x)
    if n.dtype.kind not in "iu":
        raise DTypeError(f"{_NAME}: degrees are integers, got {n}")
    return TensorType(broadcast_shapes(_NAME, x, n), x.dtype)


def _bind(x: Any, n: Any, family: str, order: int = 0) -> tuple[tuple[Any, Any], dict[str, Any]]:
    if family not in orthogonal.FAMILIES:
        known = ", ".join(orthogonal.FAMILIES)
        raise OptionError(f"{_NAME}: family={family!r} is none of {known}")
    if order < 0:
        raise OptionError(f"{_NAME}: order={order} is negative")
    n = as_operand(n)
    if np.dtype(n.dtype).kind not in "iu":
        raise DTypeError(f"{_NAME}: degrees are integers, got {n.dtype}")
    x = as_operand(x)
    x = x if is_float(x.dtype) else divide(x, 1)
    return (x, n), {"family": family, "order": int(order)}


def _by_x(g: object, o: object, x: Any, n: Any, *, family: str, order: int) -> Any:
    slope = orthogonal_polynomial(x, n, family, order + 1)
    return unbroadcast(g * slope, x)


orthogonal_polynomial: Op = register(
    Op(
        name=_NAME,
        infer_type=_infer,
        evaluate=orthogonal.orthogonal_polynomial,
        bind=_bind,
        vjp=(_by_x, None),
        saves=("ab", ""),
        batching=aligned,
        cost="expensive",
        lowering=Host(),
        doc="The polynomial of degree n, an integer operand, of a `family` (chebyshev_t, _u, _v "
        "and _w, hermite_h and _he, laguerre_l, legendre_p) at x, or its derivative of an `order`: "
        "0 where n is negative. By recurrence (Abramowitz and Stegun 22.7), so that the time is "
        "proportional to the largest degree.",
        example=">>> x, n = np.array([0.5, 2.0]), np.array([2, 3])\n"
        '>>> sg.special.orthogonal_polynomial(x, n, "chebyshev_t")\narray([-0.5, 26. ])',
    )
)
