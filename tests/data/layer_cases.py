"""Sample calls of the functions of layers and losses: what the tests and PyTorch both run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.values import integers, nonzero, positive, probability, seed, spread

seed(70_000)


@dataclass(frozen=True)
class Case:
    """`function(*args, **options)`, which PyTorch's of the same name takes too.

    Attributes:
        args, options: what is given; arrays become expressions and tensors.
        unknown: the places of the arguments whose axes longer than 1 may have any size.
        order: how often the result can be differentiated by the float64 arrays.
        wrt: the places of the arguments by which it is; of all float64 arrays if None.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    unknown: tuple[int, ...] = (0,)
    order: int = 2
    wrt: tuple[int, ...] | None = None


def case(*args: Any, unknown: tuple[int, ...] = (0,), order: int = 2,
         wrt: tuple[int, ...] | None = None, **options: Any) -> Case:  # fmt: skip
    return Case(args, options, unknown, order, wrt)


def _signs(*shape: int) -> np.ndarray:
    return np.where(integers(*shape) > 0, 1.0, -1.0)


def _log_softmax(*shape: int) -> np.ndarray:
    x = spread(*shape)
    return np.asarray(x - np.log(np.exp(x).sum(-1, keepdims=True)))


def _rows(*shape: int) -> np.ndarray:
    x = positive(*shape)
    return np.asarray(x / x.sum(1, keepdims=True))


BOTH, ALL = (0, 1), (0, 1, 2)
_classes = [
    case(spread(3, 4), np.array([0, 3, 1]), unknown=BOTH),
    case(spread(3, 4), np.array([0, 3, 1]), unknown=BOTH, reduction="sum"),
    case(spread(2, 4, 3), integers(2, 3, low=0, high=4), unknown=BOTH, weight=positive(4)),
    case(spread(3, 4), np.array([-100, 3, 1]), unknown=BOTH, ignore_index=-100),
    case(spread(3, 4), np.array([2, 3, 1]), unknown=BOTH, ignore_index=2, weight=positive(4)),
    case(spread(4), np.array(2), reduction="none"),
]
_along = [case(spread(2, 4), -1), case(spread(4, 3), 0)]
_elements = [case(nonzero(2, 3)), case(np.array([-25.0, -3.5, -0.4, 0.7, 2.2, 25.0]), order=0)]
_targets = [
    case(spread(2, 3), spread(2, 3), unknown=BOTH),
    case(spread(2, 3), spread(2, 3), unknown=BOTH, reduction="none"),
]
_triplets = [
    case(spread(3, 4), spread(3, 4), spread(3, 4), unknown=ALL, margin=2.5),
    case(spread(3, 4), spread(3, 4), spread(3, 4), unknown=ALL, swap=True, reduction="sum"),
]
_BAGS = np.array([0, 2, 1, 1, 4, 3, 0])

ACTIVATIONS: dict[str, list[Case]] = {
    **dict.fromkeys(
        ("elu", "gelu", "hardshrink", "hardswish", "hardtanh", "logsigmoid", "mish",
         "relu", "relu6", "selu", "sigmoid", "silu", "softshrink", "softsign", "tanh",
         "tanhshrink"),
        _elements,
    ),
    # PyTorch's slope is 1/6 in float32
    "hardsigmoid": [case(one.args[0], order=0) for one in _elements],
    "celu": [*_elements, case(nonzero(4), 2.0)],
    "softplus": [*_elements, case(nonzero(4), 2.0, 3.0)],
    "leaky_relu": [*_elements, case(nonzero(4), 0.3)],
    "threshold": [case(nonzero(4), 0.1, -3.0), case(nonzero(2, 2), -0.2, 1.0)],
    "rrelu": [case(nonzero(2, 3)), case(nonzero(4), 0.2, 0.6)],
    "prelu": [case(nonzero(2, 3, 2), positive(3)), case(nonzero(4), positive(1))],
    "glu": [case(spread(2, 4)), case(spread(4, 3), 0)],
    **dict.fromkeys(("softmax", "log_softmax", "softmin"), _along),
}  # fmt: skip

_x1, _x2, _x3 = spread(2, 4, 6), spread(1, 2, 4, 5), spread(1, 2, 3, 4, 3)
CONVOLUTIONS: dict[str, list[Case]] = {
    "conv1d": [
        case(_x1, spread(6, 4, 3), spread(6)),
        case(_x1, spread(2, 2, 2), None, 2, 1, 2, 2),
        case(spread(2, 5), spread(3, 2, 4), padding="same"),
    ],
    "conv2d": [
        case(_x2, spread(3, 2, 2, 3), spread(3), (2, 1), (1, 0)),
        case(spread(2, 3, 3), spread(2, 2, 2, 2), padding="same"),
    ],
    "conv3d": [
        case(_x3, spread(3, 2, 2, 2, 2), spread(3), (1, 2, 1), (0, 1, 1)),
        case(spread(2, 2, 3, 2), spread(2, 1, 2, 1, 2), groups=2, padding="same"),
    ],
    "conv_transpose1d": [
        case(_x1, spread(4, 3, 3), spread(3), 2, 1, 1),
        case(spread(2, 4), spread(2, 2, 2), None, 2, 0, 0, 2, 2),
    ],
    "conv_transpose2d": [
        case(_x2, spread(2, 3, 2, 3), spread(3), (2, 1), (1, 0), (1, 0)),
        case(spread(2, 3, 3), spread(2, 2, 2, 2)),
    ],
    "conv_transpose3d": [
        case(_x3, spread(2, 3, 2, 2, 2), spread(3), (1, 2, 1), (0, 1, 1), (0, 1, 0)),
        case(spread(2, 1, 2, 3), spread(2, 1, 1, 2, 2), None, 2, 0, 0, 2),
    ],
}
_i1, _i2, _i3 = spread(2, 2, 7), spread(1, 2, 5, 6), spread(1, 2, 4, 5, 3)
POOLS: dict[str, list[Case]] = {
    "max_pool1d": [
        case(_i1, 3, 2, 1),
        case(_i1, 2, 2, ceil_mode=True, return_indices=True),
        case(spread(2, 7), 2, 1, 0, 2),
    ],
    "max_pool2d": [
        case(_i2, (2, 3), 2, (1, 1), return_indices=True),
        case(_i2, 2, 3, ceil_mode=True),
        case(spread(2, 5, 5), 2, 1, 1, 2),
    ],
    "max_pool3d": [
        case(_i3, 2, (1, 2, 1), (1, 1, 0)),
        case(_i3, (2, 2, 1), return_indices=True, ceil_mode=True),
    ],
    "avg_pool1d": [case(_i1, 3, 2, 1), case(_i1, 2, ceil_mode=True, count_include_pad=False)],
    "avg_pool2d": [
        case(_i2, (2, 3), 2, (1, 1)),
        case(_i2, 3, 2, 1, ceil_mode=True),
        case(_i2, 3, 2, 1, True, False),
        case(spread(2, 4, 4), 2, divisor_override=3),
    ],
    "avg_pool3d": [
        case(_i3, 2, (1, 2, 1), (1, 1, 0), count_include_pad=False),
        case(_i3, (2, 2, 1)),
    ],
    "lp_pool1d": [case(positive(2, 2, 7), 3, 2), case(positive(2, 7), 1.5, 3, 2, True)],
    "lp_pool2d": [case(positive(1, 2, 5, 4), 3.0, 2), case(positive(2, 4, 4), 2, (2, 1), 1, True)],
    "lp_pool3d": [case(positive(1, 2, 3, 4, 2), 3.0, 2), case(positive(2, 2, 3, 2), 2, (1, 2, 1))],
    "adaptive_avg_pool1d": [case(_i1, 3), case(spread(2, 5), 7)],
    "adaptive_avg_pool2d": [case(_i2, (3, 4)), case(_i2, (None, 1)), case(spread(2, 4, 4), 2)],
    "adaptive_avg_pool3d": [case(_i3, (2, 3, 2)), case(spread(2, 2, 2, 2), 1)],
    "adaptive_max_pool1d": [case(_i1, 3, return_indices=True), case(spread(2, 5), 7)],
    "adaptive_max_pool2d": [
        case(_i2, (3, 4), return_indices=True),
        case(_i2, (None, 2), return_indices=True),
        case(spread(2, 4, 4), 3),
    ],
    "adaptive_max_pool3d": [
        case(_i3, (3, 2, 2), return_indices=True),
        case(spread(2, 2, 2, 2), 1),
    ],
    "max_unpool1d": [
        case(spread(1, 2, 3), np.array([[[1, 2, 5], [0, 3, 4]]]), 2, unknown=BOTH),
        case(spread(2, 3), np.array([[1, 2, 6], [0, 3, 4]]), 2, output_size=(7,)),
    ],
    "max_unpool2d": [
        case(spread(1, 1, 2, 2), np.array([[[[1, 6], [9, 15]]]]), 2, unknown=BOTH),
        case(spread(1, 1, 2), np.array([[[0, 4]]]), (1, 2), (1, 3), output_size=(1, 6)),
    ],
    "max_unpool3d": [
        case(spread(1, 1, 2, 1, 2), np.array([[[[[1, 2]], [[9, 12]]]]]), 2, unknown=BOTH),
        case(spread(1, 1, 1, 2), np.array([[[[0, 3]]]]), (1, 1, 2)),
    ],
}
_RESIZED = (
    ("nearest", spread(1, 2, 5), 7), ("nearest-exact", spread(1, 2, 5), 3),
    ("linear", spread(1, 2, 5), 7), ("bilinear", spread(1, 2, 4, 5), (5, 3)),
    ("bicubic", spread(1, 1, 4, 5), (5, 3)), ("trilinear", spread(1, 1, 3, 2, 3), (2, 3, 5)),
    ("area", spread(1, 2, 4, 5), (3, 2)),
)  # fmt: skip
_image, _points = spread(2, 2, 3, 4), spread(2, 2, 3, 2, low=-1.3, high=1.3)
_volume, _places = spread(1, 2, 3, 2, 3), spread(1, 2, 1, 2, 3, low=-1.3, high=1.3)
IMAGES: dict[str, list[Case]] = {
    "interpolate": [
        *(case(x, size, mode=mode) for mode, x, size in _RESIZED),
        *(
            case(x, size, mode=mode, align_corners=True)
            for mode, x, size in _RESIZED
            if mode.endswith(("linear", "cubic"))
        ),
        case(spread(1, 2, 3, 4), scale_factor=2),
        case(spread(1, 2, 3, 4), scale_factor=1.7, mode="bilinear"),
        case(spread(1, 2, 3, 4), scale_factor=(0.7, 1.5), mode="bicubic"),
        case(spread(1, 2, 5), scale_factor=1.7, mode="linear", recompute_scale_factor=True),
    ],
    "grid_sample": [
        *(
            case(_image, _points, mode=mode, padding_mode=edge, align_corners=align, unknown=BOTH)
            for mode, edge, align in (
                ("bilinear", "zeros", False),
                ("bilinear", "border", True),
                ("bilinear", "reflection", False),
                ("bilinear", "reflection", True),
                ("bicubic", "zeros", False),
                ("bicubic", "reflection", True),
            )
        ),
        case(_image, _points, mode="nearest", align_corners=False, unknown=BOTH, wrt=(0,)),
        case(_volume, _places, align_corners=False, unknown=BOTH),
        case(_volume, _places, mode="nearest", padding_mode="border", align_corners=True, wrt=(0,)),
    ],
    "affine_grid": [
        case(spread(2, 2, 3), (2, 1, 3, 4), align_corners=False),
        case(spread(2, 2, 3), (2, 1, 1, 3), align_corners=True),
        case(spread(1, 3, 4), (1, 1, 2, 3, 2), align_corners=False),
    ],
    "unfold": [
        case(spread(1, 2, 4, 5), (2, 3)),
        case(spread(2, 4, 5), 2, 2, 1, (1, 2)),
    ],
    "fold": [case(spread(2, 8, 6), (3, 4), 2), case(spread(4, 9), (4, 4), 2, 1, 1, 2)],
    "pixel_shuffle": [case(spread(2, 8, 2, 3), 2, unknown=()), case(spread(4, 2, 3), 2)],
    "pixel_unshuffle": [case(spread(2, 1, 4, 6), 2), case(spread(2, 2, 4), 2)],
    "channel_shuffle": [case(spread(1, 6, 2, 3), 3), case(spread(2, 4, 2), 2)],
    "pad": [
        case(spread(2, 5), (1, 2)),
        case(spread(2, 3, 5), (-1, 2, 1, 0), value=1.5),
        *(
            case(spread(1, 2, 4, 5), (2, 1, 1, 3), mode=mode)
            for mode in ("reflect", "replicate", "circular")
        ),
    ],
}
NORMS: dict[str, list[Case]] = {
    "layer_norm": [case(spread(3, 4), (4,), unknown=()), case(spread(2, 3, 2), (3, 2), unknown=())],
    "rms_norm": [
        case(spread(3, 4), (4,), positive(4), unknown=()),
        case(spread(2, 3, 2), (3, 2), eps=0.1, unknown=()),
    ],
    "group_norm": [
        case(spread(2, 4, 3), 2, positive(4), spread(4)),
        case(spread(2, 4), 2, eps=0.1),
    ],
    "batch_norm": [
        case(spread(4, 3), None, None, positive(3), spread(3), True),
        case(spread(2, 3, 2), spread(3), positive(3), training=True, momentum=0.3, wrt=(0,)),
        case(spread(2, 3, 2), spread(3), positive(3), positive(3), spread(3), eps=0.1, wrt=(0, 3)),
    ],
    "instance_norm": [
        case(spread(2, 3, 4), None, None, positive(3), spread(3)),
        case(spread(2, 2, 2, 3), spread(2), positive(2), momentum=0.3, wrt=(0,)),
        case(spread(2, 3, 2), spread(3), positive(3), use_input_stats=False, wrt=(0,)),
    ],
    "local_response_norm": [
        case(spread(2, 5, 3), 3, 0.5),
        case(spread(2, 4, 2, 2), 2, 1.0, 0.5, 2),
    ],
    "normalize": [
        case(spread(3, 4)),
        case(nonzero(3, 4), 1.0, 0),
        case(nonzero(3, 4), 3.0, dim=-1),
    ],
}
LINEAR: dict[str, list[Case]] = {
    "linear": [case(spread(2, 3), spread(4, 3), spread(4)), case(spread(2, 2, 3), spread(3))],
    "bilinear": [
        case(spread(2, 3), spread(2, 2), spread(4, 3, 2), spread(4), unknown=BOTH),
        case(spread(3), spread(2), spread(2, 3, 2)),
    ],
    "cosine_similarity": [
        case(spread(3, 4), spread(3, 4), unknown=BOTH),
        case(spread(3, 4), spread(3, 4), dim=0, unknown=BOTH),
    ],
    "pairwise_distance": [
        case(spread(3, 4), spread(3, 4), unknown=BOTH),
        case(spread(3, 4), spread(3, 4), 1.0, keepdim=True),
        case(spread(4), spread(4), float("inf")),
    ],
    "pdist": [case(spread(4, 3)), case(spread(5, 2), 3.0), case(spread(3, 2), 1.0)],
    "scaled_dot_product_attention": [
        case(spread(2, 3, 4), spread(2, 5, 4), spread(2, 5, 2), unknown=ALL),
        case(
            spread(1, 4, 3, 2), spread(1, 2, 3, 2), spread(1, 2, 3, 2), enable_gqa=True, unknown=()
        ),
        case(spread(3, 4), spread(3, 4), spread(3, 2), is_causal=True, scale=0.3),
    ],
    "embedding": [
        case(integers(2, 3, low=0, high=4), spread(4, 2), unknown=BOTH),
        case(integers(5, low=0, high=4), spread(4, 2), padding_idx=-3),
    ],
    "embedding_bag": [
        *(
            case(_BAGS, spread(5, 3), np.array([0, 3, 3, 5]), mode=mode, unknown=(0, 2))
            for mode in ("sum", "mean", "max")
        ),
        case(_BAGS, spread(5, 2), np.array([0, 3, 7]), include_last_offset=True, unknown=(0, 2)),
        case(_BAGS, spread(5, 2), np.array([0, 4]), mode="sum", per_sample_weights=spread(7)),
        case(_BAGS, spread(5, 2), np.array([0, 4]), padding_idx=1, unknown=(0, 2)),
        case(_BAGS, spread(5, 2), np.array([0, 4]), mode="max", padding_idx=0, unknown=(0, 2)),
        case(integers(3, 4, low=0, high=5), spread(5, 2)),
        case(integers(3, 4, low=0, high=5), spread(5, 2), mode="max", padding_idx=2),
    ],
    "one_hot": [case(integers(2, 3, low=0, high=4), 5), case(np.array(2), 3)],
}
LOSSES: dict[str, list[Case]] = {
    "cross_entropy": [
        *_classes,
        case(spread(2, 4, 3), integers(2, 3, low=0, high=4), unknown=BOTH, label_smoothing=0.3),
        case(spread(3, 4), np.array([1, 3, 1]), unknown=BOTH, label_smoothing=0.2, ignore_index=1,
             weight=positive(4)),
        case(spread(3, 4), _rows(3, 4), unknown=BOTH, label_smoothing=0.2, weight=positive(4)),
    ],
    "nll_loss": _classes,
    "binary_cross_entropy": [
        case(probability(2, 3), probability(2, 3), unknown=BOTH),
        case(probability(2, 3), probability(2, 3), weight=positive(3), reduction="sum", unknown=()),
    ],
    "binary_cross_entropy_with_logits": [
        case(spread(2, 3), probability(2, 3), unknown=BOTH),
        case(spread(2, 3), probability(2, 3), pos_weight=positive(3), weight=positive(2, 3)),
    ],
    "kl_div": [
        case(spread(2, 3), _rows(2, 3), unknown=BOTH, reduction="batchmean"),
        case(spread(2, 3), spread(2, 3), unknown=BOTH, log_target=True, reduction="sum"),
    ],
    "mse_loss": [*_targets, case(spread(2, 3), spread(2, 3), weight=positive(2, 3))],
    "l1_loss": [*_targets, case(spread(2, 3), spread(2, 3), weight=positive(2, 3))],
    "smooth_l1_loss": [*_targets, case(spread(2, 3), spread(2, 3), beta=0.7)],
    "huber_loss": [*_targets, case(spread(2, 3), spread(2, 3), delta=0.7, weight=positive(2, 3))],
    "poisson_nll_loss": [
        case(spread(2, 3), positive(2, 3), unknown=BOTH),
        case(positive(2, 3), positive(2, 3), log_input=False, full=True, wrt=(0,)),
    ],
    "gaussian_nll_loss": [
        case(spread(2, 3), spread(2, 3), positive(2, 3), unknown=ALL),
        case(spread(2, 3), spread(2, 3), positive(2), full=True, reduction="none"),
    ],
    "cosine_embedding_loss": [
        case(spread(3, 4), spread(3, 4), _signs(3), unknown=ALL, wrt=BOTH),
        case(spread(3, 4), spread(3, 4), _signs(3), margin=-0.5, reduction="sum", wrt=BOTH),
    ],
    "margin_ranking_loss": [
        case(spread(5), spread(5), _signs(5), unknown=ALL, wrt=BOTH),
        case(spread(2, 3), spread(2, 3), _signs(2, 3), margin=1.1, reduction="none", wrt=BOTH),
    ],
    "hinge_embedding_loss": [
        case(spread(5), _signs(5), unknown=BOTH, wrt=(0,)),
        case(spread(2, 3), _signs(2, 3), margin=0.3, reduction="sum", wrt=(0,)),
    ],
    "soft_margin_loss": [
        case(spread(5), _signs(5), unknown=BOTH, wrt=(0,)),
        case(spread(2, 3), _signs(2, 3), reduction="none", wrt=(0,)),
    ],
    "triplet_margin_loss": _triplets,
    "triplet_margin_with_distance_loss": _triplets,
    "multi_margin_loss": [
        case(spread(3, 4), np.array([0, 3, 1]), unknown=BOTH),
        case(spread(3, 4), np.array([0, 3, 1]), p=2, margin=0.6, weight=positive(4)),
        case(spread(4), np.array(2), reduction="none"),
    ],
    "multilabel_margin_loss": [
        case(spread(2, 4), np.array([[3, 0, -1, 1], [1, 2, 3, 0]]), unknown=BOTH),
        case(spread(4), np.array([2, -1, 0, 0]), reduction="none"),
    ],
    "multilabel_soft_margin_loss": [
        case(spread(2, 4), probability(2, 4), unknown=BOTH),
        case(spread(2, 4), probability(2, 4), weight=positive(4), reduction="none"),
    ],
    "ctc_loss": [
        case(_log_softmax(6, 2, 4), np.array([[1, 2, 2], [3, 1, 0]]), np.array([6, 5]),
             np.array([3, 2]), unknown=(0, 1, 2, 3)),
        case(_log_softmax(5, 2, 3), np.array([1, 1, 2]), np.array([5, 3]), np.array([2, 1]),
             reduction="none", unknown=(0, 1, 2, 3)),
        case(_log_softmax(2, 1, 3), np.array([[1, 1]]), np.array([2]), np.array([2]),
             zero_infinity=True, reduction="sum", unknown=(0, 1)),
        case(_log_softmax(4, 3), np.array([0, 2]), np.array([4]), np.array([2]), blank=1,
             reduction="none"),
    ],
}  # fmt: skip

FAMILIES = {
    "activations": ACTIVATIONS, "convolutions": CONVOLUTIONS, "pools": POOLS, "images": IMAGES,
    "norms": NORMS, "linear": LINEAR, "losses": LOSSES,
}  # fmt: skip
CASES: dict[str, list[Case]] = {
    name: cases for family in FAMILIES.values() for name, cases in family.items()
}
