"""Maths functions as straight-line LLVM IR, which LLVM inlines and vectorises.

Each is branch-free, but for what `compiler.llvm.vecmath.rare` keeps apart, and right at nan,
infinities, signed zeros and subnormals, and carries no fast-math flag; `ULP_BOUND` states the
largest error. FMA instructions (x86-64 since 2013, all of AArch64) are needed for speed: without
them LLVM calls the C library's fma.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir

from staticgraph.compiler.llvm.vecmath import (
    error_function,
    exponential,
    gamma,
    half_turns,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    power,
    rounding,
    trigonometric,
)
from staticgraph.compiler.llvm.vecmath.accuracy import ULP_BOUND
from staticgraph.compiler.llvm.vecmath.lane import BINARY64, Lane, fma as _fma

FORMULAS: dict[str, Callable[..., Any]] = {
    "acos": inverse_trigonometric.acos,
    "acosh": inverse_hyperbolic.acosh,
    "asin": inverse_trigonometric.asin,
    "asinh": inverse_hyperbolic.asinh,
    "atan": inverse_trigonometric.atan,
    "atan2": inverse_trigonometric.atan2,
    "atanh": inverse_hyperbolic.atanh,
    "ceil": rounding.ceil,
    "copysign": rounding.copysign,
    "cos": trigonometric.cos,
    "cosh": exponential.cosh,
    "digamma": gamma.digamma,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "erfinv": error_function.erfinv,
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "fabs": rounding.fabs,
    "floor": rounding.floor,
    "fma": _fma,
    "fmod": rounding.fmod,
    "hypot": rounding.hypot,
    "isnan": Lane.is_nan,
    "lgamma": gamma.lgamma,
    "log": logarithm.log,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "log2": logarithm.log2,
    "logit": logarithm.logit,
    "maximum": rounding.maximum,
    "minimum": rounding.minimum,
    "pow": power.power,
    "remainder": rounding.remainder,
    "rint": rounding.rint,
    "rsqrt": rounding.rsqrt,
    "sigmoid": exponential.sigmoid,
    "sin": trigonometric.sin,
    "sinc": half_turns.sinc,
    "sinh": exponential.sinh,
    "softplus": logarithm.softplus,
    "sqrt": rounding.sqrt,
    "tan": trigonometric.tan,
    "tanh": exponential.tanh,
    "trunc": rounding.trunc,
}
"""Per name a function of lanes, all float32 or all float64."""

ARITY = {name: len(inspect.signature(formula).parameters) for name, formula in FORMULAS.items()}
"""The number of operands of each."""

PREDICATES = frozenset({"isnan"})
"""Those whose result is a truth value."""

LONG = frozenset(ULP_BOUND)
"""Those that are many instructions."""


@cache
def length(name: str) -> int:
    """How many instructions a function is, in float64, without what is kept apart as rare."""
    kind = ir.FunctionType(BINARY64.float_type, [BINARY64.float_type] * ARITY[name])
    function = ir.Function(ir.Module(), kind, name)
    builder = ir.IRBuilder(function.append_basic_block())
    FORMULAS[name](*(Lane(builder, one, BINARY64) for one in function.args))
    return sum(len(block.instructions) for block in function.blocks)


__all__ = ["ARITY", "FORMULAS", "LONG", "PREDICATES", "ULP_BOUND", "length"]
