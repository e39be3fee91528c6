"""Functions of layers and losses in the names of torch.nn.functional, on expressions and arrays.

Arguments are PyTorch's but for its old ones; options of losses, behind the operands, are given by
name. What PyTorch changes in place is returned: `batch_norm` says what its running statistics
become, and what draws takes a key. Sizes of batches, images and sequences may be unknown until run
time. `dynamic.nn.functional` has the same, on tensors.
"""

from staticgraph.compiler.layers.activations import (
    celu as celu,
    glu as glu,
    hardswish as hardswish,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    relu6 as relu6,
    selu as selu,
    softmin as softmin,
    softplus as softplus,
    tanhshrink as tanhshrink,
)
from staticgraph.compiler.layers.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
)
from staticgraph.compiler.layers.attention import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from staticgraph.compiler.layers.classification import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cross_entropy as cross_entropy,
    kl_div as kl_div,
    nll_loss as nll_loss,
)
from staticgraph.compiler.layers.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from staticgraph.compiler.layers.ctc import (
    ctc_loss as ctc_loss,
)
from staticgraph.compiler.layers.distances import (
    bilinear as bilinear,
    cosine_similarity as cosine_similarity,
    linear as linear,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
)
from staticgraph.compiler.layers.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
    one_hot as one_hot,
)
from staticgraph.compiler.layers.folding import (
    channel_shuffle as channel_shuffle,
    fold as fold,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    unfold as unfold,
)
from staticgraph.compiler.layers.interpolation import (
    interpolate as interpolate,
)
from staticgraph.compiler.layers.margins import (
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from staticgraph.compiler.layers.normalization import (
    batch_norm as batch_norm,
    group_norm as group_norm,
    instance_norm as instance_norm,
    local_response_norm as local_response_norm,
    normalize as normalize,
    rms_norm as rms_norm,
)
from staticgraph.compiler.layers.padding import (
    pad as pad,
)
from staticgraph.compiler.layers.pooling import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from staticgraph.compiler.layers.regression import (
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from staticgraph.compiler.layers.sampling_grids import (
    affine_grid as affine_grid,
    grid_sample as grid_sample,
)
from staticgraph.compiler.layers.unpooling import (
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from staticgraph.compiler.ops.elementwise.exponential import (
    sigmoid as sigmoid,
    tanh as tanh,
)
from staticgraph.compiler.ops.elementwise.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardtanh as hardtanh,
    softshrink as softshrink,
    threshold as threshold,
)
from staticgraph.compiler.ops.nn import (
    elu as elu,
    gelu as gelu,
    layer_norm as layer_norm,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    relu as relu,
    silu as silu,
    softmax as softmax,
    softsign as softsign,
)
from staticgraph.nn.dropping import (
    alpha_dropout as alpha_dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
    gumbel_softmax as gumbel_softmax,
    rrelu as rrelu,
)
from staticgraph.random.discrete import dropout as dropout

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "fold",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss",
    "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d",
    "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot",
    "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss",
    "prelu", "relu", "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "unfold",
]  # fmt: skip
