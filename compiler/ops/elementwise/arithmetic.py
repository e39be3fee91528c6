"""Arithmetic, element by element: operands of one dtype broadcast, the result has that dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import DType, TensorType, as_dtype
from staticgraph.compiler.ops.batching import aligned
from staticgraph.compiler.ops.declare import composite, elementwise, zeros_like
from staticgraph.compiler.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.complex_numbers import (
    conjugate,
    real_part,
    warn_of_lost_part,
)

__all__ = [
    "abs", "add", "astype", "ceil", "copysign", "divide", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "frac", "gcd", "heaviside", "hypot", "lcm", "maximum", "minimum", "multiply",
    "negative", "pow", "power", "reciprocal", "remainder", "sign", "square",
    "stop_gradient", "subtract", "trunc",
]  # fmt: skip


def numeric(name: str, *types: TensorType) -> None:
    """DTypeError if any type is bool."""
    for type in types:
        if type.dtype.kind == "b":
            raise DTypeError(f"{name}: {type} is not a number: cast it with astype")


def _astype_bind(x: object, dtype: object) -> tuple[tuple[Any], dict[str, Any]]:
    wanted = as_dtype(dtype, "astype")
    if wanted.kind not in "cb" and np.dtype(getattr(x, "dtype", type(x))).kind == "c":
        warn_of_lost_part()
    return (x,), {"dtype": wanted}


def _astype_vjp(g: Any, out: object, a: Any, *, dtype: DType) -> Any:
    return astype.bound((g,), {"dtype": np.dtype(a.dtype)})


def _astype_numpy(x: Any, dtype: DType) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype)


astype = register(
    Op(
        name="astype",
        infer_type=lambda x, dtype: TensorType(x.shape, dtype),
        evaluate=_astype_numpy,
        vjp=(_astype_vjp,),
        bind=_astype_bind,
        lowering=Pointwise("{t}({0})"),
        batching=aligned,
        linearity="linear",
        smooth=False,
        exact=True,
        complex="own",
        doc="x cast to `dtype`; the gradient is cast back.",
        example='>>> sg.astype(np.array([1.7, -1.7]), "int64")\narray([ 1, -1])',
    )
)

copy = register(
    Op(
        name="copy",
        infer_type=lambda x: x,
        evaluate=lambda x: np.array(x),
        vjp=(lambda g, o, a: g,),
        saves=("",),
        lowering=Pointwise("{0}"),
        batching=aligned,
        linearity="linear",
        exact=True,
        complex="linear",
        doc="The same elements in memory of their own.",
        example=">>> sg.copy(np.array([1.0, 2.0]))\narray([1., 2.])",
    )
)

stop_gradient = composite(
    "stop_gradient", lambda x: copy(x), evaluate=lambda x: x, vjp=(None,),
    batching=aligned, linearity="diagonal",
    smooth=False,
    exact=True,
    complex="linear",
    doc="x, through which no gradient flows.",
    example=">>> sg.grad(lambda x: x * sg.stop_gradient(x))(np.array(3.0))\narray(3.)",
)  # fmt: skip

add = elementwise(
    "add", np.add, "{0} + {1}", arity=2, check=numeric, commutative=True,
    vjp=(lambda g, o, a, b: g, lambda g, o, a, b: g), saves=("", ""),
    complex="linear",
    doc="a + b.",
    example=">>> sg.add(np.array([[1.0], [2.0]]), np.array([10.0, 20.0]))\n"
    "array([[11., 21.],\n"
    "       [12., 22.]])",
)  # fmt: skip
subtract = elementwise(
    "subtract", np.subtract, "{0} - {1}", arity=2, check=numeric,
    vjp=(lambda g, o, a, b: g, lambda g, o, a, b: -g), saves=("", ""),
    complex="linear",
    doc="a - b.",
    example=">>> sg.subtract(np.array([5.0, 2.0]), 1.5)\narray([3.5, 0.5])",
)  # fmt: skip
multiply = elementwise(
    "multiply", np.multiply, "{0} * {1}", arity=2, check=numeric, commutative=True,
    vjp=(lambda g, o, a, b: g * b, lambda g, o, a, b: g * a), saves=("b", "a"),
    complex="holomorphic",
    doc="a * b.",
    example=">>> sg.multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0]))\narray([3., 8.])",
)  # fmt: skip
divide = elementwise(
    "divide", np.true_divide, "{0} / {1}", arity=2, check=numeric, floating=True, cost="moderate",
    vjp=(lambda g, o, a, b: g / b, lambda g, o, a, b: -g * (a / b) / b), saves=("b", "ab"),
    domain="positive",
    complex="holomorphic",
    doc="a / b; integers are cast to floating point first.",
    example=">>> sg.divide(np.array([1, 3]), 2)\narray([0.5, 1.5])",
)  # fmt: skip
floor_divide = elementwise(
    "floor_divide", np.floor_divide, "floor_divide_{k}({0}, {1})", arity=2, check=numeric,
    cost="expensive", vjp=(None, None),
    smooth=False,
    domain="positive",
    exact=True,
    doc="The floor of a / b, NumPy's for floats, and 0 for an integer divided by 0.",
    example=">>> sg.floor_divide(np.array([7, -7]), 2)\narray([ 3, -4])",
)  # fmt: skip
remainder = elementwise(
    "remainder", np.remainder, "remainder_{k}({0}, {1})", arity=2, check=numeric, cost="expensive",
    vjp=(lambda g, o, a, b: g, lambda g, o, a, b: -g * floor_divide(a, b)), saves=("", "ab"),
    smooth=False,
    domain="positive",
    exact=True,
    doc="a - floor(a / b) * b: the sign of b.",
    example=">>> sg.remainder(np.array([5.0, -5.0]), 3.0)\narray([2., 1.])",
)  # fmt: skip
fmod = elementwise(
    "fmod", np.fmod, "fmod_{k}({0}, {1})", arity=2, check=numeric, cost="expensive",
    vjp=(lambda g, o, a, b: g, lambda g, o, a, b: -g * trunc(a / b)), saves=("", "ab"),
    smooth=False,
    domain="positive",
    exact=True,
    doc="a - trunc(a / b) * b: the sign of a.",
    example=">>> sg.fmod(np.array([5.0, -5.0]), 3.0)\narray([ 2., -2.])",
)  # fmt: skip
negative = elementwise(
    "negative", np.negative, "-{0}", arity=1, check=numeric,
    vjp=(lambda g, o, a: -g,), saves=("",),
    exact=True,
    complex="linear",
    doc="-a.",
    example=">>> sg.negative(np.array([1.0, -2.0]))\narray([-1.,  2.])",
)  # fmt: skip
square = elementwise(
    "square", np.square, "{0} * {0}", arity=1, check=numeric,
    vjp=(lambda g, o, a: g * (2 * a),), saves=("a",),
    complex="holomorphic",
    doc="a * a.",
    example=">>> sg.square(np.array([3.0, -2.0]))\narray([9., 4.])",
)  # fmt: skip
reciprocal = elementwise(
    "reciprocal", lambda x: np.true_divide(1, x), "{t}(1) / {0}", arity=1, floating=True,
    cost="moderate", vjp=(lambda g, o, a: -g * (o * o),), saves=("o",),
    domain="positive",
    complex="holomorphic",
    doc="1 / x.",
    example=">>> sg.reciprocal(np.array([2.0, -4.0]))\narray([ 0.5 , -0.25])",
)  # fmt: skip


def _power_by_base(g: object, out: object, a: object, b: Any) -> Any:
    if _is_never_zero(b):
        return g * (b * power(a, b - 1))
    # the slope of a**0 is 0, that of the slope by b is 1 / a: where that is no number, a**-1 must
    # not appear
    flat = where(greater(a, _SMALL_BASE), b, 1)
    return g * (b * power(a, where(equal(b, 0), flat, b) - 1))


def _is_never_zero(b: Any) -> bool:
    """Whether an exponent is known, as it mostly is, and no 0."""
    op = getattr(b, "op", None)
    if op is not None and op.name == "constant":
        b = b.attrs["value"].array
    return isinstance(b, _HELD_BY_NUMPY) and bool(np.all(b))


_SMALL_BASE = 1e-9
"""Below it quotients by powers of a base may overflow in float32."""


def _complex_power_by_base(g: object, out: object, a: object, b: object) -> Any:
    return g * (b * power(a, where(equal(b, 0), 1, b) - 1))


def _power_by_exponent(g: object, out: Any, a: object, b: object) -> Any:
    from staticgraph.compiler.ops.elementwise.exponential import log

    flat = logical_and(equal(a, 0), greater_equal(b, 0))
    return where(flat, 0, g * out * log(where(flat, 1, a)))


def _complex_power_by_exponent(g: object, out: Any, a: object, b: object) -> Any:
    from staticgraph.compiler.ops.elementwise.exponential import log

    flat = equal(a, 0)
    return where(flat, 0, g * out * log(where(flat, 1, a)))


_HELD_BY_NUMPY = (np.ndarray, np.generic)


def _power(a: Any, b: Any) -> Any:
    # as NumPy's operator does for these numbers, which rules compute of arrays without axes
    if isinstance(b, _HELD_BY_NUMPY) and not b.ndim and isinstance(a, _HELD_BY_NUMPY):
        exponent = b.item() if b.dtype is a.dtype else None
        if exponent == 2:
            return np.square(a)
        if exponent == 1:
            return np.positive(a)
        if exponent == 3 and a.dtype.kind == "f":
            return np.multiply(np.square(a), a)
    try:
        return np.power(a, b)
    except ValueError:  # NumPy has no integer powers below 0
        if not np.asarray(b).dtype.kind == "i" or not np.less(b, 0).any():
            raise
        odd = np.where(np.bitwise_and(b, 1), a, np.abs(a))
        below = np.where(np.abs(a) == 1, odd, 0)
        return np.where(np.less(b, 0), below, np.power(a, np.maximum(b, 0)))


def _power_arrays(positions: Sequence[int], g: Any, o: object, a: Any, b: Any) -> Sequence[Any]:
    if positions == (0,) and not b.ndim and a.shape == g.shape:
        exponent = b.item()
        if exponent == 2:
            return ((a + a) * g,)
        if exponent == 3:
            return (np.multiply(np.square(a), b) * g,)
    return [power.vjp[i](g, o, a, b) for i in positions]


power: Any = elementwise(
    "power", _power, "pow_{k}({0}, {1})", arity=2, check=numeric, cost="expensive",
    vjp=(_power_by_base, _power_by_exponent), saves=("ab", "abo"), vjp_arrays=_power_arrays,
    complex="holomorphic", complex_vjp=(_complex_power_by_base, _complex_power_by_exponent),
    doc="a to the power of b; of integers, b < 0, rounded toward 0, and 0 of 0. "
    "The gradient to b at a = 0, b >= 0 is 0, as PyTorch's.",
    example=">>> sg.power(np.array([1.0, 2.0, 3.0]), 2.0)\narray([1., 4., 9.])",
)  # fmt: skip
pow = power


def flat(g: object, o: object, a: object) -> Any:
    return zeros_like(g)


def is_flat(rule: object) -> bool:
    """Whether a gradient rule is that of what is constant between its jumps."""
    return rule is flat


def _sign_of(g: object, o: object, a: object) -> Any:
    return g * sign(a)


def _sign_of_complex(g: Any, o: Any, a: Any) -> Any:
    # what is left of g across the ray from 0 to a, by the length of a
    length = absolute(a)
    zero = equal(length, 0)
    across = g - o * astype(real_part(conjugate(o) * g), g.dtype)
    return where(zero, 0, across / astype(where(zero, 1, length), g.dtype))


sign = elementwise(
    "sign", np.sign, "sign_{k}({0})", arity=1, check=numeric, vjp=(flat,),
    saves=("",),
    smooth=False,
    exact=True,
    complex="own", complex_vjp=(_sign_of_complex,),
    doc="-1, 0 or 1; nan for nan.",
    example=">>> sg.sign(np.array([-2.0, 0.0, 3.0]))\narray([-1.,  0.,  1.])",
)  # fmt: skip
absolute = elementwise(
    "abs", np.abs, "abs({0})", arity=1, check=numeric, vjp=(_sign_of,), saves=("a",),
    smooth=False,
    exact=True,
    complex="own", of_parts=True,
    doc="The absolute value; the gradient at 0 is 0.",
    example=">>> sg.abs(np.array([-2.0, 3.0]))\narray([2., 3.])",
)  # fmt: skip
abs = absolute


def _copysign_by_a(g: object, o: object, a: object, b: object) -> Any:
    zero = equal(a, 0)
    return where(zero, 0, g * (o / where(zero, 1, a)))


copysign = elementwise(
    "copysign", np.copysign, "copysign({0}, {1})", arity=2, floating=True,
    vjp=(_copysign_by_a, lambda g, o, a, b: zeros_like(g)), saves=("ao", ""),
    smooth=False,
    exact=True,
    doc="The magnitude of a with the sign of b; the gradient at a = 0 is 0. Of a nan that was "
    "computed the sign is one or the other (IEEE 754, 6.3).",
    example=">>> sg.copysign(np.array([1.0, 2.0]), np.array([-0.0, 3.0]))\narray([-1.,  2.])",
)  # fmt: skip


def _share(loses: Any) -> Any:
    """The gradient rule of maximum and minimum: ties share evenly, and nan hides no gradient."""

    def by_first(g: Any, o: object, a: object, b: object) -> Any:
        return where(equal(a, b), g / 2, where(loses(a, b), 0, g))

    def by_second(g: Any, o: object, a: object, b: object) -> Any:
        return where(equal(a, b), g / 2, where(loses(b, a), 0, g))

    return by_first, by_second


maximum = elementwise(
    "maximum", np.maximum, "maximum({0}, {1})", arity=2, commutative=True,
    vjp=_share(less), saves=("ab", "ab"),
    smooth=False,
    exact=True,
    doc="The larger of a and b; nan if either is. Ties share the gradient evenly.",
    example=">>> sg.maximum(np.array([1.0, 5.0]), np.array([2.0, np.nan]))\narray([ 2., nan])",
)  # fmt: skip
minimum = elementwise(
    "minimum", np.minimum, "minimum({0}, {1})", arity=2, commutative=True,
    vjp=_share(greater), saves=("ab", "ab"),
    smooth=False,
    exact=True,
    doc="The smaller of a and b; nan if either is. Ties share the gradient evenly.",
    example=">>> sg.minimum(np.array([1.0, 5.0]), 3.0)\narray([1., 3.])",
)  # fmt: skip


def _preferring(wins: Any) -> Any:
    """The gradient rule of fmax and fmin: a tie is the first operand's, and nan hides none."""

    def first(a: object, b: object) -> Any:
        return logical_or(wins(a, b), isnan(b))

    return (
        lambda g, o, a, b: where(first(a, b), g, 0),
        lambda g, o, a, b: where(first(a, b), 0, g),
    )


fmax = elementwise(
    "fmax", np.fmax, "select(({0} >= {1}) | ({1} != {1}), {0}, {1})", arity=2,
    vjp=_preferring(greater_equal), saves=("ab", "ab"),
    smooth=False,
    exact=True,
    doc="The larger of a and b, or that which is not nan; the gradient of a tie is a's.",
    example=">>> sg.fmax(np.array([1.0, np.nan]), np.array([2.0, 3.0]))\narray([2., 3.])",
)  # fmt: skip
fmin = elementwise(
    "fmin", np.fmin, "select(({0} <= {1}) | ({1} != {1}), {0}, {1})", arity=2,
    vjp=_preferring(less_equal), saves=("ab", "ab"),
    smooth=False,
    exact=True,
    doc="The smaller of a and b, or that which is not nan; the gradient of a tie is a's.",
    example=">>> sg.fmin(np.array([1.0, np.nan]), np.array([2.0, 3.0]))\narray([1., 3.])",
)  # fmt: skip
hypot = elementwise(
    "hypot", np.hypot, "hypot({0}, {1})", arity=2, floating=True,
    cost="expensive", commutative=True,
    vjp=(lambda g, o, a, b: g * (a / o), lambda g, o, a, b: g * (b / o)), saves=("ao", "bo"),
    smooth=False,
    doc="sqrt(a**2 + b**2), without overflow in between; inf if either is infinite.",
    example=">>> sg.hypot(np.array([3e200]), 4e200)\narray([5.e+200])",
)  # fmt: skip


def _heaviside(a: object, b: object) -> Any:
    truth = getattr(a, "dtype", np.dtype(type(a))).kind == "b"
    return where(equal(a, 0), b, a if truth else maximum(sign(a), 0))


heaviside = composite(
    "heaviside", _heaviside, vjp=(None, None), elementwise=True, promotes=slice(None),
    smooth=False,
    exact=True,
    doc="0 where a is negative, 1 where it is positive, and b where it is 0; without gradients.",
    example=">>> sg.heaviside(np.array([-2.0, 0.0, 3.0]), 0.5)\narray([0. , 0.5, 1. ])",
)  # fmt: skip


def _integers(name: str, *types: TensorType) -> None:
    for type in types:
        if type.dtype.kind not in "iu":
            raise DTypeError(f"{name}: {type} is not an integer")


gcd = elementwise(
    "gcd", np.gcd, "gcd_{k}({0}, {1})", arity=2, check=_integers,
    cost="expensive", commutative=True,
    exact=True,
    doc="The greatest common divisor of integers, at least 0.",
    example=">>> sg.gcd(12, -18)\nnp.int64(6)",
)  # fmt: skip
lcm = elementwise(
    "lcm", np.lcm, "lcm_{k}({0}, {1})", arity=2, check=_integers,
    cost="expensive", commutative=True,
    exact=True,
    doc="The least common multiple of integers, at least 0.",
    example=">>> sg.lcm(4, -6)\nnp.int64(12)",
)  # fmt: skip


def _rounding(name: str, ufunc: np.ufunc, doc: str, example: str) -> Op:
    """Declare an op that rounds, which integers and bools stay as they are by."""

    def of_whole_too(x: Any) -> Any:
        return np.array(x) if np.asarray(x).dtype.kind in "biu" else ufunc(x)

    return elementwise(
        name, ufunc if ufunc(1).dtype.kind == "i" else of_whole_too, f"{name}({{0}})", arity=1,
        floating=True, keeps_whole=True, vjp=(flat,), saves=("",), exact=True,
        doc=f"{doc} Integers and bools keep their dtype.",
        example=f">>> sg.{name}(np.array([1.7, -1.7]))\narray({example})",
    )  # fmt: skip


floor = _rounding("floor", np.floor, "The largest integer not above a.", "[ 1., -2.]")
ceil = _rounding("ceil", np.ceil, "The smallest integer not below a.", "[ 2., -1.]")
trunc: Op = _rounding("trunc", np.trunc, "a without its fraction.", "[ 1., -1.]")
frac = elementwise(
    "frac", lambda x: np.subtract(x, np.trunc(x)), "{0} - trunc({0})", arity=1, floating=True,
    vjp=(lambda g, o, a: g,), saves=("",),
    smooth=False,
    doc="x - trunc(x): the fraction, with the sign of a.",
    example=">>> sg.frac(np.array([2.5, -2.5]))\narray([ 0.5, -0.5])",
)  # fmt: skip
round = elementwise(
    "round", np.rint, "rint({0})", arity=1, floating=True, vjp=(flat,),
    saves=("",), exact=True, doc="The nearest integer, halves to even.",
    example=">>> sg.round(np.array([0.5, 1.5, -1.7]))\narray([ 0.,  2., -2.])",
)  # fmt: skip
