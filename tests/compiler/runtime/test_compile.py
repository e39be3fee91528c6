"""Compiled functions: what a call does to its inputs, its results, and the variables."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph import compilation
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.runtime.cache.loader import counts
from staticgraph.compiler.runtime.shared_code import _multiplied


@pytest.fixture
def kernels() -> Callable[[], int]:
    """How many kernels have been made since the test began, compiled or from the cache."""

    def made() -> int:
        return counts["compiled"] + counts["loaded"]

    before = made()
    return lambda: made() - before


# -- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fuse", [True, False])
def test_two_variables_are_swapped(fuse: bool) -> None:
    a, b = sg.variable(np.arange(5.0), "a"), sg.variable(np.arange(5.0) * 10, "b")
    swap = sg.compile([], [a + b], updates={a: b, b: a}, fuse=fuse)
    for _ in range(3):
        old_a, old_b = a.value, b.value
        assert_array_equal(swap()[0], old_a + old_b)
        assert_array_equal(a.value, old_b)
        assert_array_equal(b.value, old_a)


def test_three_variables_rotate_through_a_reversal() -> None:
    a, b, c = (sg.variable(np.arange(4.0) + i * 10) for i in range(3))
    rotate = sg.compile([], [], updates=[(a, b[::-1]), (b, c[::-1]), (c, a[::-1])])
    old = [v.value for v in (a, b, c)]
    rotate()
    for v, value in zip((a, b, c), (old[1], old[2], old[0]), strict=True):
        assert_array_equal(v.value, value[::-1])


@pytest.mark.parametrize("fuse", [True, False])
def test_momentum_moves_by_the_new_velocity_and_reads_the_old(fuse: bool) -> None:
    w, v = sg.variable(np.ones(3), "w"), sg.variable(np.full(3, 2.0), "v")
    g = sg.placeholder("g", (3,), "float64")
    moved = 0.9 * v + g
    step = sg.compile([g], [w * 1.0, moved], updates={v: moved, w: w - 0.1 * moved}, fuse=fuse)
    weight, velocity = w.value, v.value
    for i in range(4):
        gradient = np.arange(3.0) + i
        before, used = step(gradient)
        assert_array_equal(before, weight)
        velocity = 0.9 * velocity + gradient
        weight = weight - 0.1 * velocity
        assert_allclose(used, velocity, rtol=1e-15)
        assert_allclose(v.value, velocity, rtol=1e-15)
        assert_allclose(w.value, weight, rtol=1e-15)


def test_a_node_that_runs_later_reads_the_old_value() -> None:
    w = sg.variable(np.arange(6.0).reshape(2, 3), "w")
    x = sg.placeholder("x", (None, 2), "float64")
    later = sg.sum(x @ w, axis=0) @ sg.transpose(w)
    f = sg.compile([x], [later, w[:, ::-1]], updates={w: w * 2 + 1})
    rows, old = np.ones((4, 2)), w.value
    result, reverse = f(rows)
    assert_allclose(result, (rows @ old).sum(0) @ old.T)
    assert_array_equal(reverse, old[:, ::-1])
    assert_array_equal(w.value, old * 2 + 1)


def test_a_value_per_row_is_read_before_it_is_written() -> None:
    v = sg.variable(np.arange(4.0), "v")
    x = sg.placeholder("x", (4, None), "float64")
    total = sg.sum(x, axis=1)
    f = sg.compile([x], (x - total[:, None]) * v[:, None], updates={v: total * 2})
    rows, old = np.arange(12.0).reshape(4, 3), v.value
    assert_allclose(f(rows), (rows - rows.sum(1, keepdims=True)) * old[:, None])
    assert_array_equal(v.value, rows.sum(1) * 2)


def test_an_update_may_be_a_product_a_constant_or_the_variable_itself() -> None:
    w = sg.variable(np.eye(3) * 2, "w")
    same, reset = sg.variable(np.arange(3.0), "same"), sg.variable(np.ones(2), "reset")
    f = sg.compile([], [], updates={w: w @ w, same: same, reset: np.zeros(2)})
    assert f() == []
    assert_array_equal(w.value, np.eye(3) * 4)
    assert_array_equal(same.value, np.arange(3.0))
    assert_array_equal(reset.value, np.zeros(2))


@pytest.mark.parametrize("fuse", [True, False])
def test_an_index_out_of_range_leaves_every_variable_as_it_was(fuse: bool) -> None:
    table = sg.variable(np.arange(12.0).reshape(4, 3), "table")
    count = sg.variable(np.array(0, np.int64), "count")
    noise = sg.variable(np.full(3, -0.0), "noise")
    index = sg.placeholder("index", (None,), "int64")
    rows = sg.take(table, index, axis=0)
    f = sg.compile(
        [index],
        sg.sum(rows),
        updates={count: count + 1, table: table * 2 + sg.sum(rows), noise: noise * 3},
        fuse=fuse,
    )
    f(np.array([0, -4]))
    before = [v.value.tobytes() for v in (table, count, noise)]
    for wrong, bad in ((4, [0, 4]), (-5, [-5]), (2**40, [1, 2, 2**40, 0])):
        with pytest.raises(sg.OutOfRangeError, match=rf"take: index {wrong} is out of range"):
            f(np.array(bad))
        assert [v.value.tobytes() for v in (table, count, noise)] == before
    f(np.array([3]))
    assert count.value == 2


def test_executables_share_variables_and_see_assigned_values() -> None:
    w = sg.variable(np.zeros(2), "w")
    x = sg.placeholder("x", (2,), "float64")
    add = sg.compile([x], [], updates={w: w + x})
    read = sg.compile([], w * 1)
    add(np.array([1.0, 2.0]))
    assert_array_equal(read(), [1, 2])
    w.value = [5, 6]
    add(np.array([1.0, 2.0]))
    assert_array_equal(read(), [6, 8])
    assert_array_equal(w.value, [6, 8])
    value = w.value
    value[:] = 0
    assert_array_equal(read(), [6, 8])


# -- inputs --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def doubled() -> sg.Executable:
    x = sg.placeholder("x", (None, None))
    return sg.compile([x], x * 2)


ROWS = np.arange(24, dtype=np.float32).reshape(4, 6)
UNALIGNED = np.frombuffer(bytearray(4 * 24 + 1), np.uint8)[1:].view(np.float32).reshape(4, 6)
READONLY = ROWS.copy()
READONLY.flags.writeable = False


@pytest.mark.parametrize(
    "array",
    [
        ROWS, ROWS.T, ROWS[::-1], ROWS[:, ::2], ROWS[1:2], ROWS[:, :1], READONLY, UNALIGNED,
        ROWS.astype(">f4"), np.asfortranarray(ROWS), np.broadcast_to(ROWS[0], (3, 6)),
        ROWS[:0], ROWS[:, :0].T, [[1, 2.5], [True, 4]], [[]], ((1.0,),),
    ],
    ids=lambda array: type(array).__name__,
)  # fmt: skip
def test_every_layout_of_an_input_gives_the_same(doubled: sg.Executable, array: Any) -> None:
    before = np.array(array)
    result = doubled(array)
    assert result.dtype == np.float32
    assert_array_equal(result, np.asarray(array, np.float32) * 2)
    assert_array_equal(array, before)
    assert not np.shares_memory(result, np.asarray(array))


def test_scalars_and_lists_take_the_dtype_of_the_placeholder() -> None:
    x, n = sg.placeholder("x"), sg.placeholder("n", (None,), "uint8")
    f = sg.compile([x, n], [x + 0.5, n + 1])
    for value in (1, True, 1.0, np.float32(1), np.array(1, np.float32)):
        result, counts = f(value, [255, 0])
        assert (result, result.dtype, result.shape) == (1.5, np.float32, ())
        assert_array_equal(counts, np.array([0, 1], np.uint8), strict=True)
    assert_array_equal(f(1, [])[1], np.zeros(0, np.uint8), strict=True)


def test_feeds_by_name_in_any_order() -> None:
    x, y = sg.placeholder("x", (None,)), sg.placeholder("a b\n'; import os", (None,))
    f = sg.compile([x, y], x - y)
    one, two = np.ones(2, np.float32), np.full(2, 2, np.float32)
    assert_array_equal(f(**{"a b\n'; import os": one, "x": two}), [1, 1])
    assert_array_equal(f(two, **{"a b\n'; import os": one}), [1, 1])


def test_one_executable_serves_every_batch_size(kernels: Callable[[], int]) -> None:
    rng = np.random.default_rng(0)
    w = sg.variable(rng.normal(size=(3, 2)), "w")
    x = sg.placeholder("x", (None, 3), "float64")
    y = sg.placeholder("y", (None,), "int64")
    loss = sg.cross_entropy(x @ w, y, reduction="sum")
    f = sg.compile([x, y], [loss, sg.grad(loss, w)])
    for size in (7, 0, 1, 1000, 7, 0):
        rows, labels = rng.normal(size=(size, 3)), rng.integers(0, 2, size)
        value, gradient = f(rows, labels)
        scores = rows @ w.value
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        assert_allclose(value, -np.log(p[np.arange(size), labels]).sum(), rtol=1e-12)
        assert_allclose(gradient, rows.T @ (p - np.eye(2)[labels]), rtol=1e-10, atol=1e-12)
    assert kernels() == 1


def test_many_sizes_do_not_outgrow_what_is_remembered(doubled: sg.Executable) -> None:
    for size in range(1, 200):
        assert doubled(np.ones((size, 1), np.float32)).shape == (size, 1)
    assert_array_equal(doubled(ROWS), ROWS * 2)


# -- results -------------------------------------------------------------------------------------


def test_results_have_the_structure_of_the_outputs() -> None:
    x = sg.placeholder("x", (2,))
    values = np.array([1, 2], np.float32)
    single = sg.compile([x], x + 1)(values)
    assert_array_equal(single, [2, 3])
    assert type(sg.compile([x], [x + 1])(values)) is list
    assert type(sg.compile([x], (x + 1, x))(values)) is tuple
    named = sg.compile([x], {"b": x + 1, "a": x})(values)
    assert list(named) == ["b", "a"]
    assert_array_equal(named["a"], values)


def test_outputs_that_are_inputs_constants_or_the_same_are_arrays_of_their_own() -> None:
    x, w = sg.placeholder("x", (2,)), sg.variable(np.ones(2, np.float32))
    c, y = sg.constant([3.0, 4.0]), sg.exp(sg.placeholder("x2", ()))
    f = sg.compile([x, y.operands[0]], [x, x, w, c, c, c, y, y, y, w, x[::-1]])
    values = np.array([1, 2], np.float32)
    results = f(values, 0.0)
    expected = [values, values, [1, 1], *[[3, 4]] * 3, 1, 1, 1, [1, 1], [2, 1]]
    for result, value in zip(results, expected, strict=True):
        assert_array_equal(result, value)
        result[...] = -7
    assert_array_equal(values, [1, 2])
    for result, value in zip(f(values, 0.0), expected, strict=True):
        assert_array_equal(result, value)


def test_results_are_fresh_at_each_call(doubled: sg.Executable) -> None:
    first = doubled(ROWS)
    kept = first.copy()
    second = doubled(ROWS + 1)
    assert not np.shares_memory(first, second)
    assert_array_equal(first, kept)
    assert first.flags.owndata
    assert first.flags.writeable


def test_no_inputs_at_all() -> None:
    w = sg.variable(np.eye(3), "w")
    assert sg.compile([], sg.sum((w @ w) @ w))() == 3
    assert_array_equal(sg.compile([], sg.constant([1, 2]))(), [1, 2])
    assert sg.compile([], [])() == []


def test_a_size_of_one_input_may_depend_on_another() -> None:
    x = sg.placeholder("x", (None,), "float64")
    y = sg.placeholder("y", (2 * x.shape[0] + 1,), "float64")
    f = sg.compile([y, x], sg.sum(x) + sg.sum(y))
    assert f(np.ones(7), np.ones(3)) == 10
    with pytest.raises(sg.ShapeError, match=r"axis 0 of \[6\] is 6, not 2\*x.0 \+ 1 = 7"):
        f(np.ones(6), np.ones(3))


def test_a_placeholder_may_give_its_size_alone() -> None:
    x = sg.placeholder("x", (None, 2))
    f = sg.compile([x], sg.ones((x.shape[0],)) * x.shape[0])
    assert_array_equal(f(np.zeros((3, 2), np.float32)), [3, 3, 3])


# -- givens and run ------------------------------------------------------------------------------


def test_givens_replace_expressions_before_compiling() -> None:
    x, w = sg.placeholder("x", (None,)), sg.variable(np.float32(2))
    hidden = x * w
    out = sg.sum(hidden + 1)
    values = np.array([1, 2], np.float32)
    assert sg.compile([x], out)(values) == 8
    assert sg.compile([x], out, givens={w: 3.0})(values) == 11
    z = sg.placeholder("z", (None,))
    assert sg.compile([z], out, givens={hidden: z * z})(values) == 7
    center = hidden - sg.mean(hidden)
    rows = sg.placeholder("rows", (None, 2))
    f = sg.compile([rows], [center, sg.sum(rows)], givens={x: rows[:, 0] * w})
    assert_array_equal(f([[1, 7], [3, 7]])[0], [-4, 4])
    f = sg.compile([x], [], updates={w: w + sg.sum(hidden)}, givens={x: x + 1})
    f(values)
    assert w.value == 2 + 2 * 5


def test_run_compiles_once_and_forgets_with_the_expression(kernels: Callable[[], int]) -> None:
    x = sg.placeholder("x", (None,))
    y = sg.sum(x * x)
    before = len(compilation._compiled)
    for size in (1, 2, 3):
        assert sg.run(y, {x: np.ones(size, np.float32)}) == size
    assert kernels() == 1
    assert len(compilation._compiled) == before + 1
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None
    assert len(compilation._compiled) == before


def test_run_without_feeds_sees_assigned_variables() -> None:
    w = sg.variable([1.0, 2.0])
    total = sg.sum(w)
    assert sg.run(total) == 3
    w.value = [3.0, 4.0]
    assert sg.run(total) == 7


# -- calls that meet -------------------------------------------------------------------------------


def test_two_threads_call_one_executable() -> None:
    x = sg.placeholder("x", (None, 8), "float64")
    w = sg.constant(np.eye(8) * 2)
    f = sg.compile([x], [sg.softmax(x @ w) @ w, sg.sum(x)])
    failures: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            rows = rng.normal(size=(int(rng.integers(0, 9)), 8))
            value, total = f(rows)
            e = np.exp(2 * rows)
            if not np.allclose(value, 2 * e / e.sum(1, keepdims=True)):
                failures.append((rows, value))
            if not np.isclose(total, rows.sum()):
                failures.append((rows, total))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_call_after_an_error_is_as_before(doubled: sg.Executable) -> None:
    expected = doubled(ROWS)
    given = {
        "float32[3] has 1 axes": np.ones(3, np.float32),
        "int64[": ROWS.astype(int),
        "object[": object(),
        "str128[": "text",
    }
    for text, bad in given.items():
        with pytest.raises(sg.StaticGraphError, match=rf"feed 'x': {re.escape(text)}"):
            doubled(bad)
        assert_array_equal(doubled(ROWS), expected)
        assert_array_equal(doubled(ROWS[:1]), expected[:1])


def test_an_index_error_does_not_spoil_the_next_call() -> None:
    x, i = sg.placeholder("x", (None, 2)), sg.placeholder("i", (None,), "int32")
    f = sg.compile([x, i], sg.take(x, i, axis=0))
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    for _ in range(2):
        with pytest.raises(sg.OutOfRangeError, match="index 3"):
            f(rows, [0, 3])
        assert_array_equal(f(rows, [-1, 0]), rows[[-1, 0]])


@pytest.mark.parametrize("gradient", [False, True])
def test_an_index_into_an_empty_axis_is_an_error_at_any_width(gradient: bool) -> None:
    # the index is replaced by 0 where it is out of range, which an empty axis does not have
    x, i = sg.placeholder("x", (None, 100_000)), sg.placeholder("i", (None,), "int64")
    rows = sg.take(x, i, axis=0)
    f = sg.compile([x, i], sg.grad(sg.sum(rows * 2), x) if gradient else rows)
    with pytest.raises(sg.OutOfRangeError, match="empty"):
        f(np.zeros((0, 100_000), np.float32), [0, 1])
    assert f(np.zeros((0, 100_000), np.float32), []).shape == (0, 100_000)


# -- optimizers ------------------------------------------------------------------------------------


def sgd(
    w: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray], steps: int, lr: float,
    momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False,
    maximize: bool = False,
) -> np.ndarray:  # fmt: skip
    """Sutskever et al. 2013 in PyTorch's form."""
    buffer = None
    for _ in range(steps):
        g = (-1 if maximize else 1) * gradient(w) + weight_decay * w
        if momentum:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        w = w - lr * g
    return w


def adam(
    w: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray], steps: int, lr: float,
    betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
    amsgrad: bool = False, maximize: bool = False,
) -> np.ndarray:  # fmt: skip
    """Kingma, Ba 2015, algorithm 1; Reddi et al. 2018 for amsgrad."""
    m, v, largest = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    for t in range(1, steps + 1):
        g = (-1 if maximize else 1) * gradient(w) + weight_decay * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        largest = np.maximum(largest, v)
        unbiased = (largest if amsgrad else v) / (1 - betas[1] ** t)
        w = w - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(unbiased) + eps)
    return w


@pytest.mark.parametrize(
    ("reference", "options"),
    [
        (sgd, {"lr": 0.1}),
        (sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
        (sgd, {"lr": 0.1, "momentum": 0.8, "dampening": 0.3, "maximize": True}),
        (adam, {"lr": 0.05}),
        (adam, {"lr": 0.05, "amsgrad": True, "weight_decay": 0.1, "betas": (0.5, 0.7)}),
        (adam, {"lr": 0.05, "maximize": True, "eps": 1e-3}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "-".join(value),
)
def test_optimizer_after_20_steps(reference: Callable[..., Any], options: dict[str, Any]) -> None:
    start = np.array([0.7, -1.3, 0.2])
    w = sg.variable(start, "w")
    loss = sg.sum(sg.sin(w) * w + 0.1 * w * w)
    optimizer = (sg.optim.SGD if reference is sgd else sg.optim.Adam)(**options)
    step = sg.compile([], loss, updates=optimizer.minimize(loss))
    for _ in range(20):
        step()
    expected = reference(start, lambda x: np.cos(x) * x + np.sin(x) + 0.2 * x, 20, **options)
    # 20 steps of some 20 roundings each: far below 1e-12 in float64
    assert_allclose(w.value, expected, rtol=1e-12)


def test_a_training_loop_in_float32_learns_a_line() -> None:
    x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
    a, b = sg.variable(0.0, "a"), sg.variable(0.0, "b")
    loss = sg.mse_loss(a * x + b, y)
    train = sg.compile([x, y], loss, updates=sg.optim.SGD(lr=0.1, momentum=0.5).minimize(loss))
    points = np.linspace(-1, 1, 40, dtype=np.float32)
    losses = [float(train(points, 3 * points - 1)) for _ in range(200)]
    assert losses[-1] < 1e-10 < losses[0]
    assert_allclose([a.value, b.value], [3, -1], atol=1e-4)
    assert a.value.dtype == np.float32


def test_sizes_taken_for_equal_must_be_equal_even_where_numpy_would_broadcast() -> None:
    x, y = sg.placeholder("x", (None, 3)), sg.placeholder("y", (None, 3))
    add = sg.compile([x, y], (x * 2) + sg.exp(y))
    assert add(np.ones((5, 3), "float32"), np.ones((5, 3), "float32")).shape == (5, 3)
    for left, right in ((5, 1), (1, 5)):
        message = (
            rf"add: x.0 = {left} and y.0 = {right} differ: a size that broadcasts is declared 1 "
            r"\(.*test_compile.py:\d+\)"
        )
        with pytest.raises(sg.ShapeError, match=message):
            add(np.ones((left, 3), "float32"), np.ones((right, 3), "float32"))


def test_one_element_is_told_what_no_element_is_told() -> None:
    x = sg.placeholder("x", (None,))
    sixth = sg.compile([x], x[5])
    for size in (0, 1, 2):
        message = f"strided_slice: axis 0 of float32.{size}.: 1 elements from 5 by 1 go past {size}"
        with pytest.raises(sg.ShapeError, match=message):
            sixth(np.ones(size, "float32"))


def test_products_of_two_matrices_are_foreseen() -> None:
    x, w = sg.placeholder("x", (None, 3)), sg.placeholder("w", (3, 4), dtype="float32")
    y, v = sg.placeholder("y", (3, 4), dtype="float64"), sg.placeholder("v", (3,))
    cases = (
        (x @ w, {"float32"}),
        (x.astype("float64") @ y, {"float64"}),
        (x @ v, set()),
        (sg.sum(x * x), set()),
        ((x @ w[:, :1]) + x.astype("int32") @ y.astype("int32"), set()),
    )
    for value, expected in cases:
        inputs = [one for one in ancestors([value]) if one.op.name == "placeholder"]
        assert set(_multiplied(define(inputs, [value]))) == expected
