"""Convolution and pooling by compiled kernels: what NumPy gives, for any batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
from staticgraph.compiler import ops
from staticgraph.dynamic.kernels import native, native_windows as windows
from tests.combinations import some

functional = torch.nn.functional


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels for small arrays, and no memory of other tests."""
    monkeypatch.setattr(native.state, "enabled", True)
    monkeypatch.setattr(windows, "LEAST_WORK", 1)
    monkeypatch.setattr(windows, "_sizes", {})
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def values(*shape: int, seed: int = 0) -> np.ndarray:
    # of a precision that float32 has as well
    return np.random.default_rng(seed).standard_normal(shape).astype("f4").astype("f8")


def conv(stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def pool(size, stride, padding=(0, 0)):
    return {"size": size, "stride": stride, "padding": padding}


X, BIAS, NO_BIAS = values(3, 4, 9, 11), values(6, seed=2), np.array(-0.0)
MIXED = conv((2, 1), (1, 2), (1, 2), 2)
CASES = {
    "conv": (ops.conv2d, [X, values(6, 4, 3, 3), BIAS], conv()),
    "conv without bias": (ops.conv2d, [X, values(6, 4, 2, 3), NO_BIAS], conv(padding=(1, 1))),
    "conv of points": (ops.conv2d, [X, values(6, 4, 1, 1), BIAS], conv()),
    "conv of points with steps": (ops.conv2d, [X, values(6, 4, 1, 1), BIAS], conv((2, 3))),
    "conv with steps": (ops.conv2d, [X, values(6, 4, 3, 3), BIAS], conv((2, 2), (1, 1))),
    "conv with all options": (ops.conv2d, [X, values(6, 2, 3, 2), BIAS], MIXED),
    "conv of each channel": (ops.conv2d, [X, values(4, 1, 3, 3), NO_BIAS], conv(groups=4)),
    "conv of one image": (ops.conv2d, [X[:1], values(6, 4, 3, 3), BIAS], conv()),
    "transposed": (
        ops.conv_transpose2d, [X, values(4, 6, 3, 3), BIAS], {**conv(), "output_padding": (0, 0)}
    ),
    "transposed with all options": (
        ops.conv_transpose2d, [X, values(4, 3, 3, 2), BIAS], {**MIXED, "output_padding": (1, 0)}
    ),
    "max": (ops.max_pool2d, [X], pool((2, 2), (2, 2))),
    "max of ties": (ops.max_pool2d, [np.round(X)], pool((3, 3), (2, 2), (1, 1))),
    "max with steps": (ops.max_pool2d, [X], pool((3, 2), (1, 3), (1, 0))),
    "mean": (ops.avg_pool2d, [X], pool((2, 2), (2, 2))),
    "mean with padding": (ops.avg_pool2d, [X], pool((3, 3), (2, 1), (1, 1))),
}  # fmt: skip


def by_numpy(op, operands, attrs, g):
    out = op.evaluate(*operands, **attrs)
    return [out, *op.cotangents(range(len(operands)), g, out, *operands, **attrs)]


def by_kernels(op, operands, attrs, g, out):
    value = windows.evaluate(op, operands, attrs)
    found = windows.cotangents(op, range(len(operands)), g, out, operands, attrs)
    return None if value is None or found is None else [value, *found]


def assert_near(found, expected, rounding):
    """Sums of terms of either sign are as exact as their terms are large."""
    scale = np.abs(expected).max(initial=0)
    assert_allclose(found, expected, rtol=rounding, atol=rounding * scale)
    assert type(found) is np.ndarray
    assert found.shape == np.shape(expected)


ROUNDING = {"f4": 3e-6, "f8": 1e-14}
"""By which share of the largest element a sum in another order may differ."""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", some(ROUNDING, 1))
@pytest.mark.parametrize("name", some(CASES, 8))
def test_kernels_give_what_numpy_gives(name, dtype):
    op, operands, attrs = CASES[name]
    g = values(*op.evaluate(*operands, **attrs).shape, seed=9)
    expected = by_numpy(op, operands, attrs, g)
    given = [one.astype(dtype) for one in operands]
    found = by_kernels(op, given, attrs, g.astype(dtype), expected[0].astype(dtype))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        assert_near(one, other, ROUNDING[dtype])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["conv with all options", "transposed", "max of ties", "mean"])
def test_any_batch_is_served_by_the_same_kernels(name, monkeypatch):
    op, (x, *weights), attrs = CASES[name]
    monkeypatch.setattr(native, "_kernels", {})
    monkeypatch.setattr(native, "_seen", {})
    for batch in (5, 1, 3, 6, 11):  # 6 and 11 are sizes of other axes
        images = values(batch, *x.shape[1:], seed=batch)
        g = values(*op.evaluate(images, *weights, **attrs).shape)
        expected = by_numpy(op, [images, *weights], attrs, g)
        found = by_kernels(op, [images, *weights], attrs, g, expected[0])
        for one, other in zip(found, expected, strict=True):
            assert_near(one, other, 1e-14)
        assert len(native._kernels) == 2


def test_only_the_first_sizes_of_images_get_kernels(monkeypatch):
    monkeypatch.setattr(windows, "MOST_SIZES", 2)
    _, (_, weight, bias), attrs = CASES["conv"]
    served = []
    for side in (5, 6, 7, 5, 7):
        value = windows.evaluate(ops.conv2d, [values(2, 4, side, side), weight, bias], attrs)
        served.append(value is not None)
    assert served == [True, True, False, True, False]
    monkeypatch.setattr(native.state, "enabled", False)
    assert windows.evaluate(ops.conv2d, [values(2, 4, 5, 5), weight, bias], attrs) is None


@pytest.mark.parametrize("name", ["conv with all options", "max of ties"])
def test_operands_may_lie_anyhow_in_memory(name):
    op, (x, *weights), attrs = CASES[name]
    out = op.evaluate(x, *weights, **attrs)
    strided = np.repeat(x, 2, 3)[..., ::2]
    assert not strided.flags.c_contiguous
    given = [strided, *[np.asfortranarray(one) for one in weights]]
    cotangent = np.broadcast_to(np.float64(0.5), out.shape)
    found = by_kernels(op, given, attrs, cotangent, out)
    for one, other in zip(found, by_numpy(op, [x, *weights], attrs, cotangent), strict=True):
        assert_near(one, other, 1e-14)


def test_nan_and_infinities_are_those_of_numpy():
    x = np.round(X)
    x[0, 0, 2, 3] = x[0, 0, 3, 3] = x[1, 2, 0, 0] = np.nan
    x[2] = -np.inf
    x[1, 1, 4] = np.inf
    for name in ("max", "max of ties", "max with steps"):
        op, _, attrs = CASES[name]
        g = values(*op.evaluate(x, **attrs).shape)
        expected = by_numpy(op, [x], attrs, g)
        for one, other in zip(by_kernels(op, [x], attrs, g, expected[0]), expected, strict=True):
            assert_array_equal(one, other)


def test_a_gradient_of_a_few_operands_reads_what_it_needs():
    op, operands, attrs = CASES["conv"]
    out = op.evaluate(*operands, **attrs)
    g = values(*out.shape)
    expected = by_numpy(op, operands, attrs, g)[1:]
    for positions, read in (((0,), 1), ((1,), 0), ((2,), None)):
        given = [Unread(one) for one in operands]
        if read is not None:
            given[read] = operands[read]
        (found,) = windows.cotangents(op, positions, g, Unread(out), given, attrs)
        assert_near(found, expected[positions[0]], 1e-14)


class Unread:
    """What stands in for an array that nothing reads."""

    def __init__(self, array):
        self.shape, self.dtype = array.shape, array.dtype


CONV = conv()
LEFT_TO_NUMPY = {
    "an empty batch": (ops.conv2d, [X[:0], values(6, 4, 3, 3), BIAS], CONV),
    "no filters": (ops.conv2d, [X, values(0, 4, 3, 3), NO_BIAS], CONV),
    "half": (ops.max_pool2d, [X.astype("f2")], pool((2, 2), (2, 2))),
    "integers": (ops.avg_pool2d, [np.arange(36).reshape(1, 1, 6, 6)], pool((2, 2), (2, 2))),
}


@pytest.mark.parametrize("name", LEFT_TO_NUMPY)
def test_what_no_kernel_serves_is_left_to_numpy(name):
    op, operands, attrs = LEFT_TO_NUMPY[name]
    assert by_kernels(op, operands, attrs, *[op.evaluate(*operands, **attrs)] * 2) is None


def test_little_work_is_left_to_numpy(monkeypatch):
    op, operands, attrs = CASES["conv"]
    work = windows.work(operands, attrs)
    assert work == 6 * 4 * 3 * 3 * 3 * 9 * 11  # filters, channels, window, images, places
    monkeypatch.setattr(windows, "LEAST_WORK", work + 1)
    assert windows.evaluate(op, operands, attrs) is None
    monkeypatch.setattr(windows, "LEAST_WORK", work)
    assert windows.evaluate(op, operands, attrs) is not None
    op, operands, attrs = CASES["transposed with all options"]
    assert windows.work(operands, attrs) == 4 * 3 * 3 * 2 * 3 * 9 * 11
    op, operands, attrs = CASES["max of ties"]
    assert windows.work(operands, attrs) == windows.A_COMPARISON * 9 * X.size // 4


@pytest.mark.parametrize("name", ["conv with all options", "transposed", "max of ties", "mean"])
def test_results_do_not_depend_on_the_number_of_threads(name):
    op, (x, *weights), attrs = CASES[name]
    x = np.concatenate([x] * 40)
    out = op.evaluate(x, *weights, **attrs)
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        results.append(by_kernels(op, [x, *weights], attrs, np.full(out.shape, 0.3), out))
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one, same)


def network(order: int) -> list[np.ndarray]:
    """The value of a network and its gradients, of first order or of the second."""
    shapes = ((3, 4, 9, 11), (6, 4, 3, 3), (6,), (6, 5, 2), (5, 6, 2, 2))
    given = [values(*shape, seed=i) for i, shape in enumerate(shapes)]
    x, w, b, v, u = (torch.from_numpy(one).requires_grad_(True) for one in given)
    h = functional.max_pool2d(torch.tanh(functional.conv2d(x, w, b, padding=1)), 2)
    h = functional.conv1d(h.flatten(2), v.transpose(0, 1), stride=2)
    h = functional.conv_transpose2d(h.reshape(3, 5, 2, -1), u)
    value = (functional.avg_pool2d(h, 2, 1) ** 2).sum()
    if order == 1:
        value.backward()
        return [value.detach().numpy(), *(one.grad.numpy() for one in (x, w, b, v, u))]
    first = torch.autograd.grad(value, (x, w, b), create_graph=True)
    second = torch.autograd.grad(sum((one**2).sum() for one in first), (x, w, b, v))
    return [one.detach().numpy() for one in (*first, *second)]


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_tensors_have_the_gradients_that_they_have_with_numpy(order, monkeypatch):
    used: set[str] = set()
    compiled = native.run
    with monkeypatch.context() as patch:
        patch.setattr(native, "run", lambda *a: used.add(a[0][0].name) or compiled(*a))
        found = network(order)
    assert used == {"conv2d", "conv_transpose2d"}  # pooling has a loop of its own
    monkeypatch.setattr(native.state, "enabled", False)
    for one, other in zip(found, network(order), strict=True):
        assert_near(one, other, 1e-13)


@pytest.mark.parametrize("enabled", [True, False])
def test_errors_are_the_same_with_and_without_kernels(enabled, monkeypatch):
    monkeypatch.setattr(native.state, "enabled", enabled)
    x, weight = torch.from_numpy(X), torch.ones(6, 3, 3, 3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"conv2d: .* has 4 channels, weight .* expects 3"):
        ops.conv2d(x, weight)
    with pytest.raises(RuntimeError, match=r"to have 3 channels, but got 4 channels"):
        functional.conv2d(x, weight)
    with pytest.raises(RuntimeError, match=r"max_pool2d: float64\[4, 9, 11\] does not have four"):
        ops.max_pool2d(x[0], 2)
