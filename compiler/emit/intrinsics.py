"""What the emitted source calls beside arithmetic: memory by address, typed numbers, selection.

Everything here is inlined by the native compiler. Nothing is compiled when this is imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from compiler.emit import gemm, vecmath

INT64 = ir.IntType(64)


def _pointer_at(dtype: Any) -> Any:
    """An intrinsic `(table, slot) -> pointer`: the address that the table holds, typed."""

    @intrinsic
    def pointer(typing: Any, table: Any, slot: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = builder.load(builder.gep(args[0], [args[1]]))
            return builder.inttoptr(address, context.get_data_type(dtype).as_pointer())

        return types.CPointer(dtype)(table, types.int64), codegen

    return pointer


@intrinsic
def address(typing: Any, pointer: Any, offset: Any) -> Any:
    """The address of the element `offset` places after a pointer: int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(builder.gep(args[0], [args[1]]), INT64)

    return types.int64(pointer, types.int64), codegen


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, without a branch."""
    unified = typing.unify_types(yes, no)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return unified(types.boolean, unified, unified), codegen


def _reordering(name: str) -> Any:
    """A float operation that the vectoriser may reorder within a reduction."""

    @intrinsic
    def operation(typing: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, name)(args[0], args[1], flags=("reassoc",))

        return left(left, right), codegen

    return operation


fsum = _reordering("fadd")
fprod = _reordering("fmul")

p_bool = _pointer_at(types.boolean)
p_u8 = _pointer_at(types.uint8)
p_i8 = _pointer_at(types.int8)
p_i16 = _pointer_at(types.int16)
p_i32 = _pointer_at(types.int32)
p_i64 = _pointer_at(types.int64)
p_f32 = _pointer_at(types.float32)
p_f64 = _pointer_at(types.float64)

boolean, u8, i8, i16, i32, i64 = np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64
f32, f64 = np.float32, np.float64
nan, inf = np.nan, np.inf


@njit(error_model="numpy")
def floor_divide_i(a: Any, b: Any) -> Any:
    """NumPy's floor division of integers: 0 by 0; the most negative number by -1 wraps."""
    if b == 0:
        return a * 0
    return -a if b == -1 else a // b


@njit(error_model="numpy")
def floor_divide_u(a: Any, b: Any) -> Any:
    """NumPy's floor division of unsigned integers: 0 by 0."""
    return a * 0 if b == 0 else a // b


@njit(error_model="numpy")
def remainder_i(a: Any, b: Any) -> Any:
    """NumPy's remainder of integers: 0 by 0 and by -1, else with the sign of b."""
    return a * 0 if (b == 0) | (b == -1) else a % b


@njit(error_model="numpy")
def remainder_u(a: Any, b: Any) -> Any:
    """NumPy's remainder of unsigned integers: 0 by 0."""
    return a * 0 if b == 0 else a % b


@njit(error_model="numpy")
def pow_i(base: Any, exponent: Any) -> Any:
    """Integer power by squaring; wraps on overflow, 0 for a negative exponent but of 1 and -1."""
    result = base * 0 + 1
    if exponent < 0:
        if base == 1:
            return result
        if base == -1:
            return result if exponent % 2 == 0 else -result
        return base * 0
    while exponent > 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


pow_u = pow_i


@njit(error_model="numpy")
def sign_i(a: Any) -> Any:
    """-1, 0 or 1."""
    return (a > 0) - (a < 0)


sign_u = sign_i


@njit(error_model="numpy")
def sign_f(a: Any) -> Any:
    """-1, 0 or 1; nan for nan."""
    one = type(a)(1)
    return select(a != a, a, select(a > 0, one, select(a < 0, -one, type(a)(0))))


@njit(error_model="numpy")
def floor_divide_f(a: Any, b: Any) -> Any:
    """NumPy's floor division of floats: exact where the quotient is, a / b where b is 0."""
    rest = vecmath.remainder(a, b)
    quotient = (a - rest) / b
    whole = vecmath.rint(quotient)  # a - rest is a multiple of b up to rounding
    whole = select(whole == 0, vecmath.copysign(whole, a / b), whole)
    away = type(a)(0) - type(a)((a != 0) & ((a < 0) != (b < 0)))
    whole = select((abs(b) == inf) & (abs(a) < inf), away, whole)
    return select(b == 0, a / b, whole)


NAMESPACE = {
    name: globals()[name]
    for name in (
        "address", "boolean", "f32", "f64", "floor_divide_f", "floor_divide_i",
        "floor_divide_u", "fprod", "fsum", "i16", "i32", "i64", "i8", "inf", "nan", "p_bool",
        "p_f32", "p_f64", "p_i16", "p_i32", "p_i64", "p_i8", "p_u8", "pow_i", "pow_u",
        "remainder_i", "remainder_u", "select", "sign_f", "sign_i", "sign_u", "u8",
    )
} | {
    "gemm_f32": gemm.gemm_f32, "gemm_f64": gemm.gemm_f64, "pow_f": vecmath.pow,
    "remainder_f": vecmath.remainder,
} | {name: getattr(vecmath, name) for name in vecmath.__all__ if name[0].islower()}  # fmt: skip
"""What emitted source can name."""
