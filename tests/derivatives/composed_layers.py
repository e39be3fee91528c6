"""A call of each composed function of `sg.nn`: see composed.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg

GAP12, GAP24, GAP62 = 3.2 / 11, 3.2 / 23, 3.2 / 61
"""How far apart so many numbers are: kinks are put between them."""
_CLASSES = np.array([1, 3, 0])
_SIGNS = np.array([1, -1, 1])
_MASK = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 1]])


def _key() -> Any:
    return sg.random.key(0)


def _log_softmax(x: Any) -> Any:
    return sg.log_softmax(x, axis=1)


def _unpooled(rank: int) -> Callable[..., Any]:
    pool, unpool = (getattr(sg.nn, f"max_{kind}{rank}d") for kind in ("pool", "unpool"))

    def call(x: Any) -> Any:
        kept, places = pool(x, 2, return_indices=True)
        return unpool(kept * kept, places, 2, output_size=x.shape[2:])

    return call


def _pooled(name: str, *args: Any) -> Callable[..., Any]:
    return lambda x: getattr(sg.nn, name)(x, *args) ** 2


_CALLS: dict[str, Callable[..., Any]] = {
    "affine_grid": lambda x: sg.nn.affine_grid(sg.reshape(x, (2, 2, 3)) ** 2, (2, 1, 3, 2)),
    "alpha_dropout": lambda x: sg.nn.alpha_dropout(x * x, 0.3, key=_key()),
    "batch_norm": lambda x, u, v: sg.nn.batch_norm(x, weight=u, bias=v, training=True),
    "bilinear": lambda x, m, volume: sg.nn.bilinear(x[:, :3], m, sg.reshape(volume, (6, 3, 3))),
    "binary_cross_entropy": lambda r: sg.nn.binary_cross_entropy(r, _MASK.astype(r.dtype)),
    "binary_cross_entropy_with_logits": lambda x: sg.nn.binary_cross_entropy_with_logits(
        x, _MASK.astype(x.dtype)
    ),
    "celu": lambda x: sg.nn.celu(x, 1.3),
    "channel_shuffle": lambda image: sg.nn.channel_shuffle(image * image, 2),
    "conv1d": lambda signal, kernel1: sg.nn.conv1d(signal, kernel1, padding=1),
    "conv2d": lambda image, kernel2: sg.nn.conv2d(image, kernel2),
    "conv3d": lambda volume, kernel3: sg.nn.conv3d(volume, kernel3),
    "conv_transpose1d": lambda signal, kernel1: sg.nn.conv_transpose1d(
        signal, sg.swapaxes(kernel1, 0, 1)
    ),
    "conv_transpose2d": lambda image, kernel2: sg.nn.conv_transpose2d(
        image, sg.swapaxes(kernel2, 0, 1)
    ),
    "conv_transpose3d": lambda volume, kernel3: sg.nn.conv_transpose3d(
        volume, sg.swapaxes(kernel3, 0, 1)
    ),
    "cosine_embedding_loss": lambda x, y: sg.nn.cosine_embedding_loss(x, y, _SIGNS, margin=-1.0),
    "cosine_similarity": lambda x, y: sg.nn.cosine_similarity(x, y),
    "cross_entropy": lambda x: sg.nn.cross_entropy(x, _CLASSES, label_smoothing=0.1),
    "ctc_loss": lambda x: sg.nn.ctc_loss(
        sg.expand_dims(_log_softmax(x), 1), np.array([[1, 2]]), np.array([3]), np.array([2])
    ),
    "dropout": lambda x: sg.nn.dropout(x * x, 0.3, key=_key()),
    "dropout1d": lambda signal: sg.nn.dropout1d(signal**2, 0.5, key=_key()),
    "dropout2d": lambda image: sg.nn.dropout2d(image**2, 0.5, key=_key()),
    "dropout3d": lambda volume: sg.nn.dropout3d(volume**2, 0.5, key=_key()),
    "embedding": lambda x: sg.nn.embedding(np.array([[2, 0], [2, 1]]), x * x),
    "embedding_bag": lambda x: sg.nn.embedding_bag(np.array([[2, 0], [2, 1]]), x * x, mode="mean"),
    "feature_alpha_dropout": lambda image: sg.nn.feature_alpha_dropout(image**2, 0.5, key=_key()),
    "fold": lambda x: sg.nn.fold(sg.expand_dims(sg.transpose(x) ** 2, 0), (2, 4), (2, 2)),
    "gaussian_nll_loss": lambda x, y, p: sg.nn.gaussian_nll_loss(x, y, p),
    "glu": lambda x: sg.nn.glu(x),
    "grid_sample": lambda image, x: sg.nn.grid_sample(
        image, 0.4 / (25 * GAP62) * sg.reshape(x, (1, 2, 3, 2)), align_corners=False
    ),
    "group_norm": lambda image: sg.nn.group_norm(image, 1),
    "gumbel_softmax": lambda x: sg.nn.gumbel_softmax(x, key=_key()),
    "hardswish": lambda x: sg.nn.hardswish(x * 1.5),
    "hinge_embedding_loss": lambda x: sg.nn.hinge_embedding_loss(
        x**2, 2 * _MASK - 1, margin=(3 * GAP12) ** 2
    ),
    "huber_loss": lambda x, y: sg.nn.huber_loss(x, y, delta=3.5 * GAP24),
    "instance_norm": lambda image: sg.nn.instance_norm(image),
    "interpolate": lambda image: sg.nn.interpolate(image**2, (3, 7), mode="bilinear"),
    "kl_div": lambda x, p: sg.nn.kl_div(x, p, reduction="none"),
    "l1_loss": lambda x, y: sg.nn.l1_loss(x, y) ** 2,
    "linear": lambda x, y, m: sg.nn.linear(x, y, m[0]),
    "local_response_norm": lambda image: sg.nn.local_response_norm(image, 2, alpha=0.5),
    "logsigmoid": lambda x: sg.nn.logsigmoid(x),
    "margin_ranking_loss": lambda x, y: sg.nn.margin_ranking_loss(x, y, 2 * _MASK - 1) ** 2,
    "mish": lambda x: sg.nn.mish(x),
    "mse_loss": lambda x, y: sg.nn.mse_loss(x, y),
    "multi_margin_loss": lambda x: sg.nn.multi_margin_loss(x, _CLASSES, p=2, margin=3.5 * GAP12),
    "multilabel_margin_loss": lambda x: sg.nn.multilabel_margin_loss(
        x / (3.5 * GAP12), np.array([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, -1]])
    ),
    "multilabel_soft_margin_loss": lambda x: sg.nn.multilabel_soft_margin_loss(x, _MASK),
    "nll_loss": lambda x: sg.nn.nll_loss(_log_softmax(x), _CLASSES),
    "normalize": lambda x: sg.nn.normalize(x),
    "pad": lambda x: sg.nn.pad(x**2, (1, 2)),
    "pairwise_distance": lambda x, y: sg.nn.pairwise_distance(x, y),
    "pdist": lambda x: sg.nn.pdist(x),
    "pixel_shuffle": lambda volume: sg.nn.pixel_shuffle(
        sg.reshape(volume**2, (1, 6, 3, 3))[:, :4], 2
    ),
    "pixel_unshuffle": lambda x: sg.nn.pixel_unshuffle(sg.reshape(x**2, (1, 1, 2, 6)), 2),
    "poisson_nll_loss": lambda x, p: sg.nn.poisson_nll_loss(x, p),
    "prelu": lambda x, v: sg.nn.prelu(x, v) * x,
    "relu6": lambda x: sg.nn.relu6(x) * x,
    "rms_norm": lambda x, v: sg.nn.rms_norm(x, (4,), v),
    "rrelu": lambda x: sg.nn.rrelu(x, key=_key()) * x,
    "scaled_dot_product_attention": lambda x, y, m: sg.nn.scaled_dot_product_attention(
        x, y, m, is_causal=True
    ),
    "selu": lambda x: sg.nn.selu(x),
    "smooth_l1_loss": lambda x, y: sg.nn.smooth_l1_loss(x, y, beta=3.5 * GAP24),
    "soft_margin_loss": lambda x: sg.nn.soft_margin_loss(x, 2 * _MASK - 1),
    "softmin": lambda x: sg.nn.softmin(x, -1),
    "softplus": lambda x: sg.nn.softplus(x),
    "tanhshrink": lambda x: sg.nn.tanhshrink(x),
    "triplet_margin_loss": lambda x, y, p: sg.nn.triplet_margin_loss(x, y, p, margin=10.0),
    "triplet_margin_with_distance_loss": lambda x, y, p: sg.nn.triplet_margin_with_distance_loss(
        x, y, p, margin=99.0, distance_function=lambda a, b: sg.sum((a - b) ** 2, axis=1)
    ),
    "unfold": lambda image: sg.nn.unfold(image**2, 2),
}  # fmt: skip

_OPERANDS = {1: "signal", 2: "image", 3: "volume"}


def operands(call: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a call takes."""
    given: tuple[str, ...] | None = getattr(call, "operands", None)
    return given or call.__code__.co_varnames[: call.__code__.co_argcount]


def _of_windows() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for rank, operand in _OPERANDS.items():
        calls = {
            f"adaptive_avg_pool{rank}d": _pooled(f"adaptive_avg_pool{rank}d", 2),
            f"adaptive_max_pool{rank}d": _pooled(f"adaptive_max_pool{rank}d", 2),
            f"avg_pool{rank}d": _pooled(f"avg_pool{rank}d", 2),
            f"lp_pool{rank}d": _pooled(f"lp_pool{rank}d", 2.0, 2),
            f"max_pool{rank}d": _pooled(f"max_pool{rank}d", 2),
            f"max_unpool{rank}d": _unpooled(rank),
        }
        for call in calls.values():
            call.operands = (operand,)  # type: ignore[attr-defined]
        made |= calls
    return made


LAYERS = _CALLS | _of_windows()
