"""Activations and normalisation: composites of the other ops, with direct gradients."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float, promoted
from staticgraph.compiler.core.errors import OptionError, ShapeError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.core.types import TensorType, normalise_axis, unify
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.ops.batching import shifted_one
from staticgraph.compiler.ops.declare import (
    as_operand,
    composite,
    elementwise,
    one_axis,
    unbroadcast,
)
from staticgraph.compiler.ops.elementwise.arithmetic import (
    absolute,
    astype,
    maximum,
    minimum,
    numeric,
    reciprocal,
    square,
)
from staticgraph.compiler.ops.elementwise.comparison import (
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from staticgraph.compiler.ops.elementwise.exponential import (
    erf,
    exp,
    expm1,
    log,
    rsqrt,
    sigmoid,
    tanh,
)
from staticgraph.compiler.ops.reductions.cumulative import cumsum
from staticgraph.compiler.ops.reductions.reduction import max, mean, positions, sum
from staticgraph.compiler.ops.reductions.sorting import sort
from staticgraph.compiler.ops.shapes.shape import reshape, sizes_of
from staticgraph.compiler.reference import activation, direct

__all__ = [
    "clip", "elu", "gelu", "layer_norm", "leaky_relu", "log_softmax", "relu", "silu", "softmax",
    "softsign", "sparsemax",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715

relu = elementwise(
    "relu", activation.relu, "maximum({0}, {t}(0))", arity=1, check=numeric,
    vjp_arrays=activation.relu_vjp,
    vjp=(lambda g, o, a: where(less_equal(o, 0), 0, g),), saves=("o",),
    smooth=False,
    exact=True,
    doc="max(x, 0); the gradient at 0 is 0.",
    example=">>> sg.relu(np.array([-1.0, 2.0]))\narray([0., 2.])",
)  # fmt: skip


def _with(op: str, **defaults: float | str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    """The signature `(x, option=default)` with one option."""
    ((name, default),) = defaults.items()

    def bind(x: Any, value: Any = default, **given: Any) -> tuple[Sequence[Any], Attrs]:
        for unknown in given.keys() - {name}:
            raise TypeError(f"{op}() got an unexpected keyword argument {unknown!r}")
        value = given.get(name, value)
        return (as_operand(x),), {name: value if isinstance(default, str) else float(value)}

    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    kind = type(default).__name__
    option = inspect.Parameter(name, both, default=default, annotation=kind)
    shown = [inspect.Parameter("x", both), option]
    bind.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return bind


leaky_relu = composite(
    "leaky_relu", lambda x, *, negative_slope: where(x > 0, x, x * negative_slope),
    bind=_with("leaky_relu", negative_slope=0.01), floating=True, saves=("a",), elementwise=True,
    choices={"negative_slope": (0.2, -0.5)},
    vjp=(lambda g, o, a, *, negative_slope: where(a > 0, g, g * negative_slope),),
    smooth=False,
    doc="x above 0, negative_slope * x below.",
    example=">>> sg.leaky_relu(np.array([-1.0, 2.0]))\narray([-0.01,  2.  ])",
)  # fmt: skip
elu = composite(
    "elu", lambda x, *, alpha: where(x > 0, x, alpha * expm1(minimum(x, 0))),
    bind=_with("elu", alpha=1.0), floating=True, saves=("a",), elementwise=True,
    choices={"alpha": (0.7, 2.0)},
    vjp=(lambda g, o, a, *, alpha: where(a > 0, g, g * (alpha * exp(minimum(a, 0)))),),
    smooth=False,
    doc="x above 0, alpha * (exp(x) - 1) below (Clevert, Unterthiner, Hochreiter 2015).",
    example=">>> sg.elu(np.array([-1.0, 2.0]))\narray([-0.63212056,  2.        ])",
)  # fmt: skip


def _silu_vjp(g: object, o: object, a: object) -> Any:
    s = sigmoid(a)
    return g * (s * (1 + a * (1 - s)))


silu = composite(
    "silu", lambda x: x * sigmoid(x), floating=True, vjp=(_silu_vjp,), saves=("a",),
    elementwise=True, evaluate=activation.silu, vjp_arrays=activation.silu_vjp,
    doc="x * sigmoid(x) (Elfwing, Uchibe, Doya 2017).",
    example=">>> sg.silu(np.array([-1.0, 0.0, 1.0]))\n"
    "array([-0.26894142,  0.        ,  0.73105858])",
)  # fmt: skip


def _gelu(x: Any, *, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(_ROOT_TWO_BY_PI * (x + _CUBIC * (x * x * x))))
    return 0.5 * x * (1 + erf(x * _ROOT_HALF))


def _gelu_vjp(g: object, o: object, a: Any, *, approximate: str) -> Any:
    if approximate == "tanh":
        t = tanh(_ROOT_TWO_BY_PI * (a + _CUBIC * (a * a * a)))
        slope = _ROOT_TWO_BY_PI * (1 + 3 * _CUBIC * (a * a))
        return g * (0.5 * (1 + t) + 0.5 * a * ((1 - t * t) * slope))
    density = exp(-0.5 * (a * a)) * (_ROOT_HALF / math.sqrt(math.pi))
    return g * (0.5 * (1 + erf(a * _ROOT_HALF)) + a * density)


def _gelu_check(name: str, x: TensorType, *, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise OptionError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")


gelu = composite(
    "gelu", _gelu, bind=_with("gelu", approximate="none"), floating=True, check=_gelu_check,
    vjp=(_gelu_vjp,), saves=("a",), elementwise=True, evaluate=activation.gelu,
    vjp_arrays=activation.gelu_vjp, choices={"approximate": ("none", "tanh")},
    doc="x times the normal distribution function of x, or its tanh form "
    "(Hendrycks, Gimpel 2016).",
    example=">>> sg.gelu(np.array([-1.0, 0.0, 1.0]))\n"
    "array([-0.15865525,  0.        ,  0.84134475])",
)  # fmt: skip


def _is_floating(bound: Any) -> bool:
    return bound is not None and is_float(promoted(getattr(bound, "dtype", bound)))


def _is_number(bound: Any) -> bool:
    return isinstance(bound, np.generic) or not hasattr(bound, "dtype")


def clip(
    x: Value,
    min: Value = None,
    max: Value = None,
    *,
    a_min: Value = None,
    a_max: Value = None,
) -> Value:
    """`x` limited to [min, max]; either may be None, a number or a tensor.

    `a_min` and `a_max` are NumPy's older names.

    The gradient passes where min <= x <= max, edges included (PyTorch's convention).

    Example:
        >>> sg.clip(np.array([-1.0, 0.5, 2.0]), 0.0, 1.0)
        array([0. , 0.5, 1. ])
    """
    min, max = (a_min if min is None else min), (a_max if max is None else max)
    if min is None and max is None:
        raise OptionError("clip: needs min, max or both")
    x = as_operand(x)
    min, max = (np.asarray(one) if isinstance(one, list | tuple) else one for one in (min, max))
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    kind = np.dtype(x.dtype).kind
    if kind in "iub" and not (_is_floating(min) or _is_floating(max)):
        # a tensor may have another dtype, where no integer of that of x is beyond all others
        if min is None and not _is_number(max):
            return minimum(x, max)
        if max is None and not _is_number(min):
            return maximum(x, min)
        info = np.iinfo(np.int64 if kind == "b" else x.dtype)
        low, high = (info.min if min is None else min), (info.max if max is None else max)
    return clamp(x, low, high)


def _clamp_by_x(g: object, o: object, x: object, low: object, high: object) -> Any:
    inside = logical_and(greater_equal(x, low), less_equal(x, high))
    return where(inside, g, 0)


def _clamp_by_low(g: object, o: object, x: object, low: object, high: object) -> Any:
    return where(logical_and(less(x, low), less_equal(low, high)), g, 0)


def _clamp_by_high(g: object, o: object, x: object, low: object, high: object) -> Any:
    # not maximum(x, low) > high, which a low that is nan would make false
    return where(logical_or(greater(x, high), greater(low, high)), g, 0)


clamp = composite(
    "clamp", lambda x, low, high: minimum(maximum(x, low), high), promotes=slice(None),
    vjp=(_clamp_by_x, _clamp_by_low, _clamp_by_high), saves=("abc", "abc", "abc"),
    elementwise=True,
    smooth=False,
    exact=True,
    doc="min(max(x, low), high), element by element.",
)  # fmt: skip


def _axis_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(x: Any, axis: Any = None, *, dim: Any = None) -> tuple[Sequence[Any], Attrs]:
        x, axis = as_operand(x), one_axis(name, axis, dim)
        return (x,), {"axis": normalise_axis(name, -1 if axis is None else axis, x.ndim)}

    return bind


softsign = elementwise(
    "softsign", lambda x: x / (1 + np.abs(x)), "{0} / ({t}(1) + abs({0}))", arity=1, floating=True,
    cost="moderate", smooth=False,
    vjp=(lambda g, o, a: g * square(reciprocal(1 + absolute(a))),), saves=("a",),
    doc="x / (1 + |x|), between -1 and 1 (Turian, Bergstra, Bengio 2009); its second derivative "
    "jumps at 0.",
    example=">>> sg.softsign(np.array([3.0, -1.0, 0.0]))\narray([ 0.75, -0.5 ,  0.  ])",
)  # fmt: skip


def _softmax(x: Any, *, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x  # there is no largest element
    e = exp(x - max(x, axis=axis, keepdims=True))
    return e / sum(e, axis=axis, keepdims=True)


def _softmax_vjp(g: object, o: Any, a: object, *, axis: int) -> Any:
    return (g - sum(g * o, axis=axis, keepdims=True)) * o


softmax = composite(
    "softmax", _softmax, bind=_axis_bind("softmax"), floating=True, vjp=(_softmax_vjp,),
    saves=("o",), evaluate=direct.softmax, vjp_arrays=direct.softmax_vjp,
    batching=shifted_one, linearity="diagonal", sweep="rows",
    doc="exp(x) / sum(exp(x)) along one axis (the last), shifted by the maximum.",
    example=">>> sg.softmax(np.array([0.0, np.log(3.0)]))\narray([0.25, 0.75])",
)  # fmt: skip


def _log_softmax(x: Any, *, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x
    shifted = x - max(x, axis=axis, keepdims=True)
    return shifted - log(sum(exp(shifted), axis=axis, keepdims=True))


def _log_softmax_vjp(g: object, o: object, a: object, *, axis: int) -> Any:
    return g - exp(o) * sum(g, axis=axis, keepdims=True)


log_softmax = composite(
    "log_softmax", _log_softmax, bind=_axis_bind("log_softmax"), floating=True,
    vjp=(_log_softmax_vjp,), saves=("o",), evaluate=direct.log_softmax,
    vjp_arrays=direct.log_softmax_vjp,
    batching=shifted_one, sweep="rows",
    doc="log(softmax(x)) along one axis (the last), without overflow or log of 0.",
    example=">>> sg.log_softmax(np.array([0.0, 0.0]))\narray([-0.69314718, -0.69314718])",
)  # fmt: skip


def _sparsemax(x: Any, *, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x
    shifted = x - max(x, axis=axis, keepdims=True)
    ordered = sort.bound((shifted,), {"axis": axis, "descending": True})
    number = astype(positions(x, axis) + 1, x.dtype)
    # of the k largest the shift by which they sum to 1 grows as long as they are in the support
    shifts = (cumsum.bound((ordered,), {"axis": axis}) - 1) / number
    return maximum(shifted - max(shifts, axis=axis, keepdims=True), 0)


def _sparsemax_numpy(x: Any, *, axis: int) -> Any:
    rows = np.moveaxis(x, axis, -1)
    if not rows.shape[-1]:
        return x
    shifted = np.subtract(rows, rows.max(-1, keepdims=True))
    ordered = np.sort(shifted, -1)[..., ::-1]
    sums = np.cumsum(ordered, -1, np.result_type(x.dtype, np.float64))
    shifts = (sums - 1) / np.arange(1, rows.shape[-1] + 1)
    result = np.maximum(shifted - shifts.max(-1, keepdims=True).astype(x.dtype), 0)
    return np.moveaxis(result, -1, axis)


def _sparsemax_vjp(g: Any, o: object, a: object, *, axis: int) -> Any:
    outside = less_equal(o, 0)
    g = where(outside, 0, g)
    size = sum(astype(logical_not(outside), g.dtype), axis=axis, keepdims=True)
    return where(outside, 0, g - sum(g, axis=axis, keepdims=True) / maximum(size, 1))


sparsemax = composite(
    "sparsemax", _sparsemax, bind=_axis_bind("sparsemax"), floating=True, vjp=(_sparsemax_vjp,),
    saves=("o",), evaluate=_sparsemax_numpy,
    batching=shifted_one, linearity="diagonal", smooth=False, sweep="rows",
    doc="""The nearest point to x of the simplex, whose elements are at least 0 and sum to 1, along
    one axis (the last): a softmax with zeros (Martins, Astudillo 2016).

    What is 0 has no gradient, and the others share the mean of theirs. A row with nan or inf, or
    of -inf alone, is nan; elsewhere -inf gives 0.""",
    example=">>> sg.sparsemax(np.array([0.5, 0.25, -1.0]))\narray([0.625, 0.375, 0.   ])",
)  # fmt: skip


def _layer_norm_bind(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Sequence[Any], Attrs]:
    x = as_operand(x)
    shape = sizes_of("layer_norm", normalized_shape)
    last = tuple(x.shape[-len(shape) :]) if shape else ()
    if not shape or len(last) != len(shape) or None in map(unify, last, shape):
        raise ShapeError(f"layer_norm: the last axes of {tuple(x.shape)} are not {shape}")
    for i, size in enumerate(last):
        if isinstance(size, Dim) and size != shape[i]:  # the reshape is refused where they differ
            axis = x.ndim - len(shape) + i
            x = reshape(x, (*x.shape[:axis], shape[i], *x.shape[axis + 1 :]))
    dtype = np.dtype(x.dtype)
    weight = np.ones((), dtype) if weight is None else as_operand(weight)
    # -0.0, not 0.0: adding it changes nothing, so that it can be left out
    bias = np.array(-0.0, dtype) if bias is None else as_operand(bias)
    return (x, weight, bias), {"axes": len(shape), "eps": float(eps)}


def _normalised(x: Any, axes: int, eps: float) -> tuple[Any, Any]:
    """x with mean 0 and variance 1 over its last axes, and the factor that did it."""
    last = tuple(range(x.ndim - axes, x.ndim))
    centred = x - mean(x, axis=last, keepdims=True)
    scale = rsqrt(mean(square(centred), axis=last, keepdims=True) + eps)
    return centred * scale, scale


def _layer_norm(x: object, weight: object, bias: object, *, axes: int, eps: float) -> Any:
    return _normalised(x, axes, eps)[0] * weight + bias


def _layer_norm_check(
    name: str, x: TensorType, weight: TensorType, bias: TensorType, *, axes: int, eps: float
) -> None:
    for role, type in (("weight", weight), ("bias", bias)):
        last = x.shape[-axes:]
        if type.ndim and (type.ndim != axes or None in map(unify, type.shape, last)):
            raise ShapeError(f"{name}: {role} {type} has not the shape of the last axes of {x}")


def _layer_norm_by_x(
    g: object, o: object, x: Any, weight: Any, bias: Any, *, axes: int, eps: float
) -> Any:
    last = tuple(range(x.ndim - axes, x.ndim))
    normal, scale = _normalised(x, axes, eps)
    g = g * weight
    along = mean(g * normal, axis=last, keepdims=True)
    return scale * (g - mean(g, axis=last, keepdims=True) - normal * along)


def _layer_norm_by_weight(
    g: object, o: object, x: object, weight: object, bias: object, *, axes: int, eps: float
) -> Any:
    return unbroadcast(g * _normalised(x, axes, eps)[0], weight)


layer_norm = composite(
    "layer_norm", _layer_norm, bind=_layer_norm_bind, check=_layer_norm_check,
    promotes=slice(None), floating=True, evaluate=direct.layer_norm,
    vjp_arrays=direct.layer_norm_vjp,
    vjp=(
        _layer_norm_by_x,
        _layer_norm_by_weight,
        lambda g, o, x, weight, bias, *, axes, eps: unbroadcast(g, bias),
    ),
    saves=("ab", "a", ""), sweep="rows",
    doc="x scaled to mean 0 and variance 1 over its last axes `normalized_shape`, times weight "
    "plus bias (Ba, Kiros, Hinton 2016).",
    example=">>> sg.layer_norm(np.array([[1.0, 3.0], [20.0, 10.0]]), (2,))\n"
    "array([[-0.999995 ,  0.999995 ],\n"
    "       [ 0.9999998, -0.9999998]])",
)  # fmt: skip
