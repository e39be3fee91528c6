"""The p-norms of vectors, as one op with PyTorch's gradients at 0 and at ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import part_dtype
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.ops.batching import shifted
from staticgraph.compiler.ops.declare import as_operand, axis_binder, composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, astype, power, sign, square
from staticgraph.compiler.ops.elementwise.comparison import equal, not_equal, where
from staticgraph.compiler.ops.elementwise.exponential import sqrt
from staticgraph.compiler.ops.reductions.reduction import max, min, sum
from staticgraph.compiler.ops.shapes.shape import expand_dims

__all__ = ["vector_norm"]

_axes = axis_binder("vector_norm")


def _bind(
    x: object,
    ord: float = 2,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> tuple[Sequence[Any], Attrs]:
    operands, attrs = _axes(as_operand(x), axis, keepdims, dim=dim, keepdim=keepdim)
    return operands, {"p": float(ord), **attrs}


def _expanded(x: Any, *, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    attrs: Attrs = {"axes": axes, "keepdims": keepdims}
    size = absolute(x)
    if abs(p) == math.inf:
        return (max if p > 0 else min).bound((size,), {**attrs, "ties": "even"})
    if p == 0:
        return sum.bound((astype(not_equal(x, 0), part_dtype(x.dtype)),), attrs)
    if p == 1:
        return sum.bound((size,), attrs)
    if p == 2:
        return sqrt(sum.bound((square(size),), attrs))
    return power(sum.bound((power(size, p),), attrs), 1 / p)


def _evaluate(x: Any, *, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    options: Any = {"axis": axes, "keepdims": keepdims}
    size = np.abs(x)
    if p == math.inf:
        return np.max(size, **options)
    if p == -math.inf:
        return np.min(size, **options)
    if p == 0:
        return np.sum(x != 0, dtype=size.dtype, **options)
    if p == 1:
        return np.sum(size, **options)
    if p == 2:
        return np.sqrt(np.sum(np.square(size), **options))
    return np.sum(size**p, **options) ** (1 / p)


def _vjp(g: object, o: object, a: Any, *, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims:
        g, o = (expand_dims(one, axes) for one in (g, o))
    if p == 0:
        return a * 0
    if p == 1:
        return sign(a) * g
    size = absolute(a)
    if abs(p) == math.inf:
        winners = astype(equal(size, o), size.dtype)
        return sign(a) * winners * (g / sum(winners, axis=axes, keepdims=True))
    zero, flat = equal(a, 0), equal(o, 0)
    base = where(flat, 1, o)
    if p < 2:
        part = sign(a) * where(zero, 0, where(zero, 1, size) ** (p - 1))
    elif p == 2:
        part = a
    else:
        part = a * size ** (p - 2)
    return part * where(flat, 0, g / base ** (p - 1))


vector_norm = composite(
    "vector_norm", _expanded, bind=_bind, evaluate=_evaluate, vjp=(_vjp,), saves=("ao",),
    floating=True,
    batching=shifted,
    smooth=False,
    complex="own",
    doc="sum(|x|**p)**(1/p) over axes, p being `ord`; for inf and -inf the largest and the "
    "smallest magnitude, for 0 how many are not 0. The gradient at 0 is 0; ties share it evenly.",
    example=">>> sg.linalg.vector_norm(np.array([3.0, 4.0]))\nnp.float64(5.0)",
)  # fmt: skip
