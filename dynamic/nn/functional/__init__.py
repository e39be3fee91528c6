"""Functions of neural networks without state, with PyTorch's names and arguments."""

from __future__ import annotations

from dynamic.nn.functional.activation import (
    celu,
    elu,
    gelu,
    glu,
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
from dynamic.nn.functional.attention import scaled_dot_product_attention
from dynamic.nn.functional.bags import (
    embedding_bag,
)
from dynamic.nn.functional.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    nll_loss,
)
from dynamic.nn.functional.conv import conv1d, conv2d, conv_transpose1d, conv_transpose2d
from dynamic.nn.functional.dropping import (
    alpha_dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    gumbel_softmax,
    rrelu,
)
from dynamic.nn.functional.linear import bilinear, dropout, embedding, linear, one_hot
from dynamic.nn.functional.margins import (
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_with_distance_loss,
)
from dynamic.nn.functional.normalization import (
    batch_norm,
    group_norm,
    layer_norm,
    normalize,
    rms_norm,
)
from dynamic.nn.functional.padding import pad
from dynamic.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
)
from dynamic.nn.functional.regression import (
    gaussian_nll_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from dynamic.nn.functional.resizing import (
    channel_shuffle,
    fold,
    interpolate,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
    upsample,
)
from dynamic.nn.functional.responses import (
    instance_norm,
    local_response_norm,
    lp_pool1d,
    lp_pool2d,
)
from dynamic.nn.functional.similarity import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    soft_margin_loss,
    triplet_margin_loss,
)
from dynamic.nn.functional.volumes import (
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool3d,
    conv3d,
    conv_transpose3d,
    max_pool3d,
)
from dynamic.operations.distances import pdist

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "gaussian_nll_loss", "gelu",
    "glu", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss",
    "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax", "logsigmoid",
    "lp_pool1d", "lp_pool2d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot",
    "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss",
    "prelu", "relu", "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "unfold", "upsample",
]  # fmt: skip
