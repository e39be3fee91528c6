"""What every op means, in plain NumPy: written again, from the definitions, in obvious ways.

Nothing here calls the op library. Of ops that have no entry the declared NumPy function is the
meaning (`_EVALUATED`), if kernels compute another text, that of the lowering or of the expansion.
Each function
takes and gives arrays, with the arguments of the public function; `apply` evaluates it in higher
precision and rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.lowering import Pointwise
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.ops import all_ops
from staticgraph.fuzz.graphs import (
    along_reference,
    attention_reference,
    bessel,
    integrals,
    matrices_reference,
    scatters_reference,
    special,
    user,
    windows_reference,
)
from staticgraph.fuzz.graphs.undefined import UndefinedError

Array = Any


def _floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, after a cast of integers as the library's ops on floats cast them."""

    def floating(*args: Any, **options: object) -> Any:
        arrays = [one for one in args if isinstance(one, np.ndarray | np.generic)]
        kinds = {one.dtype.kind for one in arrays}
        if "f" in kinds and kinds & set("iu"):  # their common dtype, as NumPy finds it
            dtype = np.result_type(*(one.dtype for one in arrays if one.dtype.kind in "fiu"))
            args = tuple(one.astype(dtype) if _is_number(one) else one
                         for one in args)  # fmt: skip
        return function(*map(_floating, args), **options)

    return floating


def _is_number(x: object) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fiu"


def _floating(x: object) -> Any:
    if isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "iu":
        return np.asarray(x, np.float64)
    return float(x) if type(x) is int else x


def _axes(x: Array, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(a % x.ndim for a in ([axis] if isinstance(axis, int) else axis))


# -- element by element ------------------------------------------------------------------------

_erf = np.vectorize(lambda x: math.erf(float(x)), otypes=[np.float64])


def _erf_of(x: Array) -> Array:
    return np.asarray(_erf(x), x.dtype) if x.size else np.zeros_like(x)


def _sigmoid(x: Array) -> Array:
    e = np.exp(-abs(x))
    return np.where(np.isnan(x), x, np.where(x >= 0, 1 / (1 + e), e / (1 + e)))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-abs(x)))


def _floor_divide(x: Array, y: Array) -> Array:
    kind = np.result_type(x, y).kind
    if kind == "f":
        return np.floor_divide(x, y)
    return np.floor_divide(x, y)


def _gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(np.sqrt(x.dtype.type(2) / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + _erf_of(x * x.dtype.type(math.sqrt(0.5))))


def _clip(x: Array, low: Any = None, high: Any = None, **named: object) -> Array:
    low, high = named.get("min", low), named.get("max", high)
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _astype(x: Array, dtype: str) -> Array:
    return np.asarray(x).astype(dtype)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "logical_not": np.logical_not,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "where": np.where,
    "astype": _astype, "copy": np.array, "stop_gradient": np.array,
    "recompute": lambda x, *after: x, "after": lambda x, *others: x,
    "add": np.add, "subtract": np.subtract,
    "multiply": np.multiply, "divide": np.divide, "floor_divide": _floor_divide,
    "remainder": np.remainder, "negative": np.negative, "square": lambda x: x * x,
    "reciprocal": _floats(lambda x: 1 / x), "power": np.power, "sign": np.sign, "abs": np.abs,
    "maximum": np.maximum, "minimum": np.minimum, "floor": _floats(np.floor),
    "ceil": _floats(np.ceil), "trunc": _floats(np.trunc), "round": _floats(np.rint),
    "sqrt": _floats(np.sqrt), "rsqrt": _floats(lambda x: 1 / np.sqrt(x)), "exp": _floats(np.exp),
    "expm1": _floats(np.expm1), "log": _floats(np.log), "log1p": _floats(np.log1p),
    "sin": _floats(np.sin), "cos": _floats(np.cos), "tan": _floats(np.tan),
    "asin": _floats(np.arcsin), "acos": _floats(np.arccos), "atan": _floats(np.arctan),
    "sinh": _floats(np.sinh), "cosh": _floats(np.cosh), "tanh": _floats(np.tanh),
    "erf": _floats(_erf_of), "sigmoid": _floats(_sigmoid), "softplus": _floats(_softplus),
    "log2": _floats(np.log2), "log10": _floats(np.log10), "exp2": _floats(np.exp2),
    "asinh": _floats(np.arcsinh), "acosh": _floats(np.arccosh), "atanh": _floats(np.arctanh),
    "erfc": _floats(special.erfc), "lgamma": _floats(special.lgamma),
    "digamma": _floats(special.digamma),
    "polygamma": lambda n, x: special.polygamma(n, _floating(x)),
    "sinc": _floats(special.sinc), "hypot": _floats(np.hypot), "copysign": _floats(np.copysign),
    "fmod": np.fmod, "fmax": np.fmax, "fmin": np.fmin, "heaviside": special.heaviside,
    "frac": _floats(lambda x: x - np.trunc(x)), "gcd": np.gcd, "lcm": np.lcm,
    "logaddexp": _floats(np.logaddexp), "logaddexp2": _floats(np.logaddexp2),
    "xlogy": _floats(special.xlogy), "log_odds": _floats(special.logit),
    "logit": _floats(special.logit),
    "deg2rad": _floats(lambda x: x * x.dtype.type(math.pi / 180)),
    "rad2deg": _floats(lambda x: x * x.dtype.type(180 / math.pi)),
    "binary_cross_entropy": _floats(special.binary_cross_entropy),
    "i0": _floats(special.bessel(0, False)), "i1": _floats(special.bessel(1, False)),
    "i0e": _floats(special.bessel(0, True)), "i1e": _floats(special.bessel(1, True)),
    "bessel_j0": _floats(bessel.first_kind(0)), "bessel_j1": _floats(bessel.first_kind(1)),
    "bessel_y0": _floats(bessel.second_kind(0)), "bessel_y1": _floats(bessel.second_kind(1)),
    "modified_bessel_k0": _floats(bessel.decaying(0, False)),
    "modified_bessel_k1": _floats(bessel.decaying(1, False)),
    "scaled_modified_bessel_k0": _floats(bessel.decaying(0, True)),
    "scaled_modified_bessel_k1": _floats(bessel.decaying(1, True)),
    "airy_ai": _floats(bessel.airy(False)), "airy_ai_slope": _floats(bessel.airy(True)),
    "spherical_bessel_j0": _floats(bessel.spherical_j0),
    "spherical_j1": _floats(bessel.spherical_j1),
    "dawsn": _floats(integrals.dawsn), "dawsn_slope": _floats(integrals.dawsn_slope),
    "exp1": _floats(lambda x: integrals.expn(1, x)), "expi": _floats(integrals.expi),
    "hyp1f1": lambda a, b, x: integrals.hyp1f1(a, b, _floating(x)),
    "hyp2f1": lambda a, b, c, x: integrals.hyp2f1(a, b, c, _floating(x)),
    "expn": lambda n, x: integrals.expn(n, _floating(x)),
    "sine_integral": _floats(integrals.sine_integral),
    "cosine_integral": _floats(integrals.cosine_integral),
    "fresnel_sine": _floats(integrals.fresnel_sine),
    "fresnel_cosine": _floats(integrals.fresnel_cosine),
    "fresnel_sine_slope": _floats(integrals.fresnel_slope(np.sin)),
    "fresnel_cosine_slope": _floats(integrals.fresnel_slope(np.cos)),
    "spence": _floats(lambda x: integrals.spence(1 - x)), "owens_t": integrals.owens_t,
    "orthogonal_polynomial": bessel.orthogonal_polynomial,
    "ndtri": _floats(special.ndtri), "erfinv": _floats(special.erfinv),
    "gammainc": special.gammainc, "gammaincc": lambda a, x: special.gammainc(a, x, True),
    "betainc": special.betainc,
    "atan2": _floats(np.arctan2), "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "leaky_relu": _floats(lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope)),
    "elu": _floats(lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))),
    "silu": _floats(lambda x: x * _sigmoid(x)), "gelu": _floats(_gelu), "clip": _clip,
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip


# -- reductions --------------------------------------------------------------------------------


def _sum(x: Array, axis: object = None, keepdims: bool = False) -> Array:
    return np.sum(_signed(x), _axes(x, axis), keepdims=keepdims)


def _prod(x: Array, axis: object = None, keepdims: bool = False) -> Array:
    return np.prod(_signed(x), _axes(x, axis), keepdims=keepdims)


def _signed(x: Array) -> Array:
    """There is no uint64: what NumPy adds up as one is an int64."""
    return x.astype(np.int64) if x.dtype.kind == "u" else x


def _mean(x: Array, axis: object = None, keepdims: bool = False) -> Array:
    axes = _axes(x, axis)
    number = math.prod(x.shape[a] for a in axes)
    return np.divide(np.sum(x, axes, keepdims=keepdims), x.dtype.type(number))


def _var(x: Array, axis: object = None, keepdims: bool = False, correction: int = 0) -> Array:
    axes = _axes(x, axis)
    number = math.prod(x.shape[a] for a in axes)
    centred = x - _mean(x, axes, True)
    total = np.sum(centred * centred, axes, keepdims=keepdims)
    return np.divide(total, x.dtype.type(max(0, number - correction)))


def _logsumexp(x: Array, axis: object = None, keepdims: bool = False) -> Array:
    axes = _axes(x, axis)
    top = np.max(x, axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    found = np.log(np.sum(np.exp(x - shift), axes, keepdims=True)) + shift
    return found if keepdims else np.squeeze(found, axes)


def _position(name: str) -> Callable[..., Any]:
    def position(x: Array, axis: object = None, keepdims: bool = False) -> Array:
        if isinstance(axis, tuple | list):
            (axis,) = axis
        return getattr(np, name)(x, axis, keepdims=keepdims)

    return position


def _reduction(name: str) -> Callable[..., Any]:
    return lambda x, axis=None, keepdims=False: getattr(np, name)(
        x, _axes(x, axis), keepdims=keepdims
    )


def _softmax(x: Array, axis: int = -1) -> Array:
    if not x.shape[axis]:
        return x
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


def _log_softmax(x: Array, axis: int = -1) -> Array:
    if not x.shape[axis]:
        return x
    shifted = x - np.max(x, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum, "prod": _prod, "max": _reduction("max"), "min": _reduction("min"),
    "any": _reduction("any"), "all": _reduction("all"), "argmax": _position("argmax"),
    "argmin": _position("argmin"), "mean": _floats(_mean), "var": _floats(_var),
    "std": _floats(lambda x, *args, **options: np.sqrt(_var(x, *args, **options))),
    "logsumexp": _floats(_logsumexp), "softmax": _floats(_softmax),
    "log_softmax": _floats(_log_softmax),
}  # fmt: skip


# -- movement ----------------------------------------------------------------------------------


def _flat(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else (*shape,)


def _strided_slice(x: Array, starts: Any, sizes: Any, steps: Any) -> Array:
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        x = np.take(x, [start + i * step for i in range(size)], axis)
    return x


def _embed(x: Array, starts: Any, shape: Any, steps: Any, value: float = 0.0) -> Array:
    result = np.full(shape, value, x.dtype)
    for place in np.ndindex(x.shape):
        target = [a + i * b for a, i, b in zip(starts, place, steps, strict=True)]
        result[tuple(target)] = x[place]
    return result


def _pad(x: Array, widths: Any, value: float = 0.0) -> Array:
    return np.pad(x, widths, constant_values=np.asarray(value).astype(x.dtype))


def _squeeze(x: Array, axis: object = None) -> Array:
    return np.squeeze(x, axis if axis is None else _axes(x, axis))


def _as_strided(x: Array, shape: Any, strides: Any) -> Array:
    places = np.zeros(shape, np.int64)
    for axis, stride in enumerate(strides):
        numbers = np.arange(shape[axis]) * stride
        places += numbers.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return x[places]


def _getitem(x: Array, key: object) -> Array:
    if isinstance(key, np.ndarray | list):
        return np.take(x, np.asarray(key), 0)
    return x[key]


MOVEMENT: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, *shape: np.reshape(x, _flat(shape)),
    "broadcast_to": lambda x, *shape: np.broadcast_to(x, _flat(shape)),
    "transpose": lambda x, *axes: np.transpose(x, _flat(axes) if axes else None),
    "permute": lambda x, *axes: np.transpose(x, _flat(axes)),
    "swapaxes": np.swapaxes, "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "squeeze": _squeeze, "flip": lambda x, axis=None: np.flip(x, axis),
    "concatenate": lambda xs, axis=0: np.concatenate(xs, axis),
    "stack": lambda xs, axis=0: np.stack(xs, axis),
    "split": lambda x, parts, axis=0: np.split(x, parts, axis), "strided_slice": _strided_slice,
    "embed": _embed, "pad": _pad, "as_strided": _as_strided, "getitem": _getitem,
    "arange": lambda n: np.arange(n), "zeros": lambda shape, dtype: np.zeros(shape, dtype),
    "size_of": lambda x, axis, dtype: np.asarray(x.shape[axis], dtype),
}  # fmt: skip


# -- gathers and scatters ----------------------------------------------------------------------


def _take(x: Array, index: Array, axis: int | None = None) -> Array:
    index = np.asarray(index).astype(np.int64)
    size = x.size if axis is None else x.shape[axis]
    if ((index < -size) | (index >= size)).any():  # NumPy takes nothing from anywhere
        raise IndexError(f"an index is out of bounds for size {size}")
    return np.take(x, index, axis)


def _take_add(g: Array, index: Array, axis: int, size: int) -> Array:
    index = np.asarray(index)
    axis %= g.ndim
    result = np.zeros((*g.shape[:axis], size, *g.shape[axis + index.ndim :]), g.dtype)
    for place in np.ndindex(index.shape):
        lead: Any = (slice(None),) * axis
        result[(*lead, int(index[place]))] += g[(*lead, *place)]
    return result


def _along(x: Array, index: Array, axis: int = -1) -> Array:
    result = np.empty(index.shape, x.dtype)
    axis %= x.ndim
    for place in np.ndindex(index.shape):
        result[place] = x[(*place[:axis], int(index[place]), *place[axis + 1 :])]
    return result


def _along_add(g: Array, index: Array, axis: int, size: int) -> Array:
    axis %= g.ndim
    result = np.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), g.dtype)
    for place in np.ndindex(index.shape):
        result[(*place[:axis], int(index[place]), *place[axis + 1 :])] += g[place]
    return result


def _one_hot(index: Array, classes: int, dtype: str = "float32") -> Array:
    result = np.zeros((*index.shape, classes), dtype)
    for place in np.ndindex(index.shape):
        if 0 <= index[place] < classes:
            result[(*place, int(index[place]))] = 1
    return result


# -- products, losses ---------------------------------------------------------------------------


def _matmul(x: Array, y: Array) -> Array:
    return np.matmul(x, y)


def _gemm(c: Array, a: Array, b: Array, alpha: float, beta: float) -> Array:
    return alpha * np.matmul(a, b) + beta * c


def _reduced(x: Array, reduction: str) -> Array:
    if reduction == "none":
        return x
    return _mean(x) if reduction == "mean" else np.sum(x)


def _cross_entropy(x: Array, target: Array, reduction: str = "mean") -> Array:
    axis = 1 if x.ndim > 1 else 0
    logs = _log_softmax(_floating(x), axis)  # the target stays of integers
    picked = -np.squeeze(_along(logs, np.expand_dims(target, axis), axis), axis)
    return _reduced(picked, reduction)


def _mse_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    return _reduced((x - y) * (x - y), reduction)


def _binary_cross_entropy(x: Array, y: Array, reduction: str = "mean") -> Array:
    return _reduced(np.maximum(x, 0) - x * y + np.log1p(np.exp(-abs(x))), reduction)


def _layer_norm(
    x: Array, shape: Any, weight: Array = None, bias: Array = None, eps: float = 1e-5
) -> Array:
    axes = tuple(range(-1 if isinstance(shape, int) else -len(shape), 0))
    found = (x - _mean(x, axes, True)) / np.sqrt(_var(x, axes, True) + x.dtype.type(eps))
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


OTHERS: dict[str, Callable[..., Any]] = {
    "take": _take, "take_add": _take_add, "take_along_axis": _along, "along_add": _along_add,
    "one_hot": _one_hot, "matmul": _matmul, "dot": _matmul, "gemm": _gemm,
    "outer": lambda x, y: x[:, None] * y[None, :],
    "cross_entropy": _cross_entropy,
    "mse_loss": _floats(_mse_loss), "layer_norm": _floats(_layer_norm),
    "binary_cross_entropy_with_logits": _floats(_binary_cross_entropy),
}  # fmt: skip


def _evaluated(op: Op) -> Callable[..., Any]:
    bind = op.bind
    if bind is None:
        return op.evaluate

    def evaluate(*args: Any, **options: Any) -> Any:
        operands, attrs = bind(*args, **options)
        return operands if attrs is None else op.evaluate(*operands, **attrs)

    return evaluate


def _is_apart(op: Op) -> bool:
    """Whether kernels compute another text than the NumPy function of the record."""
    if op.expand is not None:
        return op.evaluate is not op.expand
    return isinstance(op.lowering, Pointwise) and op.elementwise and op.bind is None


_EVALUATED = {
    op.name: _floats(_evaluated(op)) if op.floating else _evaluated(op)
    for op in all_ops()
    if _is_apart(op)
}
"""Ops that are declared by a scalar expression or by others ops, which is what kernels compute, and
by a function of NumPy apart from it: that function, in higher precision."""

REFERENCE = _EVALUATED | ELEMENTWISE | REDUCTIONS | MOVEMENT | OTHERS | along_reference.REFERENCE
REFERENCE |= matrices_reference.REFERENCE | scatters_reference.REFERENCE
REFERENCE |= windows_reference.REFERENCE | attention_reference.REFERENCE | user.REFERENCE

EXACT = frozenset(op.name for op in all_ops() if op.exact) | {
    "arange", "clip", "cummax", "cummin", "getitem", "masked_fill", "pad", "permute",
    "put_along_axis", "split", "stack", "swapaxes", "zeros",
}  # fmt: skip
"""What needs no higher precision, since it does not round: ops, and functions of them alone."""


def apply(name: str, *args: object, **options: object) -> Any:
    """An op in its operands' precision, rounded once from a higher one; else UndefinedError."""
    function = REFERENCE[name]
    overflows: list[str] = []
    with np.errstate(all="ignore"):
        with np.errstate(over="call", call=lambda kind, flag: overflows.append(kind)):
            low = function(*args, **options)
        if name in EXACT or not isinstance(low, np.ndarray | np.generic) or not is_float(low.dtype):
            return low
        high = np.asarray(function(*map(_raised, args), **options)).astype(low.dtype)
    low = np.asarray(low)
    odd = ~np.isfinite(low) | ~np.isfinite(high)
    if overflows:  # of a square under a root, say: 0 where there is a value
        odd |= ~np.isclose(low, high, 1e-3, 0)
    if not np.array_equal(low[odd], high[odd], equal_nan=True):
        raise UndefinedError
    return high


def _raised(x: object) -> Any:
    if isinstance(x, np.ndarray | np.generic) and is_float(x.dtype):
        return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)
    return x
