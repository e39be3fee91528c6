"""erf and erfc: an odd polynomial near 0, and powers elsewhere; the inverse of erf.

There erf(x) = 1 - 2^(x P(x)), which needs no division (as N. Juffa, Faithfully rounded erff, Stack
Overflow 2016), and erfc(x) = exp(-x^2) Q(u) / (x + 5/2), which is accurate for large x too.
The variable u = (x - 5/2)/(x + 5/2) is Shepherd and Laframboise's (Mathematics of Computation
36(153), 1981).

erfinv(x) is x times a polynomial in w = -log(1 - x^2), or in its root (Giles, Approximating the
erfinv function, GPU Computing Gems 2, 2012).
"""

from __future__ import annotations

from staticgraph.compiler.llvm.vecmath import special_coefficients as coefficients
from staticgraph.compiler.llvm.vecmath.exponential import (
    exp_reduced,
    power_of_two,
    reduce_by_ln2,
    scale,
)
from staticgraph.compiler.llvm.vecmath.lane import (
    Lane,
    fma,
    polynomial,
    select,
    split_polynomial,
    two_product,
    two_sum,
)
from staticgraph.compiler.llvm.vecmath.logarithm import log

# Beyond these arguments erfc is less than half the smallest subnormal number.
ERFC_LIMIT = {32: 10.2, 64: 27.3}
# Beyond these erf is 1.
ERF_LIMIT = {32: 3.925, 64: 5.94}
INF = float("inf")
ERF_FAR = coefficients.ERF_FAR | coefficients.ERF_FAR_WIDE


def erf_near_zero(x: Lane) -> Lane:
    """erf(x) for |x| <= 0.92."""
    return fma(x, split_polynomial(x * x, coefficients.ERF[x.format.bits]), x)


def erfc_positive(a: Lane) -> Lane:
    """erfc(a) for a >= 0.5."""
    limit = ERFC_LIMIT[a.format.bits]
    a = select(a > limit, a.constant(limit), a)
    denominator, denominator_low = two_sum(a, a.constant(2.5))
    reciprocal = 1.0 / denominator
    # What is missing from the reciprocal, relative to it.
    missing = fma(-reciprocal, denominator, 1.0) - reciprocal * denominator_low
    u = fma(reciprocal * missing, -5.0, fma(reciprocal, -5.0, 1.0))
    quotient = polynomial(u, coefficients.ERFC[a.format.bits]) * reciprocal
    square, square_error = two_product(a, a)
    reduced = reduce_by_ln2(-square)
    exponential = exp_reduced(reduced.r + (reduced.r_low - square_error))
    return scale(exponential * fma(quotient, missing, quotient), reduced.shifted)


def erf_far(a: Lane) -> Lane:
    """erf(a) for a >= 0.92, as 1 - 2**(a P(a)): errors of the power are scaled down by it."""
    bits = a.format.bits
    a = select(a > ERF_LIMIT[bits], a.constant(ERF_LIMIT[bits]), a)
    exponent = a * split_polynomial(a, ERF_FAR[bits])
    shifted = exponent + a.format.round_shift
    rest = exponent - (shifted - a.format.round_shift)
    power = split_polynomial(rest, coefficients.EXP2[bits])
    return fma(power, -power_of_two(shifted.bits()), 1.0)


def erf(x: Lane) -> Lane:
    """The error function."""
    a = abs(x)
    return select(a < 0.92, erf_near_zero(x), erf_far(a).with_sign_of(x))


def erfc(x: Lane) -> Lane:
    """The complementary error function 1 - erf(x), with subnormal results."""
    a = abs(x)
    far = erfc_positive(a)
    far = select(x < 0.0, 2.0 - far, far)
    return select(a < 0.5, 1.0 - erf_near_zero(x), far)


def erfinv(x: Lane) -> Lane:
    """The inverse of erf: inf at 1, -inf at -1, nan beyond."""
    bits = x.format.bits
    a = abs(x)
    w = -log((1.0 - a) * (1.0 + a))
    root = w.sqrt()
    far = split_polynomial(root - 3.0, coefficients.ERFINV_FAR[bits])
    if bits == 64:  # 1 - a is at least 2**-53: w is at most 36.05, in float32 16
        farthest = split_polynomial(root - 5.0, coefficients.ERFINV_FARTHEST[bits])
        far = select(w > 16.0, farthest, far)
    near = split_polynomial(w - 2.5, coefficients.ERFINV[bits])
    found = x * select(w < 5.0, near, far)
    return select(a.equals(1.0), x.constant(INF).with_sign_of(x), found)
