"""The p-norms of vectors, as one op with PyTorch's gradients at 0 and at ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import ops
from compiler.op import Op
from compiler.types import TensorType

_INF = math.inf


def _type(x: TensorType, *, p: float, axes: tuple[int, ...], keepdims: bool) -> TensorType:
    return ops.sum.infer_type(x, axes=axes, keepdims=keepdims)


def _evaluate(x: Any, *, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    options: Any = {"axis": axes, "keepdims": keepdims}
    size = np.abs(x)
    if p == _INF:
        return np.max(size, **options)
    if p == -_INF:
        return np.min(size, **options)
    if p == 0:
        return np.sum(x != 0, dtype=x.dtype, **options)
    if p == 1:
        return np.sum(size, **options)
    if p == 2:
        return np.sqrt(np.sum(np.square(size), **options))
    return np.sum(size**p, **options) ** (1 / p)


def _vjp(g: Any, o: Any, a: Any, *, p: float, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims:
        g, o = (ops.expand_dims(one, axes) for one in (g, o))
    if p == 0:
        return a * 0
    if p == 1:
        return ops.sign(a) * g
    size = ops.absolute(a)
    if abs(p) == _INF:
        winners = ops.astype(ops.equal(size, o), a.dtype)
        return ops.sign(a) * winners * (g / ops.sum(winners, axis=axes, keepdims=True))
    zero, flat = ops.equal(a, 0), ops.equal(o, 0)
    base = ops.where(flat, 1, o)
    if p < 2:
        part = ops.sign(a) * ops.where(zero, 0, ops.where(zero, 1, size) ** (p - 1))
    elif p == 2:
        part = a
    else:
        part = a * size ** (p - 2)
    return part * ops.where(flat, 0, g / base ** (p - 1))


vector_norm = Op(
    name="linalg_vector_norm",
    infer_type=_type,
    evaluate=_evaluate,
    vjp=(_vjp,),
    saves=("ao",),
    floating=True,
    doc="sum(|x|**p)**(1/p) over axes; for p inf and -inf the largest and the smallest magnitude, "
    "for 0 how many are not 0. The gradient at 0 is 0; ties share it evenly.",
)
