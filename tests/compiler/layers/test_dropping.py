"""Functions of networks that draw: statistics, whole channels, keys, and both paradigms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg

nn = sg.nn


def test_whole_channels_are_dropped_and_the_rest_scaled() -> None:
    for function, shape in (
        (nn.dropout1d, (50, 40, 3)), (nn.dropout1d, (2000, 3)), (nn.dropout2d, (50, 40, 2, 2)),
        (nn.dropout3d, (2000, 2, 1, 2)),
    ):  # fmt: skip
        y = function(np.ones(shape), 0.3, key=sg.random.key(4))
        channels = y.reshape(2000, -1)
        assert (channels == channels[:, :1]).all()
        assert_allclose(np.unique(y), [0, 1 / 0.7], rtol=1e-12)
        assert np.mean(channels[:, 0] == 0) == pytest.approx(0.3, abs=0.041)  # 4 deviations
        assert (function(np.ones(shape), 0, key=sg.random.key(4)) == 1).all()
        assert not function(np.ones(shape), 1, key=sg.random.key(4)).any()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = np.random.default_rng(0).normal(size=(200, 300, 2))
    for function in (nn.alpha_dropout, nn.feature_alpha_dropout):
        y = function(x, 0.3, key=sg.random.key(1))
        assert y.mean() == pytest.approx(0, abs=0.03) and y.var() == pytest.approx(1, abs=0.04)
        assert not function(x, 1, key=sg.random.key(1)).any()
        assert function(x, 0, key=sg.random.key(1)) is x
    values, counts = np.unique(y, return_counts=True)
    dropped = y == values[counts.argmax()]
    assert dropped.mean() == pytest.approx(0.3, abs=0.01)
    assert (dropped == dropped[:, :, :1]).all()


def test_random_slopes_and_relaxed_choices() -> None:
    y = nn.rrelu(np.full(5000, -1.0), 0.1, 0.5, key=sg.random.key(2))
    assert y.min() > -0.5 and y.max() <= -0.1
    assert y.mean() == pytest.approx(-0.3, abs=0.01)
    logits = np.broadcast_to(np.array([0.0, 1.0, -1.0]), (20000, 3))
    hard = nn.gumbel_softmax(logits, hard=True, key=sg.random.key(3))
    share = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert_allclose(hard.mean(0), share, atol=0.015)
    assert set(np.unique(hard.round(6))) == {0.0, 1.0}
    soft = nn.gumbel_softmax(logits, 0.5, key=sg.random.key(3))
    assert_allclose(soft.sum(1), 1, rtol=1e-12)
    assert (soft.argmax(1) == hard.argmax(1)).all()


def test_a_key_gives_the_same_in_both_paradigms_and_a_stream_goes_on() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    leaf, stream = sg.placeholder("x", (None, 3, None), "float64"), sg.random.stream("drop")
    for function in (nn.dropout1d, nn.alpha_dropout, nn.feature_alpha_dropout, nn.gumbel_softmax):
        expected = function(x, 0.5, key=sg.random.key(7))
        assert_allclose(sg.run(function(leaf, 0.5, key=sg.random.key(7)), {leaf: x}), expected)
        tensor = function(dynamic.tensor(x, requires_grad=True), 0.5, key=sg.random.key(7))
        assert_allclose(tensor.detach().numpy(), expected)
        tensor.sum().backward()
    step = sg.compile([leaf], nn.dropout1d(leaf, key=stream))
    assert not np.array_equal(step(x), step(x)) or not np.array_equal(step(x), step(x))
