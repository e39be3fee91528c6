"""Operators that compute element by element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.onnx import names
from staticgraph.onnx.call import OPERATORS, Call, Read, is_sizes, reads
from staticgraph.onnx.package import dtype_of


def _as_op(name: str) -> Read:
    def read(call: Call) -> Any:
        return getattr(ops, name)(*call.operands)

    return read


for _table in (names.FLOATS, names.NUMBERS, names.BOOLS):
    OPERATORS.update({operator: _as_op(op) for op, operator in _table.items()})
OPERATORS.update({"Equal": _as_op("equal"), "Where": _as_op("where"), "IsNaN": _as_op("isnan")})
OPERATORS.update({one: _as_op(op) for op, (one, _) in names.BITS.items()})
OPERATORS["BitwiseNot"] = _as_op("bitwise_not")


def _arithmetic(function: Callable[[Any, Any], Any], op: str) -> Read:
    def read(call: Call) -> Any:
        left, right = call.raw(0), call.raw(1)
        known = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
        if known and (is_sizes(left) or is_sizes(right)):
            return np.asarray(function(left, right), object)
        if op == "divide":
            return _quotient(call.value(0), call.value(1))
        return getattr(ops, op)(call.value(0), call.value(1))

    return read


OPERATORS["Add"] = _arithmetic(lambda a, b: a + b, "add")
OPERATORS["Sub"] = _arithmetic(lambda a, b: a - b, "subtract")
OPERATORS["Mul"] = _arithmetic(lambda a, b: a * b, "multiply")
OPERATORS["Div"] = _arithmetic(lambda a, b: a // b, "divide")


def _quotient(a: Any, b: Any) -> Any:
    """The quotient, of integers rounded towards zero."""
    if is_float(np.dtype(a.dtype)) or a.dtype.kind == "c":
        return ops.divide(a, b)
    return ops.floor_divide(a - ops.fmod(a, b), b)


@reads("Pow")
def _power(call: Call) -> Any:
    base, exponent = call.operands
    both_whole = base.dtype.kind in "iu" and exponent.dtype.kind in "iu"
    wide = ops.power(base, ops.astype(exponent, base.dtype) if both_whole else exponent)
    return ops.astype(wide, base.dtype)


@reads("Mod")
def _modulo(call: Call) -> Any:
    function = ops.fmod if call.attribute("fmod", 0) else ops.remainder
    return function(*call.operands)


@reads("BitShift")
def _shift(call: Call) -> Any:
    left = call.attribute("direction") == "LEFT"
    return (ops.left_shift if left else ops.right_shift)(*call.operands)


@reads("IsInf")
def _is_infinite(call: Call) -> Any:
    x = call.value(0)
    found = ops.isinf(x)
    if not call.attribute("detect_negative", 1):
        found = ops.logical_and(found, ops.greater(x, 0))
    if not call.attribute("detect_positive", 1):
        found = ops.logical_and(found, ops.less(x, 0))
    return found


def _folded(function: str) -> Read:
    def read(call: Call) -> Any:
        return functools.reduce(getattr(ops, function), call.operands)

    return read


OPERATORS.update({"Max": _folded("maximum"), "Min": _folded("minimum"), "Sum": _folded("add")})


@reads("Mean")
def _mean(call: Call) -> Any:
    found = functools.reduce(ops.add, call.operands)
    return ops.astype(found / len(call.values), found.dtype)


@reads("Cast", "CastLike")
def _cast(call: Call) -> Any:
    if call.step.operator == "CastLike":
        return _as(call.value(0), np.dtype(call.value(1).dtype))
    dtype = dtype_of(call.attribute("to", 0))
    if dtype is None:
        raise call.refuse(f"the dtype {call.attribute('to')} is not one of the library")
    if is_sizes(call.raw(0)) and dtype == np.int64:
        return call.raw(0)
    return _as(call.value(0), dtype)


def _as(x: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        return ops.astype(x, dtype)


@reads("Identity")
def _identity(call: Call) -> Any:
    return call.raw(0)


@reads("Dropout")
def _dropout(call: Call) -> Any:
    x, training = call.value(0), call.raw(2)
    if training is not None and not _is_off(training) and not _is_off(call.raw(1)):
        raise call.refuse("dropout in training draws random numbers")
    return x, ops.equal(x, x)


def _is_off(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and not np.any(value)


# -- activations ------------------------------------------------------------------------------


def _activation(**defaults: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of a tensor and of attributes, which have defaults."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def read(call: Call) -> Any:
            given = [float(call.attribute(name, value)) for name, value in defaults.items()]
            x = call.value(0)
            return ops.astype(function(x, *given), x.dtype)

        operator = function.__name__.title().replace("_", "")
        OPERATORS[{"Prelu": "PRelu"}.get(operator, operator)] = read
        return function

    return register


@_activation(alpha=1.0)
def celu(x: Any, alpha: float) -> Any:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return ops.maximum(x, 0) + ops.minimum(alpha * ops.expm1(x / alpha), 0)


@_activation(alpha=1.0)
def elu(x: Any, alpha: float) -> Any:
    """x, below zero alpha (exp(x) - 1)."""
    return ops.elu(x, alpha)


@_activation(alpha=0.01)
def leaky_relu(x: Any, alpha: float) -> Any:
    """x, below zero alpha x."""
    return ops.where(ops.less(x, 0), x * alpha, x)


@_activation(alpha=0.2, beta=0.5)
def hard_sigmoid(x: Any, alpha: float, beta: float) -> Any:
    """max(0, min(1, alpha x + beta))."""
    return ops.maximum(ops.minimum(x * alpha + beta, 1), 0)


@_activation()
def hard_swish(x: Any) -> Any:
    """x max(0, min(1, x / 6 + 0.5))."""
    return x * ops.maximum(ops.minimum(x / 6 + 0.5, 1), 0)


@_activation()
def mish(x: Any) -> Any:
    """x tanh(softplus(x))."""
    return x * ops.tanh(ops.softplus(x))


@_activation(alpha=1.67326319217681884765625, gamma=1.05070102214813232421875)
def selu(x: Any, alpha: float, gamma: float) -> Any:
    """gamma times elu."""
    return gamma * ops.elu(x, alpha)


@_activation(bias=0.0, lambd=0.5)
def shrink(x: Any, bias: float, lambd: float) -> Any:
    """Nearer to zero by the bias, zero between -lambd and lambd."""
    below = ops.where(ops.less(x, -lambd), x + bias, 0)
    return ops.where(ops.greater(x, lambd), x - bias, below)


@_activation(alpha=1.0)
def swish(x: Any, alpha: float) -> Any:
    """x sigmoid(alpha x)."""
    return x * ops.sigmoid(x * alpha)


@_activation(alpha=1.0)
def thresholded_relu(x: Any, alpha: float) -> Any:
    """x where it is above alpha."""
    return ops.where(ops.greater(x, alpha), x, 0)


@reads("PRelu")
def _prelu(call: Call) -> Any:
    x, slope = call.operands
    return ops.where(ops.less(x, 0), x * slope, x)


@reads("SwiGLU")
def _gated_swish(call: Call) -> Any:
    gate = call.value(0)
    return gate * ops.sigmoid(call.attribute("alpha", 1.0) * gate) * call.value(1)


@reads("Gelu")
def _gelu(call: Call) -> Any:
    return ops.gelu(call.value(0), call.attribute("approximate", "none"))


@reads("Clip")
def _clip(call: Call) -> Any:
    x, low, high = call.value(0), call.optional(1), call.optional(2)
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)
