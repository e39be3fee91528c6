"""Large arrays: what small ones give, in any order of memory, whatever the number of threads."""

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
from staticgraph.compiler import ops
from staticgraph.dynamic.kernels import dispatch, memory, native
from staticgraph.dynamic.tape.recipes import recipe
from tests.combinations import some

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


X = values(300, 1000)
CASES = {
    "tanh": (ops.tanh, [X], {}),
    "gelu": (ops.gelu, [X], {"approximate": "none"}),
    "gelu with tanh": (ops.gelu, [X], {"approximate": "tanh"}),
    "relu": (ops.relu, [X], {}),
    "sigmoid": (ops.sigmoid, [X], {}),
    "silu": (ops.silu, [X], {}),
    "power of 2": (ops.power, [np.abs(X), np.array(2.0)], {}),
    "power of 3": (ops.power, [np.abs(X), np.array(3.0)], {}),
    "gelu of a strided array": (ops.gelu, [values(1000, 300).T], {"approximate": "none"}),
    "elu of a vector": (ops.elu, [values(300_001)], {"alpha": 1.0}),
    "divide by one number": (ops.divide, [X, np.array(3.0)], {}),
    "add": (ops.add, [X, values(300, 1000, seed=2)], {}),
    "add a row": (ops.add, [X, values(1, 1000)], {}),
    "subtract": (ops.subtract, [X, values(300, 1000, seed=2)], {}),
    "multiply": (ops.multiply, [X, values(300, 1000, seed=2)], {}),
    "multiply by a number": (ops.multiply, [X, np.array(3.0)], {}),
    "divide": (ops.divide, [X, values(300, 1000, seed=2) + 9], {}),
    "negative": (ops.negative, [X], {}),
    "exp": (ops.exp, [X], {}),
    "log": (ops.log, [np.abs(X)], {}),
    "log1p": (ops.log1p, [np.abs(X)], {}),
    "square": (ops.square, [X], {}),
    "sqrt": (ops.sqrt, [np.abs(X)], {}),
    "sin": (ops.sin, [X], {}),
    "cos": (ops.cos, [X], {}),
    "multiply by a matrix": (ops.multiply, [values(3, 300, 500), values(300, 500)], {}),
    "divide by a column": (ops.divide, [X, values(300, 1) + 9], {}),
    "divide by a row": (ops.divide, [X, values(1000) + 9], {}),
    "clamp by two numbers": (ops.clamp, [X, np.array(-1.0), np.array(1.0)], {}),
    "clamp by a row": (ops.clamp, [X, values(1000) - 3, np.array(1.0)], {}),
    "clamp by one row of two": (ops.clamp, [X, values(1, 1000) - 3, np.array(1.0)], {}),
    "softmax": (ops.softmax, [X], {"axis": 1}),
    "softmax along the first axis": (ops.softmax, [X], {"axis": 0}),
    "softmax of short rows": (ops.softmax, [values(30_000, 10)], {"axis": 1}),
    "softmax of long rows": (ops.softmax, [values(100, 3000)], {"axis": 1}),
    "softmax of a few matrices": (ops.softmax, [values(2, 300, 1000)], {"axis": 2}),
    "softmax of strided matrices": (ops.softmax, [values(3, 300, 500)[:, ::2]], {"axis": 2}),
    "log softmax": (ops.log_softmax, [values(40, 5, 1000)], {"axis": 1}),
    "layer norm": (ops.layer_norm, [X, values(1000), values(1000)], {"axes": 1, "eps": 1e-5}),
    "layer norm of matrices": (
        ops.layer_norm, [values(2, 150, 30, 40), values(30, 40), values()], {"axes": 2, "eps": 1e-5}
    ),
    "layer norm of long rows": (
        ops.layer_norm, [values(100, 3000), values(3000), values()], {"axes": 1, "eps": 1e-5}
    ),
    "layer norm by numbers": (ops.layer_norm, [X, values(), values()], {"axes": 1, "eps": 1e-5}),
    "layer norm of all": (ops.layer_norm, [X, X + 1, values()], {"axes": 2, "eps": 1e-5}),
    "var": (ops.var, [X], {"axes": (1,), "keepdims": False, "correction": 1}),
    "logsumexp": (ops.logsumexp, [X], {"axes": (1,), "keepdims": True}),
    "sum of all": (ops.sum, [X], {"axes": (0, 1), "keepdims": False}),
    "sum of all with axes": (ops.sum, [X], {"axes": (0, 1), "keepdims": True}),
    "sum of all of a strided array": (ops.sum, [X.T], {"axes": (0, 1), "keepdims": False}),
    "sum of the columns": (ops.sum, [X], {"axes": (0,), "keepdims": False}),
    "sum of the rows": (ops.sum, [X], {"axes": (1,), "keepdims": False}),
    "mean of the columns": (ops.mean, [X], {"axes": (0,), "keepdims": False}),
}  # fmt: skip


def computed(op, operands, attrs, out, g):
    """The value and the cotangents, as they are computed for tensors."""
    plan = recipe(op, tuple(op.rule(i) is not None for i in range(len(operands))))
    value = dispatch.evaluate(op, operands, attrs)
    found = dispatch.cotangents(plan, range(len(operands)), g, out, operands, attrs)
    return [value, *(one for _, one in found)]


def by_numpy(op, operands, attrs, out, g):
    positions = tuple(i for i in range(len(operands)) if op.rule(i) is not None)
    return [out, *op.cotangents(positions, g, out, *operands, **attrs)]


@pytest.mark.parametrize("enabled", some([True, False], 1))
@pytest.mark.parametrize("name", some(CASES, 26))
def test_large_arrays_give_what_numpy_gives(name, enabled, monkeypatch):
    op, operands, attrs = CASES[name]
    monkeypatch.setattr(native.state, "enabled", enabled)
    out = op.evaluate(*operands, **attrs)
    g = values(*out.shape, seed=1)
    found = computed(op, operands, attrs, out, g)
    for one, other in zip(found, by_numpy(op, operands, attrs, out, g), strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-12, strict=True)


@pytest.mark.parametrize("name", some(CASES, 9))
def test_results_do_not_depend_on_the_number_of_threads(name):
    case = CASES[name]
    op, operands, attrs = case
    out = op.evaluate(*operands, **attrs)
    g = np.broadcast_to(np.array(0.5), out.shape)
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(computed(op, operands, attrs, out, g))
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one, same)


def unaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory


ORDERS = {
    "transposed": lambda *shape: values(*shape[::-1]).T,
    "every other column": lambda *shape: values(*shape[:-1], 2 * shape[-1])[..., ::2],
    "backwards": lambda *shape: values(*shape)[:, ::-1],
    "unaligned": lambda *shape: unaligned(values(*shape)),
    "a row for all": lambda *shape: np.broadcast_to(values(shape[-1]), shape),
}


@pytest.mark.parametrize("first", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("second", [*ORDERS.values(), values], ids=[*ORDERS, "row-major"])
@pytest.mark.parametrize("op", some([ops.power, ops.add, ops.hypot], 1), ids=lambda op: op.name)
def test_operands_may_lie_in_any_order_of_memory(op, first, second):
    operands = [np.abs(first(300, 500)) + 0.5, second(300, 500)]
    out = op.evaluate(*operands)
    for g in (values(300, 500, seed=2), values(500, 300, seed=2).T):
        found = computed(op, operands, {}, out, g)
        for one, other in zip(found, by_numpy(op, operands, {}, out, g), strict=True):
            assert_allclose(one, other, rtol=1e-12, atol=1e-13, strict=True)


def test_operands_of_one_order_that_is_not_row_major_are_not_copied(monkeypatch):
    monkeypatch.setattr(native, "row_major", native.held_by)
    x, y = values(500, 300).T, np.asfortranarray(values(300, 500))
    found = native.evaluate(ops.hypot, [x, y], {})
    assert found is not None and found.flags.f_contiguous
    assert_allclose(found, np.hypot(x, y), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_of_negative_numbers(dtype):
    """NumPy takes a hundred times as long for these as for others."""
    x = values(300, 1000).astype(dtype)
    a = torch.from_numpy(x.copy()).requires_grad_(True)
    (a**3).sum().backward()
    assert_allclose(a.grad.numpy(), 3 * x * x, rtol=1e-6 if dtype == "f4" else 1e-14)


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0])
def test_the_gradient_of_a_power_to_its_base_alone_is_that_of_the_rule(exponent):
    operands = [X, np.array(exponent)]
    out = ops.power(*operands)
    g = values(*out.shape, seed=1)
    plan = recipe(ops.power, (True, False))
    ((_, found),) = dispatch.cotangents(plan, (0, 1), g, out, operands, {})
    assert_allclose(found, ops.power.rule(0)(g, out, *operands), rtol=1e-14, strict=True)


def test_sums_of_rows_in_float32_are_as_exact_as_numpys():
    x = values(400, 1024) + 100
    exact = np.exp(x - x.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    found = ops.softmax(x.astype(np.float32), axis=1)
    x -= x.mean(1, keepdims=True)
    x /= np.sqrt(np.square(x).mean(1, keepdims=True) + 1e-5)
    normal = ops.layer_norm((values(400, 1024) + 100).astype(np.float32), 1024)
    # the input itself is rounded to eps / 2 of its size, a hundred times what is left of it
    assert_allclose(normal, x, rtol=0, atol=200 * np.finfo(np.float32).eps)
    assert_allclose(found, exact, rtol=200 * np.finfo(np.float32).eps)


def test_sizes_that_do_not_broadcast_are_an_error():
    x, y = torch.ones(3 * dispatch.LARGE), torch.ones(dispatch.LARGE)
    for op in (ops.divide, ops.atan2):
        with pytest.raises(RuntimeError, match=r"do not broadcast"):
            op(x, y)


def test_large_gradients_are_added_up():
    x = torch.from_numpy(X.copy()).requires_grad_(True)
    for _ in range(2):
        (x * 2 + x + x.T.T).sum().backward()
    assert_array_equal(x.grad.numpy(), np.full(X.shape, 8.0))


def test_large_tensors_have_the_gradients_of_small_ones():
    x = torch.from_numpy(X.copy()).requires_grad_(True)
    w = torch.from_numpy(values(1000)).requires_grad_(True)

    def loss(rows):
        h = torch.nn.functional.layer_norm(rows, (1000,), w)
        return (torch.softmax(torch.nn.functional.gelu(h), -1) ** 2).sum()

    loss(x).backward()
    whole = w.grad.numpy().copy()
    w.grad = None
    parts = []
    for rows in X:
        row = torch.from_numpy(rows[None].copy()).requires_grad_(True)
        loss(row).backward()
        parts.append(row.grad.numpy())
    assert_allclose(x.grad.numpy(), np.concatenate(parts), rtol=1e-9, atol=1e-12)
    assert_allclose(whole, w.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_several_threads_compute_at_once():
    torch.set_num_threads(2)
    expected = dispatch.evaluate(ops.tanh, [X], {})
    right: list[bool] = []

    def work() -> None:
        for _ in range(20):
            right.append(bool((dispatch.evaluate(ops.tanh, [X], {}) == expected).all()))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert right == [True] * 80


FORKED = """
import os, numpy as np, dynamic as torch
torch.set_num_threads(2)
x = torch.ones(1_000_000)
assert torch.tanh(x).sum().item() > 0
child = os.fork()
value = torch.tanh(x).sum().item()
if not child:
    os._exit(0 if value == torch.tanh(x).sum().item() else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


def test_a_forked_child_starts_threads_of_its_own():
    command = [sys.executable, "-W", "error", "-c", FORKED]
    result = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_number_of_threads_is_positive_and_read_from_the_environment():
    with pytest.raises(ValueError, match="expects a positive integer, got 0"):
        torch.set_num_threads(0)
    code = "import dynamic; print(dynamic.get_num_threads())"
    for given, expected in (("3", "3"), ("1", "1")):
        environment = os.environ | {"OMP_NUM_THREADS": given}
        command = [sys.executable, "-c", code]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        assert result.stdout.strip() == expected


def test_freed_memory_is_left_to_the_environment(monkeypatch):
    for name, value in (
        ("DYNAMIC_KEEP_FREED_MEMORY", "0"), ("MALLOC_TRIM_THRESHOLD_", "1000000"),
        ("MALLOC_MMAP_THRESHOLD_", "1000000"), ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1"),
    ):  # fmt: skip
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not memory.keep_freed_memory()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        assert not memory.keep_freed_memory()


MEMORY = """
import dynamic as torch
from staticgraph.dynamic.kernels import memory
x = torch.ones(10)
(x * 2).sum()
assert not memory.state.asked
torch.ones(1_000_000).exp()
assert memory.state.asked
"""


def test_malloc_is_left_alone_until_there_are_large_arrays():
    command = [sys.executable, "-W", "error", "-c", MEMORY]
    result = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
