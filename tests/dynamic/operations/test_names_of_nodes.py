"""Names of nodes of functions that are composed of ops here: what PyTorch 2.13 prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch

F = torch.nn.functional
X = torch.tensor([[1.0, 4.0], [2.0, 3.0]], requires_grad=True)
V = torch.tensor([3.0, 1.0], requires_grad=True)
PLACE = torch.tensor([0])
NAMES: dict[str, Callable[[], Any]] = {
    "MedianBackward0": lambda: X.median(),
    "MedianBackward1": lambda: X.median(0).values,
    "NanmedianBackward0": lambda: X.nanmedian(),
    "NanmedianBackward1": lambda: X.nanmedian(0).values,
    "DistBackward0": lambda: torch.dist(V, V.detach()),
    "DiagEmbedBackward0": lambda: torch.diag(V),
    "UnsqueezeBackward0": lambda: torch.atleast_3d(V),
    "PutBackward0": lambda: V.put(PLACE, V[:1], True),
    "MaskedScatterBackward0": lambda: V.masked_scatter(V > 2, V),
    "IndexSelectBackward0": lambda: V.repeat_interleave(torch.tensor([1, 2])),
    "Rot90Backward0": lambda: X.rot90(),
    "SpecialEntrBackward0": lambda: torch.special.entr(V),
    "FftR2CBackward0": lambda: torch.fft.fft(X),
    "FftC2CBackward0": lambda: torch.fft.fft(X + 0j),
    "FftC2RBackward0": lambda: torch.fft.irfft(X + 0j),
    "UpsampleNearest1DBackward0": lambda: F.interpolate(X[None], 4),
    "UpsampleNearestExact1DBackward0": lambda: F.interpolate(X[None], 4, mode="nearest-exact"),
    "UpsampleBilinear2DBackward0": lambda: F.interpolate(X[None, None], 4, mode="bilinear"),
    "UpsampleBilinear2DAaBackward0": lambda: F.interpolate(
        X[None, None], 4, mode="bilinear", antialias=True
    ),
    "ReflectionPad1DBackward0": lambda: F.pad(X[None], (1, 1), mode="reflect"),
    "ReplicationPad2DBackward0": lambda: F.pad(X[None], (1, 1, 0, 1), mode="replicate"),
    "GridSampler2DBackward0": lambda: F.grid_sample(X[None, None], torch.zeros(1, 1, 1, 2)),
    "AffineGridGeneratorBackward0": lambda: F.affine_grid(
        torch.ones(1, 2, 3, requires_grad=True), (1, 1, 2, 2)
    ),
    "SqueezeBackward1": lambda: torch.nn.LSTM(2, 2)(X)[0],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_last_node_has_pytorchs_name(name: str) -> None:
    assert NAMES[name]().grad_fn.name() == name


def test_what_is_returned_as_it_came_keeps_its_name() -> None:
    image = X[None, None] * 2
    for same in (F.interpolate(image, 2), F.pad(image, (0, 0, 0, 0), mode="reflect")):
        if same is image:
            assert image.grad_fn.name() == "MulBackward0"


def test_batch_norm_is_no_function_of_the_users() -> None:
    y = F.batch_norm(X, None, None, training=True)
    assert str(y.grad_fn).startswith("<NativeBatchNormBackward0 object at ")
