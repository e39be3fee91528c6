"""What methods and functions of tensors do to memory, in plain NumPy.

A view shares memory with its operand; what returns its operand itself does so here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = Any


def _shape(sizes: Sequence[object]) -> Any:
    return sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes


def _view(x: Array, *sizes: object) -> Array:
    found = x.reshape(_shape(sizes))
    if x.size and not np.may_share_memory(x, found):
        raise ValueError("view: not contiguous")
    return found


def _expand(x: Array, *sizes: Any) -> Array:
    sizes = tuple(_shape(sizes))
    new = len(sizes) - x.ndim
    if new < 0 or any(size == -1 for size in sizes[:new]):
        raise ValueError("expand: too few sizes")
    sizes = sizes[:new] + tuple(
        old if size == -1 else size for old, size in zip(x.shape, sizes[new:], strict=True)
    )
    found = np.broadcast_to(x, sizes)
    return as_strided(x, found.shape, found.strides)


def _diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    found = np.diagonal(x, offset, dim1, dim2)
    return as_strided(found, found.shape, found.strides, writeable=True)


def _along(x: Array, dim: int, key: object) -> Array:
    return x[(slice(None),) * (dim % x.ndim) + (key, ...)]


def _select(x: Array, dim: int, index: int) -> Array:
    return _along(x, _axis(x, dim), index)


def _narrow(x: Array, dim: int, start: int, length: int) -> Array:
    dim = _axis(x, dim)
    if not 0 <= start <= start + length <= x.shape[dim]:
        raise ValueError("narrow: out of range")
    return _along(x, dim, slice(start, start + length))


def _axis(x: Array, dim: int) -> int:
    if not -x.ndim <= dim < x.ndim:
        raise IndexError("dimension out of range")
    return dim % x.ndim


def _unbind(x: Array, dim: int = 0) -> list[Array]:
    return [_along(x, dim, i) for i in range(x.shape[_axis(x, dim)])]


def _split(x: Array, size: object, dim: int = 0) -> list[Array]:
    length = x.shape[_axis(x, dim)]
    sizes = size if isinstance(size, list) else [size] * -(-length // size)
    ends = np.cumsum([0, *sizes])
    return [_along(x, dim, slice(int(a), int(b))) for a, b in pairwise(ends)]


def _chunk(x: Array, chunks: int, dim: int = 0) -> list[Array]:
    return _split(x, max(1, -(-x.shape[_axis(x, dim)] // chunks)), dim)


def _squeeze(x: Array, dim: int | None = None) -> Array:
    if dim is None:
        return x.reshape([n for n in x.shape if n != 1]) if 1 not in x.shape else x.squeeze()
    return x.squeeze(dim) if x.shape[_axis(x, dim)] == 1 else x[...]


def _unfold(x: Array, dim: int, size: int, step: int) -> Array:
    dim = _axis(x, dim)
    found = np.lib.stride_tricks.sliding_window_view(x, size, dim, writeable=True)
    return _along(found, dim, slice(None, None, step))


def _flatten(x: Array, start: int = 0, end: int = -1) -> Array:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = _axis(x, start), _axis(x, end)
    if start == end:
        return x
    return (
        x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])
        if x.size
        else x.reshape(
            *x.shape[:start], int(np.prod(x.shape[start : end + 1])), *x.shape[end + 1 :]
        )
    )


def _unflatten(x: Array, dim: int, sizes: Sequence[int]) -> Array:
    dim = _axis(x, dim)
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def _same_if(x: Array, same: bool) -> Array:
    return x if same else x.copy()


VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, *sizes: x.reshape(_shape(sizes)),
    "view": _view,
    "view_as": lambda x, other: _view(x, other.shape),
    "reshape_as": lambda x, other: x.reshape(other.shape),
    "flatten": _flatten,
    "ravel": lambda x: np.asarray(x, order="C").reshape(-1),
    "unflatten": _unflatten,
    "unsqueeze": lambda x, dim: np.expand_dims(x, dim),
    "squeeze": _squeeze,
    "transpose": lambda x, a, b: x.swapaxes(a, b) if x.ndim else x[...],
    "swapaxes": lambda x, a, b: x.swapaxes(a, b),
    "movedim": lambda x, a, b: np.moveaxis(x, a, b),
    "permute": lambda x, *dims: x.transpose(_shape(dims)),
    "t": lambda x: x.T,
    "expand": _expand,
    "expand_as": lambda x, other: _expand(x, other.shape),
    "broadcast_to": lambda x, sizes: _expand(x, sizes),
    "select": _select,
    "narrow": _narrow,
    "diagonal": _diagonal,
    "unbind": _unbind,
    "split": _split,
    "chunk": _chunk,
    "unfold": _unfold,
    "detach": lambda x: x[...],
    "contiguous": lambda x: _same_if(x, x.flags.c_contiguous),
}
"""Methods whose value shares memory with the tensor, where it can."""

ATTRIBUTES: dict[str, Callable[[Array], Array]] = {
    "data": lambda x: x[...], "T": lambda x: x.T, "mT": lambda x: x.swapaxes(-1, -2),
}  # fmt: skip


def _float(x: Array) -> Array:
    return x if x.dtype.kind in "fc" else x.astype("float32")


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-_float(x)))


def _clamp(x: Array, min: float | None = None, max: float | None = None) -> Array:
    low = x if min is None else np.where(x.real < min, np.asarray(min, x.dtype), x)
    return low if max is None else np.where(low.real > max, np.asarray(max, x.dtype), low)


def _reduced(function: Callable[..., object]) -> Callable[..., Any]:
    def reduce(x: Array, dim: object = None, keepdim: bool = False) -> Array:
        axis = tuple(dim) if isinstance(dim, list) else dim
        return np.asarray(function(x, axis=axis, keepdims=keepdim))

    return reduce


def _variance(x: Array, dim: int, correction: int) -> Array:
    if not x.ndim:
        x = x.reshape(1)
    return np.asarray(np.var(x, axis=dim, ddof=correction))


def _softmax(x: Array, dim: int) -> Array:
    e = np.exp(x - x.real.max(axis=dim, keepdims=True))
    return e / e.sum(axis=dim, keepdims=True)


UNARY: dict[str, Callable[..., Any]] = {
    "sin": lambda x: np.sin(_float(x)),
    "cos": lambda x: np.cos(_float(x)),
    "tanh": lambda x: np.tanh(_float(x)),
    "exp": lambda x: np.exp(_float(x)),
    "sigmoid": _sigmoid,
    "relu": lambda x: np.where(x.real <= 0, np.zeros((), x.dtype), x),
    "abs": lambda x: np.where(x.real < 0, -x, x),
    "neg": np.negative,
    "square": lambda x: x * x,
    "floor": lambda x: np.floor(x.real),
    "sign": lambda x: np.sign(x.real),
    "clamp": _clamp,
    "reciprocal": lambda x: 1 / _float(x),
    "atan": lambda x: np.arctan(_float(x)),
    "sinh": lambda x: np.sinh(_float(x)),
    "expm1": lambda x: np.expm1(_float(x)),
    "log1p": lambda x: np.log1p(_float(x)),
    "sqrt": lambda x: np.sqrt(_float(x)),
    "rsqrt": lambda x: 1 / np.sqrt(_float(x)),
    "asinh": lambda x: np.arcsinh(_float(x)),
    "trunc": lambda x: np.trunc(x),
}
"""Methods of one tensor that have a form in place too."""

BINARY: dict[str, Callable[..., Any]] = {
    "mul": lambda x, y: x * y,
    "add": lambda x, y, alpha=1: x + (y if alpha == 1 else alpha * y),
    "sub": lambda x, y, alpha=1: x - (y if alpha == 1 else alpha * y),
    "div": lambda x, y: _float(x) / y,
    "pow": lambda x, y: x**y,
    "atan2": lambda x, y: np.arctan2(_float(x), y),
    "hypot": lambda x, y: np.hypot(x, y),
    "addcdiv": lambda x, y, z, value=1: x + value * y / z,
    "lerp": lambda x, y, weight: x + weight * (y - x),
    "addcmul": lambda x, y, z, value=1: x + value * y * z,
    "masked_fill": lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
    "eq": lambda x, y: np.equal(x, y),
    "gt": lambda x, y: np.greater(np.real(x), np.real(y)),
}
"""The same with further operands."""

ALONG: dict[str, Callable[..., Any]] = {
    "cumsum": lambda x, dim: np.cumsum(x, axis=dim) if x.ndim else x.copy(),
    "cumprod": lambda x, dim: np.cumprod(x, axis=dim) if x.ndim else x.copy(),
    "tril": lambda x, diagonal=0: np.tril(x, diagonal),
    "triu": lambda x, diagonal=0: np.triu(x, diagonal),
}
"""The same along axes."""


def _index_copy(x: Array, dim: int, index: Array, source: Array) -> Array:
    found = x.copy()
    _put(found, dim, index, source)
    return found


def _put(x: Array, dim: int, index: Array, value: object) -> None:
    x[(slice(None),) * (dim % x.ndim) + (index,)] = value


def _index_add(x: Array, dim: int, index: Array, source: Array) -> Array:
    found = x.copy()
    np.add.at(found, (slice(None),) * (dim % x.ndim) + (index,), source)
    return found


def _scatter_add(x: Array, dim: int, index: Array, source: Array) -> Array:
    found = x.copy()
    places = list(np.indices(index.shape))
    places[dim % x.ndim] = index
    np.add.at(found, tuple(places), source[tuple(slice(n) for n in index.shape)])
    return found


PLACED: dict[str, Callable[..., Any]] = {
    "index_copy": _index_copy,
    "index_add": _index_add,
    "index_fill": _index_copy,
    "scatter_add": _scatter_add,
}
"""The same at places that indices name."""

OTHERS: dict[str, Callable[..., Any]] = {
    "clone": lambda x: x.copy(),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "prod": lambda x, dim=None: np.asarray(np.prod(x, axis=dim)),
    "amax": _reduced(np.max),
    "amin": _reduced(np.min),
    "var": lambda x, dim, correction=1: _variance(x, dim, correction),
    "std": lambda x, dim, correction=1: np.sqrt(_variance(x, dim, correction)),
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "sort": lambda x, dim: (np.ascontiguousarray(np.sort(x, axis=dim)),) if x.ndim else (x.copy(),),
    "max": lambda x, dim: (np.max(x, axis=dim),) if x.ndim else (x.copy(),),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "bmm": np.matmul,
    "addmm": lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b),
    "logsumexp": lambda x, dim: np.logaddexp.reduce(x, axis=dim, initial=-np.inf),
    "softmax": _softmax,
    "flip": lambda x, dim: np.flip(x, dim).copy(),
    "roll": lambda x, shift, dim: np.roll(x, shift, dim),
    "matmul": np.matmul,
    "index_select": lambda x, dim, index: np.take(x, index, axis=dim),
    "gather": lambda x, dim, index: np.take_along_axis(x, index, axis=dim),
    "repeat": lambda x, *counts: np.tile(x, _shape(counts)),
    "to": lambda x, dtype: _same_if(x, x.dtype == dtype) if x.dtype == dtype else x.astype(dtype),
}
"""Methods that compute a new tensor, and have no form in place."""


def _layer_norm(x: Array, count: int) -> Array:
    axes = tuple(range(-count, 0))
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cat": lambda xs, dim=0: np.concatenate(xs, axis=dim),
    "stack": lambda xs, dim=0: np.stack(xs, axis=dim),
    "where": lambda mask, x, y: np.where(mask, x, y),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logaddexp": np.logaddexp,
    "nn.functional.silu": lambda x: x * _sigmoid(x),
    "nn.functional.leaky_relu": lambda x, slope: np.where(x > 0, x, slope * x),
    "nn.functional.linear": lambda x, weight, bias=None: (
        x @ weight.T if bias is None else x @ weight.T + bias
    ),
    "nn.functional.mse_loss": lambda x, y: np.mean((x - y) ** 2),
    "nn.functional.layer_norm": lambda x, shape: _layer_norm(x, len(shape)),
    "nn.functional.log_softmax": lambda x, dim: np.log(_softmax(x, dim)),
    "zeros_like": np.zeros_like,
}
"""Functions that compute a new tensor."""

SHAPES_IN_PLACE = ("unsqueeze", "squeeze", "t", "transpose", "swapaxes")
"""Views that a tensor may become itself, in a method whose name ends with _."""

COMPUTED = UNARY | BINARY | ALONG | PLACED | OTHERS
IN_PLACE: dict[str, Callable[..., Any]] = {
    f"{name}_": function for name, function in (UNARY | BINARY | ALONG | PLACED).items()
} | {
    "zero_": lambda x: np.zeros_like(x),
    "fill_": lambda x, value: np.broadcast_to(_scalar(value), x.shape),
    "copy_": lambda x, other: np.broadcast_to(other, x.shape),
}
"""What a method writes to its tensor."""


def _scalar(value: Any) -> Any:
    if np.ndim(value):
        raise ValueError("fill_: value has axes")
    return value
