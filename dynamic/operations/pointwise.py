"""Functions of the elements at the same place, and comparisons of whole tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, limits
from staticgraph.compiler.core.op import Op, Operand
from staticgraph.compiler.core.types import TensorType, broadcast_shapes
from staticgraph.compiler.ops.declare import unbroadcast
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import itself, require_dtype, result_type
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.dims import axes_of
from staticgraph.dynamic.tensors.naming import called, keep
from staticgraph.dynamic.tensors.reductions import with_numpy_names
from staticgraph.dynamic.tensors.required import require_number
from staticgraph.dynamic.tensors.scaled import as_weight, plain_number, refuse_complex_factor
from staticgraph.dynamic.tensors.shapes import common_shape
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, has_values, wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "absolute", "addcdiv", "addcmul", "allclose", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "clamp_max", "clamp_min", "equal", "fix", "isclose", "lerp", "nan_to_num", "nanmean", "nansum",
    "positive", "sgn", "std_mean", "var_mean",
]  # fmt: skip


arccosh, arcsinh, arctanh = ops.acosh, ops.asinh, ops.atanh
absolute, fix = ops.absolute, ops.trunc
arccos, arcsin, arctan, arctan2 = ops.acos, ops.asin, ops.atan, ops.atan2
sgn = ops.sign


def positive(input: object) -> Any:
    """The tensor itself.

    Example:
        >>> dynamic.positive(dynamic.tensor([-1.0]))
        tensor([-1.])
    """
    return itself("positive", input)


def _lerp(a: object, b: Any, *, weight: float) -> Any:
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
    promotes=slice(None),
    floating=True,
    expand=_lerp,
    complex="linear",
    doc="a at weight 0, b at weight 1, a number, and on the line through both elsewhere.",
)


def lerp(input: Any, end: object, weight: Any) -> Any:
    """The input at weight 0, `end` at weight 1, and on the line through both elsewhere.

    Example:
        >>> dynamic.lerp(dynamic.tensor([0.0]), dynamic.tensor([10.0]), 0.3)
        tensor([3.])
    """
    require_dtype("expected dtype {2} for `end` but got dtype {3}", input, end)
    weight = as_weight(input, weight)
    require_dtype("expected dtype {2} for `weight` but got dtype {3}", input, weight)
    number = not isinstance(weight, Operand)
    if number:
        return input._apply(lerp_by_number, (input, end), {"weight": weight})
    away = end - input
    low = input + weight * away
    high = end - away * (1 - weight)
    found = ops.where(ops.less(ops.absolute(weight), 0.5), low, high)
    return keep(found, input, end)


@called("Addcmul")
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """input + value * tensor1 * tensor2, the product in the dtype of the result.

    Example:
        >>> dynamic.addcmul(
        ...     dynamic.ones(1), dynamic.tensor([4.0]), dynamic.tensor([2.0]), value=0.5
        ... )
        tensor([5.])
    """
    own = input._array.dtype
    if tensor1._array.dtype is not own or tensor2._array.dtype is not own:
        dtype = result_type(one._array for one in (input, tensor1, tensor2))
        tensor1, tensor2 = tensor1.to(dtype), tensor2.to(dtype)
    product = tensor1 * tensor2
    refuse_complex_factor("value", value, input, product)
    return input + (product if value == 1 else product * value)


def _added_quotient(x: object, a: object, b: Any, *, value: float) -> Any:
    quotient = a / b
    return x + (quotient if value == 1 else quotient * value)


_addcdiv = Op(
    name="addcdiv",
    infer_type=lambda *types, value: TensorType(
        broadcast_shapes("addcdiv", *types), types[0].dtype
    ),
    evaluate=_added_quotient,
    vjp=(
        lambda g, o, x, a, b, *, value: unbroadcast(g, x),
        lambda g, o, x, a, b, *, value: unbroadcast(g * (value / b), a),
        lambda g, o, x, a, b, *, value: unbroadcast(-g * (value * a / (b * b)), b),
    ),
    saves=("c", "c", "bc"),  # PyTorch's node saves the divisor for x too, and so is freed
    promotes=slice(None),
    floating=True,
    expand=_added_quotient,
    complex="holomorphic",
    doc="x + value * a / b.",
)


def addcdiv(input: Any, tensor1: object, tensor2: object, *, value: float = 1) -> Any:
    """input + value * tensor1 / tensor2.

    Example:
        >>> dynamic.addcdiv(
        ...     dynamic.ones(1), dynamic.tensor([4.0]), dynamic.tensor([2.0]), value=0.5
        ... )
        tensor([2.])
    """
    refuse_complex_factor("value", value, input, tensor1, tensor2)
    value = plain_number(value)
    if all(type(one) in PLAIN for one in (input, tensor1, tensor2)):
        return input._apply(_addcdiv, (input, tensor1, tensor2), {"value": value})
    return _added_quotient(input, tensor1, tensor2, value=value)


@called("ClampMin")
def clamp_min(input: Any, min: object) -> Any:
    """The elements, at least `min`.

    Example:
        >>> dynamic.clamp_min(dynamic.tensor([1.0, 3.0]), 2)
        tensor([2., 3.])
    """
    return input.clamp(min=min)


@called("ClampMax")
def clamp_max(input: Any, max: object) -> Any:
    """The elements, at most `max`.

    Example:
        >>> dynamic.clamp_max(dynamic.tensor([1.0, 3.0]), 2)
        tensor([1., 2.])
    """
    return input.clamp(max=max)


@called("NanToNum")
def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """nan as 0, infinities as the largest finite numbers, or as the given numbers.

    Example:
        >>> dynamic.nan_to_num(dynamic.tensor([np.nan, 2.0, np.inf]), posinf=9.0)
        tensor([0., 2., 9.])
    """
    if not is_float(input._array.dtype):
        return input.clone()
    for place, (name, value) in enumerate((("nan", nan), ("posinf", posinf), ("neginf", neginf))):
        if value is not None:
            is_number = isinstance(value, Operand) and not getattr(value, "ndim", 0)
            if not is_number:
                require_number("nan_to_num", name, place + 2, value)
    known = limits(input._array.dtype)
    high = float(known.max) if posinf is None else posinf
    low = float(known.min) if neginf is None else neginf
    result = ops.where(ops.isnan(input), 0.0 if nan is None else nan, input)
    result = ops.where(ops.equal(input, math.inf), high, result)
    return keep(ops.where(ops.equal(input, -math.inf), low, result), input)


def _same_dtype(input: Tensor, other: Tensor) -> None:
    if input._array.dtype != other._array.dtype:
        raise AutogradError(f"{input.type()[6:-6]} did not match {other.type()[6:-6]}")


def isclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Per element whether |a - b| <= atol + rtol |b|.

    Example:
        >>> dynamic.isclose(dynamic.tensor([1.0, 2.0]), dynamic.tensor([1.0 + 1e-9, 2.1]))
        tensor([ True, False])
    """
    require_number("isclose", "rtol", 3, rtol)
    require_number("isclose", "atol", 4, atol)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise AutogradError(f"{name} must be greater than or equal to zero, but got {value}")
    _same_dtype(input, other)
    if not (has_values(input) and has_values(other)):
        return _is_close(input.detach(), other.detach(), rtol, atol, equal_nan)
    common_shape(input.shape, other.shape)
    return wrap(np.asarray(np.isclose(input._array, other._array, rtol, atol, equal_nan)))


def _is_close(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """`isclose` of tensors whose values are not known yet."""
    if is_float(a.dtype):
        near = ops.absolute(a - b) <= atol + rtol * ops.absolute(b)
        close = ops.logical_or(ops.equal(a, b), ops.logical_and(near, ops.isfinite(b)))
        both = ops.logical_and(ops.isnan(a), ops.isnan(b))
        return ops.logical_or(close, both) if equal_nan else close
    return _is_close(a.double(), b.double(), rtol, atol, equal_nan)


def allclose(
    input: object, other: object, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: see `isclose`.

    Example:
        >>> dynamic.allclose(dynamic.tensor([1.0, 2.0]), dynamic.tensor([1.0, 2.1]))
        False
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and equal elements.

    Example:
        >>> dynamic.equal(dynamic.ones(2), dynamic.tensor([1.0, 1.0]))
        True
    """
    if not hasattr(other, "_array"):
        given = type(other).__name__
        raise ArgumentError(f"equal(): argument 'other' (position 2) must be Tensor, not {given}")
    return bool(np.array_equal(values_of(input), values_of(other)))


def bitwise_and(input: object, other: Any) -> Any:
    """a & b, bit by bit.

    Example:
        >>> dynamic.bitwise_and(dynamic.tensor([6, 5]), 3)
        tensor([2, 1])
    """
    return input & other


def bitwise_or(input: object, other: Any) -> Any:
    """a | b, bit by bit.

    Example:
        >>> dynamic.bitwise_or(dynamic.tensor([4, 5]), 3)
        tensor([7, 7])
    """
    return input | other


def bitwise_xor(input: object, other: Any) -> Any:
    """a ^ b, bit by bit.

    Example:
        >>> dynamic.bitwise_xor(dynamic.tensor([6, 5]), 3)
        tensor([5, 6])
    """
    return input ^ other


def bitwise_not(input: Any) -> Any:
    """~a, bit by bit.

    Example:
        >>> dynamic.bitwise_not(dynamic.tensor([0, 5]))
        tensor([-1, -6])
    """
    return ~input


@called("Nansum", "input")
def nansum(input: Any, dim: object = None, keepdim: bool = False, *, dtype: object = None) -> Any:
    """The sum of the elements that are not nan.

    Example:
        >>> dynamic.nansum(dynamic.tensor([1.0, np.nan, 2.0]))
        tensor(3.)
    """
    input = input if dtype is None else input.to(dtype=dtype)
    return ops.where(ops.isnan(input), 0, input).sum(dim, keepdim, dtype=dtype)


def nanmean(input: Any, dim: object = None, keepdim: bool = False, *, dtype: object = None) -> Any:
    """The mean of the elements that are not nan.

    Example:
        >>> dynamic.nanmean(dynamic.tensor([1.0, np.nan, 2.0]))
        tensor(1.5000)
    """
    input = input if dtype is None else input.to(dtype=dtype)
    count = ops.logical_not(ops.isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim) / count


@called("StdMean")
@with_numpy_names
def std_mean(input: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The standard deviation and the mean; the arguments are those of `std`.

    Example:
        >>> dynamic.std_mean(dynamic.tensor([1.0, 3.0]), correction=0)
        (tensor(1.), tensor(2.))
    """
    _check_spread("std_mean", options)
    return input.std(*args, **options), _mean_of(input, *args, **options)


@with_numpy_names
def var_mean(input: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The variance and the mean; the arguments are those of `var`.

    Example:
        >>> dynamic.var_mean(dynamic.tensor([1.0, 3.0]))
        (tensor(2.), tensor(2.))
    """
    _check_spread("var_mean", options)
    if type(input) in PLAIN and input.requires_grad and not (paused and mode.capture is not None):
        return _recorded_at_once(input, *args, **options)
    return input.var(*args, **options), _mean_of(input, *args, **options)


def _recorded_at_once(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float = 1,
) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    degrees = plain_number(correction) if unbiased is None else int(unbiased)
    axes = axes_of(
        "var_mean", None if isinstance(dim, list | tuple) and not dim else dim, input.ndim
    )
    attrs = {"axes": axes, "keepdims": keepdim, "correction": degrees}
    return input._apply(eager_ops.var_mean, (input,), attrs)


def _check_spread(name: str, options: dict[str, Any]) -> None:
    for option in options.keys() - {"dim", "unbiased", "correction", "keepdim"}:
        raise ArgumentError(f"{name}() got an unexpected keyword argument {option!r}")


def _mean_of(
    input: Any, dim: object = None, unbiased: object = None, keepdim: bool = False, **_: object
) -> Any:
    return input.mean(None if isinstance(dim, bool) else dim, keepdim)
