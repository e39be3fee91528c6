"""Maths functions that LLVM inlines and vectorises: call them from njit code on float scalars.

Each is branch-free and right at nan, infinities, signed zeros and subnormals, and Numba's fastmath
options do not reach into it; `ULP_BOUND` states the largest error. FMA instructions (x86-64 since
2013, all of AArch64) are needed for speed: without them LLVM calls the C library's fma. Importing
this package imports Numba but compiles nothing.
"""

from compiler.emit.vecmath import (
    error_function,
    exponential,
    inverse_trigonometric,
    logarithm,
    power,
    rounding,
    trigonometric,
)
from compiler.emit.vecmath.accuracy import ULP_BOUND
from compiler.emit.vecmath.binding import binary, extremum, predicate, ternary, unary
from compiler.emit.vecmath.lane import Lane
from compiler.emit.vecmath.lane import fma as _fma

exp = unary(exponential.exp)
expm1 = unary(exponential.expm1)
sigmoid = unary(exponential.sigmoid)
tanh = unary(exponential.tanh)
log = unary(logarithm.log)
log1p = unary(logarithm.log1p)
softplus = unary(logarithm.softplus)
floor = unary(rounding.floor)
ceil = unary(rounding.ceil)
trunc = unary(rounding.trunc)
rint = unary(rounding.rint)
sqrt = unary(rounding.sqrt)
exp2 = unary(exponential.exp2)
sinh = unary(exponential.sinh)
cosh = unary(exponential.cosh)
log2 = unary(logarithm.log2)
pow = binary(power.power)  # noqa: A001 -- the name in C and NumPy
erf = unary(error_function.erf)
erfc = unary(error_function.erfc)
asin = unary(inverse_trigonometric.asin)
acos = unary(inverse_trigonometric.acos)
atan = unary(inverse_trigonometric.atan)
atan2 = binary(inverse_trigonometric.atan2)
sin = unary(trigonometric.sin)
cos = unary(trigonometric.cos)
tan = unary(trigonometric.tan)
rsqrt = unary(rounding.rsqrt)
fabs = unary(rounding.fabs)
copysign = binary(rounding.copysign)
maximum = extremum(rounding.maximum, ">")
minimum = extremum(rounding.minimum, "<")
fma = ternary(_fma)
remainder = binary(rounding.remainder)
isnan = predicate(Lane.is_nan)

__all__ = [
    "ULP_BOUND", "acos", "asin", "atan", "atan2", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fma", "isnan", "log", "log1p", "log2",
    "maximum", "minimum", "pow", "remainder", "rint", "rsqrt", "sigmoid", "sin", "sinh",
    "softplus", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
