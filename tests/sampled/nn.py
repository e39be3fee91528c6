"""Losses, normalisation, convolution and pooling."""

from __future__ import annotations

import numpy as np

from tests.sampled.kinds import (
    along_one_axis,
    binary,
    losses,
    unary,
)
from tests.sampled.sample import Sample, call
from tests.values import (
    bools,
    fraction,
    integers,
    nonzero,
    positive,
    probability,
    seed,
    share,
    spread,
)

seed(3000)
SAMPLES: dict[str, list[Sample]] = {
    "mse_loss": losses(spread, spread),
    "binary_cross_entropy_with_logits": losses(spread, probability),
    "layer_norm": [
        call(spread(2, 3), 3),
        call(spread(2, 4), (4,), spread(4), spread(4)),
        call(spread(2, 3, 2), (3, 2), spread(3, 2), eps=1e-3),
        call(spread(5), 5, None, spread(5)),
        call(spread(2, 1, 3), [1, 3], spread(1, 3)),
    ],
    "sliding_windows": [
        call(spread(7), (3,), (1,), (1,)),
        call(spread(2, 7, 6), (3, 2), (2, 1), (1, 3)),
        call(integers(2, 8), (2,), (3,), (2,), order=0),
    ],
    "overlap_add": [
        call(spread(5, 3), (7,), (1,), (1,), sizes=False),
        call(spread(2, 3, 2, 2, 3), (8, 9), (2, 3), (3, 1), sizes=False),
        call(integers(2, 3, 2), (6,), (2,), (1,), order=0, sizes=False),
    ],
    "conv2d": [
        call(spread(2, 1, 5, 4), spread(3, 1, 2, 3), sizes=False),
        call(
            spread(2, 2, 5, 6), spread(4, 2, 3, 2), spread(4), stride=(2, 1), padding=(1, 2),
            sizes=False,
        ),
        call(spread(1, 4, 6, 5), spread(6, 2, 2, 2), None, 1, 0, (2, 3), 2, sizes=False),
        call(spread(2, 3, 4, 4), spread(3, 1, 3, 3), spread(3), padding=1, groups=3, sizes=False),
        call(spread(1, 2, 5, 4), spread(4, 1, 2, 2), None, 2, 0, 1, 2, sizes=False),
        call(spread(1, 6, 4, 4), spread(2, 3, 5, 5), None, 1, 2, 1, 2, sizes=False),
    ],
    "conv_transpose2d": [
        call(spread(2, 2, 3, 2), spread(2, 1, 2, 3), sizes=False),
        call(
            spread(2, 4, 3, 2), spread(4, 3, 3, 2), spread(6), (3, 2), (2, 1), (2, 1), 2, (1, 3),
            sizes=False,
        ),
    ],
    "max_pool2d": [
        call(spread(2, 2, 4, 6), 2),
        call(spread(1, 2, 5, 7), (3, 2), stride=(2, 1), padding=(1, 0)),
        call(spread(1, 1, 5, 5), 3, 1),
    ],
    "avg_pool2d": [
        call(spread(2, 2, 4, 6), 2),
        call(spread(1, 2, 5, 7), (3, 2), stride=(2, 1), padding=(1, 0)),
    ],
    "cross_entropy": [
        call(spread(4, 3), integers(4, low=0, high=3)),
        call(spread(4, 3), integers(4, low=0, high=3, dtype="int32"), reduction="sum"),
        call(spread(2, 3), integers(2, low=0, high=3), reduction="none"),
        call(spread(2, 3, 4), integers(2, 4, low=0, high=3)),
        call(spread(2, 3, 2), integers(2, 2, low=0, high=3, dtype="uint8"), reduction="none"),
        call(spread(5), integers(low=0, high=5)),
        call(spread(5), integers(low=0, high=5), reduction="none"),
    ],
    "binary_cross_entropy": [
        call(share(3, 2), probability(3, 2)),
        call(share(2, 3), probability(3)),
        call(share(), probability()),
    ],
    "sparsemax": [
        *along_one_axis(),
        call(np.array([[1.0, 1.0, 0.25], [2.0, 2.0, 2.0], [-5.0, 9.0, 8.5]]), 1),
        call(np.array([[1.0, 0.0], [np.nan, 1.0], [-np.inf, 3.0]]), order=0),
        call(spread(2, 0)),
        call(spread(0, 2)),
    ],
    "lp_pool2d": [
        call(positive(2, 3, 4, 5), 2, 2),
        call(positive(1, 2, 5, 4), 3.0, (2, 3), 1),
        call(positive(2, 1, 3, 3), 1.5, 2, stride=(1, 2)),
        call(nonzero(1, 1, 4, 4), 2, 3, 1),
        call(np.array([[[[0.0, 0.0, 3.0], [0.0, 0.0, 4.0]]]]), 2, 2, 1, order=1),
        call(integers(1, 2, 4, 4, low=1), 2.0, 2, order=0),
    ],
    "attention": [
        call(spread(3, 2), spread(4, 2), spread(4, 3), scale=0.7, causal=False),
        call(spread(2, 3, 2), spread(2, 4, 2), spread(2, 4, 1), scale=0.7, causal=True),
        call(spread(70, 1), spread(68, 1), spread(68, 2), scale=0.5, causal=True, order=1),
        call(spread(3, 0), spread(2, 0), spread(2, 1), scale=1.0, causal=True, sizes=False),
    ],
    "attention_gradients": [
        call(
            spread(3, 2), spread(4, 2), spread(4, 3), spread(3, 3), scale=0.7, causal=False, order=1
        ),
        call(
            spread(2, 3, 2), spread(2, 2, 2), spread(2, 2, 1), spread(2, 3, 1), scale=0.7,
            causal=True,
        ),
    ],
    "scaled_dot_product_attention": [
        call(spread(3, 2), spread(4, 2), spread(4, 3), sizes=False),
        call(spread(5, 2), spread(5, 2), spread(5, 1), is_causal=True, scale=0.5),
        call(spread(2, 3, 2), spread(4, 2), spread(4, 2), is_causal=True, scale=0.6),
        call(spread(3, 2), spread(4, 2), spread(4, 3), bools(1, 4) | True, scale=0.6),
        call(spread(3, 2), spread(0, 2), spread(0, 3), sizes=False),
        call(spread(0, 2), spread(4, 2), spread(4, 3), sizes=False),
    ],
    "hardtanh": [*unary(fraction), call(fraction(3), -0.5, 1.5), call(fraction(2, 2), max_val=0.0)],
    "threshold": [
        call(fraction(5), 0.5, 2.0), call(fraction(2, 1, 3), threshold=-1.0, value=0.0),
        call(fraction(), 0.0, -1.5), call(fraction(2, 0), 0.0, 0.0),
        call(integers(2, 3, dtype="int32"), 0.5, 2, order=0),
    ],
    **{
        name: [*unary(fraction), call(fraction(3), 0.0), call(fraction(2, 2), lambd=1.5)]
        for name in ("softshrink", "hardshrink")
    },
    "hardsigmoid": [  # whose second derivative the eager engine refuses, as PyTorch does
        *(call(spread(*shape), order=1) for shape in ((), (5,), (2, 1, 3), (2, 0))),
        call(np.array([-7.5, -3.25, -2.75, 2.75, 3.25, 7.5]), order=1),
        call(integers(2, 3, low=1, dtype="int32"), order=0),
    ],
    "prelu": binary(nonzero),
}  # fmt: skip
