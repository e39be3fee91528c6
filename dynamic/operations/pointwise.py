"""Functions of the elements at the same place, and comparisons of whole tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler import ops
from compiler.op import Op, Operand
from compiler.ops.declare import unbroadcast, undo_broadcasting
from compiler.types import TensorType, broadcast_shapes
from dynamic.dtypes import require_dtype
from dynamic.errors import ArgumentError, AutogradError
from dynamic.tensor import Tensor, wrap

__all__ = [
    "absolute", "acosh", "addcdiv", "addcmul", "allclose", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "asinh", "atanh", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "clamp_max", "clamp_min", "deg2rad", "equal", "exp2", "fix", "fmod", "frac",
    "hypot", "isclose", "lerp", "log2", "log10",
    "logaddexp", "logaddexp2", "logit", "nan_to_num", "nanmean", "nansum", "positive", "rad2deg",
    "sgn", "std_mean", "var_mean", "xlogy",
]  # fmt: skip


def _unary(name: str, function: Any, rule: Any, saves: str, doc: str) -> Op:
    return Op(
        name=name,
        infer_type=lambda x: x,
        evaluate=function,
        vjp=(rule,),
        saves=(saves,),
        floating=True,
        doc=doc,
    )


log2 = _unary("log2", np.log2, lambda g, o, a: g / (a * math.log(2)), "a", "log(x) / log(2).")
log10 = _unary("log10", np.log10, lambda g, o, a: g / (a * math.log(10)), "a", "log(x) / log(10).")
exp2 = _unary("exp2", np.exp2, lambda g, o, a: g * o * math.log(2), "o", "2**x.")
asinh = _unary(
    "asinh", np.arcsinh, lambda g, o, a: g * ops.rsqrt(ops.square(a) + 1), "a",
    "The inverse of sinh.",
)  # fmt: skip
acosh = _unary(
    "acosh", np.arccosh, lambda g, o, a: g * ops.rsqrt(ops.square(a) - 1), "a",
    "The inverse of cosh, for x from 1.",
)  # fmt: skip
atanh = _unary(
    "atanh", np.arctanh, lambda g, o, a: g / (1 - ops.square(a)), "a",
    "The inverse of tanh, for x between -1 and 1.",
)  # fmt: skip
frac = _unary("frac", lambda x: x - np.trunc(x), lambda g, o, a: g, "", "x - trunc(x).")


def _binary(name: str, function: Any, rules: Any, saves: Any, floating: bool, doc: str) -> Op:
    return Op(
        name=name,
        infer_type=lambda *types: TensorType(broadcast_shapes(name, *types), types[0].dtype),
        evaluate=function,
        vjp=tuple(undo_broadcasting(rule, i) for i, rule in enumerate(rules)),
        saves=saves,
        promotes=slice(None),
        floating=floating,
        doc=doc,
    )


hypot = _binary(
    "hypot", np.hypot, (lambda g, o, a, b: g * (a / o), lambda g, o, a, b: g * (b / o)),
    ("ao", "bo"), True, "sqrt(a**2 + b**2), without overflow.",
)  # fmt: skip
fmod = _binary(
    "fmod", np.fmod, (lambda g, o, a, b: g, lambda g, o, a, b: -g * ops.trunc(a / b)),
    ("", "ab"), False, "The remainder of a / b with the sign of a.",
)  # fmt: skip


def _xlogy_by_x(g: Any, o: Any, a: Any, b: Any) -> Any:
    flat = ops.logical_and(ops.equal(a, 0), ops.less_equal(b, 0))
    return ops.where(flat, 0, g * ops.log(ops.where(flat, 1, b)))


xlogy = _binary(
    "xlogy", lambda a, b: np.where((a == 0) & ~np.isnan(b), a.dtype.type(0), a * np.log(b)),
    (_xlogy_by_x, lambda g, o, a, b: g * (a / b)), ("ab", "ab"), True,
    "x log(y), 0 where x is 0 unless y is nan.",
)  # fmt: skip
logaddexp = _binary(
    "logaddexp", np.logaddexp,
    (lambda g, o, a, b: g / (1 + ops.exp(b - a)), lambda g, o, a, b: g / (1 + ops.exp(a - b))),
    ("ab", "ab"), True, "log(exp(a) + exp(b)), without overflow.",
)  # fmt: skip
logaddexp2 = _binary(
    "logaddexp2", np.logaddexp2,
    (lambda g, o, a, b: g / (1 + exp2(b - a)), lambda g, o, a, b: g / (1 + exp2(a - b))),
    ("ab", "ab"), True, "log2(2**a + 2**b), without overflow.",
)  # fmt: skip

arccosh, arcsinh, arctanh, absolute, fix = acosh, asinh, atanh, ops.absolute, ops.trunc
arccos, arcsin, arctan, arctan2 = ops.acos, ops.asin, ops.atan, ops.atan2
sgn = ops.sign


def positive(input: Any) -> Any:
    """The tensor itself."""
    return input


def deg2rad(input: Any) -> Any:
    """Degrees as radians."""
    return input * (math.pi / 180)


def rad2deg(input: Any) -> Any:
    """Radians as degrees."""
    return input * (180 / math.pi)


def _logit(x: Any, *, eps: float | None) -> Any:
    limited = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(limited / (1 - limited))


def _logit_vjp(g: Any, o: Any, a: Any, *, eps: float | None) -> Any:
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    inside = ops.logical_and(ops.greater_equal(a, low), ops.less_equal(a, 1 - low))
    return ops.where(inside, g / (a * (1 - a)), outside)


_logit_op = Op(
    name="logit",
    infer_type=lambda x, eps: x,
    evaluate=_logit,
    vjp=(_logit_vjp,),
    saves=("a",),
    floating=True,
    doc="log(x / (1 - x)), of x limited to [eps, 1 - eps].",
)


def logit(input: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of x limited to [eps, 1 - eps]."""
    return input.apply(_logit_op, (input,), {"eps": eps})


def _lerp(a: Any, b: Any, *, weight: float) -> Any:
    away = b - a
    return a + weight * away if abs(weight) < 0.5 else b - away * (1 - weight)


lerp_by_number = Op(
    name="lerp",
    infer_type=lambda *types, weight: TensorType(broadcast_shapes("lerp", *types), types[0].dtype),
    evaluate=_lerp,
    vjp=(
        lambda g, o, a, b, *, weight: unbroadcast(g * (1 - weight), a),
        lambda g, o, a, b, *, weight: unbroadcast(g * weight, b),
    ),
    saves=("", ""),
    expand=_lerp,
    doc="a at weight 0, b at weight 1, a number, and on the line through both elsewhere.",
)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """The input at weight 0, `end` at weight 1, and on the line through both elsewhere."""
    require_dtype("expected dtype {2} for `end` but got dtype {3}", input, end)
    require_dtype("expected dtype {2} for `weight` but got dtype {3}", input, weight)
    if not isinstance(weight, Operand):
        return input.apply(lerp_by_number, (input, end), {"weight": weight})
    away = end - input
    low = input + weight * away
    high = end - away * (1 - weight)
    return ops.where(ops.less(ops.absolute(weight), 0.5), low, high)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """input + value * tensor1 * tensor2."""
    product = tensor1 * tensor2
    return input + (product if value == 1 else product * value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    quotient = tensor1 / tensor2
    return input + (quotient if value == 1 else quotient * value)


def clamp_min(input: Any, min: Any) -> Any:
    """The elements, at least `min`."""
    return input.clamp(min=min)


def clamp_max(input: Any, max: Any) -> Any:
    """The elements, at most `max`."""
    return input.clamp(max=max)


def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """nan as 0, infinities as the largest finite numbers, or as the given numbers."""
    if input._array.dtype.kind != "f":
        return input.clone()
    limits = np.finfo(input._array.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    result = ops.where(ops.isnan(input), 0.0 if nan is None else nan, input)
    result = ops.where(ops.equal(input, math.inf), high, result)
    return ops.where(ops.equal(input, -math.inf), low, result)


def _same_dtype(input: Tensor, other: Tensor) -> None:
    if input._array.dtype != other._array.dtype:
        raise AutogradError(f"{input.type()[6:-6]} did not match {other.type()[6:-6]}")


def isclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Per element whether |a - b| <= atol + rtol |b|."""
    _same_dtype(input, other)
    return wrap(np.asarray(np.isclose(input._array, other._array, rtol, atol, equal_nan)))


def allclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and equal elements."""
    return bool(np.array_equal(input._array, other._array))


def bitwise_and(input: Any, other: Any) -> Any:
    """a & b, bit by bit."""
    return input & other


def bitwise_or(input: Any, other: Any) -> Any:
    """a | b, bit by bit."""
    return input | other


def bitwise_xor(input: Any, other: Any) -> Any:
    """a ^ b, bit by bit."""
    return input ^ other


def bitwise_not(input: Any) -> Any:
    """~a, bit by bit."""
    return ~input


def nansum(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of the elements that are not nan."""
    return ops.where(ops.isnan(input), 0.0, input).sum(dim, keepdim)


def nanmean(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The mean of the elements that are not nan."""
    count = ops.logical_not(ops.isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim) / count


def std_mean(input: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The standard deviation and the mean; the arguments are those of `std`."""
    _check_spread("std_mean", options)
    return input.std(*args, **options), _mean_of(input, *args, **options)


def var_mean(input: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The variance and the mean; the arguments are those of `var`."""
    _check_spread("var_mean", options)
    return input.var(*args, **options), _mean_of(input, *args, **options)


def _check_spread(name: str, options: dict[str, Any]) -> None:
    for option in options.keys() - {"dim", "unbiased", "correction", "keepdim"}:
        raise ArgumentError(f"{name}() got an unexpected keyword argument {option!r}")


def _mean_of(
    input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **_: Any
) -> Any:
    return input.mean(None if isinstance(dim, bool) else dim, keepdim)
