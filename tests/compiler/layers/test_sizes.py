"""One program for all sizes of batches, images and sequences, against arrays of each size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError, OutOfRangeError, ShapeError
from tests.data.layer_records import weights

nn = sg.nn
W1, W3 = weights((3, 2, 2)), weights((2, 2, 2, 1, 2))
IMAGE: dict[str, Callable[[Any], Any]] = {
    "max_pool2d": lambda x: nn.max_pool2d(x, 2, ceil_mode=True),
    "places": lambda x: nn.max_pool2d(x, (2, 3), 1, 1, return_indices=True)[1],
    "avg_pool2d": lambda x: nn.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: nn.adaptive_avg_pool2d(x, (3, 2)),
    "adaptive_max_pool2d": lambda x: nn.adaptive_max_pool2d(x, (3, 2)),
    "adaptive_places": lambda x: nn.adaptive_max_pool2d(x, (2, None), return_indices=True)[1],
    "unpooled": lambda x: nn.max_unpool2d(
        *nn.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape[2:]),
    "scaled": lambda x: nn.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "fixed": lambda x: nn.interpolate(x, (3, 7), mode="bicubic"),
    "aligned": lambda x: nn.interpolate(x, x.shape[2:], mode="bilinear", align_corners=True),
    "area": lambda x: nn.interpolate(x, 2, mode="area"),
    "reflect": lambda x: nn.pad(x, (1, 2, 2, 1), "reflect"),
    "circular": lambda x: nn.pad(x, (1, 2, 0, 1), "circular"),
    "cut": lambda x: nn.pad(x, (-1, 1, 0, -1)),
    "folded": lambda x: nn.fold(nn.unfold(x, 2, padding=1), x.shape[2:], 2, padding=1),
    "read": lambda x: nn.grid_sample(
        x, nn.affine_grid(np.array([[[0.9, 0.2, 0.1], [-0.3, 1.1, 0.0]]]), (1, 1, 4, 3)),
        padding_mode="reflection"),
    "group_norm": lambda x: nn.group_norm(x, 1),
    "instance_norm": lambda x: nn.instance_norm(x),
    "batch_norm": lambda x: nn.batch_norm(x, training=True),
}  # fmt: skip
SEQUENCE: dict[str, Callable[[Any], Any]] = {
    "conv1d": lambda x: nn.conv1d(x, W1, padding=1, stride=2),
    "conv_transpose1d": lambda x: nn.conv_transpose1d(x, weights((2, 3, 3)), stride=2),
    "conv3d": lambda x: nn.conv3d(x[..., None, None], W3[..., :1], padding=(0, 1, 0)),
    "max_pool1d": lambda x: nn.max_pool1d(x, 3, 2, 1, ceil_mode=True),
    "pdist": lambda x: nn.pdist(x[0].T),
    "glu": lambda x: nn.glu(sg.concatenate([x, x * 2], -1)),
    "bags": lambda x: nn.embedding_bag(
        sg.astype(sg.absolute(x[0, 0]) * 3, "int64"), weights((9, 2)), np.array([0, 1, 1]),
        mode="max"),
}  # fmt: skip


def compiled(made: dict[str, Callable[[Any], Any]], shape: Sequence[Any]) -> Any:
    """The results, and where they are of floats the gradients of their sums by the operand."""
    x = sg.placeholder("x", shape, "float64")
    found = {name: function(x) for name, function in made.items()}
    floats = [one for one in found.values() if one.dtype.kind == "f"]
    return sg.compile([x], [*found.values(), sg.grad(sum(map(sg.sum, floats)), [x])[0]])


def check(program: Any, made: dict[str, Callable[[Any], Any]], array: Any) -> None:
    *found, slope = program(array)
    for (name, function), one in zip(made.items(), found, strict=True):
        assert_allclose(one, function(array), rtol=1e-11, atol=1e-12, err_msg=name)
    way = weights(array.shape)

    def total(step: float) -> float:
        moved = [function(array + step * way) for function in made.values()]
        return float(sum(one.sum() for one in moved if one.dtype.kind == "f"))

    assert_allclose((slope * way).sum(), (total(1e-6) - total(-1e-6)) / 2e-6, rtol=1e-6)


@pytest.mark.slow
def test_images_of_any_size() -> None:
    program = compiled(IMAGE, (1, 2, None, None))
    for shape in ((1, 2, 5, 6), (1, 2, 4, 9)):
        check(program, IMAGE, np.random.default_rng(1).normal(size=shape))


@pytest.mark.slow
def test_sequences_of_any_length() -> None:
    program = compiled(SEQUENCE, (None, 2, None))
    for shape in ((2, 2, 5), (1, 2, 8)):
        check(program, SEQUENCE, np.random.default_rng(2).uniform(-2.9, 2.9, shape))


@pytest.mark.slow
def test_the_ctc_loss_of_any_lengths() -> None:
    x = sg.placeholder("x", (None, None, 4), "float64")
    targets = sg.placeholder("t", (None, None), "int64")
    ends, lengths = (sg.placeholder(name, (None,), "int64") for name in "el")
    loss = nn.ctc_loss(nn.log_softmax(x, -1), targets, ends, lengths)
    step = sg.compile([x, targets, ends, lengths], [loss, *sg.grad(loss, [x])])
    rng = np.random.default_rng(0)
    for steps, count, most in ((7, 3, 2), (4, 1, 3)):
        given = (
            rng.normal(size=(steps, count, 4)), rng.integers(1, 4, (count, most)),
            np.full(count, steps), rng.integers(1, most + 1, count),
        )  # fmt: skip
        value, slope = step(*given)
        expected = nn.ctc_loss(nn.log_softmax(given[0], -1), *given[1:])
        assert_allclose(value, expected, rtol=1e-12)
        moved = given[0].copy()
        moved[1, 0, 2] += 1e-6
        quotient = (nn.ctc_loss(nn.log_softmax(moved, -1), *given[1:]) - value) / 1e-6
        assert_allclose(slope[1, 0, 2], quotient, rtol=1e-4, atol=1e-8)


def test_running_statistics_are_updates_of_a_training_step() -> None:
    rng = np.random.default_rng(0)
    mean, var = sg.variable(np.zeros(3), name="mean"), sg.variable(np.ones(3), name="var")
    weight = sg.variable(np.ones(3), name="weight")
    x = sg.placeholder("x", (None, 3, None), "float64")
    y, next_mean, next_var = nn.batch_norm(x, mean, var, weight, training=True, momentum=0.5)
    loss = sg.mean(sg.square(y - 1))
    updates = sg.optim.SGD(lr=0.1).minimize(loss, [weight])
    step = sg.compile([x], loss, updates={**updates, mean: next_mean, var: next_var})
    use = sg.compile([x], nn.batch_norm(x, mean, var, weight))
    known_mean, known_var = np.zeros(3), np.ones(3)
    for shape in ((4, 3, 2), (2, 3, 5)):
        data = rng.normal(2.0, 3.0, shape)
        step(data)
        known_mean = 0.5 * known_mean + 0.5 * data.mean((0, 2))
        known_var = 0.5 * known_var + 0.5 * data.var((0, 2), ddof=1)
    assert_allclose(mean.value, known_mean, rtol=1e-12)
    assert_allclose(var.value, known_var, rtol=1e-12)
    scaled = (data - known_mean[:, None]) / np.sqrt(known_var[:, None] + 1e-5)
    assert_allclose(use(data), scaled * weight.value[:, None], rtol=1e-12)
    assert not np.allclose(weight.value, 1)


def test_what_is_not_known_before_is_refused_when_it_runs() -> None:
    x = sg.placeholder("x", (1, None), "float64")
    padded = sg.compile([x], nn.pad(x, (3, 0), "reflect"))
    assert padded(np.arange(4.0)[None]).tolist() == [[3, 2, 1, 0, 1, 2, 3]]
    with pytest.raises(OutOfRangeError, match="take"):
        padded(np.zeros((1, 2)))
    image = sg.placeholder("i", (1, None, None), "float64")
    pooled = sg.compile([image], nn.max_pool2d(image, 3))
    with pytest.raises(ShapeError, match=r"no window \(3, 3\)"):
        pooled(np.zeros((1, 2, 5)))
    with pytest.raises(OptionError, match=r"scale_factor=0.3333333.* is no fraction of small"):
        nn.interpolate(image[None], scale_factor=0.33333333)
    with pytest.raises(OptionError, match="mode 'area' needs known sizes"):
        nn.interpolate(image[None], scale_factor=2, mode="area")


@pytest.mark.parametrize("pool", [nn.max_pool1d, nn.avg_pool1d])
def test_a_window_past_the_end_counts_with_known_sizes_too(pool: Any) -> None:
    array = np.array([[[1.0, 3.0]]])
    x = sg.placeholder("x", (1, 1, None), "float64")
    program = sg.compile([x], pool(x, 3, ceil_mode=True))
    for found in (pool(array, 3, ceil_mode=True), program(array)):
        assert_allclose(found, [[[3.0 if pool is nn.max_pool1d else 2.0]]])
    message = rf"{pool.__name__}: no window \(5,\) by \(1,\) fits into"
    with pytest.raises(ShapeError, match=message):
        pool(array, 5, 2, ceil_mode=True)


def test_the_last_of_any_number_of_rows_gets_no_gradient() -> None:
    rows = sg.placeholder("rows", (None, 1), "float64")
    found = nn.embedding(np.array([0, 2, 2]), rows, padding_idx=-1)
    slope = sg.compile([rows], sg.grad(found.sum(), rows))
    assert slope(np.ones((3, 1))).ravel().tolist() == [1.0, 0.0, 0.0]
    assert slope(np.ones((4, 1))).ravel().tolist() == [1.0, 0.0, 2.0, 0.0]


def test_axes_of_nothing_that_are_not_padded() -> None:
    assert nn.pad(np.ones((0, 2, 3)), (1, 1), "reflect").shape == (0, 2, 5)


def test_means_of_nothing_are_refused() -> None:
    x = sg.placeholder("x", (1, None, 2))
    pooled = sg.compile([x], nn.adaptive_avg_pool2d(x, (2, 2)))
    assert_allclose(pooled(np.ones((1, 1, 2), "f4")), np.ones((1, 2, 2)))
    with pytest.raises(ShapeError, match=r"axis 1 of float32\[1, 0, 2\]: 1 elements from 0"):
        pooled(np.ones((1, 0, 2), "f4"))
