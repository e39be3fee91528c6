"""Floats of 16 bits in graphs: stored narrow, computed in float32, rounded once by each op."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.dtypes import as_dtype, computing, is_float, is_narrow, promoted

NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
EXACT = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal",
    "floor_divide", "remainder",
)  # fmt: skip
CLOSE = ("exp", "sin", "tanh", "log1p", "sum", "mean", "std", "prod", "cumsum", "cumprod")
"""What NumPy and the kernels round differently in float32, so that one in 2**11 may differ here."""


def _arrays(dtype: Any) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    a, b = (random.normal(size=64).astype(dtype) for _ in range(2))
    a[:8] = np.array([0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 6e4, 1e-5]).astype(dtype)
    b[:8] = np.array([1, 0, 1, 2, 3, 4, 6e4, 0.5]).astype(dtype)
    return a, b, random.normal(size=(5, 7)).astype(dtype)


def _cases(x: Any, y: Any, m: Any) -> Iterator[tuple[str, Any]]:
    yield from ((name, getattr(sg, name)(x, y)) for name in EXACT)
    yield from ((name, getattr(sg, name)(y)) for name in CLOSE)
    yield "product", m @ sg.transpose(m)
    yield "sort", sg.sort(y)
    yield "argmax", sg.argmax(y)
    yield "where", sg.where(x > y, x, y)
    yield "moved", sg.concatenate([y[3:9], sg.take(y, np.array([1, -1])), sg.pad(y, 1, 2.5)])
    yield "added", y.at[np.array([1, 1, 2])].add(1.5)
    yield "number", y * 2.0 + 1
    yield "wider", y + sg.astype(x, "float32")
    yield "cast", sg.astype(y, "int32")


def _expected(a: Any, b: Any, m: Any) -> dict[str, Any]:
    dtype = a.dtype
    wide, other, matrix = (one.astype(np.float32) for one in (a, b, m))
    found = {name: getattr(np, name)(wide, other) for name in EXACT}
    found |= {name: getattr(np, name)(other) for name in CLOSE}
    found["product"] = matrix @ matrix.T
    found["sort"], found["argmax"] = np.sort(other), np.argmax(other)
    found["where"] = np.where(wide > other, wide, other)
    found["moved"] = np.concatenate(
        [other[3:9], other[[1, -1]], np.pad(other, 1, constant_values=2.5)]
    )
    found["added"] = other.copy()
    np.add.at(found["added"], [1, 1, 2], 1.5)
    found["number"] = (other * 2).astype(dtype).astype(np.float32) + 1
    found = {
        name: np.asarray(one).astype(dtype)
        if np.asarray(one).dtype == np.float32
        else np.asarray(one)
        for name, one in found.items()
    }
    return found | {"wider": other + wide, "cast": b.astype(np.int32)}


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        pytest.param(NARROW[0], {}, id="llvm"),
        pytest.param(NARROW[0], {"backend": "numba"}, id="numba", marks=pytest.mark.slow),
        pytest.param(NARROW[1], {"numerics": "exact"}, id="exact"),
    ],
)
def test_every_op_computes_in_float32_and_rounds_once(dtype: Any, options: Any) -> None:
    given = _arrays(dtype)
    leaves = [sg.placeholder(name, (None,), dtype) for name in "xy"]
    leaves.append(sg.placeholder("m", (5, 7), dtype))
    kernel = sg.compile(leaves, dict(_cases(*leaves)), **options)
    with np.errstate(all="ignore"):
        found, expected = kernel(*given), _expected(*given)
        step = 2.0 ** -(10 if dtype == np.float16 else 7)
        for name, value in expected.items():
            one = np.asarray(found[name])
            assert (one.dtype, one.shape) == (value.dtype, value.shape), name
            if name in (*CLOSE, "product"):
                numbers = one.astype(float), value.astype(float)
                np.testing.assert_allclose(*numbers, step, 1e-7, equal_nan=True, err_msg=name)
            else:
                numbers = one.astype(float), value.astype(float)
                np.testing.assert_array_equal(*numbers, err_msg=name)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_gradients_loops_and_updates_keep_the_dtype(dtype: Any) -> None:
    x = sg.placeholder("x", (4, 3), dtype)
    w = sg.variable(np.full((3, 2), 0.5, dtype), name="w")
    loss = sg.mean(sg.square(sg.tanh(x @ w)))
    by_x, by_w = sg.grad(loss, [x, w])
    total, steps = sg.scan(lambda c, a: (c + sg.tanh(a), c * a), sg.zeros((3,), dtype), x)
    through = sg.grad(sg.sum(total) + sg.sum(steps), x)
    again = sg.grad(sg.sum(by_w * by_w), w)
    made = [loss, by_x, by_w, total, steps, through, again]
    step = sg.compile([x], made, updates=sg.optim.SGD(lr=0.5).minimize(loss, [w]))
    given = np.random.default_rng(0).normal(size=(4, 3)).astype(dtype)
    found = step(given)
    assert {one.dtype for one in found} == {dtype} == {w.value.dtype}
    wide = sg.placeholder("x", (4, 3), "float64")
    v = sg.variable(np.full((3, 2), 0.5), name="v")
    exact = sg.mean(sg.square(sg.tanh(wide @ v)))
    total, steps = sg.scan(lambda c, a: (c + sg.tanh(a), c * a), sg.zeros((3,), "float64"), wide)
    slopes = sg.grad(exact, [wide, v])
    through = sg.grad(sg.sum(total) + sg.sum(steps), wide)
    again = sg.grad(sg.sum(slopes[1] * slopes[1]), v)
    expected = sg.compile([wide], [exact, *slopes, total, steps, through, again])(
        given.astype(float)
    )
    tolerance = 2.0 ** (-7 if dtype == np.float16 else -4)
    for one, value in zip(found, expected, strict=True):
        scale = tolerance * float(np.abs(value).max())
        np.testing.assert_allclose(one.astype(float), value, tolerance, scale)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_numbers_are_drawn_below_one_and_saved(dtype: Any, tmp_path: Path) -> None:
    drawn = sg.random.uniform(sg.random.key(0), (20000,), dtype)
    assert drawn.dtype == dtype
    assert 0 <= drawn.astype(float).min() < 0.01 < 0.99 < drawn.astype(float).max() < 1
    assert sg.random.normal(sg.random.key(0), (3,), dtype).dtype == dtype
    x = sg.placeholder("x", (3,), dtype)
    f = sg.compile([x], x * sg.variable(np.array([0.1, 2, 3], dtype)))
    f.save(tmp_path / "f")
    given = np.ones(3, dtype)
    np.testing.assert_array_equal(sg.load(tmp_path / "f")(given), f(given))
    if dtype == NARROW[1]:
        with pytest.raises(sg.OptionError, match=r"export: NumPy, .* has no bfloat16"):
            f.export(tmp_path / "k.py", given)


def test_feeds_are_in_range_and_exact() -> None:
    f = sg.compile([half := sg.placeholder("half", (), "float16")], half)
    assert f(65519.0) == 65504
    with pytest.raises(sg.FeedError, match=r"1000000\.0 is out of bounds for float16"):
        f(1e6)
    x = sg.placeholder("x", (None,), "float32")
    g = sg.compile([x], x)
    np.testing.assert_array_equal(g([2**24, 2**70]), np.array([2.0**24, 2.0**70], "float32"))
    for numbers in ([2**24 + 1], [2**70 + 1]):
        with pytest.raises(sg.FeedError, match="is not a number of float32, which rounds it"):
            g(numbers)


def test_bfloat16_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(
        sg.DTypeError, match=r"x: bfloat16 needs ml_dtypes, .*staticgraph\[bfloat16"
    ):
        as_dtype("bfloat16", "x")


def test_what_a_dtype_is() -> None:
    half, brain = NARROW
    assert all(map(is_float, NARROW))
    assert all(map(is_narrow, NARROW))
    assert not is_narrow(np.dtype("int16")) and not is_float(np.dtype("uint16"))
    assert computing(brain) == computing(half) == computing(np.dtype("float32")) == np.float32
    assert promoted(brain, 1.0) == promoted(brain, np.dtype("int8"), True) == brain
    assert promoted(brain, half) == promoted(brain, np.dtype("int16")) == np.float32
