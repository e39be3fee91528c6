"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Size, product
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import DTypeError, ShapeError
from staticgraph.compiler.core.lowering import Gemm, Matmul
from staticgraph.compiler.core.op import Attrs, Op, register
from staticgraph.compiler.core.types import (
    TensorType,
    broadcast_shapes,
    require_same_dtype,
    type_of,
    unify,
)
from staticgraph.compiler.ops.batching import Apply, Example, evaluated, full, widened
from staticgraph.compiler.ops.declare import composite, unbroadcast
from staticgraph.compiler.ops.elementwise.arithmetic import multiply
from staticgraph.compiler.ops.shapes.shape import (
    expand_dims,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from staticgraph.compiler.reference.product_arrays import small_product

__all__ = ["dot", "matmul", "outer"]


def _matmul_type(a: TensorType, b: TensorType) -> TensorType:
    dtype = require_same_dtype("matmul", a, b)
    if dtype.kind == "b":
        raise DTypeError(f"matmul: {a} @ {b}: bool has no product: cast it with astype")
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul: {a} @ {b}: a scalar has no axis to sum over: use multiply")
    inner, other = a.shape[-1], b.shape[-2 if b.ndim > 1 else 0]
    if unify(inner, other) is None:
        raise ShapeError(f"matmul: {a} @ {b}: last axis {inner} != {other}")
    batch = broadcast_shapes(
        f"matmul: {a} @ {b}: leading axes",
        TensorType(a.shape[:-2], dtype),
        TensorType(b.shape[:-2], dtype),
    )
    rows = a.shape[-2:-1]
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return TensorType(batch + rows + columns, dtype)


def _matmul_by_a(g: Any, o: object, a: Any, b: Any) -> Any:
    if b.ndim == 1:  # each element of g is that of a row: it times the vector
        return unbroadcast(multiply(expand_dims(g, g.ndim) if g.ndim else g, b), a)
    rows = expand_dims(g, g.ndim - 1) if a.ndim == 1 else g
    result = matmul(rows, swapaxes(b, -1, -2))
    return unbroadcast(squeeze(result, result.ndim - 2) if a.ndim == 1 else result, a)


def _matmul_by_b(g: Any, o: object, a: Any, b: Any) -> Any:
    if a.ndim == 1:
        if b.ndim == 1:
            return unbroadcast(multiply(g, a), b)
        a, g = expand_dims(a, 0), expand_dims(g, g.ndim - 1)
    elif b.ndim <= 2 and a.ndim > 2:
        # one product over all rows instead of one per batch and a sum
        lead = a.ndim - 1
        a = reshape(a, (product(a.shape[:lead]), a.shape[lead]))
        g = reshape(g, (product(g.shape[:lead]), *g.shape[lead:]))
    return unbroadcast(matmul(swapaxes(a, -1, -2), g), b)


def _laid_out_as(operand: Any, a: Any, b: Any) -> Any:
    """a @ b, column after column where the operand is so: the gradient of a transposed weight.

    That of the weight is then row after row. An operand that is not kept says so itself.
    """
    flags = getattr(operand, "flags", None)
    if flags is None:
        turned = getattr(operand, "turned", False)
    else:
        turned = flags.f_contiguous and not flags.c_contiguous
    return small_product(b.T, a.T).T if turned else small_product(a, b)


def _is_turned(stack: Any) -> bool:
    """Whether the matrices of a stack lie column after column; False of one that is not kept."""
    return isinstance(stack, np.ndarray) and stack.swapaxes(-1, -2).flags.c_contiguous


def _matmul_arrays(positions: Sequence[int], g: Any, o: object, a: Any, b: Any) -> Sequence[Any]:
    if len(a.shape) == 2 and len(b.shape) == 2:
        return [
            _laid_out_as(b, a.T, g) if position else _laid_out_as(a, g, b.T)
            for position in positions
        ]
    rules = _matmul_by_a, _matmul_by_b
    if len(b.shape) == 1 and len(a.shape) > 1:
        # for plain arrays a product of matrices with one column and one row is the faster one
        return [
            rules[1](g, o, a, b) if position else _matmul_numpy(g[..., None], b[None])
            for position in positions
        ]
    if len(a.shape) == 1 and len(b.shape) > 2 and _is_turned(b):
        stack = b.swapaxes(-1, -2)  # a @ b is stack @ a
        found = _matmul_arrays([1 - position for position in positions], g, o, stack, a)
        pairs = zip(positions, found, strict=True)
        return [one.swapaxes(-1, -2) if position else one for position, one in pairs]
    if len(b.shape) == 2 and len(a.shape) > 2 and 1 in positions:
        rows, columns = (x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) for x in (a, g))
        by_b = _laid_out_as(b, rows.T, columns)
        return [by_b if position else rules[0](g, o, a, b) for position in positions]
    return [rules[position](g, o, a, b) for position in positions]


MANY = 16  # matrices of a stack, from which on a call of the BLAS for each is what takes the time


def _matmul_numpy(a: Any, b: Any) -> Any:
    if a.size > 1 and b.size > 1:
        if a.ndim <= 2 and b.ndim <= 2:
            return a.dot(b)  # as `small_product`, without its call
        if a.ndim > 2 and 1 <= b.ndim <= 2 and a.size >= MANY * a.shape[-2] * a.shape[-1]:
            if 1 in b.shape or b.ndim == 1:
                return _by_thin(a, b)
        elif a.ndim > 1 < b.ndim and a.shape[-1] == 1 == b.shape[-2]:
            return a * b
    if not a.ndim or not b.ndim:
        _matmul_type(type_of(a), type_of(b))  # which says better than NumPy what is wrong
    return np.matmul(a, b)


def _by_thin(stack: Any, thin: Any) -> Any:
    """A stack of matrices times one vector, column or row: one product of all their rows.

    NumPy multiplies matrix by matrix. Measured on 1024 of 16 x 32 in float32, one thread, in us: by
    a vector 54 and 27, columns by a row 513 and 62.
    """
    found = np.empty((*stack.shape[:-1], *thin.shape[1:]), np.result_type(stack, thin))
    rows = stack.reshape(-1, stack.shape[-1])
    rows.dot(thin, out=found.reshape(-1, *thin.shape[1:]))
    return found


def _batched_product(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    a, b = examples
    if a.batched and not b.batched and b.ndim == 2 and a.ndim:
        # one product over the rows of all examples
        lead = a.tensor.shape[:-1]
        rows = reshape(a.tensor, (math.prod(lead), a.tensor.shape[-1]))
        return reshape(apply(matmul, [rows, b.tensor], {}), (*lead, b.tensor.shape[1]))
    if not a.batched and b.batched and b.ndim == 1 and a.ndim == 2:
        return apply(matmul, [b.tensor, swapaxes(a.tensor, 0, 1)], {})
    if 3 <= a.ndim == b.ndim and a.batched != b.batched:
        # one product for each matrix of the stack, instead of one for each of its vectors
        if b.batched and b.tensor.shape[-1] == 1 and not _is_tiny(a.tensor):
            rows = _of_all_rows(swapaxes(b.tensor, -1, -2), swapaxes(a.tensor, -1, -2), apply)
            return swapaxes(rows, -1, -2)
        if a.batched and a.tensor.shape[-2] == 1 and not _is_tiny(b.tensor):
            return _of_all_rows(a.tensor, b.tensor, apply)
    left, right = a.tensor, b.tensor
    if a.ndim == 1:
        left = expand_dims(left, left.ndim - 1)
    if b.ndim == 1:
        right = expand_dims(right, right.ndim)
    ndim = max(a.ndim, b.ndim, 2)
    left = widened(Example(left, a.batched, max(a.ndim, 2)), ndim)
    right = widened(Example(right, b.batched, max(b.ndim, 2)), ndim)
    result = apply(matmul, [left, right], {})
    dropped = [axis for axis, one in ((-2, a), (-1, b)) if one.ndim == 1]
    return squeeze(result, tuple(dropped)) if dropped else result


TINY = 16  # elements of a matrix, of which sums are as fast, and can be part of other loops


def _is_tiny(stack: Any) -> bool:
    """Whether the matrices of a stack are known to be tiny.

    Measured on 20,000 vectors for each of 10 in float64, two threads, sums against products, value
    and gradient in ms: 4 x 4 0.8 and 2.9, 6 x 6 7.2 and 4.6, 10 x 10 15.2 and 5.5.
    """
    rows, columns = stack.shape[-2:]
    return isinstance(rows, int) and isinstance(columns, int) and rows * columns <= TINY


def _of_all_rows(rows: Any, stack: Any, apply: Apply) -> Any:
    """A batch of rows for each matrix of a stack: (n, ..., 1, k), (..., k, m) -> (n, ..., 1, m)."""
    rows = squeeze(rows, rows.ndim - 2)
    last = rows.ndim - 1
    together = transpose(rows, (*range(1, last), 0, last))
    result = apply(matmul, [together, stack], {})
    return expand_dims(transpose(result, (last - 1, *range(last - 1), last)), last)


matmul: Op = register(
    Op(
        name="matmul",
        infer_type=_matmul_type,
        evaluate=_matmul_numpy,
        vjp=(_matmul_by_a, _matmul_by_b),
        saves=("b", "a"),
        vjp_arrays=_matmul_arrays,
        lowering=Matmul(),
        promotes=slice(None),
        batching=_batched_product,
        linearity="multilinear",
        complex="holomorphic",
        doc="NumPy's matrix product: (..., m, k), (..., k, n) -> (..., m, n); a vector operand "
        "loses its axis; leading axes broadcast.",
        example=">>> sg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))\n"
        "array([12., 34.])",
    )
)


def _gemm(c: Any, a: Any, b: Any, alpha: float, beta: float) -> tuple[Sequence[Any], Attrs]:
    return (c, a, b), {"alpha": float(alpha), "beta": float(beta)}


def _gemm_type(
    c: TensorType, a: TensorType, b: TensorType, *, alpha: float, beta: float
) -> TensorType:
    dtype = require_same_dtype("gemm", c, a, b)
    if not is_float(dtype):
        raise DTypeError(f"gemm: {c} and {a} @ {b}: floating point expected")
    if (c.ndim, a.ndim, b.ndim) != (2, 2, 2):
        raise ShapeError(f"gemm: {c} and {a} @ {b}: all must be matrices")
    product = _matmul_type(a, b)
    if None in map(unify, c.shape, product.shape):
        raise ShapeError(f"gemm: {c} and the product {product} differ")
    return c


def _batched_gemm(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    c, *factors = examples
    product = _batched_product(matmul, factors, size, {}, apply)
    return c.tensor * attrs["beta"] + product * attrs["alpha"]


gemm = register(
    Op(
        name="gemm",
        infer_type=_gemm_type,
        evaluate=lambda c, a, b, *, alpha, beta: (
            c.dtype.type(beta) * c + c.dtype.type(alpha) * (a @ b)
        ),
        vjp=(
            lambda g, o, c, a, b, *, alpha, beta: g * beta,
            lambda g, o, c, a, b, *, alpha, beta: matmul(g, swapaxes(b, 0, 1)) * alpha,
            lambda g, o, c, a, b, *, alpha, beta: matmul(swapaxes(a, 0, 1), g) * alpha,
        ),
        saves=("", "c", "b"),
        bind=_gemm,
        lowering=Gemm(),
        promotes=slice(None),
        batching=_batched_gemm,
        doc="beta * c + alpha * (a @ b): (m, n), (m, k), (k, n) -> (m, n); the general matrix "
        "multiply of the BLAS.",
    )
)


def _vectors(name: str, a: TensorType, b: TensorType) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"{name}: {a} and {b}: both must have one axis")


dot = composite(
    "dot", lambda a, b: matmul(a, b), evaluate=np.dot, check=_vectors, promotes=slice(None),
    vjp=(lambda g, o, a, b: g * b, lambda g, o, a, b: g * a), saves=("b", "a"),
    batching=_batched_product, linearity="multilinear",
    complex="holomorphic",
    doc="The inner product of two vectors: (k,), (k,) -> ().",
    example=">>> sg.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))\nnp.float64(11.0)",
)  # fmt: skip


def _outer(a: object, b: object) -> Any:
    return multiply(expand_dims(a, 1), expand_dims(b, 0))


def _outer_numpy(a: Any, b: Any) -> Any:
    if a.ndim != 1 or b.ndim != 1:
        _vectors("outer", type_of(a), type_of(b))
    return np.multiply.outer(a, b)


def _batched_outer(
    op: Op, examples: Sequence[Example], size: Size, attrs: Attrs, apply: Apply = evaluated
) -> Any:
    a, b = (full(one, size) for one in examples)
    return multiply(expand_dims(a, 2), expand_dims(b, 1))


outer = composite(
    "outer", _outer, evaluate=_outer_numpy, check=_vectors, promotes=slice(None),
    vjp=(lambda g, o, a, b: matmul(g, b), lambda g, o, a, b: matmul(a, g)), saves=("b", "a"),
    batching=_batched_outer, linearity="multilinear",
    complex="holomorphic",
    doc="All products of two vectors: (m,), (n,) -> (m, n).",
    example=">>> sg.outer(np.array([1.0, 2.0]), np.array([1.0, 10.0]))\n"
    "array([[ 1., 10.],\n"
    "       [ 2., 20.]])",
)  # fmt: skip
