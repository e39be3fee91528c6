"""Record PyTorch's values and gradients of all shared ops, for the tests to compare with.

Needs torch (made with 2.13.0, CPU) and NumPy, which no test does. In the project's root:

    python -m tests.data.make_op_fixtures

writes tests/data/op_values.npz: the calls of `tests.samples` and of `op_cases.EDGES`, in float64
and in float32; with names of ops behind it only their records, and all others are kept. `TORCH`
says what each op is in PyTorch, `op_cases.WITHOUT` which have nothing.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from tests.data.op_cases import (
    DIFFERENT,
    EDGES,
    INTEGERS_CAST,
    INTEGERS_REFUSED,
    SECOND,
    WITHOUT,
    Case,
    Twice,
    Writer,
    recorded,
    signless,
    weights,
)
from tests.samples import SAMPLES, Sample, elementwise

HERE = Path(__file__).parent


def _tensors(*values: Any) -> list[Any]:
    """Numbers as tensors of the dtype of the tensors among the values."""
    dtype = next((one.dtype for one in values if isinstance(one, torch.Tensor)), None)
    return [
        one if isinstance(one, torch.Tensor) else torch.tensor(one, dtype=dtype) for one in values
    ]


def _pairwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(*_tensors(a, b))


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    dtype = torch.result_type(a, b)
    return a.to(dtype), b.to(dtype)


def _axes(x: Any, axis: Any, dim: Any) -> tuple[int, ...]:
    axis = axis if dim is None else dim
    if axis is None:
        return tuple(range(x.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None,
               keepdim: bool = False, **rest: Any) -> Any:  # fmt: skip
        axes = _axes(x, axis, dim)
        kept = keepdims or keepdim
        if not axes and x.ndim:  # over no axes; PyTorch takes () for all of them
            x, axes = x.unsqueeze(-1), (-1,)
            return reduce(x, axes, False, **rest)
        return function(x, axes, kept, **rest)

    return reduce


def _prod(x: Any, axes: tuple[int, ...], kept: bool) -> Any:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True) if x.ndim else ():
        x = torch.prod(x, axis, keepdim=kept)
    return x if x.ndim or axes else torch.prod(x)


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, kept, correction=0: function(
        x, axes, correction=correction, keepdim=kept
    )


def _logsumexp(x: Any, axes: tuple[int, ...], kept: bool) -> Any:
    return torch.logsumexp(x, axes, keepdim=kept)


def _extremum(pick: Callable[..., Any], spread: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None,
               keepdim: bool = False) -> Any:  # fmt: skip
        wanted = axis if dim is None else dim
        if isinstance(wanted, int):
            return pick(x, wanted, keepdim=keepdims or keepdim).values
        return _reduction(spread)(x, wanted, keepdims or keepdim)

    return reduce


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return _reduction(lambda x, axes, kept: function(x, axes, keepdim=kept) if x.ndim else x)


def _position(function: Callable[..., Any]) -> Callable[..., Any]:
    def find(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None,
             keepdim: bool = False) -> Any:  # fmt: skip
        return function(x, axis if dim is None else dim, keepdim=keepdims or keepdim)

    return find


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
        wanted = axis if dim is None else dim
        return function(x, -1 if wanted is None else wanted)

    return apply


def _broadcast_loss(function: Callable[..., Any]) -> Callable[..., Any]:
    def loss(x: Any, target: Any, reduction: str = "mean") -> Any:
        return function(*torch.broadcast_tensors(x, target), reduction=reduction)

    return loss


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    return torch.clamp(
        x, *(None if bound is None else _tensors(x, bound)[1] for bound in (min, max))
    )


def _wrapped(index: Any, size: int) -> Any:
    index = index.long()
    return torch.where(index < 0, index + size, index)


def _take(x: Any, index: Any, axis: Any = None, *, dim: Any = None) -> Any:
    axis = axis if dim is None else dim
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    flat = torch.index_select(x, axis, _wrapped(index, x.shape[axis]).reshape(-1))
    return flat.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])


def _take_add(g: Any, index: Any, axis: int, size: int) -> Any:
    shape = (*g.shape[:axis], index.numel(), *g.shape[axis + index.ndim :])
    zeros = torch.zeros((*shape[:axis], size, *shape[axis + 1 :]), dtype=g.dtype)
    return zeros.index_add(axis, _wrapped(index, size).reshape(-1), g.reshape(shape))


def _take_along(x: Any, index: Any, axis: Any = None, *, dim: Any = None) -> Any:
    wanted = axis if dim is None else dim
    axis = -1 if wanted is None else wanted
    return torch.take_along_dim(x, _wrapped(index, x.shape[axis]), axis)


def _along_add(g: Any, index: Any, axis: int, size: int) -> Any:
    zeros = torch.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), dtype=g.dtype)
    return zeros.scatter_add(axis, _wrapped(index, size), g)


def _indexed(x: Any, index: Any, values: Any, axis: Any, dim: Any, default: int) -> Any:
    """The operands of one dtype, the values in the index's shape, and the axis."""
    wanted = axis if dim is None else dim
    axis = (default if wanted is None else wanted) % x.ndim
    x, values = _alike(*_tensors(x, values))
    return x, _wrapped(index, x.shape[axis]), values, axis


def _written(x: Any, targets: Any, values: Any, whole: Any) -> Any:
    """One value after the other: PyTorch's own scatter has a slope for those that are gone too.

    What is never written has a slope of 0.
    """
    result = torch.where(torch.zeros((), dtype=torch.bool), whole.sum().to(x.dtype), x)
    for target, value in zip(targets, values, strict=True):
        result[target] = value
    return result


def _scatter(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, -1)
    values = values.broadcast_to(index.shape)
    places = list(np.ndindex(*index.shape))
    targets = [(*one[:axis], int(index[one]), *one[axis + 1 :]) for one in places]
    return _written(x, targets, [values[one] for one in places], values)


def _put_along_axis(x: Any, index: Any, values: Any, axis: Any = -1, *, dim: Any = None) -> Any:
    axis = axis if dim is None else dim
    if axis is None:
        return _scatter(x.reshape(-1), index, values, 0).reshape(x.shape)
    axis %= x.ndim
    index = index.broadcast_to(*x.shape[:axis], index.shape[axis], *x.shape[axis + 1 :])
    return _scatter(x, index, values, axis)


def _scatter_add(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, -1)
    return torch.scatter_add(x, axis, index, values.broadcast_to(index.shape))


def _scatter_reduce(
    x: Any, index: Any, values: Any, axis: Any = None, reduce: str = "sum",
    include_self: bool = True,
) -> Any:  # fmt: skip
    x, index, values, axis = _indexed(x, index, values, axis, None, -1)
    values = values.broadcast_to(index.shape)
    return torch.scatter_reduce(x, axis, index, values, reduce, include_self=include_self)


def _laid(reduce: str, start: float) -> Callable[..., Any]:
    def lay(values: Any, index: Any, axis: int, size: int, wrap: bool = True) -> Any:
        shape = (*values.shape[:axis], size, *values.shape[axis + 1 :])
        least = torch.iinfo(values.dtype).min if not values.is_floating_point() else -math.inf
        begin = torch.full(shape, start if reduce == "prod" else least, dtype=values.dtype)
        return torch.scatter_reduce(begin, axis, _wrapped(index, size), values, reduce)

    return lay


def _last_positions(index: Any, axis: int, size: int, wrap: bool = True) -> Any:
    shape = (*index.shape[:axis], size, *index.shape[axis + 1 :])
    numbers = torch.arange(index.shape[axis]).reshape(
        [-1 if i == axis else 1 for i in range(index.ndim)]
    )
    begin = torch.full(shape, -1)
    numbers = numbers.broadcast_to(index.shape)
    return torch.scatter_reduce(begin, axis, _wrapped(index, size), numbers, "amax")


def _index_add(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, 0)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    return torch.index_add(x, axis, index, values.broadcast_to(shape))


def _index_copy(x: Any, index: Any, values: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x, index, values, axis = _indexed(x, index, values, axis, dim, 0)
    shape = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    rows = values.broadcast_to(shape).unbind(axis)
    return _written(x.movedim(axis, 0), index.tolist(), rows, values).movedim(0, axis)


def _put(x: Any, index: Any, values: Any) -> Any:
    x, values = _alike(*_tensors(x, values))
    places = _wrapped(index, x.numel()).reshape(-1).tolist()
    given = values.broadcast_to(index.shape).reshape(-1)
    return _written(x.reshape(-1), places, given, given).reshape(x.shape)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    x, values = _alike(*_tensors(x, values))
    given = [_wrapped(one, size) for one, size in zip(indices, x.shape, strict=False)]
    if accumulate:
        return torch.index_put(x, tuple(given), values, accumulate=True)
    whole = torch.broadcast_tensors(*given)
    values = values.broadcast_to((*whole[0].shape, *x.shape[len(whole) :]))
    places = list(np.ndindex(*whole[0].shape))
    targets = [tuple(int(one[place]) for one in whole) for place in places]
    return _written(x, targets, [values[place] for place in places], values)


def _ravel(indices: Any, shape: Any) -> Any:
    total = torch.zeros((), dtype=torch.int64)
    for index, size in zip(indices, shape, strict=True):
        total = total * size + _wrapped(index, size)
    return total


def _one_hot(index: Any, classes: int, dtype: str = "float32") -> Any:
    return (index[..., None].long() == torch.arange(classes)).to(getattr(torch, dtype))


def _getitem(x: Any, key: Any) -> Any:
    if isinstance(key, torch.Tensor | list):
        return x[torch.as_tensor(key).long()]
    keys = key if isinstance(key, tuple) else (key,)
    backward, kept, axis = [], [], 0
    spare = x.ndim - sum(one is not None and one is not Ellipsis for one in keys)
    out = 0
    for one in keys:  # PyTorch has no negative steps: the axis is flipped instead
        if isinstance(one, slice) and one.step is not None and one.step < 0:
            places = range(x.shape[axis])[one]
            one = slice(places[-1], places[0] + 1, -one.step) if places else slice(0, 0)
            backward.append(out)
        kept.append(one)
        axis += spare if one is Ellipsis else one is not None
        out += spare if one is Ellipsis else not isinstance(one, int)
    return torch.flip(x[tuple(kept)], backward)


def _strided_slice(x: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    return x[tuple(
        slice(start, start + size * step, step)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    )]  # fmt: skip


def _embed(x: Any, starts: Any, shape: Any, steps: Any, value: float = 0.0) -> Any:
    whole = torch.full(shape, value, dtype=x.dtype)
    _strided_slice(whole, starts, x.shape, steps)[...] = x
    return whole


def _pad(x: Any, widths: Any, value: float = 0.0) -> Any:
    if isinstance(widths, int):
        widths = [(widths, widths)] * x.ndim
    elif isinstance(widths, tuple):
        widths = [widths] * x.ndim
    widths = [*widths] * x.ndim if len(widths) == 1 else widths
    flat = [one for pair in reversed(widths) for one in pair]
    if x.dtype == torch.bool:
        return F.pad(x.to(torch.uint8), flat, value=value).bool()
    return F.pad(x, flat, value=value)


def _sliding_windows(x: Any, sizes: Any, strides: Any, dilations: Any) -> Any:
    lead = x.ndim - len(sizes)
    counts = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(x.shape[lead:], sizes, strides, dilations, strict=True)
    ]
    own = x.stride()
    steps = [own[lead + i] * s for i, s in enumerate(strides)]
    inner = [own[lead + i] * d for i, d in enumerate(dilations)]
    return torch.as_strided(x, (*x.shape[:lead], *counts, *sizes), (*own[:lead], *steps, *inner))


def _named_axis(function: Callable[..., Any], default: Any = 0) -> Callable[..., Any]:
    def apply(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
        wanted = axis if dim is None else dim
        return function(x, default if wanted is None else wanted)

    return apply


def _expand_dims(x: Any, axes: Any) -> Any:
    listed = [axes] if isinstance(axes, int) else list(axes)
    for axis in sorted(axis % (x.ndim + len(listed)) for axis in listed):
        x = x.unsqueeze(axis)
    return x


def _flip(x: Any, axes: Any) -> Any:
    listed = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    return torch.flip(x, tuple(listed))


def _transpose(x: Any, *axes: Any) -> Any:
    listed = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return torch.permute(x, tuple(listed) if axes else tuple(reversed(range(x.ndim))))


def _shape(shape: Any) -> Any:
    return shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape


def _split(x: Any, sections: Any, axis: int = 0, *, dim: Any = None) -> Any:
    return list(torch.tensor_split(x, sections, axis if dim is None else dim))


def _promoted(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*operands: Any) -> Any:
        dtype = torch.result_type(*operands)
        return function(*(one.to(dtype) for one in operands))

    return apply


def _cat(tensors: Any, axis: Any = None, *, dim: Any = None) -> Any:
    wanted = axis if dim is None else dim
    return torch.cat(tensors, 0 if wanted is None else wanted)


def _stack(tensors: Any, axis: int = 0, *, dim: Any = None) -> Any:
    return torch.stack(tensors, axis if dim is None else dim)


def _where(condition: Any, a: Any, b: Any) -> Any:
    return torch.where(condition, a, b)


class _Digamma(torch.autograd.Function):
    """digamma, with Hurwitz' zeta for a slope: PyTorch's trigamma is right to 5e-10 only."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.digamma(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * _polygamma(1, x)


class _LogGamma(torch.autograd.Function):
    """lgamma, with the digamma above for a slope."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.lgamma(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * _Digamma.apply(x)


def _polygamma(n: int, x: Any) -> Any:
    x = x if x.is_floating_point() else x.float()
    if not n:
        return _Digamma.apply(x)
    infinite = x.isinf()
    found = torch.special.zeta(n + 1.0, torch.where(infinite, 1, x))
    at_ends = torch.polygamma(n, torch.where(infinite, x, 1))
    return torch.where(infinite, at_ends, (-1) ** (n + 1) * math.factorial(n) * found)


def _flat_or_along(function: Callable[..., Any], default: int | None) -> Callable[..., Any]:
    """A function along an axis, of the flat tensor if the axis is None."""

    def apply(x: Any, axis: Any = default, dtype: Any = None, *, dim: Any = None,
              **options: Any) -> Any:  # fmt: skip
        axis = axis if dim is None else dim
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        found = function(x if dtype is None else x.to(getattr(torch, dtype)), axis, **options)
        return found if isinstance(found, torch.Tensor) else list(found)

    return apply


def _sorted(x: Any, axis: int, descending: bool = False, stable: bool = True) -> Any:
    return torch.sort(x, stable=True, dim=axis, descending=descending)


def _vector_norm(x: Any, ord: float = 2, axis: Any = None, keepdims: bool = False, *,
                 dim: Any = None) -> Any:  # fmt: skip
    axis = axis if dim is None else dim
    found = torch.linalg.vector_norm(x, ord, axis, keepdims)
    # the slope of a count is 0, not None
    return found if ord else found + torch.sum(x * 0, axis, keepdims)


def _svd(x: Any, full_matrices: bool) -> list[Any]:
    """Without the slopes of what has none."""
    if full_matrices and x.shape[-2] != x.shape[-1]:
        x = x.detach()
    return list(torch.linalg.svd(x, full_matrices))


def _qr(x: Any, mode: str) -> Any:
    if mode == "r":
        return torch.linalg.qr(x).R
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        x = x.detach()
    return list(torch.linalg.qr(x, mode))


def _lstsq(a: Any, b: Any) -> list[Any]:
    vector = b.ndim == a.ndim - 1
    right = b[..., None] if vector else b
    x = torch.linalg.pinv(a) @ right
    residuals = ((a @ x - right) ** 2).sum(-2)
    if vector:
        x, residuals = x[..., 0], residuals[..., 0]
    return [x, residuals, torch.linalg.matrix_rank(a), torch.linalg.svdvals(a)]


def _smooth_cross_entropy(x: Any, target: Any) -> Any:
    """Not PyTorch's own: its second derivatives have 1e-12 added to a denominator."""
    return -(target * x.log() + (1 - target) * torch.log1p(-x))


TORCH: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in elementwise(1) if hasattr(torch, name)},
    **{
        name: _pairwise(getattr(torch, name))
        for name in (*elementwise(2), "gcd", "lcm", "logical_and", "logical_or", "logical_xor")
        if hasattr(torch, name)
    },
    "logical_not": torch.logical_not, "logit": torch.logit, "polygamma": _polygamma,
    "digamma": lambda x: _Digamma.apply(x if x.is_floating_point() else x.float()),
    "lgamma": lambda x: _LogGamma.apply(x if x.is_floating_point() else x.float()),
    "heaviside": lambda a, b: torch.heaviside(*_alike(*(one.detach() for one in _tensors(a, b)))),
    "binary_cross_entropy": lambda x, target: F.binary_cross_entropy(
        *torch.broadcast_tensors(x, target), reduction="none"
    ),
    # PyTorch has no derivative of it, and raises; ours passes no gradient
    "floor_divide": lambda a, b: torch.floor_divide(*(one.detach() for one in _tensors(a, b))),
    "equal": _pairwise(torch.eq), "not_equal": _pairwise(torch.ne),
    "less": _pairwise(torch.lt), "less_equal": _pairwise(torch.le),
    "greater": _pairwise(torch.gt), "greater_equal": _pairwise(torch.ge),
    "power": torch.pow, "pow": torch.pow,
    "where": _where,
    "astype": lambda x, dtype: x.to(getattr(torch, dtype)),
    "copy": torch.clone,
    "stop_gradient": lambda x: x.detach(),
    "reshape": lambda x, *shape: x.reshape(_shape(shape)),
    "broadcast_to": lambda x, *shape: torch.broadcast_to(x, _shape(shape)),
    "transpose": _transpose, "permute": _transpose,
    "swapaxes": torch.swapaxes,
    "expand_dims": _named_axis(_expand_dims),
    "squeeze": _named_axis(lambda x, axes: x.squeeze() if axes is None else x.squeeze(axes), None),
    "flip": _named_axis(_flip, None),
    "concatenate": _cat,
    "stack": _stack,
    "split": _split,
    "pad": _pad,
    "strided_slice": _strided_slice,
    "embed": _embed,
    "getitem": _getitem,
    "matmul": _promoted(torch.matmul), "dot": _promoted(torch.dot), "outer": torch.outer,
    "softplus": lambda x: F.softplus(x, threshold=40),
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
    "sum": _reduction(lambda x, axes, kept: torch.sum(x, axes, keepdim=kept)),
    "prod": _reduction(_prod),
    "mean": _reduction(lambda x, axes, kept: torch.mean(x, axes, keepdim=kept)),
    "var": _reduction(_spread(torch.var)), "std": _reduction(_spread(torch.std)),
    "logsumexp": _reduction(_logsumexp),
    "max": _extremum(torch.max, lambda x, axes, kept: torch.amax(x, axes, keepdim=kept)),
    "min": _extremum(torch.min, lambda x, axes, kept: torch.amin(x, axes, keepdim=kept)),
    "argmax": _position(torch.argmax), "argmin": _position(torch.argmin),
    "any": _truth(torch.any), "all": _truth(torch.all),
    "softmax": _along(torch.softmax), "log_softmax": _along(torch.log_softmax),
    "sliding_windows": _sliding_windows,
    "conv2d": F.conv2d, "conv_transpose2d": F.conv_transpose2d,
    "max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d,
    "take": _take, "take_add": _take_add,
    "take_along_axis": _take_along, "along_add": _along_add,
    "one_hot": _one_hot, "scatter": _scatter, "scatter_add": _scatter_add,
    "put_along_axis": _put_along_axis, "scatter_reduce": _scatter_reduce,
    "along_prod": _laid("prod", 1.0), "last_positions": _last_positions,
    "along_extremum": lambda values, index, axis, size, largest=True: (
        _laid("amax", 0.0)(values, index, axis, size) if largest
        else -_laid("amax", 0.0)(-values, index, axis, size)
    ),
    "index_add": _index_add, "index_copy": _index_copy,
    "index_fill": lambda x, index, value, axis=None, *, dim=None: _index_copy(
        x, index, value, axis, dim=dim
    ),
    "put": _put, "index_put": _index_put, "ravel_multi_index": _ravel,
    "masked_fill": lambda x, mask, value: torch.where(mask, *reversed(_tensors(x, value))),
    "clamp": lambda x, low, high: torch.clamp(*_tensors(x, low, high)), "clip": _clip,
    "cross_entropy": lambda x, target, reduction="mean": F.cross_entropy(
        x, target.long(), reduction=reduction
    ),
    "cumsum": _flat_or_along(torch.cumsum, None), "cumprod": _flat_or_along(torch.cumprod, None),
    "logcumsumexp": _flat_or_along(torch.logcumsumexp, None),
    "cummax": _flat_or_along(torch.cummax, None), "cummin": _flat_or_along(torch.cummin, None),
    "extremum_positions": lambda x, axis, largest=True: (
        torch.cummax if largest else torch.cummin
    )(x, axis)[1],
    "sort": _flat_or_along(lambda *args, **options: _sorted(*args, **options)[0], -1),
    "argsort": _flat_or_along(lambda *args, **options: _sorted(*args, **options)[1], -1),
    "inv": torch.linalg.inv, "det": torch.linalg.det, "solve": torch.linalg.solve,
    "slogdet": lambda x: [torch.linalg.slogdet(x)[0].detach(), torch.linalg.slogdet(x)[1]],
    "logabsdet": lambda x: torch.linalg.slogdet(x)[1],
    "signdet": lambda x: torch.linalg.slogdet(x)[0],
    "cholesky": torch.linalg.cholesky, "pinv": torch.linalg.pinv, "vector_norm": _vector_norm,
    "eigh": lambda x, uplo="L": list(torch.linalg.eigh(x, uplo)),
    "eigvalsh": torch.linalg.eigvalsh, "svdvals": torch.linalg.svdvals,
    "svd": lambda x, full_matrices=True: _svd(x, full_matrices),
    "qr": lambda x, mode="reduced": _qr(x, mode), "lstsq": _lstsq,
    "matrix_norm": lambda x, order="fro", axis=(-2, -1), keepdims=False: (
        torch.linalg.matrix_norm(x, order, axis, keepdims)
    ),
    "matrix_power": lambda x, n: torch.linalg.matrix_power(x, n) + x * 0,
    "matrix_rank": torch.linalg.matrix_rank,
    "mse_loss": _broadcast_loss(F.mse_loss),
    "binary_cross_entropy_with_logits": _broadcast_loss(F.binary_cross_entropy_with_logits),
    "layer_norm": lambda x, shape, *rest, **options: F.layer_norm(
        x, [shape] if isinstance(shape, int) else shape, *rest, **options
    ),
}  # fmt: skip


TWICE = TORCH | {"binary_cross_entropy": _smooth_cross_entropy}
"""What is differentiated twice."""


def _lifted(value: Any, leaves: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        tensor = torch.tensor(value)
        if tensor.is_floating_point():
            leaves.append(tensor.requires_grad_())
        return tensor
    if isinstance(value, tuple | list):
        return type(value)(_lifted(one, leaves) for one in value)
    return value


def _single(value: Any) -> Any:
    """float64 as float32."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if value.dtype == np.float64 else value
    if isinstance(value, tuple | list):
        return type(value)(map(_single, value))
    return value


def _floating(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_floating, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _run(name: str, args: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The results, and the gradients of their weighted sum by the floating arguments."""
    function = getattr(torch, name[6:]) if name.startswith("torch.") else TORCH[name]
    leaves: list[Any] = []
    outcome = function(*_lifted(args, leaves), **options)
    results = [outcome] if isinstance(outcome, torch.Tensor) else list(outcome)
    results = signless(name, results, args[0])
    found = [np.array(one.detach().numpy()) for one in results]
    pairs = [
        (one, torch.tensor(weights(value, i)))
        for i, (one, value) in enumerate(zip(results, found, strict=True))
        if one.requires_grad
    ]
    if pairs:
        torch.autograd.backward(*zip(*pairs, strict=True))
    return found, [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]


def _second(name: str, args: Any, options: dict[str, Any]) -> list[Any] | None:
    """The gradients of a weighted sum of the gradients; None where there are none."""
    function = getattr(torch, name[6:]) if name.startswith("torch.") else TWICE[name]
    leaves: list[Any] = []
    outcome = function(*_lifted(args, leaves), **options)
    results = [outcome] if isinstance(outcome, torch.Tensor) else list(outcome)
    results = signless(name, results, args[0])
    if not all(one.requires_grad for one in results):
        return None
    cotangents = [torch.tensor(weights(one.detach().numpy(), i)) for i, one in enumerate(results)]
    first = torch.autograd.grad(results, leaves, cotangents, create_graph=True, allow_unused=True)
    parts = [
        (one * torch.tensor(weights(one.detach().numpy(), 7 + i))).sum()
        for i, one in enumerate(first)
        if one is not None and one.requires_grad
    ]
    if not parts:
        return None
    found = torch.autograd.grad(sum(parts), leaves, materialize_grads=True)
    return [one.numpy(force=True) for one in found]


def main(names: Sequence[str]) -> None:
    """Run all calls, or those of the named ops, and write the file; other records are kept."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    path = HERE / "op_values.npz"
    writer, cases, twice = Writer(), [], []
    known = recorded(path) if names else ([], [])
    for name in [*SAMPLES, *(name for name in EDGES if name not in SAMPLES)]:
        if names and name not in names:
            cases += [writer.fields(one) for one in known[0] if one.name == name]
            twice += [writer.fields(one) for one in known[1] if one.name == name]
        elif name not in WITHOUT:
            cases += _once(name, writer)
            for sample in _twice(name):
                found = _second(name, sample.args, sample.options)
                if found is not None:
                    twice.append(writer.fields(Twice(name, sample.args, sample.options, found)))
    writer.write({"once": cases, "twice": twice}, path)


def _once(name: str, writer: Writer) -> Iterator[list[Any]]:
    """The calls of an op with their gradients."""
    for sample in (*SAMPLES.get(name, ()), *EDGES.get(name, ())):
        floating = _floating(sample.args)
        if not floating and name in INTEGERS_REFUSED | INTEGERS_CAST:
            continue
        for args in (sample.args, _single(sample.args)) if floating else (sample.args,):
            yield writer.fields(_recorded(name, Sample(args, sample.options)))
    for sample, dtypes, reason in DIFFERENT.get(name, ()):
        for dtype in dtypes:
            args = sample.args if dtype == "float64" else _single(sample.args)
            yield writer.fields(_recorded(name, Sample(args, sample.options), reason))


def _twice(name: str) -> list[Sample]:
    """The calls that are differentiated twice: where the second derivative is not 0."""
    samples = [one for one in SAMPLES.get(name, ()) if one.order > 1 and _floating(one.args)]
    if name == "layer_norm":  # with a bias and no weight PyTorch's second pass fails
        samples = [one for one in samples if type(None) not in map(type, one.args)]
    return [*samples, *SECOND.get(name, ())]


def _recorded(name: str, sample: Sample, differs: str = "") -> Case:
    try:
        results, gradients = _run(name, sample.args, sample.options)
    except Exception as error:
        raise RuntimeError(f"{name}: {sample}") from error
    return Case(name, sample.args, sample.options, results, gradients, differs)


if __name__ == "__main__":
    main(sys.argv[1:])
