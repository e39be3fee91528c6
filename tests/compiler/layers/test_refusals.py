"""What the functions of layers and losses refuse, each with its name and what was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.errors import StaticGraphError

nn, KEY = sg.nn, sg.random.key(0)
V, X, Y, Z = (np.ones(shape) for shape in ((3,), (2, 3), (2, 3, 4), (1, 2, 3, 4)))
N = np.zeros(3, np.int64)
U = sg.placeholder("u", (None, 3, None))

REFUSED: dict[str, Callable[[], Any]] = {
    r"conv1d: weight float64\[2, 3\] has 2 axes, of 3": lambda: nn.conv1d(Y, X),
    r"conv_transpose1d: weight float32\[u.0, 3, u.2\]: the sizes of a window must be known":
        lambda: nn.conv_transpose1d(U, U),
    r"conv1d: float64\[2\] has 1 axes, of 2 \(channels": lambda: nn.conv1d(X[:, 0], Y),
    r"conv2d: stride is an int or two from 1, not 0": lambda: nn.conv2d(Z, Z, stride=0),
    r"conv2d: padding is 'valid', 'same' or numbers, not 'no'":
        lambda: nn.conv2d(Z, Z, padding="no"),
    r"conv2d: padding='same' keeps the size with stride 1 only, not \(2, 1\)":
        lambda: nn.conv2d(Z, Z, padding="same", stride=(2, 1)),
    r"conv1d: groups=2 does not divide the 1 filters": lambda: nn.conv1d(Y, Y[:1], groups=2),
    r"conv1d: float32\[u.0, 3, u.2\] has 3 channels, weight float64\[2, 2, 4\] in 1 groups":
        lambda: nn.conv1d(U, np.ones((2, 2, 4))),
    r"conv1d: bias float64\[2, 3\] does not have one value per filter: 2":
        lambda: nn.conv1d(Y, Y, X),
    r"conv3d: no window \(2, 1, 1\) by \(1, 1, 1\) fits into float64\[1, 1, 1, 3, 4\]":
        lambda: nn.conv3d(np.ones((1, 1, 1, 3, 4)), np.ones((1, 1, 2, 1, 1))),
    r"conv_transpose1d: weight float64\[2, 3\] has 2 axes": lambda: nn.conv_transpose1d(Y, X),
    r"conv_transpose1d: groups=0 does not divide the 2 channels":
        lambda: nn.conv_transpose1d(Y, Y, groups=0),
    r"conv_transpose1d: output_padding \(1,\) is not less than stride \(1,\) or":
        lambda: nn.conv_transpose1d(Y, Y, output_padding=1),
    r"conv_transpose1d: float64\[2, 3, 4\] has 3 channels, weight float64\[2, 3, 4\] expects 2":
        lambda: nn.conv_transpose1d(Y, Y),
    r"max_pool1d: padding \(2,\) is more than half the window \(2,\)":
        lambda: nn.max_pool1d(Y, 2, padding=2),
    r"avg_pool2d: no window \(4, 4\) by \(1, 1\) fits": lambda: nn.avg_pool2d(Z, 4),
    r"avg_pool2d: divisor_override=0": lambda: nn.avg_pool2d(Z, 2, divisor_override=0),
    r"lp_pool1d: norm_type is a number above 0, not -1": lambda: nn.lp_pool1d(Y, -1, 2),
    r"adaptive_avg_pool2d: output_size is a number of parts, or one for each of 2 axes, not \(1,\)":
        lambda: nn.adaptive_avg_pool2d(Z, (1,)),
    r"adaptive_max_pool1d: float64\[3\] has 1 axes": lambda: nn.adaptive_max_pool1d(V, 1),
    r"max_unpool1d: float64\[3\] has 1 axes": lambda: nn.max_unpool1d(V, N, 2),
    r"max_unpool1d: indices float64\[2, 3, 4\] are no integers": lambda: nn.max_unpool1d(Y, Y, 2),
    r"max_unpool1d: float64\[2, 3, 4\] and indices int64\[1, 2, 3\] differ in shape":
        lambda: nn.max_unpool1d(Y, np.zeros((1, 2, 3), int), 2),
    r"max_unpool1d: output_size \(99,\) is not within \(2,\) of \(8,\)":
        lambda: nn.max_unpool1d(Y, np.zeros((2, 3, 4), int), 2, output_size=(99,)),
    r"interpolate: mode is one of .*, not 'no'": lambda: nn.interpolate(Y, 2, mode="no"),
    r"interpolate: align_corners=True has no meaning in 'area'":
        lambda: nn.interpolate(Y, 2, mode="area", align_corners=True),
    r"interpolate: float64\[2, 3, 4\] has 3 axes, of 4":
        lambda: nn.interpolate(Y, 2, mode="bilinear"),
    r"interpolate: one of size=None and scale_factor=None": lambda: nn.interpolate(Y),
    r"interpolate: size=\(2, 3\) is not for 1 axes": lambda: nn.interpolate(Y, (2, 3)),
    r"interpolate: float64\[2, 3, 4\] at the sizes \[0\]": lambda: nn.interpolate(Y, 0),
    r"affine_grid: a size of 4 or 5 axes, not \(1, 2\)": lambda: nn.affine_grid(Y, (1, 2)),
    r"affine_grid: float64\[2, 3, 4\] are no maps \(n, 2, 3\)":
        lambda: nn.affine_grid(Y, (2, 1, 2, 2)),
    r"grid_sample: mode='no' is none of": lambda: nn.grid_sample(Z, Z, "no"),
    r"grid_sample: padding_mode is one of .*, not 'no'":
        lambda: nn.grid_sample(Z, Z, padding_mode="no"),
    r"grid_sample: float64\[1, 2, 3, 4\] and points float64\[1, 2, 3, 4\]":
        lambda: nn.grid_sample(Z, Z),
    r"unfold: float64\[2, 3\] has 2 axes": lambda: nn.unfold(X, 1),
    r"fold: output_size is a height and a width, not \(1,\)": lambda: nn.fold(Y, (1,), 1),
    r"fold: float64\[3\] has 1 axes, of 2 or 3": lambda: nn.fold(V, 2, 1),
    r"fold: float64\[2, 3, 4\] has 4 places, \(3, 3\) has 2 x 2 windows \(2, 2\)|fold: the 3 rows":
        lambda: nn.fold(Y, (3, 3), 2),
    r"fold: float64\[2, 3, 4\] has 4 places, \(5, 3\) has 5 x 3": lambda: nn.fold(Y, (5, 3), 1),
    r"pixel_shuffle: the factor is an int from 1, not 0": lambda: nn.pixel_shuffle(Y, 0),
    r"pixel_shuffle: float64\[2, 3\] has 2 axes": lambda: nn.pixel_shuffle(X, 1),
    r"pixel_shuffle: the 2 channels of float64\[2, 3, 4\] are no multiple of 2 \* 2":
        lambda: nn.pixel_shuffle(Y, 2),
    r"pixel_unshuffle: height and width of float64\[2, 3, 4\] are no multiples of 2":
        lambda: nn.pixel_unshuffle(Y, 2),
    r"channel_shuffle: float64\[3\] has 1 axes": lambda: nn.channel_shuffle(V, 1),
    r"channel_shuffle: the 3 channels of float64\[2, 3\] are no multiple of 2 groups":
        lambda: nn.channel_shuffle(X, 2),
    r"pad: mode is one of .*, not 'no'": lambda: nn.pad(X, (1, 1), "no"),
    r"pad: \(1, 2, 3\) are no pairs of widths": lambda: nn.pad(X, (1, 2, 3)),
    r"pad: 3 pairs of widths for float64\[2, 3\]": lambda: nn.pad(X, (0,) * 6),
    r"pad: \(3, 0\) elements more of 3, mode 'reflect'": lambda: nn.pad(X, (3, 0), "reflect"),
    r"rms_norm: float64\[2, 3\] does not end in \(2,\)": lambda: nn.rms_norm(X, (2,)),
    r"group_norm: float64\[3\] has 1 axes": lambda: nn.group_norm(V, 1),
    r"group_norm: the 3 channels of float64\[2, 3\] are no multiple of 2 groups":
        lambda: nn.group_norm(X, 2),
    r"group_norm: float64\[2, 3\] has not one number for each of the 3 channels":
        lambda: nn.group_norm(X, 1, X),
    r"batch_norm: needs a running mean and a running variance with training=False":
        lambda: nn.batch_norm(X),
    r"batch_norm: float64\[1, 3\] has one value to take statistics of":
        lambda: nn.batch_norm(X[:1], training=True),
    r"instance_norm: needs a running mean and a running variance with use_input_stats=False":
        lambda: nn.instance_norm(Y, use_input_stats=False),
    r"instance_norm: float64\[2, 3\] has 2 axes, of at least 3": lambda: nn.instance_norm(X),
    r"local_response_norm: float64\[2, 3\] has 2 axes": lambda: nn.local_response_norm(X, 1),
    r"local_response_norm: size is an int from 1, not 0": lambda: nn.local_response_norm(Y, 0),
    r"normalize: int64\[3\] is not floating point": lambda: nn.normalize(N, dim=0),
    r"cosine_similarity: .*float64\[2, 3\].*float64\[2, 3, 4\]":
        lambda: nn.cosine_similarity(X, Y),
    r"pdist: float64\[3\] has 1 axes, of 2": lambda: nn.pdist(V),
    r"pdist: p is a number from 0, not -1": lambda: nn.pdist(X, -1),
    r"linear: float64\[2, 3\] \(..., k\) and weight float64\[2, 3, 4\]": lambda: nn.linear(X, Y),
    r"bilinear: weight float64\[2, 3\] has 2 axes, of 3": lambda: nn.bilinear(X, X, X),
    r"bilinear: float64\[2, 3\] has not the 4 features of float64\[2, 3, 4\]":
        lambda: nn.bilinear(X, X, Y),
    r"scaled_dot_product_attention: queries float64\[2, 3\] and float64\[2, 3\] have no heads":
        lambda: nn.scaled_dot_product_attention(X, X, X, enable_gqa=True),
    r"scaled_dot_product_attention: .*: 3 heads are no multiple of 2":
        lambda: nn.scaled_dot_product_attention(np.ones((3, 3, 4)), Y, Y, enable_gqa=True),
    r"embedding: indices float64\[3\] are no integers": lambda: nn.embedding(V, X),
    r"embedding: weight float64\[3\] has 1 axes, of 2": lambda: nn.embedding(N, V),
    r"embedding: padding_idx=2 is no row of float64\[2, 3\]": lambda: nn.embedding(N, X, 2),
    r"embedding_bag: mode is one of .*, not 'no'": lambda: nn.embedding_bag(N, X, mode="no"),
    r"embedding_bag: per_sample_weights weigh a sum, not mode='mean'":
        lambda: nn.embedding_bag(N, X, N, per_sample_weights=V),
    r"embedding_bag: indices int64\[1, 1, 3\] have 3 axes":
        lambda: nn.embedding_bag(N[None, None], X),
    r"embedding_bag: offsets say where the bags of a vector begin": lambda: nn.embedding_bag(N, X),
    r"embedding_bag: offsets float64\[3\] are no vector of integers":
        lambda: nn.embedding_bag(N, X, V),
    r"cross_entropy: reduction is one of .*, not 'no'":
        lambda: nn.cross_entropy(X, N[:2], reduction="no"),
    r"cross_entropy: label_smoothing=2 is not between 0 and 1":
        lambda: nn.cross_entropy(X, N[:2], label_smoothing=2),
    r"cross_entropy: float64\[2, 3\] and probabilities float64\[3\] differ in shape":
        lambda: nn.cross_entropy(X, V),
    r"cross_entropy: weight float64\[2, 3\] has not one number for each of the 3 classes":
        lambda: nn.cross_entropy(X, N[:2], weight=X),
    r"nll_loss: target float64\[2\] has no integers": lambda: nn.nll_loss(X, V[:2]),
    r"nll_loss: float64\[2, 3\] and target int64\[3\]: \(2,\) expected": lambda: nn.nll_loss(X, N),
    r"binary_cross_entropy: float64\[2, 3\] and target float64\[3\] differ in shape":
        lambda: nn.binary_cross_entropy(X, V),
    r"kl_div: reduction 'batchmean' of float64\[\], which has no axis 0":
        lambda: nn.kl_div(np.array(1.0), np.array(1.0), reduction="batchmean"),
    r"l1_loss: float64\[2, 3\] and weight float64\[3\] differ in shape":
        lambda: nn.l1_loss(X, X, weight=V),
    r"huber_loss: float64\[2, 3\] and weight float64\[3\] differ in shape":
        lambda: nn.huber_loss(X, X, weight=V),
    r"smooth_l1_loss: beta is a number from 0, not -1": lambda: nn.smooth_l1_loss(X, X, beta=-1),
    r"huber_loss: delta is a number above 0, not 0": lambda: nn.huber_loss(X, X, delta=0),
    r"gaussian_nll_loss: var=-1 is negative": lambda: nn.gaussian_nll_loss(X, X, -1),
    r"gaussian_nll_loss: the variance float64\[3\] does not fit float64\[2, 3\]":
        lambda: nn.gaussian_nll_loss(X, X, V),
    r"cosine_embedding_loss: float64\[2, 3\], float64\[2, 3\] and target float64\[2, 3\]":
        lambda: nn.cosine_embedding_loss(X, X, X),
    r"margin_ranking_loss: .*float64\[2, 3\].*float64\[2, 3, 4\]":
        lambda: nn.margin_ranking_loss(X, Y, X),
    r"triplet_margin_loss: margin is a number above 0, not 0":
        lambda: nn.triplet_margin_loss(X, X, X, margin=0),
    r"triplet_margin_loss: float64\[2, 3\], float64\[3\] and float64\[2, 3\] differ in axes":
        lambda: nn.triplet_margin_loss(X, V, X),
    r"multi_margin_loss: p is 1 or 2, not 3": lambda: nn.multi_margin_loss(X, N[:2], p=3),
    r"multi_margin_loss: target float64\[2\] has no integers":
        lambda: nn.multi_margin_loss(X, V[:2]),
    r"multi_margin_loss: float64\[2, 3\] and target int64\[3\]": lambda: nn.multi_margin_loss(X, N),
    r"multilabel_margin_loss: float64\[2, 3, 4\] has 3 axes":
        lambda: nn.multilabel_margin_loss(Y, np.zeros((2, 3, 4), int)),
    r"ctc_loss: targets float64\[3\] are no integers": lambda: nn.ctc_loss(Y, V, N, N),
    r"ctc_loss: float64\[3\] has 1 axes, of 2 or 3": lambda: nn.ctc_loss(V, N, N, N),
    r"ctc_loss: blank=4 is none of the 4 classes": lambda: nn.ctc_loss(Y, N, N, N, blank=4),
    r"ctc_loss: 2 lengths for the 3 samples of float64\[2, 3, 4\]":
        lambda: nn.ctc_loss(Y, N, N[:2], N),
    r"ctc_loss: targets int64\[1, 1, 3\] have 3 axes":
        lambda: nn.ctc_loss(Y, N[None, None], N, N),
    r"celu: alpha=0": lambda: nn.celu(X, 0),
    r"softplus: beta=0": lambda: nn.softplus(X, 0),
    r"prelu: weight float64\[2, 3\] has 2 axes": lambda: nn.prelu(X, X),
    r"prelu: weight float64\[3\] has not one number for each of the 2 channels":
        lambda: nn.prelu(X[:, :2], V),
    r"glu: the 3 elements of axis 1 of float64\[2, 3\] have no halves": lambda: nn.glu(X),
    r"dropout1d: the rate is a number from 0 to 1, not 2": lambda: nn.dropout1d(X, 2, key=KEY),
    r"dropout2d: float64\[2, 3\] has 2 axes, of 3 or 4": lambda: nn.dropout2d(X, 0.5, key=KEY),
    r"alpha_dropout: int64\[3\] is not floating point": lambda: nn.alpha_dropout(N, 0.5, key=KEY),
    r"feature_alpha_dropout: float64\[3\] has 1 axes":
        lambda: nn.feature_alpha_dropout(V, 0.5, key=KEY),
    r"rrelu: lower=0.5 is above upper=0.25": lambda: nn.rrelu(X, 0.5, 0.25),
    r"gumbel_softmax: tau is a number above 0, not 0":
        lambda: nn.gumbel_softmax(X, 0, key=KEY),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_is_named(text: str) -> None:
    with pytest.raises(StaticGraphError, match=text):
        REFUSED[text]()
