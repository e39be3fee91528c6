"""Layers with random numbers by their statistics, and what further layers refuse."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - as everybody calls it
from staticgraph.dynamic.nn.utils import rnn


@pytest.mark.parametrize(
    ("layer", "shape", "channel_axes"),
    [
        (nn.Dropout1d(0.3), (200, 50, 3), 2),
        (nn.Dropout1d(0.3), (5000, 3), 1),
        (nn.Dropout2d(0.3), (200, 50, 2, 2), 2),
        (nn.Dropout2d(0.3), (200, 50, 3), 2),
        (nn.Dropout3d(0.3), (200, 50, 2, 1, 2), 2),
        (nn.Dropout3d(0.3), (5000, 2, 1, 2), 1),
    ],
)
def test_channels_are_dropped_as_a_whole(layer: Any, shape: Any, channel_axes: int) -> None:
    torch.manual_seed(0)
    x = torch.ones(*shape, requires_grad=True)
    y = layer(x)
    flat = y.detach().numpy().reshape(int(np.prod(shape[:channel_axes])), -1)
    assert (flat == flat[:, :1]).all()
    np.testing.assert_allclose(np.unique(flat), [0, 1 / 0.7], rtol=1e-6)
    assert np.mean(flat == 0) == pytest.approx(0.3, abs=0.02)  # 4 standard deviations: 0.018
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    assert layer.eval()(x) is x


@pytest.mark.parametrize("layer", [nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)])
def test_alpha_dropout_keeps_mean_and_variance(layer: Any) -> None:
    torch.manual_seed(1)
    x = torch.randn(300, 300, 2)
    y = layer(x).numpy()
    assert y.mean() == pytest.approx(0, abs=0.02) and y.var() == pytest.approx(1, abs=0.03)
    values, counts = np.unique(y, return_counts=True)
    low = values[np.argmax(counts)]
    floor = -1.7580993408473766
    scale = (0.7 * (1 + 0.3 * floor**2)) ** -0.5
    assert low == pytest.approx(scale * floor * (1 - 0.3), rel=1e-5)
    assert counts.max() / y.size == pytest.approx(0.3, abs=0.02)
    kept = y != low
    expected = x.numpy() * scale - scale * floor * 0.3
    np.testing.assert_allclose(y[kept], expected[kept], rtol=1e-4, atol=1e-5)
    if isinstance(layer, nn.FeatureAlphaDropout):
        assert (kept == kept[:, :, :1]).all()


def test_dropout_in_place_and_of_everything() -> None:
    for function in (F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout, F.rrelu):
        x = -torch.ones(4, 5, 6) * 2
        options = {} if function is F.rrelu else {"p": 0.5}
        assert function(x, training=True, inplace=True, **options) is x
        assert not (x == -2).all()
    assert F.alpha_dropout(torch.ones(3), 1.0, True).tolist() == [0.0, 0.0, 0.0]


def test_random_slopes() -> None:
    torch.manual_seed(2)
    x = torch.cat([torch.ones(5000), -torch.ones(5000)]).requires_grad_()
    y = nn.RReLU(0.1, 0.5)(x)
    slopes = -y.detach().numpy()[5000:]
    assert (y.detach().numpy()[:5000] == 1).all()
    assert slopes.min() >= 0.1 and slopes.max() < 0.5
    assert slopes.mean() == pytest.approx(0.3, abs=0.01)
    assert slopes.std() == pytest.approx(0.4 / 12**0.5, abs=0.01)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[5000:], slopes, rtol=1e-6)


def test_gumbel_softmax() -> None:
    torch.manual_seed(3)
    logits = torch.tensor([[0.0, 1.0, -1.0]]).expand(20000, 3).requires_grad_()
    hard = F.gumbel_softmax(logits, hard=True)
    expected = torch.softmax(torch.tensor([0.0, 1.0, -1.0]), 0).tolist()
    np.testing.assert_allclose(hard.detach().numpy().mean(0), expected, atol=0.02)
    assert set(np.unique(hard.detach().numpy().round(5)).tolist()) == {0.0, 1.0}
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.detach().numpy().sum(1), 1, rtol=1e-5)
    (hard * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.shape == (20000, 3)


def test_packed_sequences_with_dropout_between_layers() -> None:
    torch.manual_seed(4)
    layers = nn.GRU(3, 4, 2, dropout=0.9)
    packed = rnn.pack_sequence([torch.randn(5, 3), torch.randn(2, 3)])
    first, second = layers(packed)[0].data, layers(packed)[0].data
    assert not torch.equal(first, second)
    layers.eval()
    assert torch.equal(layers(packed)[0].data, layers(packed)[0].data)


def test_packed_sequences_are_cast() -> None:
    packed = rnn.pack_sequence([torch.ones(2), torch.ones(1)])
    assert packed.double().data.dtype == torch.float64 == packed.to(torch.float64).data.dtype
    assert packed.double().float().data.dtype == torch.float32 and not packed.is_cuda


def refused(text: str, kind: Any = RuntimeError) -> Any:
    return pytest.raises(kind, match=re.escape(text))


def test_what_further_layers_refuse() -> None:
    packed = rnn.pack_sequence([torch.ones(3, 3)])
    with refused("input.size(-1) must be equal to input_size. Expected 2, got 3"):
        nn.LSTM(2, 4)(packed)
    with refused("Expected hidden size (1, 1, 4), got [1, 2, 4]"):
        nn.GRU(3, 4)(packed, torch.zeros(1, 2, 4))
    with refused("Expected all lengths to be at most 3, but got 4"):
        rnn.pack_padded_sequence(torch.ones(3, 1), torch.tensor([4]))
    with refused("pad_sequence: padding_side is left or right, not 'up'", ValueError):
        rnn.pad_sequence([torch.ones(1)], padding_side="up")
    with refused("pad_sequence: Expected iterable for input sequences, but got arg of type"):
        rnn.pad_sequence(3)
    with refused("interpolate: there is no mode 'cubic'"):
        F.interpolate(torch.ones(1, 1, 2), 2, mode="cubic")
    with refused("Got 3D input, but bilinear mode needs 4D input"):
        F.interpolate(torch.ones(1, 1, 2), 2, mode="bilinear")
    with refused("invalid output_size [9] (dim 0 must be between 2 and 6)", ValueError):
        F.max_unpool1d(torch.ones(1, 2), torch.tensor([[0, 2]]), 2, output_size=(9,))
    with refused("Found an invalid max index: 9 (output volumes are of size 4"):
        F.max_unpool1d(torch.ones(1, 2), torch.tensor([[0, 9]]), 2)
    with refused("expected the size of the input's last dimension to be 2 * 3 = 6, but got 5"):
        F.fold(torch.ones(1, 4, 5), (3, 4), 2)
    with refused("adaptive_max_pool1d: output_size must be 1"):
        F.adaptive_max_pool1d(torch.ones(1, 2, 3), (1, 2))
    for pool in (F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        with refused(
            f"{pool.__name__}(): Expected input to have non-zero size for non-batch dimensions, "
            "but input has sizes [1, 2, 0, 4] with dimension 2 being empty"
        ):
            pool(torch.ones(1, 2, 0, 4), 2)
    with refused("expected input[1, 3, 2, 2, 2] to have 2 channels, but got 3 channels instead"):
        F.conv_transpose3d(torch.ones(1, 3, 2, 2, 2), torch.ones(2, 1, 1, 1, 1))
    with refused("if input is 2D, then offsets has to be None", ValueError):
        F.embedding_bag(torch.zeros(1, 1).long(), torch.ones(1, 1), torch.tensor([0]))
    with refused("Shape of weight does not match num_embeddings and embedding_dim", ValueError):
        nn.EmbeddingBag(2, 3, _weight=torch.ones(1, 1))
    with refused("Embeddings parameter is expected to be 2-dimensional", ValueError):
        nn.EmbeddingBag.from_pretrained(torch.ones(1))
    with refused("Expected 3D or higher dimensionality input (got 2 dimensions)", ValueError):
        F.local_response_norm(torch.ones(2, 3), 2)
    with refused("inconsistent target size: [3], expected: [2]"):
        F.multilabel_margin_loss(torch.ones(2), torch.tensor([0, 1, -1]))
    for call in (nn.ReLU().get_extra_state, lambda: nn.ReLU().set_extra_state(1)):
        with refused("ReLU has no extra state: it defines no "):
            call()
    with pytest.warns(UserWarning, match=r"^`nn.functional.upsample` is deprecated"):
        assert F.upsample(torch.ones(1, 1, 2), 4).shape == (1, 1, 4)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_a_grid_may_have_places_that_are_no_numbers(mode: str, padding: str) -> None:
    image = torch.arange(12.0).reshape(1, 1, 3, 4).requires_grad_()
    places = torch.tensor([[[[float("nan"), 0.0], [float("inf"), 0.5], [0.5, -0.5]]]])
    found = F.grid_sample(image, places, mode, padding, align_corners=True)
    known = F.grid_sample(image, places[:, :, 2:], mode, padding, align_corners=True)
    assert found[..., 2].tolist() == known[..., 0].tolist()
    if mode == "nearest" and padding == "zeros":
        assert found[0, 0, 0, :2].tolist() == [0.0, 0.0]
    known.sum().backward()
    assert bool(torch.isfinite(image.grad).all())


def test_an_encoder_takes_pytorchs_options_of_nested_tensors() -> None:
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0)
    plain, told = (
        nn.TransformerEncoder(layer, 2),
        nn.TransformerEncoder(layer, 2, None, False, False),
    )
    told.load_state_dict(plain.state_dict())
    x = torch.randn(3, 2, 4)
    assert told(x).tolist() == plain(x).tolist()


@pytest.mark.parametrize("axes", (1, 2, 3))
def test_adaptive_maxima_of_a_batch_are_those_of_its_examples(axes: int) -> None:
    pool = getattr(F, f"adaptive_max_pool{axes}d")
    x = torch.randn(2, 3, *(5, 4, 3)[:axes])
    values, places = torch.vmap(lambda one: pool(one, 2, True))(x)
    each = [pool(one, 2, True) for one in x]
    np.testing.assert_array_equal(values, np.stack([one[0].numpy() for one in each]))
    np.testing.assert_array_equal(places, np.stack([one[1].numpy() for one in each]))
    grads = torch.vmap(torch.func.grad(lambda one: pool(one, 2).sum()))(x)
    for one, grad in zip(x, grads, strict=True):
        one = one.detach().requires_grad_()
        pool(one, 2).sum().backward()
        np.testing.assert_array_equal(grad, one.grad)


@pytest.mark.parametrize(
    ("norm", "wanted"),
    [
        (1, [[0, 0, 0, 0, 1, 1]]),
        (2, [[np.nan, np.nan, 0, 0, 0.6, 0.8]]),
    ],
)
def test_norms_of_windows_have_pytorchs_gradients_at_zero_and_nan(norm: int, wanted: Any) -> None:
    x = torch.tensor([[np.nan, 1.0, 0.0, 0.0, 3.0, 4.0]], requires_grad=True)
    F.lp_pool1d(x, norm, 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-6)


def test_queries_without_elements_see_all_keys_alike() -> None:
    values = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    found = F.scaled_dot_product_attention(torch.ones(1, 0), torch.ones(2, 0), values)
    assert found.tolist() == [[2.0, 4.0]]


def test_operands_of_too_few_or_too_many_axes() -> None:
    text = "to all be  at least 2 dimensional, but got query.dim: 0 key.dim: 0 and value.dim: 0"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        F.scaled_dot_product_attention(*[torch.tensor(1.0)] * 3)
    with pytest.raises(RuntimeError, match=r"^'weight' must be 2-D: embedding of shape \[2, 3"):
        F.embedding(torch.tensor([0]), torch.ones(2, 3, 4))


@pytest.mark.parametrize(
    "log_probs, targets, text",
    [
        ((), (1,), "ctc_loss: expected 2 or 3 dimensions of 'log_probs', but got 0"),
        ((3,), (1,), "ctc_loss: expected 2 or 3 dimensions of 'log_probs', but got 1"),
        ((3, 1, 4), (), "ctc_loss: expected 1 or 2 dimensions of 'targets', but got 0"),
    ],
)
def test_ctc_loss_says_what_has_the_wrong_rank(log_probs: Any, targets: Any, text: str) -> None:
    given = torch.zeros(log_probs), torch.ones(targets, dtype=torch.int64)
    for loss in (torch.nn.functional.ctc_loss, sg.function(torch.nn.functional.ctc_loss)):
        with pytest.raises(RuntimeError, match=text):
            loss(*given, torch.tensor([3]), torch.tensor([1]))


@pytest.mark.parametrize("layer", [torch.nn.Embedding, torch.nn.EmbeddingBag])
def test_sparse_gradients_are_dense_and_a_warning_says_so(layer: Any) -> None:
    words = layer(4, 2, sparse=True)
    with pytest.warns(UserWarning, match=r"^sparse=True: the gradient of the weight is dense here"):
        words(torch.tensor([[1, 1, 3]])).sum().backward()
    assert not words.weight.grad.is_sparse
    assert (words.weight.grad != 0).any(1).tolist() == [False, True, False, True]
