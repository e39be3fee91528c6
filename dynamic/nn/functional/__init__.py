"""Functions of neural networks without state, with PyTorch's names and arguments."""

from __future__ import annotations

from types import FunctionType as _FunctionType

from staticgraph.compiler.core.published import published as _published
from staticgraph.dynamic.core.dtypes import F32 as _F32
from staticgraph.dynamic.core.no_tensors import of_tensors as _of_tensors
from staticgraph.dynamic.nn.functional.activation import (
    celu,
    elu,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from staticgraph.dynamic.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from staticgraph.dynamic.nn.functional.attention import scaled_dot_product_attention
from staticgraph.dynamic.nn.functional.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    nll_loss,
)
from staticgraph.dynamic.nn.functional.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from staticgraph.dynamic.nn.functional.ctc import ctc_loss
from staticgraph.dynamic.nn.functional.distance import cosine_similarity, pairwise_distance
from staticgraph.dynamic.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from staticgraph.dynamic.nn.functional.embedding import embedding, embedding_bag, one_hot
from staticgraph.dynamic.nn.functional.fold import fold, unfold
from staticgraph.dynamic.nn.functional.fractional_pooling import (
    fractional_max_pool2d,
    fractional_max_pool3d,
)
from staticgraph.dynamic.nn.functional.linear import bilinear, linear
from staticgraph.dynamic.nn.functional.margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from staticgraph.dynamic.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from staticgraph.dynamic.nn.functional.padding import pad
from staticgraph.dynamic.nn.functional.pixel_shuffle import (
    channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
)
from staticgraph.dynamic.nn.functional.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from staticgraph.dynamic.nn.functional.regression import (
    gaussian_nll_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from staticgraph.dynamic.nn.functional.sampling_grids import affine_grid, grid_sample
from staticgraph.dynamic.nn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d
from staticgraph.dynamic.nn.functional.upsampling import interpolate, upsample
from staticgraph.dynamic.operations.distances import pdist
from staticgraph.dynamic.tensors.narrowing import as_input as _as_input, narrowing as _narrowing

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "fold",
    "fractional_max_pool2d", "fractional_max_pool3d", "gaussian_nll_loss", "gelu", "glu",
    "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax",
    "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d",
    "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "rrelu",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
]  # fmt: skip

_SHORT = frozenset({"gelu", "linear", "relu"})
"""Functions that small networks spend their time in, which lead to ops or check themselves."""

_NARROW = (
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "prelu", "scaled_dot_product_attention",
)  # fmt: skip
_WIDE = (
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "grid_sample", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "margin_ranking_loss", "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
)  # fmt: skip
"""What `autocast` computes in its dtype, and in float32: PyTorch's lists for CPUs."""

for _name in ("batch_norm", "group_norm", "instance_norm", "layer_norm"):
    globals()[_name] = _as_input(globals()[_name])
for _name in _NARROW + _WIDE:
    globals()[_name] = _narrowing(globals()[_name], _F32 if _name in _WIDE else None)

for _name in __all__:
    if isinstance(globals()[_name], _FunctionType) and _name not in _SHORT:
        globals()[_name] = _of_tensors(globals()[_name])

_published(__name__, globals())
