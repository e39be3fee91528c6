"""Activations, normalisation and losses: composites of the other ops, with direct gradients."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.core.dims import Dim
from compiler.core.errors import DTypeError, OptionError, ShapeError
from compiler.core.op import Attrs
from compiler.core.types import TensorType, broadcast_shapes, normalise_axis, unify
from compiler.core.values import Value
from compiler.ops.arithmetic import absolute, astype, maximum, minimum, numeric, square
from compiler.ops.batching import shifted_one
from compiler.ops.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from compiler.ops.declare import (
    as_operand,
    composite,
    count,
    elementwise,
    one_axis,
    unbroadcast,
    zeros_like,
)
from compiler.ops.exponential import (
    erf,
    exp,
    expm1,
    log,
    log1p,
    rsqrt,
    sigmoid,
    softplus,
    tanh,
)
from compiler.ops.indexing import take_along_axis
from compiler.ops.reduction import max, mean, positions, sum
from compiler.ops.shape import expand_dims, reshape, sizes_of, squeeze
from compiler.reference import activation, classes, direct

__all__ = [
    "binary_cross_entropy_with_logits", "clip", "cross_entropy", "elu", "gelu", "layer_norm",
    "leaky_relu", "log_softmax", "mse_loss", "relu", "silu", "softmax", "softsign",
]  # fmt: skip

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)
_CUBIC = 0.044715

relu = elementwise(
    "relu", activation.relu, "maximum({0}, {t}(0))", arity=1, check=numeric,
    vjp_arrays=activation.relu_vjp,
    vjp=(lambda g, o, a: where(less_equal(o, 0), 0, g),), saves=("o",),
    smooth=False,
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
    shown = [inspect.Parameter("x", both), inspect.Parameter(name, both, default=default)]
    bind.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return bind


leaky_relu = composite(
    "leaky_relu", lambda x, *, negative_slope: where(x > 0, x, x * negative_slope),
    bind=_with("leaky_relu", negative_slope=0.01), floating=True, saves=("a",), elementwise=True,
    vjp=(lambda g, o, a, *, negative_slope: where(a > 0, g, g * negative_slope),),
    smooth=False,
    doc="x above 0, negative_slope * x below.",
    example=">>> sg.leaky_relu(np.array([-1.0, 2.0]))\narray([-0.01,  2.  ])",
)  # fmt: skip
elu = composite(
    "elu", lambda x, *, alpha: where(x > 0, x, alpha * expm1(minimum(x, 0))),
    bind=_with("elu", alpha=1.0), floating=True, saves=("a",), elementwise=True,
    vjp=(lambda g, o, a, *, alpha: where(a > 0, g, g * (alpha * exp(minimum(a, 0)))),),
    smooth=False,
    doc="x above 0, alpha * (exp(x) - 1) below (Clevert, Unterthiner, Hochreiter 2015).",
    example=">>> sg.elu(np.array([-1.0, 2.0]))\narray([-0.63212056,  2.        ])",
)  # fmt: skip


def _silu_vjp(g: Any, o: Any, a: Any) -> Any:
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


def _gelu_vjp(g: Any, o: Any, a: Any, *, approximate: str) -> Any:
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
    vjp_arrays=activation.gelu_vjp,
    doc="x times the normal distribution function of x, or its tanh form "
    "(Hendrycks, Gimpel 2016).",
    example=">>> sg.gelu(np.array([-1.0, 0.0, 1.0]))\n"
    "array([-0.15865525,  0.        ,  0.84134475])",
)  # fmt: skip


def _is_floating(bound: Any) -> bool:
    return bound is not None and np.result_type(getattr(bound, "dtype", bound)).kind == "f"


def clip(x: Value, min: Value = None, max: Value = None) -> Value:
    """`x` limited to [min, max]; either may be None, a number or a tensor.

    The gradient passes where min <= x <= max, edges included (PyTorch's convention).

    Example:
        >>> sg.clip(np.array([-1.0, 0.5, 2.0]), 0.0, 1.0)
        array([0. , 0.5, 1. ])
    """
    if min is None and max is None:
        raise OptionError("clip: needs min, max or both")
    x = as_operand(x)
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    kind = np.dtype(x.dtype).kind
    if kind in "iub" and not (_is_floating(min) or _is_floating(max)):
        info = np.iinfo(np.int64 if kind == "b" else x.dtype)
        low, high = (info.min if min is None else min), (info.max if max is None else max)
    return clamp(x, low, high)


def _clamp_by_x(g: Any, o: Any, x: Any, low: Any, high: Any) -> Any:
    inside = logical_and(greater_equal(x, low), less_equal(x, high))
    return where(inside, g, 0)


def _clamp_by_low(g: Any, o: Any, x: Any, low: Any, high: Any) -> Any:
    return where(logical_and(less(x, low), less_equal(low, high)), g, 0)


def _clamp_by_high(g: Any, o: Any, x: Any, low: Any, high: Any) -> Any:
    # not maximum(x, low) > high, which a low that is nan would make false
    return where(logical_or(greater(x, high), greater(low, high)), g, 0)


clamp = composite(
    "clamp", lambda x, low, high: minimum(maximum(x, low), high), promotes=slice(None),
    vjp=(_clamp_by_x, _clamp_by_low, _clamp_by_high), saves=("abc", "abc", "abc"),
    elementwise=True,
    smooth=False,
    doc="min(max(x, low), high), element by element.",
)  # fmt: skip


_LEAST_LOG = -100.0
_LEAST_SLOPE = float(np.float32(1e-12))  # PyTorch's, which it holds in float32


def _binary_cross_entropy(x: Any, target: Any) -> Any:
    """-(t log(x) + (1 - t) log(1 - x)) with logarithms of at least -100."""
    log_x, log_rest = maximum(log(x), _LEAST_LOG), maximum(log1p(-x), _LEAST_LOG)
    return (target - 1) * log_rest - target * log_x


def _entropies(x: Any, target: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # logarithms of 0 are -100
        return _binary_cross_entropy(x, target)


binary_cross_entropy = composite(
    "binary_cross_entropy", _binary_cross_entropy, evaluate=_entropies,
    vjp=(
        lambda g, o, x, target: g * (x - target) / maximum(x * (1 - x), _LEAST_SLOPE),
        lambda g, o, x, target: g * (log1p(-x) - log(x)),
    ),
    saves=("ab", "a"), elementwise=True, promotes=slice(None), floating=True,
    smooth=False,
    doc="""The negative log-likelihood of targets in [0, 1] under probabilities, element by element.

    Its logarithms are at least -100, and its slopes by x at most 1e12, as PyTorch's; it is nan
    where x is outside of [0, 1].""",
)  # fmt: skip


def _axis_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(x: Any, axis: Any = None, *, dim: Any = None) -> tuple[Sequence[Any], Attrs]:
        x, axis = as_operand(x), one_axis(name, axis, dim)
        return (x,), {"axis": normalise_axis(name, -1 if axis is None else axis, x.ndim)}

    return bind


softsign = elementwise(
    "softsign", lambda x: x / (1 + np.abs(x)), "{0} / ({t}(1) + abs({0}))", arity=1, floating=True,
    cost="moderate", smooth=False,
    vjp=(lambda g, o, a: g / square(1 + absolute(a)),), saves=("a",),
    doc="x / (1 + |x|), between -1 and 1 (Turian, Bergstra, Bengio 2009); its second derivative "
    "jumps at 0.",
    example=">>> sg.softsign(np.array([3.0, -1.0, 0.0]))\narray([ 0.75, -0.5 ,  0.  ])",
)  # fmt: skip


def _softmax(x: Any, *, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x  # there is no largest element
    e = exp(x - max(x, axis=axis, keepdims=True))
    return e / sum(e, axis=axis, keepdims=True)


def _softmax_vjp(g: Any, o: Any, a: Any, *, axis: int) -> Any:
    return (g - sum(g * o, axis=axis, keepdims=True)) * o


softmax = composite(
    "softmax", _softmax, bind=_axis_bind("softmax"), floating=True, vjp=(_softmax_vjp,),
    saves=("o",), evaluate=direct.softmax, vjp_arrays=direct.softmax_vjp,
    batching=shifted_one, linearity="diagonal",
    doc="exp(x) / sum(exp(x)) along one axis (the last), shifted by the maximum.",
    example=">>> sg.softmax(np.array([0.0, np.log(3.0)]))\narray([0.25, 0.75])",
)  # fmt: skip


def _log_softmax(x: Any, *, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x
    shifted = x - max(x, axis=axis, keepdims=True)
    return shifted - log(sum(exp(shifted), axis=axis, keepdims=True))


def _log_softmax_vjp(g: Any, o: Any, a: Any, *, axis: int) -> Any:
    return g - exp(o) * sum(g, axis=axis, keepdims=True)


log_softmax = composite(
    "log_softmax", _log_softmax, bind=_axis_bind("log_softmax"), floating=True,
    vjp=(_log_softmax_vjp,), saves=("o",), evaluate=direct.log_softmax,
    vjp_arrays=direct.log_softmax_vjp,
    batching=shifted_one,
    doc="log(softmax(x)) along one axis (the last), without overflow or log of 0.",
    example=">>> sg.log_softmax(np.array([0.0, 0.0]))\narray([-0.69314718, -0.69314718])",
)  # fmt: skip

REDUCTIONS = ("mean", "sum", "none")


def _reduction(name: str, reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise OptionError(f"{name}: reduction is one of {REDUCTIONS}, not {reduction!r}")
    return reduction


def _loss_bind(name: str) -> Callable[..., tuple[Sequence[Any], Attrs]]:
    def bind(x: Any, target: Any, reduction: str = "mean") -> tuple[Sequence[Any], Attrs]:
        return (as_operand(x), as_operand(target)), {"reduction": _reduction(name, reduction)}

    return bind


def _reduced(losses: Any, reduction: str) -> Any:
    if reduction == "none":
        return losses
    return mean(losses) if reduction == "mean" else sum(losses)


def _seed(g: Any, shape_like: Any, reduction: str) -> Any:
    """The cotangent of each single loss, given that of the reduced one."""
    return g / count(shape_like, tuple(range(shape_like.ndim)), g) if reduction == "mean" else g


def _classes_check(name: str, x: TensorType, target: TensorType, *, reduction: str) -> None:
    if target.dtype.kind not in "iu":
        raise DTypeError(f"{name}: target {target} is not an integer tensor of class indices")
    if x.ndim == 0 or target.ndim != x.ndim - 1:
        raise ShapeError(f"{name}: {x} needs a target of {x.ndim - 1} axes, got {target}")
    sizes = x.shape[:1] + x.shape[2:] if x.ndim > 1 else ()
    for size, other in zip(sizes, target.shape, strict=True):
        if unify(size, other) is None:
            raise ShapeError(f"{name}: {x} and target {target} differ: {size} != {other}")


def _class_axis(x: Any) -> int:
    return 0 if x.ndim == 1 else 1


def _cross_entropy(x: Any, target: Any, *, reduction: str) -> Any:
    axis = _class_axis(x)
    index = expand_dims(target, axis)
    picked = take_along_axis(log_softmax(x, axis), index, axis=axis, wrap=False)
    return _reduced(-squeeze(picked, axis), reduction)


def _cross_entropy_vjp(g: Any, o: Any, x: Any, target: Any, *, reduction: str) -> Any:
    axis = _class_axis(x)
    g = _seed(g, target, reduction)
    if reduction == "none":
        g = expand_dims(g, axis)
    hot = equal(positions(x, axis), astype(expand_dims(target, axis), "int64"))
    p = softmax(x, axis)
    return where(hot, p - 1, p) * g


def _cross_entropy_numpy(x: Any, target: Any, *, reduction: str) -> Any:
    if x.ndim == 2:
        return classes.cross_entropy(x, target, reduction=reduction)
    return _cross_entropy(x, target, reduction=reduction)


def _cross_entropy_arrays(
    positions: Sequence[int], g: Any, o: Any, x: Any, target: Any, *, reduction: str
) -> Sequence[Any]:
    if x.ndim == 2:
        return (classes.cross_entropy_vjp(g, x, target, reduction=reduction),)
    return (_cross_entropy_vjp(g, o, x, target, reduction=reduction),)


cross_entropy = composite(
    "cross_entropy", _cross_entropy, bind=_loss_bind("cross_entropy"), check=_classes_check,
    vjp=(_cross_entropy_vjp, None), saves=("ab", ""), evaluate=_cross_entropy_numpy,
    vjp_arrays=_cross_entropy_arrays,
    doc="-log(softmax(x))[target], x (n, c, ...) or (c,), target the class indices (n, ...); "
    "reduction 'mean', 'sum' or 'none'. OutOfRangeError for a target outside [0, c).",
    example='>>> sg.cross_entropy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([1, 0]), "none")\n'
    "array([0.69314718, 0.31326169])",
)  # fmt: skip


def _pair_check(name: str, x: TensorType, target: TensorType, *, reduction: str) -> None:
    broadcast_shapes(name, x, target)


def _mse(x: Any, target: Any, *, reduction: str) -> Any:
    return _reduced(square(x - target), reduction)


def _mse_by_x(g: Any, o: Any, x: Any, target: Any, *, reduction: str) -> Any:
    difference = x - target
    return unbroadcast(_seed(g, difference, reduction) * (2 * difference), x)


def _mse_by_target(g: Any, o: Any, x: Any, target: Any, *, reduction: str) -> Any:
    difference = target - x
    return unbroadcast(_seed(g, difference, reduction) * (2 * difference), target)


mse_loss = composite(
    "mse_loss", _mse, bind=_loss_bind("mse_loss"), check=_pair_check, promotes=slice(None),
    floating=True, vjp=(_mse_by_x, _mse_by_target), saves=("ab", "ab"),
    doc="The squared difference; reduction 'mean', 'sum' or 'none'.",
    example=">>> sg.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))\nnp.float64(2.5)",
)  # fmt: skip


def _bce(x: Any, target: Any, *, reduction: str) -> Any:
    return _reduced(softplus(x) - x * target, reduction)


def _bce_by_x(g: Any, o: Any, x: Any, target: Any, *, reduction: str) -> Any:
    difference = sigmoid(x) - target
    return unbroadcast(_seed(g, difference, reduction) * difference, x)


def _bce_by_target(g: Any, o: Any, x: Any, target: Any, *, reduction: str) -> Any:
    logits = x + zeros_like(target)
    return unbroadcast(_seed(g, logits, reduction) * -logits, target)


binary_cross_entropy_with_logits = composite(
    "binary_cross_entropy_with_logits", _bce, bind=_loss_bind("binary_cross_entropy_with_logits"),
    check=_pair_check, promotes=slice(None), floating=True,
    vjp=(_bce_by_x, _bce_by_target), saves=("ab", "a"),
    doc="softplus(x) - x * target: the negative log-likelihood of targets in [0, 1] under "
    "sigmoid(x); reduction 'mean', 'sum' or 'none'.",
    example='>>> sg.binary_cross_entropy_with_logits(np.array([0.0, 2.0]), np.array([1.0, 1.0]), '
    '"none")\n'
    "array([0.69314718, 0.12692801])",
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


def _layer_norm(x: Any, weight: Any, bias: Any, *, axes: int, eps: float) -> Any:
    return _normalised(x, axes, eps)[0] * weight + bias


def _layer_norm_check(
    name: str, x: TensorType, weight: TensorType, bias: TensorType, *, axes: int, eps: float
) -> None:
    for role, type in (("weight", weight), ("bias", bias)):
        last = x.shape[-axes:]
        if type.ndim and (type.ndim != axes or None in map(unify, type.shape, last)):
            raise ShapeError(f"{name}: {role} {type} has not the shape of the last axes of {x}")


def _layer_norm_by_x(
    g: Any, o: Any, x: Any, weight: Any, bias: Any, *, axes: int, eps: float
) -> Any:
    last = tuple(range(x.ndim - axes, x.ndim))
    normal, scale = _normalised(x, axes, eps)
    g = g * weight
    along = mean(g * normal, axis=last, keepdims=True)
    return scale * (g - mean(g, axis=last, keepdims=True) - normal * along)


def _layer_norm_by_weight(
    g: Any, o: Any, x: Any, weight: Any, bias: Any, *, axes: int, eps: float
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
    saves=("ab", "a", ""),
    doc="x scaled to mean 0 and variance 1 over its last axes `normalized_shape`, times weight "
    "plus bias (Ba, Kiros, Hinton 2016).",
    example=">>> sg.layer_norm(np.array([[1.0, 3.0], [20.0, 10.0]]), (2,))\n"
    "array([[-0.999995 ,  0.999995 ],\n"
    "       [ 0.9999998, -0.9999998]])",
)  # fmt: skip
