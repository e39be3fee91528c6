"""Matrix products in compiled code: the functions `gemm_f32` and `gemm_f64` of a module.

    gemm_f32(address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

computes `c = alpha * op(a) @ op(b) + beta * c` on row-major matrices, (m, k), (k, n) -> (m, n),
where op transposes if its flag is 1. `address` is `Blas.gemm[dtype]`, read from a table at run
time; a, b and c are addresses; every integer is int64. With beta = 0, c may be uninitialised. Zero
sizes are right: k = 0 gives `beta * c`. Sizes that a BLAS with 32-bit integers cannot take go
through `numpy.matmul`, which needs the interpreter lock; so does each call of the python backend.

A product with a single row or column (k > 0) is handed to gemv, whatever its size. Measured with
OpenBLAS 0.3.31, one thread, on Zen 4: time of gemm over time of gemv, for A or its transpose, as
(n = 1, m = 1), was 1.0 for 64x64, 0.8 to 1.4 for 1000x10, 1.0 to 1.2 for 1000x1000 and 1.3 to 8
for 100000x50. In float64 the last took 1.2 to 1.9 ms by gemv and 2.3 to 7.5 ms by gemm.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.conventions import (
    CBLAS32,
    CBLAS64,
    CBLAS_COLUMN_MAJOR,
    CBLAS_NO_TRANS,
    FORTRAN32,
    GEMM,
    GEMV,
)

_I32, _I64, _BYTE = ir.IntType(32), ir.IntType(64), ir.IntType(8)
_POINTER = _BYTE.as_pointer()


def gemm_function(module: Any, name: str, scalar: ir.Type) -> Any:
    """The module's function for one dtype, a private copy of its own."""
    found = module.globals.get(name)
    if found is not None:
        return found
    kinds = [_I64] * 6 + [scalar] + [_I64] * 4 + [scalar] + [_I64] * 2
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    _define(function, scalar)
    return function


def _define(function: Any, scalar: ir.Type) -> None:
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    address, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = function.args
    zero, one = _I64(0), _I64(1)
    empty = builder.or_(builder.icmp_signed("<=", m, zero), builder.icmp_signed("<=", n, zero))
    with builder.if_then(empty):
        builder.ret_void()
    lda, ldb, ldc = (_maximum(builder, leading, one) for leading in (lda, ldb, ldc))
    convention, gemm, gemv = _select_functions(builder, address, (m, n, k, lda, ldb, ldc))

    is_column = builder.icmp_signed("==", n, one)
    is_vector = builder.or_(is_column, builder.icmp_signed("==", m, one))
    is_vector = builder.and_(is_vector, builder.icmp_signed(">", k, zero))
    is_vector = builder.and_(is_vector, builder.icmp_signed("!=", gemv, zero))
    # A row-major matrix is its own transpose in column-major order, which the callees expect.
    with builder.if_else(is_vector) as (vector, matrix):
        with vector:
            by_column = (m, builder.sub(one, transa), a, lda, transb, b, ldb, ldc)
            by_row = (n, transb, b, ldb, builder.sub(one, transa), a, lda, one)
            chosen = [
                builder.select(is_column, *pair) for pair in zip(by_column, by_row, strict=True)
            ]
            values = _gemv_values(builder, k, alpha, beta, c, *chosen)
            _dispatch(builder, convention, gemv, GEMV, values, scalar)
        with matrix:
            values = [transb, transa, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc]
            _dispatch(builder, convention, gemm, GEMM, values, scalar)
    builder.ret_void()


def _gemv_values(
    builder: Any, k: object, alpha: object, beta: object, c: object,
    length: Any, trans: Any, a: Any, lda: Any, is_dense: Any, x: Any, ldx: Any, incc: Any,
) -> list[Any]:  # fmt: skip
    """Arguments of gemv for c (length) = op(a) @ x (k); `is_dense`: x lies along its rows."""
    is_transposed = builder.icmp_signed("!=", trans, _I64(0))
    rows = builder.select(is_transposed, k, length)
    columns = builder.select(is_transposed, length, k)
    incx = builder.select(builder.icmp_signed("!=", is_dense, _I64(0)), _I64(1), ldx)
    return [trans, rows, columns, alpha, a, lda, x, incx, beta, c, incc]


def _maximum(builder: Any, left: object, right: object) -> Any:
    return builder.select(builder.icmp_signed(">", left, right), left, right)


def _select_functions(
    builder: Any, address: object, sizes: tuple[object, ...]
) -> tuple[Any, Any, Any]:
    """Read (convention, gemm, gemv); numpy.matmul if an integer needs more bits than there are."""
    descriptor = builder.inttoptr(address, _I64.as_pointer())
    convention, gemm, gemv, wide_gemm = (
        builder.load(builder.gep(descriptor, [_I64(index)], source_etype=_I64), typ=_I64)
        for index in range(4)
    )
    bits = sizes[0]
    for size in sizes[1:]:
        bits = builder.or_(bits, size)
    too_wide = builder.and_(
        builder.icmp_signed("!=", convention, _I64(CBLAS64)),
        builder.icmp_signed(">", bits, _I64(2**31 - 1)),
    )
    return (
        builder.select(too_wide, _I64(CBLAS64), convention),
        builder.select(too_wide, wide_gemm, gemm),
        builder.select(too_wide, _I64(0), gemv),
    )


def _dispatch(
    builder: Any,
    convention: object,
    address: object,
    signature: str,
    values: list[Any],
    scalar: ir.Type,
) -> None:
    conventions = {
        CBLAS64: builder.append_basic_block("cblas64"),
        CBLAS32: builder.append_basic_block("cblas32"),
        FORTRAN32: builder.append_basic_block("fortran32"),
    }
    done = builder.append_basic_block("done")
    switch = builder.switch(convention, conventions[CBLAS64])
    for value, block in conventions.items():
        if value != CBLAS64:
            switch.add_case(_I64(value), block)
        builder.position_at_end(block)
        if value == FORTRAN32:
            arguments = _fortran_arguments(builder, signature, values, scalar)
        else:
            arguments = _cblas_arguments(builder, signature, values, value)
        kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)
        builder.branch(done)
    builder.position_at_end(done)


def _cblas_arguments(builder: Any, signature: str, values: list[Any], convention: int) -> list[Any]:
    arguments = [_I32(CBLAS_COLUMN_MAJOR)]
    for kind, value in zip(signature, values, strict=True):
        if kind == "t":
            flag = builder.add(value, _I64(CBLAS_NO_TRANS))
            arguments.append(builder.trunc(flag, _I32))
        elif kind == "p":
            arguments.append(builder.inttoptr(value, _POINTER))
        elif kind == "i" and convention == CBLAS32:
            arguments.append(builder.trunc(value, _I32))
        else:
            arguments.append(value)
    return arguments


def _fortran_arguments(
    builder: Any, signature: str, values: list[Any], scalar: ir.Type
) -> list[Any]:
    arguments = []
    for kind, value in zip(signature, values, strict=True):
        if kind == "p":
            arguments.append(builder.inttoptr(value, _POINTER))
            continue
        if kind == "t":
            is_transposed = builder.icmp_signed("!=", value, _I64(0))
            value = builder.select(is_transposed, _BYTE(ord("T")), _BYTE(ord("N")))
        elif kind == "i":
            value = builder.trunc(value, _I32)
        with builder.goto_entry_block():
            slot = builder.alloca(value.type)
        builder.store(value, slot)
        arguments.append(builder.bitcast(slot, _POINTER))
    return arguments
