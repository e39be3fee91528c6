"""Layers and losses keep the dtype of what they are given."""

import numpy as np
import pytest

import staticgraph as sg

X = np.linspace(-1.0, 1.0, 6, dtype="float32")
SIGNS = np.array([1, -1, 1, 1, -1, -1])


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, t: sg.nn.margin_ranking_loss(x, x[::-1], t),
        lambda x, t: sg.nn.soft_margin_loss(x, t),
        lambda x, t: sg.nn.hinge_embedding_loss(x, t),
        lambda x, t: sg.nn.multilabel_soft_margin_loss(
            sg.expand_dims(x, 0), sg.expand_dims(t > 0, 0)
        ),
    ],
)
def test_losses_of_integer_targets(loss):
    x, t = sg.placeholder("x", (None,)), sg.placeholder("t", (None,), "int64")
    compiled = sg.compile([x, t], loss(x, t))(X, SIGNS)
    assert compiled.dtype == loss(X, SIGNS).dtype == "float32"
    np.testing.assert_allclose(compiled, loss(X.astype("float64"), SIGNS), rtol=1e-6)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_images_at_points(padding, align):
    image = np.arange(20, dtype="float32").reshape(1, 1, 4, 5)
    grid = np.linspace(-1.4, 1.3, 12, dtype="float32").reshape(1, 2, 3, 2)
    found = sg.nn.grid_sample(image, grid, padding_mode=padding, align_corners=align)
    assert found.dtype == "float32"
