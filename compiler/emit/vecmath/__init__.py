"""Maths functions that LLVM inlines and vectorises: call them from njit code on float scalars.

Each is branch-free and right at nan, infinities, signed zeros and subnormals; `ULP_BOUND` states
the largest error. Importing this package imports Numba but compiles nothing.
"""

from compiler.emit.vecmath import exponential, logarithm, rounding, trigonometric
from compiler.emit.vecmath.binding import binary, extremum, predicate, ternary, unary
from compiler.emit.vecmath.bounds import ULP_BOUND
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
sin = unary(trigonometric.sin)
cos = unary(trigonometric.cos)
tan = unary(trigonometric.tan)
rsqrt = unary(rounding.rsqrt)
fabs = unary(rounding.fabs)
copysign = binary(rounding.copysign)
maximum = extremum(rounding.maximum, ">=")
minimum = extremum(rounding.minimum, "<=")
fma = ternary(_fma)
isnan = predicate(Lane.is_nan)

__all__ = [
    "ULP_BOUND", "ceil", "copysign", "exp", "expm1", "fabs", "floor", "fma", "isnan",
    "log", "log1p", "maximum", "minimum", "rint", "rsqrt", "sigmoid", "softplus", "sqrt",
    "tanh", "trunc",
]  # fmt: skip
