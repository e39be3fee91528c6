"""x**y = exp(y log|x|) with the logarithm in twice the precision of the result."""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath import coefficients
from staticgraph.compiler.llvm.vecmath.exponential import (
    EXP2_RANGE,
    EXP_RANGE,
    clamp,
    exp_sum,
    power_of_two,
    reduce_by_ln2,
    scale,
)
from staticgraph.compiler.llvm.vecmath.lane import (
    BINARY32,
    Lane,
    choose,
    fma,
    polynomial,
    select,
    two_product,
)
from staticgraph.compiler.llvm.vecmath.logarithm import decompose, log_float64

INF = float("inf")
# log|x| is 0 or at least 2**-53, so any larger exponent over- or underflows alike.
LARGEST_EXPONENT = 2.0**70


def pow_float32(a: Lane, y: Lane) -> Lane:
    """a**y for finite a > 0, in float64 arithmetic to about 2**-33."""
    parts = decompose(a.to_binary64())
    s = parts.f / (parts.f + 2.0)
    log2 = fma(s, polynomial(s * s, coefficients.LOG2_COARSE[64]), parts.k)
    y = clamp(y.to_binary64(), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    exponent = clamp(y * log2, *EXP2_RANGE[32])
    shift = exponent.format.round_shift
    shifted = exponent + shift
    power = polynomial(exponent - (shifted - shift), coefficients.EXP2_COARSE[64])
    return (power * power_of_two(shifted.bits())).to_format(BINARY32)


def pow_float64(a: Lane, y: Lane) -> Lane:
    """a**y for finite a > 0."""
    y = clamp(y, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    log, log_low = log_float64(a)
    product, error = two_product(y, log)
    exponent = clamp(product, *EXP_RANGE[64])
    reduced = reduce_by_ln2(exponent)
    low = fma(y, log_low, error)
    low = select(exponent.equals(product), low, 0.0)
    return scale(exp_sum(reduced.r, reduced.r_low + low), reduced.shifted)


def power(x: Lane, y: Lane) -> Lane:
    """x**y, with the special cases of C99 F.10.4.4: pow(x, 0) = 1, pow(1, y) = 1, even for nan."""
    a = abs(x)
    result = (pow_float32 if x.format is BINARY32 else pow_float64)(a, y)
    at_end = a.equals(0.0) | a.equals(INF)
    result = select(at_end, choose(a.equals(INF) ^ (y < 0.0), INF, 0.0, x), result)
    half_y = y * 0.5
    integer = y.call("llvm.trunc").equals(y)
    odd = integer & ~half_y.call("llvm.trunc").equals(half_y)
    negative = x.constant(1.0).with_sign_of(x) < 0.0
    result = select(negative & odd, -result, result)
    result = select((x < 0.0) & ~(integer | at_end), x.constant(float("nan")), result)
    result = select(x.unordered_with(y), x + y, result)
    return select(y.equals(0.0) | x.equals(1.0), x.constant(1.0), result)
