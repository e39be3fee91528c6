"""Loops and branches in compiled code, against JAX's values and the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.codegen.bytecode import Branch, Repeat, While
from staticgraph.compiler.pipeline import rule_names
from tests.combinations import some
from tests.compiler.transforms.test_control_values import CLOSE, RECORDED, recorded, symbolic
from tests.loops import PROGRAMS, values

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", some(PROGRAMS, 4))
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"disable": sorted(rule_names())}, marks=pytest.mark.long),
        pytest.param({"fuse": False}, marks=pytest.mark.long),
    ],
)
def test_compiled_against_jax(name: str, options: dict[str, Any]) -> None:
    output, feeds = symbolic(PROGRAMS[name])
    leaves = list(feeds)
    compiled = sg.compile(leaves, [output, *sg.grad(output, leaves)], **options)
    before = [array.copy() for array in feeds.values()]
    first, second = (compiled(*feeds.values()) for _ in range(2))
    assert_allclose(first[0], RECORDED[f"{name} value"], **CLOSE)
    for one, other in zip(first[1:], recorded(name, "gradient"), strict=True):
        assert_allclose(one, other, **CLOSE)
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)
    for array, copy in zip(feeds.values(), before, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.parametrize("name", some(["nested", "rnn", "branches"], 1))
def test_both_backends_run_the_same_source(name: str) -> None:
    output, feeds = symbolic(PROGRAMS[name])
    llvm, numba = (
        sg.compile(list(feeds), output, backend=backend)(*feeds.values())
        for backend in ("llvm", "numba")
    )
    assert_array_equal(llvm, numba)


X = sg.placeholder("x", (None, 2, 3), "float64")
W = sg.placeholder("w", (3, 3), "float64")
H = sg.placeholder("h", (2, 3), "float64")


@pytest.mark.parametrize("reverse", [False, True])
def test_one_executable_for_every_length(reverse: bool) -> None:
    h, ys = sg.scan(lambda h, x: (sg.tanh(h @ W + x), h), H, X, reverse=reverse)
    gradients = sg.grad((h * h).sum() + sg.exp(ys).sum(), [X, W, H])
    compiled = sg.compile([X, W, H], [h, ys, *gradients])
    w, first = values(1, 3, 3), values(2, 2, 3)
    for length in (4, 1, 0, 2, 7, 0, 4):
        x = values(length, length, 2, 3)
        last, stacked, by_x, by_w, by_h = compiled(x, w, first)
        state, expected = first, np.zeros((length, 2, 3))
        for t in reversed(range(length)) if reverse else range(length):
            expected[t] = state
            state = np.tanh(state @ w + x[t])
        assert_allclose(last, state, rtol=1e-13)
        assert_allclose(stacked, expected, rtol=1e-13)
        assert (by_x.shape, by_w.shape, by_h.shape) == (x.shape, w.shape, first.shape)
        if not length:
            assert_array_equal(by_w, np.zeros((3, 3)))
            assert_array_equal(by_h, 2 * first)


def test_a_loop_runs_as_long_as_its_condition_holds() -> None:
    n, x = sg.placeholder("n", (), "int64"), sg.placeholder("x", (None,), "float32")

    def step(carry: Any) -> Any:
        return {"count": carry["count"] + 1, "x": carry["x"] * 0.5 + sg.astype(n, "float32")}

    result = sg.while_loop(
        lambda carry: sg.logical_and(carry["count"] < n, carry["x"].sum() < 100.0),
        step,
        {"count": 0, "x": x},
    )
    compiled = sg.compile([n, x], result)
    assert any(isinstance(one, While) for one in compiled.kernel.program)
    for size, limit in ((3, 0), (3, 4), (1, 9), (0, 2), (200, 5)):
        array = np.arange(size, dtype="float32")
        count, expected = 0, array
        while count < limit and expected.sum() < 100.0:
            count, expected = count + 1, expected * np.float32(0.5) + np.float32(limit)
        found = compiled(np.int64(limit), array)
        assert found["count"] == count
        assert_allclose(found["x"], expected, rtol=1e-6)


def test_only_one_branch_is_computed() -> None:
    pred, index = sg.placeholder("p", (), "bool"), sg.placeholder("i", (), "int64")
    table = sg.placeholder("t", (4, 3), "float64")
    first, second = sg.cond(
        pred, lambda t: (t[index] * 2, t.sum()), lambda t: (t[0], t[0].sum()), table
    )
    compiled = sg.compile([pred, index, table], [first, second])
    assert any(isinstance(one, Branch) for one in compiled.kernel.program)
    array = values(3, 4, 3)
    assert_array_equal(compiled(np.True_, 2, array)[0], array[2] * 2)
    assert_array_equal(compiled(np.False_, 9, array)[0], array[0])
    with pytest.raises(sg.OutOfRangeError, match=r"take: index 9 is out of range .*control_comp"):
        compiled(np.True_, 9, array)


def test_an_index_out_of_range_in_a_step_is_named_and_nothing_is_updated() -> None:
    tokens = sg.placeholder("i", (None,), "int64")
    table = sg.variable(values(4, 5, 2), "table")
    total, _ = sg.scan(lambda h, i: (h + sg.tanh(h) * table[i], None), table[0], tokens)
    step = sg.compile([tokens], total, updates={table: table * 2}, disable=sorted(rule_names()))
    before = table.value
    step(np.array([0, 4, 2]))
    assert_array_equal(table.value, before * 2)
    with pytest.raises(sg.OutOfRangeError, match=r"take: index 5 .* axis 0 of size 5") as caught:
        step(np.array([0, 5, 2]))
    assert "test_control_compiled.py" in str(caught.value)
    assert_array_equal(table.value, before * 2)
    assert step(np.array([], np.int64)).shape == (2,)


def test_training_a_recurrent_network_updates_its_variables() -> None:
    x = sg.placeholder("x", (None, None, 3))
    rng = np.random.default_rng(5)
    names = {"wx": (3, 4), "wh": (4, 4), "b": (4,)}
    start = {name: rng.normal(0, 0.5, shape).astype("f4") for name, shape in names.items()}
    wx, wh, b = (sg.variable(array, name) for name, array in start.items())
    zero = sg.zeros((x.shape[1], 4))
    h, _ = sg.scan(lambda h, x: (sg.tanh(x @ wx + h @ wh + b), None), zero, x)
    loss = (h * h).mean()
    step = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
    gradients = sg.compile([x], sg.grad(loss, [wx, wh, b]), disable=sorted(rule_names()))
    for length, batch in ((5, 2), (3, 6), (5, 2)):
        array = rng.normal(size=(length, batch, 3)).astype("f4")
        expected = [
            variable.value - np.float32(0.1) * gradient
            for variable, gradient in zip((wx, wh, b), gradients(array), strict=True)
        ]
        step(array)
        for variable, value in zip((wx, wh, b), expected, strict=True):
            assert_allclose(variable.value, value, rtol=2e-5, atol=1e-6)


def test_the_loops_of_a_training_step() -> None:
    """No product but that of the state waits for the step before; steps allocate nothing."""
    output, feeds = symbolic(PROGRAMS["rnn"])
    leaves = list(feeds)
    compiled = sg.compile(leaves, [output, *sg.grad(output, leaves)])
    loops = [one for one in compiled.kernel.program if isinstance(one, Repeat)]
    assert [len(loop.swaps) for loop in loops] == [1, 1]
    assert "for _ in range(t[" in compiled.source
    sizes = dict.fromkeys(compiled.plan.sizes, 8)
    assert compiled.plan.peak_bytes(sizes) > compiled.plan.arena_bytes(sizes) > 0
    assert "arena" in str(compiled.plan)


def test_integers_bools_and_scalars_are_carried() -> None:
    x = sg.placeholder("x", (None,), "int32")

    def step(carry: Any, x: Any) -> Any:
        count, seen, _ = carry
        return (count + sg.astype(x > 0, "int64"), sg.logical_or(seen, x > 5), x), (seen, count)

    init = sg.constant(0), sg.constant(False), sg.constant(np.int32(-1))
    (count, seen, last), ys = sg.scan(step, init, x)
    compiled = sg.compile([x], [count, seen, last, *ys])
    found = compiled(np.array([3, -1, 7, 2], np.int32))
    assert [one.dtype.name for one in found] == ["int64", "bool", "int32", "bool", "int64"]
    assert [one.tolist() for one in found[:3]] == [3, True, 2]
    assert found[3].tolist() == [False, False, False, True]
    assert found[4].tolist() == [0, 1, 1, 2]
    assert [one.tolist() for one in compiled(np.array([], np.int32))[:3]] == [0, False, -1]


def test_items_that_nothing_reads_have_a_place_too() -> None:
    (_, b), (_, y) = sg.scan(
        lambda carry, x: ((carry[0] * 2, carry[1] + carry[0] * x), (carry[0], x * 3)), (H, H), X
    )
    compiled = sg.compile([X, H], [b, y], disable=["prune_loops"])
    x, h = values(1, 3, 2, 3), values(2, 2, 3)
    assert_allclose(compiled(x, h)[0], h + h * x[0] + 2 * h * x[1] + 4 * h * x[2], rtol=1e-14)
    assert_allclose(compiled(x, h)[1], x * 3, rtol=1e-15)


def test_sizes_that_are_assumed_equal_are_checked_before_the_loop_runs() -> None:
    x, y = sg.placeholder("x", ("t", "n")), sg.placeholder("y", ("s", "n"))
    h, _ = sg.scan(lambda h, xy: (h + xy[0] * xy[1], None), sg.zeros((x.shape[1],)), (x, y))
    compiled = sg.compile([x, y], h)
    a = np.ones((3, 2), "f4")
    assert_array_equal(compiled(a, a), np.full(2, 3.0))
    with pytest.raises(sg.ShapeError, match=r"scan: float32\[4, 2\] is no stack of 3 slices \("):
        compiled(a, np.ones((4, 2), "f4"))
    z = sg.placeholder("z", ("m",))
    inner, _ = sg.scan(lambda h, row: (h + row * z, None), sg.zeros((x.shape[1],)), x)
    compiled = sg.compile([x, z], inner)
    with pytest.raises(sg.ShapeError, match=r"scan: .*do not broadcast: .* \(.*\.py:\d+\) \("):
        compiled(a, np.ones(3, "f4"))
