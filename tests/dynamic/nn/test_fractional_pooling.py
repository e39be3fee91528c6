"""Fractional max pooling, and embeddings that count: against PyTorch's values."""

from __future__ import annotations

import pytest

import dynamic as torch
import staticgraph as sg
from dynamic import nn

F = nn.functional
IMAGE = ((torch.arange(56.0) * 37) % 56).reshape(1, 1, 7, 8)
SAMPLES = torch.tensor([[[0.3, 0.6]]])
NAN = float("nan")


@pytest.mark.parametrize(
    ("size", "wanted", "values", "places"),
    [
        (
            2, (3, 4), [[53, 55, 52, 54], [48, 47, 44, 46], [40, 42, 41, 38]],
            [[9, 3, 12, 6], [24, 27, 36, 30], [48, 42, 45, 54]],
        ),
        ((3, 2), (2, 3), [[53, 55, 54], [45, 44, 43]], [[9, 3, 6], [33, 36, 39]]),
    ],
)  # fmt: skip
def test_windows_are_where_pytorch_has_them(size, wanted, values, places):
    options = {"return_indices": True, "_random_samples": SAMPLES}
    found, indices = F.fractional_max_pool2d(IMAGE, size, wanted, **options)
    assert found[0, 0].tolist() == values
    assert indices[0, 0].tolist() == places
    layer = nn.FractionalMaxPool2d(size, wanted, **options)
    assert layer(IMAGE[0])[1][0].tolist() == places
    x = IMAGE.clone().requires_grad_()
    y = F.fractional_max_pool2d(x, size, wanted, _random_samples=SAMPLES)
    assert y.grad_fn.name() == "FractionalMaxPool2DBackward0"
    y.sum().backward()
    assert x.grad.flatten().nonzero().flatten().tolist() == sorted(indices.flatten().tolist())


def test_windows_over_three_axes():
    x = ((torch.arange(60.0) * 37) % 60).reshape(1, 1, 4, 3, 5)
    samples = torch.tensor([[[0.3, 0.6, 0.9]]])
    layer = nn.FractionalMaxPool3d(2, (2, 1, 3), return_indices=True, _random_samples=samples)
    values, places = layer(x)
    assert values[0, 0].tolist() == [[[57, 57, 56]], [[55, 54, 46]]]
    assert places[0, 0].tolist() == [[[21, 21, 8]], [[55, 42, 58]]]


def test_the_last_nan_of_a_window_is_the_largest():
    x = torch.zeros(1, 1, 3, 3)
    x[0, 0, 0, 1] = x[0, 0, 1, 0] = NAN
    options = {"return_indices": True, "_random_samples": SAMPLES}
    values, places = F.fractional_max_pool2d(x, 2, 2, **options)
    assert str(values[0, 0].tolist()) == "[[nan, nan], [nan, 0.0]]"
    assert places[0, 0].tolist() == [[3, 1], [3, 4]]


def test_what_is_drawn_fills_the_input_and_sizes_follow_a_ratio():
    torch.manual_seed(0)
    y, places = nn.FractionalMaxPool2d(2, output_ratio=0.5, return_indices=True)(IMAGE)
    assert y.shape == (1, 1, 3, 4)
    assert places[0, 0, -1, -1].item() in (46, 47, 54, 55)
    assert F.fractional_max_pool2d(torch.ones(0, 3, 7, 8), 2, output_size=3).shape == (0, 3, 3, 3)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="requires specifying either an output_size or an output_"):
        F.fractional_max_pool2d(IMAGE, 2)
    text = r"fractional_max_pool2d\(\): pool width 2 too large relative to input width 8 for 9"
    with pytest.raises(RuntimeError, match=text):
        F.fractional_max_pool2d(IMAGE, 2, (3, 9))
    text = "fractional_max_pool3d: expected a non-empty 4D or 5D tensor, but got"
    with pytest.raises(RuntimeError, match=text):
        F.fractional_max_pool3d(IMAGE[0], 2, 2)
    text = r"expected _random_samples of torch.float32 and shape \[1, 1, 2\], but got torch.float64"
    with pytest.raises(RuntimeError, match=text):
        F.fractional_max_pool2d(IMAGE, 2, 2, _random_samples=SAMPLES.double())
    with pytest.raises(ValueError, match="FractionalMaxPool2d requires specifying either an out"):
        nn.FractionalMaxPool2d(2)
    with pytest.raises(ValueError, match="only one of output_size and output_ratio may be spec"):
        nn.FractionalMaxPool2d(2, 3, 0.5)
    with pytest.raises(ValueError, match=r"output_ratio must be between 0 and 1 \(got 1.5\)"):
        nn.FractionalMaxPool2d(2, output_ratio=1.5)


INDICES = torch.tensor([[0, 1, 1], [3, 1, 0]])


def test_gradients_of_rows_are_divided_by_how_often_they_occur():
    weight = torch.arange(8.0).view(4, 2).requires_grad_()
    y = F.embedding(INDICES, weight, 3, scale_grad_by_freq=True)
    assert y.tolist() == weight[INDICES].tolist()
    (y * torch.arange(12.0).view(2, 3, 2)).sum().backward()
    third = pytest.approx([14 / 3, 17 / 3])
    assert weight.grad.tolist() == [[5.0, 6.0], third, [0.0, 0.0], [0.0, 0.0]]
    layer = nn.Embedding(4, 2, scale_grad_by_freq=True)
    layer(INDICES).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]


def test_gradients_of_bags_are_divided_too():
    layer = nn.EmbeddingBag(4, 2, scale_grad_by_freq=True, mode="sum")
    layer(INDICES).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="max mode does not support scaling the gradient by the f"):
        F.embedding_bag(INDICES, layer.weight, mode="max", scale_grad_by_freq=True)


def test_what_a_graph_cannot_is_refused():
    pooled = sg.function(lambda x: F.fractional_max_pool2d(x, 2, 3))
    with pytest.raises(Exception, match="its windows are drawn, which a graph cannot"):
        pooled(IMAGE)
    counted = sg.function(lambda i, w: F.embedding(i, w, scale_grad_by_freq=True))
    with pytest.raises(Exception, match="scale_grad_by_freq counts indices, which a graph cannot"):
        counted(INDICES, torch.ones(4, 2))
