"""What each shared op is in PyTorch, for the scripts that record its values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from tests.data import torch_indexing as indexing
from tests.data.torch_indexing import alike, tensors
from tests.samples import elementwise


def _attention(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    scores = scale * (q @ k.mT)
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    return scores.softmax(-1) @ v


def _attention_gradients(q: Any, k: Any, v: Any, g: Any, **options: Any) -> list[Any]:
    q, k, v = (one.clone() if one.requires_grad else one.requires_grad_() for one in (q, k, v))
    result = _attention(q, k, v, **options)
    return list(torch.autograd.grad(result, (q, k, v), g, create_graph=True))


def _slope_of_exponential(a: Any, e: Any) -> Any:
    return torch.func.jvp(torch.linalg.matrix_exp, (a,), (e,))[1]


def _pairwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(*tensors(a, b))


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
        x, *(None if bound is None else tensors(x, bound)[1] for bound in (min, max))
    )


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
    **{name: getattr(F, name) for name in elementwise(1) if hasattr(F, name)},
    **{name: getattr(torch, name) for name in elementwise(1) if hasattr(torch, name)},
    **{
        name: _pairwise(getattr(torch, name))
        for name in (*elementwise(2), "gcd", "lcm", "logical_and", "logical_or", "logical_xor")
        if hasattr(torch, name)
    },
    "logical_not": torch.logical_not, "logit": torch.logit, "polygamma": _polygamma,
    "digamma": lambda x: _Digamma.apply(x if x.is_floating_point() else x.float()),
    "lgamma": lambda x: _LogGamma.apply(x if x.is_floating_point() else x.float()),
    "heaviside": lambda a, b: torch.heaviside(*alike(*(one.detach() for one in tensors(a, b)))),
    "binary_cross_entropy": lambda x, target: F.binary_cross_entropy(
        *torch.broadcast_tensors(x, target), reduction="none"
    ),
    # PyTorch has no derivative of it, and raises; ours passes no gradient
    "floor_divide": lambda a, b: torch.floor_divide(*(one.detach() for one in tensors(a, b))),
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
    "pad": indexing.pad,
    "strided_slice": indexing.strided_slice,
    "embed": indexing.embed,
    "getitem": indexing.getitem,
    "matmul": torch.matmul, "dot": torch.dot, "outer": torch.outer,
    "softplus": lambda x: F.softplus(x, threshold=40),
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh, "threshold": F.threshold,
    # not F.hardsigmoid, whose slope is a sixth rounded to float32
    "hardsigmoid": lambda x: F.hardtanh(x + 3, 0.0, 6.0) / 6,
    "softshrink": F.softshrink, "hardshrink": F.hardshrink,
    "prelu": _pairwise(
        lambda x, slope: torch._prelu_kernel(*torch.broadcast_tensors(*alike(x, slope)))
    ),
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
    "sliding_windows": indexing.sliding_windows,
    "conv2d": F.conv2d, "conv_transpose2d": F.conv_transpose2d,
    "max_pool2d": F.max_pool2d, "avg_pool2d": F.avg_pool2d,
    "lp_pool2d": F.lp_pool2d,
    "take": indexing.take, "take_add": indexing.take_add,
    "take_along_axis": indexing.take_along, "along_add": indexing.along_add,
    "one_hot": indexing.one_hot, "scatter": indexing.scatter, "scatter_add": indexing.scatter_add,
    "put_along_axis": indexing.put_along_axis, "scatter_reduce": indexing.scatter_reduce,
    "along_prod": indexing.laid("prod", 1.0), "last_positions": indexing.last_positions,
    "along_extremum": lambda values, index, axis, size, largest=True: (
        indexing.laid("amax", 0.0)(values, index, axis, size) if largest
        else -indexing.laid("amax", 0.0)(-values, index, axis, size)
    ),
    "index_add": indexing.index_add, "index_copy": indexing.index_copy,
    "index_fill": lambda x, index, value, axis=None, *, dim=None: indexing.index_copy(
        x, index, value, axis, dim=dim
    ),
    "put": indexing.put, "index_put": indexing.index_put, "ravel_multi_index": indexing.ravel,
    "masked_fill": lambda x, mask, value: torch.where(mask, *reversed(tensors(x, value))),
    "clamp": lambda x, low, high: torch.clamp(*tensors(x, low, high)), "clip": _clip,
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
    "expm": torch.linalg.matrix_exp, "expm_frechet": _slope_of_exponential,
    "inv": torch.linalg.inv, "det": torch.linalg.det, "solve": torch.linalg.solve,
    "solve_triangular": lambda a, b, upper=False: torch.linalg.solve_triangular(
        a.triu() if upper else a.tril(), b, upper=upper
    ),
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
    "attention": _attention, "attention_gradients": _attention_gradients,
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
    "mse_loss": _broadcast_loss(F.mse_loss),
    "binary_cross_entropy_with_logits": _broadcast_loss(F.binary_cross_entropy_with_logits),
    "layer_norm": lambda x, shape, *rest, **options: F.layer_norm(
        x, [shape] if isinstance(shape, int) else shape, *rest, **options
    ),
}  # fmt: skip


TWICE = TORCH | {"binary_cross_entropy": _smooth_cross_entropy}
"""What is differentiated twice."""
