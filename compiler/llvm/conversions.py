"""Conversions that are no instruction of LLVM's, above all of floats of 16 bits, as LLVM IR.

Kernels have these floats in memory as uint16. They are converted by instructions where the
processor has them, else by the bits: LLVM would call functions that no library here has. Both give
the same bits, but for those that say which nan it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

HALF, WORD, PAIR = ir.IntType(16), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
_SIGN, _INFINITE = 0x7FFFFFFF, 0x7F800000  # of a float32: all but the sign; the bits of infinity


@cache
def has_instructions() -> bool:
    """Whether the processor converts between float16 and float32."""
    return bool(llvm.get_host_cpu_features().get("f16c"))


def float32_of_float16(builder: Any, half: Any, native: bool | None = None) -> Any:
    """The float32 of the bits of a float16: exact."""
    if has_instructions() if native is None else native:
        return builder.fpext(builder.bitcast(half, ir.HalfType()), FLOAT)
    bits = builder.zext(half, WORD)
    shifted = builder.shl(builder.and_(bits, WORD(0x7FFF)), WORD(13))
    # a product moves the exponent, of subnormal numbers too
    moved = builder.fmul(builder.bitcast(shifted, FLOAT), FLOAT(2.0**112))
    is_finite = builder.icmp_unsigned("<", shifted, WORD(0x0F800000))
    infinite = builder.or_(shifted, WORD(_INFINITE))
    magnitude = builder.select(is_finite, builder.bitcast(moved, WORD), infinite)
    sign = builder.shl(builder.and_(bits, WORD(0x8000)), WORD(16))
    return builder.bitcast(builder.or_(sign, magnitude), FLOAT)


def float16_of_float32(builder: Any, value: Any, native: bool | None = None) -> Any:
    """The bits of the nearest float16, of two the even one; inf from 65520 on."""
    if has_instructions() if native is None else native:
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), HALF)
    bits = builder.bitcast(value, WORD)
    magnitude = builder.and_(bits, WORD(_SIGN))
    # below 2**-14: beside 0.5, the last bit of the sum is that of the subnormal number
    beside = builder.fadd(builder.bitcast(magnitude, FLOAT), FLOAT(0.5))
    small = builder.sub(builder.bitcast(beside, WORD), WORD(0x3F000000))
    odd = builder.and_(builder.lshr(magnitude, WORD(13)), WORD(1))
    usual = builder.add(builder.sub(magnitude, WORD(0x38000000 - 0xFFF)), odd)
    usual = builder.lshr(usual, WORD(13))
    found = builder.select(builder.icmp_unsigned("<", magnitude, WORD(0x38800000)), small, usual)
    is_large = builder.icmp_unsigned(">=", magnitude, WORD(0x477FF000))
    found = builder.select(is_large, WORD(0x7C00), found)
    is_nan = builder.icmp_unsigned(">", magnitude, WORD(_INFINITE))
    found = builder.select(is_nan, WORD(0x7E00), found)
    sign = builder.and_(builder.lshr(bits, WORD(16)), WORD(0x8000))
    return builder.trunc(builder.or_(sign, found), HALF)


def float16_of_float64(builder: Any, value: Any, native: bool | None = None) -> Any:
    """The same of a float64, by a float32 that is rounded to odd: to round that rounds as once.

    Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE TC 57(4), 2008.
    """
    nearest = builder.fptrunc(value, FLOAT)
    back = builder.fpext(nearest, DOUBLE)
    bits = builder.bitcast(nearest, WORD)
    sizes = [builder.and_(builder.bitcast(one, PAIR), PAIR(2**63 - 1)) for one in (back, value)]
    away = builder.zext(builder.icmp_unsigned(">", *sizes), WORD)
    inexact = builder.zext(builder.icmp_unsigned("!=", *sizes), WORD)
    bits = builder.or_(builder.sub(bits, away), inexact)
    return float16_of_float32(builder, builder.bitcast(bits, FLOAT), native)


def float32_of_bfloat16(builder: Any, half: Any) -> Any:
    """The float32 of which a bfloat16 is the upper half."""
    return builder.bitcast(builder.shl(builder.zext(half, WORD), WORD(16)), FLOAT)


def bfloat16_of_float32(builder: Any, value: Any) -> Any:
    """The bits of the nearest bfloat16, of two the even one."""
    bits = builder.bitcast(value, WORD)
    odd = builder.and_(builder.lshr(bits, WORD(16)), WORD(1))
    usual = builder.add(builder.add(bits, WORD(0x7FFF)), odd)
    is_nan = builder.icmp_unsigned(">", builder.and_(bits, WORD(_SIGN)), WORD(_INFINITE))
    found = builder.select(is_nan, builder.or_(bits, WORD(0x400000)), usual)
    return builder.trunc(builder.lshr(found, WORD(16)), HALF)


def uint64_of_float64(builder: Any, value: Any) -> Any:
    """A float cut to 64 bits without a sign; numbers below 0 wrap, as C's do on most machines."""
    is_high = builder.fcmp_ordered(">=", value, DOUBLE(2.0**63))
    low = builder.fptosi(value, PAIR)
    high = builder.fptosi(builder.fsub(value, DOUBLE(2.0**63)), PAIR)
    return builder.select(is_high, builder.xor(high, PAIR(-(2**63))), low)


CONVERSIONS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "bfloat16_of_float32": (bfloat16_of_float32, "u16", "f32"),
    "float16_of_float32": (float16_of_float32, "u16", "f32"),
    "float16_of_float64": (float16_of_float64, "u16", "f64"),
    "float32_of_bfloat16": (float32_of_bfloat16, "f32", "u16"),
    "float32_of_float16": (float32_of_float16, "f32", "u16"),
    "uint64_of_float64": (uint64_of_float64, "u64", "f64"),
}
"""By the names that emitted source calls: the function, what it gives and what it takes."""
