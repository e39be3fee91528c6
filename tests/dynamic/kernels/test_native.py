"""Large arrays by compiled kernels: what NumPy gives op by op, whatever the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.runtime import threads as pool
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.kernels import dispatch, native
from tests.combinations import some


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(native.state, "enabled", True)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def values(*shape: int, seed: int = 0) -> np.ndarray:
    # of a precision that float32 has as well
    return np.random.default_rng(seed).standard_normal(shape).astype("f4").astype("f8")


X, Y = values(131, 1009), values(131, 1009, seed=1)
ROW, COLUMN, NUMBER = values(1009, seed=2), values(131, 1, seed=3), np.array(2.5)
INSIDE = np.clip(np.abs(X) / 4, 0.01, 0.9)
LABELS = np.random.default_rng(4).integers(0, 1009, 131)
PLACES = np.random.default_rng(5).integers(-131, 131, (131, 1009))
NORM = {"axes": 1, "eps": 1e-5}
ROWS = {"axes": (1,), "keepdims": False}
COLUMNS = {"axes": (0,), "keepdims": True}
CASES = {
    **{
        op.name: (op, [X], {})
        for op in (
            ops.tanh, ops.sigmoid, ops.silu, ops.relu, ops.exp, ops.expm1, ops.square, ops.erf,
            ops.softplus, ops.abs, ops.negative, ops.atan,
        )
    },
    **{
        op.name: (op, [INSIDE], {})
        for op in (ops.log, ops.log1p, ops.sqrt, ops.rsqrt, ops.reciprocal, ops.asin)
    },
    "sin of float64": (ops.sin, [X], {}),
    "gelu": (ops.gelu, [X], {"approximate": "none"}),
    "gelu with tanh": (ops.gelu, [X], {"approximate": "tanh"}),
    "elu of a vector": (ops.elu, [values(131_073)], {"alpha": 1.5}),
    "leaky relu of four axes": (
        ops.leaky_relu, [values(3, 5, 7, 1301)], {"negative_slope": 0.1}
    ),
    "add": (ops.add, [X, Y], {}),
    "add a row": (ops.add, [X, ROW], {}),
    "subtract from a column": (ops.subtract, [COLUMN, X], {}),
    "multiply": (ops.multiply, [X, Y], {}),
    "divide by a row": (ops.divide, [X, ROW + 9], {}),
    "divide by a number": (ops.divide, [X, NUMBER], {}),
    "maximum": (ops.maximum, [X, Y], {}),
    "where": (ops.where, [X > 0, X, ROW], {}),
    "clamp": (ops.clamp, [X, np.array(-1.0), ROW**2], {}),
    "softmax": (ops.softmax, [X], {"axis": 1}),
    "softmax along the first axis": (ops.softmax, [X], {"axis": 0}),
    "softmax of short rows": (ops.softmax, [values(13_109, 11)], {"axis": 1}),
    "softmax of one row": (ops.softmax, [values(131_073)], {"axis": 0}),
    "softmax of a square": (ops.softmax, [values(367, 367)], {"axis": 1}),
    "log softmax": (ops.log_softmax, [X], {"axis": 1}),
    "log softmax of the middle": (ops.log_softmax, [values(41, 5, 701)], {"axis": 1}),
    "logsumexp": (ops.logsumexp, [X], ROWS),
    "layer norm": (ops.layer_norm, [X, ROW, ROW + 1], NORM),
    "layer norm by numbers": (ops.layer_norm, [X, np.array(1.0), np.array(-0.0)], NORM),
    "layer norm of matrices": (
        ops.layer_norm, [values(2, 67, 31, 41), values(31, 41), np.array(1.0)],
        {"axes": 2, "eps": 1e-5},
    ),
    "var": (ops.var, [X], {**ROWS, "correction": 1}),
    "std of columns": (ops.std, [X], {**COLUMNS, "correction": 0}),
    "cross entropy": (ops.cross_entropy, [X, LABELS], {"reduction": "mean"}),
    "cross entropy of each": (
        ops.cross_entropy, [values(17, 11, 1009), np.tile(LABELS[:17, None] % 11, 1009)],
        {"reduction": "none"},
    ),
    "mean squared error": (ops.mse_loss, [X, Y], {"reduction": "mean"}),
    "binary cross entropy": (
        ops.binary_cross_entropy_with_logits, [X, INSIDE], {"reduction": "sum"}
    ),
    "sum": (ops.sum, [X], {"axes": (0, 1), "keepdims": False}),
    "sum of columns": (eager_ops.sum_dim, [X], COLUMNS),
    "mean of rows": (ops.mean, [X], ROWS),
    "slices at indices": (ops.take, [X, LABELS % 131], {"axis": 0}),
    "slices along the last axis": (ops.take, [X, np.tile(LABELS, 9)], {"axis": 1}),
    "elements along an axis": (ops.take_along_axis, [X, PLACES], {"axis": 0, "wrap": True}),
    "added at places": (ops.scatter_add, [X, Y, PLACES % 131], {"axis": 0, "wrap": False}),
    "added slices": (ops.index_add, [X, Y, LABELS % 131 - 131], {"axis": 0, "wrap": True}),
    "sums at places": (
        ops.along_add, [X, PLACES % 131], {"axis": 0, "size": 131, "wrap": True}
    ),
    "sums of slices": (ops.take_add, [X, LABELS % 7], {"axis": 0, "size": 7}),
    "distances": (eager_ops.distances, [values(60, 70), values(50, 70, seed=1)], {}),
    "distances of batches": (eager_ops.distances, [values(2, 41, 53), values(1, 39, 53)], {}),
    "largest of rows": (ops.max, [X], {**ROWS, "ties": "even"}),
    "product of columns": (eager_ops.prod_dim, [np.exp(X / 99)], COLUMNS),
}  # fmt: skip
VIEWS = ("add", "sum", "sum of columns", "mean of rows")
"""Whose cotangents are that of the result, or repeat it: there is nothing to compute."""


def positions_of(op, operands):
    return tuple(i for i in range(len(operands)) if op.rule(i) is not None)


def in_dtype(operands, dtype):
    return [one.astype(dtype) if one.dtype.kind == "f" else one for one in operands]


def by_kernels(op, operands, attrs, out, g):
    found = [native.evaluate(op, operands, attrs)]
    if not native._is_total(op):
        cotangents = native.cotangents(op, positions_of(op, operands), g, out, operands, attrs)
        found += cotangents or []
    return found


def assert_near(found, expected, dtype, rounding):
    """Sums of terms of either sign are as exact as their terms are large."""
    assert found.dtype == dtype
    scale = np.abs(expected).max(initial=0)
    assert_allclose(found, expected, rtol=rounding, atol=rounding * scale)
    assert type(found) is np.ndarray


ROUNDING = {"f4": 1e-6, "f8": 1e-13}
"""By which share of the largest element a sum in another order may differ."""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", some(ROUNDING, 1))
@pytest.mark.parametrize("name", some(CASES, 27))
def test_kernels_give_what_numpy_gives(name, dtype):
    op, operands, attrs = CASES[name]
    exact = op.evaluate(*operands, **attrs)
    g = values(*exact.shape, seed=9)
    given = in_dtype(operands, dtype)
    value, *cotangents = by_kernels(
        op, given, attrs, np.asarray(exact, dtype), np.asarray(g, dtype)
    )
    assert_near(value, exact, dtype, ROUNDING[dtype])
    expected = op.cotangents(positions_of(op, operands), g, exact, *operands, **attrs)
    assert len(cotangents) == (0 if name in VIEWS else len(expected))
    for one, other in zip(cotangents, expected, strict=name not in VIEWS):
        assert_near(one, other, dtype, ROUNDING[dtype])


@pytest.mark.slow
@pytest.mark.parametrize("name", some(CASES, 9))
def test_results_do_not_depend_on_the_number_of_threads(name):
    op, operands, attrs = CASES[name]
    rows = len(operands[0])  # more of them, so that there are chunks to share
    operands = [np.concatenate([one] * 9) if one.shape[:1] == (rows,) else one for one in operands]
    out = op.evaluate(*operands, **attrs)
    results = []
    for count in (1, 2, 5, 2):
        torch.set_num_threads(count)
        assert pool.get_num_threads() == torch.get_num_threads() == count
        results.append(by_kernels(op, operands, attrs, out, np.full(out.shape, 0.3)))
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one, same)


@pytest.mark.parametrize("times", [2, 3, 4])
def test_powers_that_are_products_are_those_of_numpy(times):
    exponent = np.array(float(times))
    for x in (X, X.T):
        g, out = np.ones_like(x), Unread(x)
        (slope,) = native.cotangents(ops.power, (0,), g, out, [x, exponent], {})
        assert_allclose(native.evaluate(ops.power, [x, exponent], {}), x**times, rtol=1e-15)
        assert_allclose(slope, times * x ** (times - 1), rtol=1e-15)


def test_little_work_is_left_to_numpy_where_operands_do_not_tell():
    assert native.evaluate(ops.take, [X, np.array([3])], {"axis": 0}) is None
    few = [values(20, 70), values(50, 70)]
    assert native.evaluate(eager_ops.distances, few, {}) is None
    g, out = np.ones((20, 50)), eager_ops.distances.evaluate(*few)
    assert native.cotangents(eager_ops.distances, (0, 1), g, out, few, {}) is None


def test_what_is_added_to_a_few_slices_is_computed_by_a_kernel(monkeypatch):
    taken = []
    evaluate = native.evaluate
    monkeypatch.setattr(
        native, "evaluate", lambda op, *rest: taken.append(op) or evaluate(op, *rest)
    )
    index = torch.tensor(np.arange(131) % 7)
    found = torch.zeros(7, 1009, dtype=torch.float64).index_add(0, index, torch.tensor(X))
    assert taken == [ops.index_add]
    assert_allclose(found.numpy(), [X[i::7].sum(0) for i in range(7)], rtol=1e-12, atol=1e-12)


def test_masks_alone_may_be_large():
    """The cotangent of a sum repeats one number, and `where` reads no element of what it chose."""
    g, taken = np.broadcast_to(np.float64(3.0), X.shape), Unread(X)
    found = native.cotangents(ops.where, (1, 2), g, taken, [X > 0, taken, taken], {})
    assert_array_equal(found, [3.0 * (X > 0), 3.0 * (X <= 0)])
    chosen = native.evaluate(ops.where, [X > 0, np.array(2.0), np.array(-1.0)], {})
    assert_array_equal(chosen, np.where(X > 0, 2.0, -1.0))
    assert native.evaluate(ops.where, [X > 0, np.array(2), np.array(-1)], {}) is None


def test_nan_and_infinities_are_those_of_numpy():
    x = np.concatenate(
        [values(131_072), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-320]]
    )
    with np.errstate(all="ignore"):
        for op in (ops.exp, ops.log, ops.tanh, ops.sqrt, ops.relu, ops.sigmoid, ops.reciprocal):
            assert_allclose(
                native.evaluate(op, [x], {}), op.evaluate(x), rtol=1e-14, err_msg=op.name
            )
        for op in (ops.maximum, ops.minimum, ops.divide, ops.multiply):
            found = native.evaluate(op, [x, x[::-1].copy()], {})
            assert_array_equal(found, op.evaluate(x, x[::-1]), err_msg=op.name)
    rows = values(200, 1000)
    rows[3, 5], rows[7, 9], rows[11] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        found = native.evaluate(ops.softmax, [rows], {"axis": 1})
        assert_allclose(found, ops.softmax.evaluate(rows, axis=1), rtol=1e-13)


def test_ties_share_the_gradient_as_in_the_rules():
    x = np.round(X)
    attrs = {**ROWS, "ties": "even"}
    out = ops.max.evaluate(x, **attrs)
    g = values(131)
    (found,) = native.cotangents(ops.max, (0,), g, out, [x], attrs)
    assert_allclose(found, ops.max.rule(0)(g, out, x, **attrs), rtol=1e-15)
    found = native.cotangents(ops.maximum, (0, 1), x, np.maximum(x, x), [x, x.copy()], {})
    assert_array_equal(found[0], x / 2)
    assert_array_equal(found[1], x / 2)
    (found,) = native.cotangents(ops.relu, (0,), x, np.maximum(x, 0), [x], {})
    assert_array_equal(found, np.where(x > 0, x, 0))


def test_repeated_cotangents_are_read_where_they_are():
    for g in (np.broadcast_to(np.array(0.5), X.shape), np.broadcast_to(COLUMN, X.shape)):
        (found,) = native.cotangents(ops.silu, (0,), g, Unread(X), [X], {})
        assert_near(found, ops.silu.rule(0)(g, None, X), "f8", 1e-13)
    assert native.evaluate(ops.silu, [np.broadcast_to(ROW, X.shape)], {}) is None  # few elements


class Unread:
    """What stands in for an array that nothing reads."""

    def __init__(self, array):
        self.shape, self.dtype = array.shape, array.dtype


def test_rules_need_not_be_given_what_they_do_not_read():
    out = np.tanh(X)
    (found,) = native.cotangents(ops.tanh, (0,), Y, out, [Unread(X)], {})
    assert_allclose(found, Y * (1 - out * out), rtol=1e-12, atol=1e-15)
    row = Unread(np.empty((1, 1009)))
    (found,) = native.cotangents(ops.add, (1,), Y, Unread(X), [Unread(X), row], {})
    assert_allclose(found, Y.sum(0, keepdims=True), rtol=1e-12, atol=1e-12)


LEFT_TO_NUMPY = {
    "small": (ops.tanh, [X[:100]], {}),
    "a strided total": (ops.sum, [values(1009, 262)[:, ::2]], ROWS),
    "a transposed total": (ops.sum, [X.T], ROWS),
    "empty": (ops.layer_norm, [X, np.empty(0), NUMBER], NORM),
    "half": (ops.tanh, [X.astype("f2")], {}),
    "big endian": (ops.tanh, [X.astype(">f8")], {}),
    "complex": (ops.exp, [X.astype("c16")], {}),
    "integers": (ops.add, [LABELS.repeat(1009), LABELS.repeat(1009)], {}),
    "a subclass": (ops.exp, [X.view(np.matrix)], {}),
    "a product of matrices": (ops.matmul, [X, Y.T.copy()], {}),
    "an array among the attributes": (ops.tanh, [X], {"out": np.empty_like(X)}),
    "sizes that do not broadcast": (ops.divide, [X, ROW[:1000]], {}),
    "labels out of range": (ops.cross_entropy, [X, LABELS + 1009], {"reduction": "mean"}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", LEFT_TO_NUMPY)
def test_what_no_kernel_serves_is_left_to_numpy(name):
    op, operands, attrs = LEFT_TO_NUMPY[name]
    assert native.evaluate(op, operands, attrs) is None


def test_errors_name_the_op_and_both_values():
    x = torch.from_numpy(X.copy())
    with pytest.raises(RuntimeError, match=r"div: float64\[131, 1009\].*float64\[1000\]"):
        x / torch.ones(1000, dtype=torch.float64)
    with pytest.raises(IndexError, match="2018"):
        torch.nn.functional.cross_entropy(x, torch.full((131,), 2018))


@pytest.mark.slow
def test_the_switch_is_read_from_the_environment():
    code = "from staticgraph.dynamic.kernels import native; print(native.state.enabled)"
    for given, expected in (("0", "False"), ("1", "True")):
        environment = os.environ | {"DYNAMIC_COMPILE_LARGE_OPS": given}
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == expected


def test_the_switch_off_leaves_all_to_numpy(monkeypatch):
    monkeypatch.setattr(native.state, "enabled", False)
    assert native.evaluate(ops.tanh, [X], {}) is None
    assert native.cotangents(ops.tanh, (0,), Y, np.tanh(X), [X], {}) is None
    assert native.compute("any", {}, lambda values: values, [X]) is None
    assert_array_equal(dispatch.evaluate(ops.tanh, [X], {}), np.tanh(X))


def test_without_llvmlite_all_is_left_to_numpy(monkeypatch):
    monkeypatch.delenv("DYNAMIC_COMPILE_LARGE_OPS", raising=False)
    assert native._allowed()
    monkeypatch.setattr(native.importlib.util, "find_spec", lambda name: None)
    assert not native._allowed()


def loss(x, w, b, labels):
    h = torch.nn.functional.layer_norm(x, (1009,), w, b)
    h = torch.nn.functional.gelu(h) * torch.sigmoid(h) + h.softmax(-1)
    return torch.nn.functional.cross_entropy(h, labels) + h.var(1).mean()


def gradients(order: int) -> list[np.ndarray]:
    """The gradients of `loss`, of first order or of the second."""
    x, w, b = (torch.from_numpy(one.copy()).requires_grad_(True) for one in (X, ROW, ROW))
    value = loss(x, w, b, torch.from_numpy(LABELS))
    if order == 1:
        value.backward()
        return [value.detach().numpy(), *(one.grad.numpy() for one in (x, w, b))]
    first = torch.autograd.grad(value, (x, w, b), create_graph=True)
    second = torch.autograd.grad(sum((one**2).sum() for one in first), (x, w, b))
    return [one.detach().numpy() for one in (*first, *second)]


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_tensors_have_the_gradients_that_they_have_with_numpy(order, monkeypatch):
    used: list[str] = []
    compiled = native.compute
    with monkeypatch.context() as patch:
        patch.setattr(native, "compute", lambda *a, **k: used.append(a[0]) or compiled(*a, **k))
        found = gradients(order)
    assert used
    monkeypatch.setattr(native.state, "enabled", False)
    for one, other in zip(found, gradients(order), strict=True):
        assert_near(one, other, one.dtype, 1e-13)


def test_forward_mode_goes_through_kernels():
    x, v = torch.from_numpy(X), torch.from_numpy(Y)
    value, tangent = torch.func.jvp(lambda x: torch.softmax(torch.tanh(x), -1), (x,), (v,))
    p, t = value.numpy(), np.tanh(X)
    inner = (1 - t * t) * Y
    expected = p * (inner - (p * inner).sum(1, keepdims=True))
    assert_near(tangent.numpy(), expected, "f8", 1e-13)


def test_a_kernel_may_be_made_while_a_graph_is_traced():
    large = torch.from_numpy(values(257, 521))

    def traced(x):
        return x * float((torch.softmax(large, 0) * 2).sum())

    assert_allclose(sg.function(traced)(np.ones(3)), np.full(3, 2 * 521.0), rtol=1e-12)


def test_several_threads_compute_at_once():
    torch.set_num_threads(2)
    expected = native.evaluate(ops.softmax, [X], {"axis": 1})
    right: list[bool] = []

    def work() -> None:
        for _ in range(20):
            found = native.evaluate(ops.softmax, [X], {"axis": 1})
            right.append(bool((found == expected).all()))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert right == [True] * 80


def test_kernels_serve_other_sizes_and_are_few(monkeypatch):
    monkeypatch.setattr(native, "_kernels", {})
    monkeypatch.setattr(native, "_seen", {})
    for rows in (131, 150, 171):
        x = values(rows, 1009)
        assert_allclose(native.evaluate(ops.exp, [x], {}), np.exp(x), rtol=1e-14)
    assert len(native._kernels) == 1
    monkeypatch.setattr(native, "KEPT", 1)
    assert_allclose(native.evaluate(ops.tanh, [X], {}), np.tanh(X), rtol=1e-14)
    assert len(native._kernels) == 1


def test_attributes_that_are_equal_but_not_the_same_have_kernels_of_their_own():
    for slope in (0.0, -0.0):
        found = native.evaluate(ops.leaky_relu, [X], {"negative_slope": slope})
        assert_array_equal(np.signbit(found), np.signbit(np.where(X > 0, X, X * slope)))


@pytest.mark.slow
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(31, 11, 23, 19), (8219, 17)])
def test_batch_norm_gives_what_it_gives_with_numpy(shape, training, affine, monkeypatch):
    channels = shape[1]

    def results() -> list[np.ndarray]:
        x = torch.from_numpy(values(*shape) + 3).requires_grad_(True)
        w, b = (torch.from_numpy(values(channels, seed=i)).requires_grad_(True) for i in (1, 2))
        state = torch.zeros(channels, dtype=torch.float64), torch.from_numpy(values(channels) ** 2)
        given = (w, b) if affine else (None, None)
        h = torch.nn.functional.batch_norm(x, *state, *given, training)
        (h * torch.from_numpy(values(*shape, seed=5))).sum().backward()
        found = [h.detach(), x.grad, *state, *((w.grad, b.grad) if affine else ())]
        return [one.numpy() for one in found]

    kernels: dict[object, object] = {}
    monkeypatch.setattr(native, "_kernels", kernels)
    monkeypatch.setattr(native, "_seen", {})
    found = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        found.append(results())
    assert {key[0] for key in kernels} > {"batch norm", "batch sums", "batch cotangent"}
    monkeypatch.setattr(native.state, "enabled", False)
    for one, two, five, expected in zip(*found, results(), strict=True):
        assert_array_equal(one, two)
        assert_array_equal(one, five)
        assert_near(one, expected, "f8", 1e-13)


def test_composites_over_rows_have_kernels_where_they_are_smaller():
    rows, labels = values(64, 600), np.zeros(64, np.int64)
    for op, operands, attrs in (
        (ops.log_softmax, [rows], {"axis": 1}),
        (ops.cross_entropy, [rows, labels], {"reduction": "mean"}),
    ):
        expected = op.evaluate(*operands, **attrs)
        assert_near(native.evaluate(op, operands, attrs), expected, "f8", 1e-12)
        few = [one[:32] for one in operands]
        assert native.evaluate(op, few, attrs) is None
    assert native.evaluate(ops.exp, [rows], {}) is None


def test_what_an_index_names_is_added_by_a_kernel_where_it_is_little(monkeypatch):
    served = []
    monkeypatch.setattr(native, "cotangents", lambda op, *rest: served.append(op))
    index = np.random.default_rng(0).integers(0, 50, 300)
    for count in (300, 200):
        table = torch.tensor(values(50, 64)).requires_grad_()
        found = torch.nn.functional.embedding(torch.tensor(index[:count]), table)
        found.backward(torch.ones(count, 64).double())
        sums = np.bincount(index[:count], minlength=50)
        assert_array_equal(table.grad.numpy(), np.repeat(sums[:, None], 64, 1))
    assert served == [ops.take]
