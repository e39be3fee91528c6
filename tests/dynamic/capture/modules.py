"""Every module of `dynamic.nn`: how it is made, and the shapes of what it is called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dynamic
from staticgraph.dynamic import nn


@dataclass(frozen=True)
class Case:
    """A module in a training step.

    Attributes:
        make: the module, once more at each call.
        shape: of its first operand, which is what a layer before it gives.
        others: what else it is called with, given a generator of numbers.
        output: what of its result the loss is made of.
    """

    make: Callable[[], Any]
    shape: tuple[int, ...]
    others: Callable[[np.random.Generator], tuple[Any, ...]] = lambda rng: ()
    output: Callable[[Any], Any] = lambda result: result


IMAGE1, IMAGE2, IMAGE3 = (2, 4, 6), (2, 4, 6, 6), (2, 4, 4, 4, 4)
ROWS = (3, 5)
"""Of a batch: signals, images and volumes of 4 channels, and rows."""


def numbers(*shape: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.normal(size=shape),)


def classes(count: int, *shape: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.integers(0, count, shape),)


def signs(*shape: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: ((rng.integers(0, 2, shape) * 2 - 1),)


def bits(*shape: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.integers(0, 2, shape),)


def several(*makers: Callable[[np.random.Generator], tuple[Any, ...]]) -> Any:
    return lambda rng: tuple(one for make in makers for one in make(rng))


def first(result: Any) -> Any:
    return result[0]


class Unpooled(nn.Module):
    """A pooling that says where its maxima were, and what puts them back."""

    def __init__(self, pool: Any, unpool: Any) -> None:
        super().__init__()
        self.pool, self.unpool = pool, unpool

    def forward(self, x: Any) -> Any:
        return self.unpool(*self.pool(x))


class Listed(nn.Module):
    """Modules and parameters in containers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 5), nn.Tanh()])
        self.named = nn.ModuleDict({"last": nn.Linear(5, 2)})
        self.scales = nn.ParameterList([nn.Parameter(dynamic.ones(5))])
        self.shifts = nn.ParameterDict({"first": nn.Parameter(dynamic.zeros(5))})

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x) * self.scales[0] + self.shifts["first"]
        return self.named["last"](x)


class Likely(nn.Module):
    """The loss of probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.BCELoss()

    def forward(self, x: Any, y: Any) -> Any:
        return self.loss(dynamic.sigmoid(x), y.to(x.dtype))


class Packed(nn.Module):
    """Sequences of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 4)

    def forward(self, x: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, [3, 2])
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])[0]


def embedded(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.integers(0, 7, (3, 4)),)


class Looked(nn.Module):
    """A table that is looked up in by other operands than the first, which scales the result."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table = table

    def forward(self, x: Any, places: Any) -> Any:
        found = self.table(places)
        return found * x.mean()


_ACTIVATIONS = (
    "CELU", "ELU", "GELU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Identity", "Dropout",
    "AlphaDropout", "FeatureAlphaDropout", "Flatten",
)  # fmt: skip
_PAIRS = ["HuberLoss", "L1Loss", "MSELoss", "SmoothL1Loss", "CosineSimilarity", "PairwiseDistance"]

CASES: dict[str, Case] = {
    **{name: Case(getattr(nn, name), ROWS) for name in _ACTIVATIONS},
    **{
        name: Case(lambda name=name: getattr(nn, name)(1), ROWS)
        for name in ("LogSoftmax", "Softmax", "Softmin")
    },
    "GLU": Case(nn.GLU, (3, 4)),
    "Softmax2d": Case(nn.Softmax2d, IMAGE2),
    "Threshold": Case(lambda: nn.Threshold(0.1, 2.0), ROWS),
    **{name: Case(getattr(nn, name), ROWS, numbers(*ROWS)) for name in _PAIRS},
    **{f"Dropout{n}d": Case(getattr(nn, f"Dropout{n}d"), shape)
       for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))},
    **{
        f"{kind}{n}d": Case(lambda kind=kind, n=n: getattr(nn, f"{kind}{n}d")(2), shape)
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
        for kind in (
            "AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool", "CircularPad", "ZeroPad",
            "ReplicationPad",
        )
    },
    **{
        f"{kind}{n}d": Case(lambda kind=kind, n=n: getattr(nn, f"{kind}{n}d")(4), shape)
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
        for kind in ("BatchNorm",)
    },
    **{
        f"InstanceNorm{n}d": Case(
            lambda n=n: getattr(nn, f"InstanceNorm{n}d")(4, affine=True, track_running_stats=True),
            shape,
        )
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
    },
    **{
        f"{kind}{n}d": Case(lambda kind=kind, n=n: getattr(nn, f"{kind}{n}d")(4, 3, 2), shape)
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
        for kind in ("Conv", "ConvTranspose")
    },
    **{
        f"ConstantPad{n}d": Case(lambda n=n: getattr(nn, f"ConstantPad{n}d")(1, 0.5), shape)
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
    },
    **{
        f"ReflectionPad{n}d": Case(lambda n=n: getattr(nn, f"ReflectionPad{n}d")(1), shape)
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
    },
    **{
        f"MaxUnpool{n}d": Case(
            lambda n=n: Unpooled(
                getattr(nn, f"MaxPool{n}d")(2, return_indices=True),
                getattr(nn, f"MaxUnpool{n}d")(2),
            ),
            shape,
        )
        for n, shape in ((1, IMAGE1), (2, IMAGE2), (3, IMAGE3))
    },
    "LPPool1d": Case(lambda: nn.LPPool1d(2, 2), IMAGE1),
    "LPPool2d": Case(lambda: nn.LPPool2d(2, 2), IMAGE2),
    "LPPool3d": Case(lambda: nn.LPPool3d(2, 2), IMAGE3),
    "LocalResponseNorm": Case(lambda: nn.LocalResponseNorm(2), IMAGE2),
    "GroupNorm": Case(lambda: nn.GroupNorm(2, 4), IMAGE2),
    "LayerNorm": Case(lambda: nn.LayerNorm(5), ROWS),
    "RMSNorm": Case(lambda: nn.RMSNorm(5), ROWS),
    "Linear": Case(lambda: nn.Linear(5, 2), ROWS),
    "Bilinear": Case(lambda: nn.Bilinear(5, 4, 2), ROWS, numbers(3, 4)),
    "ChannelShuffle": Case(lambda: nn.ChannelShuffle(2), IMAGE2),
    "PixelShuffle": Case(lambda: nn.PixelShuffle(2), IMAGE2),
    "PixelUnshuffle": Case(lambda: nn.PixelUnshuffle(2), IMAGE2),
    "Fold": Case(lambda: nn.Fold((4, 4), 2), (2, 8, 9)),
    "Unfold": Case(lambda: nn.Unfold(2), IMAGE2),
    "Unflatten": Case(lambda: nn.Unflatten(1, (1, 5)), ROWS),
    "Upsample": Case(lambda: nn.Upsample(scale_factor=2), IMAGE2),
    "UpsamplingBilinear2d": Case(lambda: nn.UpsamplingBilinear2d(scale_factor=2), IMAGE2),
    "UpsamplingNearest2d": Case(lambda: nn.UpsamplingNearest2d(scale_factor=2), IMAGE2),
    "Embedding": Case(lambda: Looked(nn.Embedding(7, 3)), ROWS, embedded),
    "EmbeddingBag": Case(lambda: Looked(nn.EmbeddingBag(7, 3)), ROWS, embedded),
    "RNN": Case(lambda: nn.RNN(5, 4, 2, dropout=0.3), (3, 2, 5), output=first),
    "LSTM": Case(lambda: nn.LSTM(5, 4, bidirectional=True), (3, 2, 5), output=first),
    "GRU": Case(lambda: nn.GRU(5, 4, batch_first=True), (3, 2, 5), output=first),
    "RNNCell": Case(lambda: nn.RNNCell(5, 4), ROWS),
    "LSTMCell": Case(lambda: nn.LSTMCell(5, 4), ROWS, output=first),
    "GRUCell": Case(lambda: nn.GRUCell(5, 4), ROWS),
    "MultiheadAttention": Case(
        lambda: nn.MultiheadAttention(4, 2, dropout=0.2), (3, 2, 4),
        lambda rng: tuple(rng.normal(size=(2, 3, 2, 4))), output=first,
    ),
    "TransformerEncoderLayer": Case(lambda: nn.TransformerEncoderLayer(4, 2, 6), (3, 2, 4)),
    "TransformerEncoder": Case(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), 2), (3, 2, 4)
    ),
    "TransformerDecoderLayer": Case(
        lambda: nn.TransformerDecoderLayer(4, 2, 6), (3, 2, 4), numbers(5, 2, 4)
    ),
    "TransformerDecoder": Case(
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6), 2), (3, 2, 4),
        numbers(5, 2, 4),
    ),
    "Transformer": Case(lambda: nn.Transformer(4, 2, 1, 1, 6), (3, 2, 4), numbers(5, 2, 4)),
    "DataParallel": Case(lambda: nn.DataParallel(nn.Linear(5, 4)), ROWS),
    "Sequential": Case(lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)), ROWS),
    "ModuleList": Case(Listed, ROWS),
    "BCELoss": Case(Likely, ROWS, bits(*ROWS)),
    "BCEWithLogitsLoss": Case(nn.BCEWithLogitsLoss, ROWS, bits(*ROWS)),
    "CrossEntropyLoss": Case(
        lambda: nn.CrossEntropyLoss(label_smoothing=0.1), ROWS, classes(5, 3)
    ),
    "NLLLoss": Case(nn.NLLLoss, ROWS, classes(5, 3)),
    "CosineEmbeddingLoss": Case(
        nn.CosineEmbeddingLoss, ROWS, several(numbers(*ROWS), signs(3))
    ),
    "HingeEmbeddingLoss": Case(nn.HingeEmbeddingLoss, ROWS, signs(*ROWS)),
    "SoftMarginLoss": Case(nn.SoftMarginLoss, ROWS, signs(*ROWS)),
    "MarginRankingLoss": Case(nn.MarginRankingLoss, ROWS, several(numbers(*ROWS), signs(*ROWS))),
    "MultiMarginLoss": Case(nn.MultiMarginLoss, ROWS, classes(5, 3)),
    "MultiLabelMarginLoss": Case(nn.MultiLabelMarginLoss, ROWS, classes(5, *ROWS)),
    "MultiLabelSoftMarginLoss": Case(nn.MultiLabelSoftMarginLoss, ROWS, bits(*ROWS)),
    "KLDivLoss": Case(
        lambda: nn.KLDivLoss(reduction="batchmean"), ROWS,
        lambda rng: (rng.dirichlet(np.ones(5), 3),),
    ),
    "GaussianNLLLoss": Case(
        nn.GaussianNLLLoss, ROWS,
        lambda rng: (*numbers(*ROWS)(rng), rng.uniform(0.5, 2, ROWS)),
    ),
    "PoissonNLLLoss": Case(nn.PoissonNLLLoss, ROWS, bits(*ROWS)),
    "TripletMarginLoss": Case(
        nn.TripletMarginLoss, ROWS, several(numbers(*ROWS), numbers(*ROWS))
    ),
    "TripletMarginWithDistanceLoss": Case(
        nn.TripletMarginWithDistanceLoss, ROWS, several(numbers(*ROWS), numbers(*ROWS))
    ),
    "BatchNorm1d, a plain mean": Case(lambda: nn.BatchNorm1d(4, momentum=None), IMAGE1),
    "BatchNorm2d, of the batch": Case(
        lambda: nn.BatchNorm2d(4, affine=False, track_running_stats=False), IMAGE2
    ),
    "EmbeddingBag, largest": Case(
        lambda: Looked(nn.EmbeddingBag(7, 3, mode="max")), ROWS, embedded
    ),
    "EmbeddingBag, padded": Case(
        lambda: Looked(nn.EmbeddingBag(7, 3, mode="mean", padding_idx=1)), ROWS, embedded
    ),
    "LSTM, projected": Case(
        lambda: nn.LSTM(5, 4, 2, proj_size=3, dropout=0.5), (3, 2, 5), output=first
    ),
    "LSTM, packed": Case(Packed, (3, 2, 5)),
    "Conv2d, circular": Case(
        lambda: nn.Conv2d(4, 4, 3, padding="same", padding_mode="circular", groups=2), IMAGE2
    ),
    "CrossEntropyLoss, weighted": Case(
        lambda: nn.CrossEntropyLoss(dynamic.tensor([1.0, 2, 3, 1, 1]), ignore_index=1),
        ROWS, classes(5, 3),
    ),
}  # fmt: skip
"""By name: each class of modules, and some with options that take another way."""
