"""Functions of the elements at the same place: NumPy's, composed of shared ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import computing, is_float, is_inexact, limits
from staticgraph.compiler.core.errors import DTypeError, OptionError
from staticgraph.compiler.core.types import unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.declare import as_operand, common_dtype, zeros_like

__all__ = [
    "absolute", "allclose", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "around", "array_equal", "array_equiv", "bitwise_invert",
    "bitwise_left_shift", "bitwise_right_shift", "copy", "degrees",
    "divmod", "fabs", "fix", "float_power", "frexp", "i0", "invert", "isclose",
    "isneginf", "isposinf", "ldexp", "mod", "modf", "nan_to_num",
    "nextafter", "piecewise", "positive", "radians", "rint", "round", "signbit",
    "spacing", "true_divide",
]  # fmt: skip

arccos, arccosh, arcsin, arcsinh = ops.acos, ops.acosh, ops.asin, ops.asinh
arctan, arctan2, arctanh = ops.atan, ops.atan2, ops.atanh
degrees, radians, rint, fix = ops.rad2deg, ops.deg2rad, ops.round, ops.trunc
true_divide, mod = ops.divide, ops.remainder
absolute, copy, i0 = ops.absolute, ops.copy, ops.i0
invert = bitwise_invert = ops.bitwise_not
bitwise_left_shift, bitwise_right_shift = ops.left_shift, ops.right_shift


def floats(x: Value) -> Any:
    """x as floating-point numbers, real or complex: what is none of these as float64."""
    x = as_operand(x)
    return x if is_inexact(x.dtype) else ops.astype(x, "float64")


def positive(x: Value) -> Value:
    """The elements as they are: +x.

    Example:
        >>> sg.positive(np.array([-1.0]))
        array([-1.])
    """
    x = as_operand(x)
    if np.dtype(x.dtype).kind == "b":
        raise DTypeError("positive: bool is not a number: cast it with astype")
    return ops.copy(x)


def fabs(x: Value) -> Value:
    """The absolute value, as a floating-point number.

    Example:
        >>> sg.fabs(np.array([-3, 2]))
        array([3., 2.])
    """
    return ops.absolute(floats(x))


def round(x: Value, decimals: int = 0) -> Value:
    """The nearest number of so many decimals, halves to even; of tens and so on if negative.

    Integers stay integers; of complex numbers both parts are rounded.

    Example:
        >>> sg.round(np.array([1.245, 17.5]), 1)
        array([ 1.2, 17.5])
    """
    return ops.rounded(x, decimals)


around = round


def float_power(a: Value, b: Value) -> Value:
    """The power, computed in float64.

    Example:
        >>> sg.float_power(np.array([2, 3]), -1).round(4)
        array([0.5   , 0.3333])
    """
    first, second = (
        one if isinstance(one, int | float) else ops.astype(as_operand(one), "float64")
        for one in (a, b)
    )
    return ops.power(first, second)


def divmod(a: Value, b: Value) -> tuple[Value, Value]:
    """The floor of a / b, and what is left: see `floor_divide` and `remainder`.

    Example:
        >>> sg.divmod(np.array([7.0, -7.0]), 2.0)
        (array([ 3., -4.]), array([1., 1.]))
    """
    return ops.floor_divide(a, b), ops.remainder(a, b)


def modf(x: Value) -> tuple[Value, Value]:
    """The fractions of the elements and their integral parts, both with the sign of x.

    Example:
        >>> sg.modf(np.array([2.5, -2.5]))
        (array([ 0.5, -0.5]), array([ 2., -2.]))
    """
    x = floats(x)
    whole = ops.trunc(x)
    rest = ops.where(ops.isinf(x), 0.0, x - whole)
    return ops.copysign(rest, ops.stop_gradient(x)), whole


def ldexp(x: Value, n: Value) -> Value:
    """x * 2**n of integers n, without overflow in between.

    Example:
        >>> sg.ldexp(np.array([3.0]), np.array([2]))
        array([12.])
    """
    x, n = floats(x), as_operand(n)
    if np.dtype(n.dtype).kind not in "iu":
        raise DTypeError(f"ldexp: {n.dtype} exponents: integers expected")
    return _scaled(x, n)


def _scaled(x: Any, n: Any) -> Any:
    """x * 2**n, as three factors of which each is a number."""
    dtype = np.dtype(x.dtype)
    x = ops.astype(x, computing(dtype))  # powers of 2 that float16 has not
    n = ops.astype(ops.clip(ops.astype(n, "int64"), -2300, 2300), x.dtype)
    third = ops.trunc(n / 3)
    part = ops.exp2(third)
    return ops.astype(x * part * part * ops.exp2(n - 2 * third), dtype)


def frexp(x: Value) -> tuple[Value, Value]:
    """The m and the int32 n of which x is m * 2**n, where |m| is in [0.5, 1), or both are 0.

    Example:
        >>> sg.frexp(np.array([8.0, 0.75]))
        (array([0.5 , 0.75]), array([4, 0], dtype=int32))
    """
    x = floats(x)
    odd = ops.logical_or(ops.equal(x, 0), ops.logical_not(ops.isfinite(x)))
    _, n = _exponent(ops.where(odd, 0.5, ops.stop_gradient(x)))
    return ops.where(odd, x, _scaled(x, -n)), ops.astype(ops.where(odd, 0, n), "int32")


def _exponent(x: Any) -> tuple[Any, Any]:
    """`frexp` of finite numbers that are not 0: by the logarithm, and a step to what it rounded."""
    dtype = np.dtype(x.dtype)
    x = ops.astype(x, computing(dtype))
    tiny = limits(np.dtype(x.dtype)).tiny
    small = ops.less(ops.absolute(x), tiny)
    x = ops.where(small, x * (2.0**64), x)  # log2 of a subnormal number may be that of 0
    guess = ops.astype(ops.floor(ops.log2(ops.absolute(x))), "int64") + 1
    m = _scaled(x, -guess)
    over, under = ops.greater_equal(ops.absolute(m), 1), ops.less(ops.absolute(m), 0.5)
    n = guess + ops.astype(over, "int64") - ops.astype(under, "int64")
    m = ops.where(over, m * 0.5, ops.where(under, m * 2, m))
    return ops.astype(m, dtype), ops.where(small, n - 64, n)


def spacing(x: Value) -> Value:
    """The distance from |x| to the next larger number, with the sign of x; nan of nan and inf.

    Example:
        >>> sg.spacing(np.array([1.0])) == 2.0**-52
        array([ True])
    """
    x = floats(x)
    step = _step(ops.where(ops.isfinite(x), x, 1.0))
    return ops.where(ops.isfinite(x), ops.copysign(step, x), math.nan)


def _step(x: Any) -> Any:
    """The distance from |x| to the next larger number, of finite numbers."""
    info = limits(np.dtype(x.dtype))
    x = ops.stop_gradient(x)
    zero = ops.equal(x, 0)
    _, n = _exponent(ops.where(zero, 1.0, x))
    least = int(info.minexp) - int(info.nmant)
    places = ops.maximum(n - 1 - int(info.nmant), least)
    one = zeros_like(x) + 1
    return _scaled(one, ops.where(zero, least, places))


def of_one_dtype(a: Value, b: Value) -> tuple[Any, Any]:
    """Two operands as floating-point numbers of one dtype, which Python's numbers do not decide."""
    given = [floats(x) for x in (a, b) if not isinstance(x, int | float)]
    dtype = common_dtype(*given) if given else np.dtype(np.float64)
    return ops.astype(as_operand(a), dtype), ops.astype(as_operand(b), dtype)


def nextafter(a: Value, b: Value) -> Value:
    """The next number after `a` towards `b`; its slope is that of a.

    Example:
        >>> sg.nextafter(np.array([1.0]), 2.0) - 1
        array([2.22044605e-16])
    """
    a, b = of_one_dtype(a, b)
    dtype = np.dtype(a.dtype)
    largest = float(limits(dtype).max)
    inside = ops.clip(ops.where(ops.isnan(a), 1.0, a), -largest, largest)
    up = ops.greater(b, a)
    m, _ = _exponent(ops.where(ops.equal(inside, 0), 1.0, ops.stop_gradient(inside)))
    step = _step(inside)
    # below a power of two numbers are closer, unless they are the smallest
    shrinks = ops.logical_xor(ops.greater(inside, 0), up)
    least = float(limits(dtype).smallest_subnormal)
    halved = ops.logical_and(shrinks, ops.equal(ops.absolute(m), 0.5))
    halved = ops.logical_and(halved, ops.greater(ops.absolute(inside), float(limits(dtype).tiny)))
    halved = ops.logical_and(halved, ops.not_equal(inside, 0))
    step = ops.where(halved, ops.maximum(step * 0.5, least), step)
    moved = inside + ops.where(up, step, -step)
    moved = ops.where(ops.logical_and(ops.equal(moved, 0), shrinks),
                      ops.copysign(zeros_like(moved), inside), moved)  # fmt: skip
    moved = ops.where(ops.isinf(a), ops.copysign(largest, a), moved)
    stays = ops.logical_or(ops.equal(a, b), ops.logical_or(ops.isnan(a), ops.isnan(b)))
    same = ops.where(ops.isnan(a), a, b)
    return ops.where(stays, same, moved)


def signbit(x: Value) -> Value:
    """Whether the sign is negative, of -0.0 too.

    Of nan it is the bit that the element has. Which one a nan has that was computed no standard
    says (IEEE 754, 6.3): it differs between processors, between NumPy's loops, and kernels.

    Example:
        >>> sg.signbit(np.array([-0.0, 1.0]))
        array([ True, False])
    """
    x = as_operand(x)
    if not is_float(x.dtype):
        return ops.less(x, 0)
    return ops.less(ops.copysign(zeros_like(x) + 1, x), 0)


def nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value = None, neginf: Value = None
) -> Value:
    """nan as 0, infinities as the largest finite numbers, or as the given numbers.

    Example:
        >>> sg.nan_to_num(np.array([np.nan, 2.0, np.inf]), posinf=9.0)
        array([0., 2., 9.])
    """
    x = as_operand(x)
    dtype = np.dtype(x.dtype)
    if not is_float(dtype):
        return x
    high = float(limits(dtype).max) if posinf is None else posinf
    low = float(limits(dtype).min) if neginf is None else neginf
    found = ops.where(ops.isnan(x), nan, x)
    found = ops.where(ops.equal(x, math.inf), high, found)
    return ops.where(ops.equal(x, -math.inf), low, found)


# -- what is asked of elements ---------------------------------------------------------------------


def isposinf(x: Value) -> Value:
    """Whether an element is inf.

    Example:
        >>> sg.isposinf(np.array([np.inf, -np.inf]))
        array([ True, False])
    """
    return ops.equal(x, math.inf)


def isneginf(x: Value) -> Value:
    """Whether an element is -inf.

    Example:
        >>> sg.isneginf(np.array([np.inf, -np.inf]))
        array([False,  True])
    """
    return ops.equal(x, -math.inf)


def isclose(
    a: Value, b: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether |a - b| <= atol + rtol |b|, per element; infinities are close to themselves.

    Example:
        >>> sg.isclose(np.array([1.0, 2.0]), np.array([1.0 + 1e-9, 2.1]))
        array([ True, False])
    """
    a, b = of_one_dtype(a, b)
    near = ops.less_equal(ops.absolute(a - b), atol + rtol * ops.absolute(b))
    near = ops.logical_and(near, ops.logical_and(ops.isfinite(a), ops.isfinite(b)))
    close = ops.logical_or(ops.equal(a, b), near)
    if not equal_nan:
        return close
    return ops.logical_or(close, ops.logical_and(ops.isnan(a), ops.isnan(b)))


def allclose(
    a: Value, b: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether all elements are close, a bool without axes: see `isclose`.

    Example:
        >>> sg.allclose(np.array([1.0, 2.0]), np.array([1.0, 2.1]))
        np.False_
    """
    return ops.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Value, b: Value, equal_nan: bool = False) -> Value:
    """Whether two tensors have one shape and equal elements: a bool without axes.

    Example:
        >>> sg.array_equal(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        np.True_
    """
    a, b = as_operand(a), as_operand(b)
    if a.ndim != b.ndim or None in map(unify, a.shape, b.shape):
        return np.False_
    same = ops.equal(a, b)
    if equal_nan and np.dtype(a.dtype).kind == np.dtype(b.dtype).kind == "f":
        same = ops.logical_or(same, ops.logical_and(ops.isnan(a), ops.isnan(b)))
    return ops.all(same)


def array_equiv(a: Value, b: Value) -> Value:
    """Whether two tensors broadcast, and are equal then: a bool without axes.

    Example:
        >>> sg.array_equiv(np.array([1.0, 1.0]), np.array([1.0]))
        np.True_
    """
    a, b = as_operand(a), as_operand(b)
    for one, two in zip(reversed(a.shape), reversed(b.shape), strict=False):
        if 1 not in (one, two) and unify(one, two) is None:
            return np.False_
    return ops.all(ops.equal(a, b))


def piecewise(
    x: Value, condlist: Sequence[Value], funclist: Sequence[Callable[..., Value] | float],
    *args: object, **kw: object,
) -> Value:  # fmt: skip
    """Per element the function, or the number, of the last condition that holds, else 0.

    One function more than conditions is for where none holds. All are computed everywhere, and
    cast to the dtype of `x`.

    Example:
        >>> x = np.array([-1.0, 2.0])
        >>> sg.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x * 10])
        array([ 1., 20.])
    """
    x = as_operand(x)
    functions = list(funclist)
    if not isinstance(condlist, list | tuple) and (np.ndim(condlist) == x.ndim or not x.ndim):
        condlist = [condlist]  # one condition for itself
    found: Any = zeros_like(x)
    if len(functions) == len(condlist) + 1:
        found = _applied(functions.pop(), x, args, kw)
    if len(functions) != len(condlist):
        raise OptionError(f"piecewise: {len(functions)} functions for {len(condlist)} conditions")
    for condition, function in zip(condlist, functions, strict=True):
        found = ops.where(condition, _applied(function, x, args, kw), found)
    return found


def _applied(function: Any, x: Any, args: Any, kw: Any) -> Any:
    found = as_operand(function(x, *args, **kw) if callable(function) else function)
    return ops.astype(found, x.dtype)


# -- bits ------------------------------------------------------------------------------------------
