"""Reads and writes by NumPy's keys: `x[key]` and `x.at[key]`, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import GraphError, OptionError, OutOfRangeError, ShapeError
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.transforms.autodiff import gradients
from tests.trace import placeholder

UFUNCS: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "power": np.power, "min": np.minimum, "max": np.maximum, "set": None,
}  # fmt: skip


def _keys(rng: np.random.Generator, count: int) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Shapes and keys of them that NumPy takes, some of which select nothing."""
    while count:
        shape = tuple(map(int, rng.choice([0, 1, 2, 3, 4], rng.integers(1, 5), p=_SIZES)))
        key = tuple(_entries(rng, shape))
        try:
            np.zeros(shape)[key]
        except IndexError:
            continue
        count -= 1
        yield shape, key


_SIZES = [0.03, 0.17, 0.3, 0.3, 0.2]


def _entries(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[Any]:
    common = tuple(map(int, rng.choice([1, 2, 3], rng.integers(0, 3))))
    axis, whole = 0, False
    while axis < len(shape):
        size, kind = shape[axis], rng.integers(0, 10)
        if kind == 0:
            yield None
            continue
        if kind == 1 and not whole:
            yield Ellipsis
            whole, axis = True, axis + int(rng.integers(0, len(shape) - axis + 1))
            continue
        if kind == 2:
            ndim = min(len(shape) - axis, int(rng.integers(1, 3)))
            yield rng.random(shape[axis : axis + ndim]) < 0.5
            axis += ndim
            continue
        if kind == 3 and rng.random() < 0.3:
            yield bool(rng.integers(0, 2))
            continue
        if kind in (4, 5) or not size:
            bounds = [int(one) if rng.random() < 0.7 else None for one in rng.integers(-5, 6, 2)]
            yield slice(*bounds, int(rng.choice([1, 2, -1, -3])))
        elif kind == 6:
            yield int(rng.integers(-size, size))
        else:
            sizes = tuple(one if rng.random() < 0.7 else 1 for one in common)
            index = rng.integers(-size, size, sizes[rng.integers(0, len(sizes) + 1) :])
            yield index.astype(rng.choice(["int64", "int32", "int8"]))
        axis += 1


def _traced(
    rng: np.random.Generator, shape: tuple[int, ...], key: Any
) -> tuple[Any, Any, dict[Any, Any]]:
    """A placeholder for an array, the key with some for its indices, and what those are fed."""
    sizes = rng.random() < 0.5
    x = placeholder([unknown() if sizes and size != 1 else size for size in shape])
    feeds: dict[Any, Any] = {}
    keys = []
    for one in key:
        if isinstance(one, np.ndarray) and one.dtype != np.bool_ and rng.random() < 0.7:
            feeds[index := placeholder(one.shape, str(one.dtype))] = one
            keys.append(index)
        else:
            keys.append(one)
    return x, tuple(keys), feeds


def test_every_key_reads_as_numpys_with_its_gradient() -> None:
    rng = np.random.default_rng(5)
    for shape, key in _keys(rng, 150):
        array = rng.normal(size=shape)
        expected = array[key]
        assert_array_equal(ops.getitem(array, key), expected, str((shape, key)), strict=True)
        x, traced, feeds = _traced(rng, shape, key)
        picked = x[traced]
        (slope,) = gradients((picked * picked).sum(), [x])
        value, slope = interpret([picked, slope], {x: array, **feeds})
        assert_array_equal(value, expected, str((shape, key)), strict=True)
        added = np.zeros(shape)
        np.add.at(added, key, 2 * expected)
        assert_allclose(slope, added, rtol=1e-15, err_msg=str((shape, key)))


def test_every_key_is_written_as_numpys_with_its_gradients() -> None:
    rng = np.random.default_rng(6)
    for shape, key in _keys(rng, 60):
        kind = str(rng.choice(list(UFUNCS)))
        array = rng.uniform(0.5, 2, shape)
        sizes = np.shape(array[key])
        given = tuple(size if rng.random() < 0.7 else 1 for size in sizes)
        values = rng.uniform(0.5, 2, given[rng.integers(0, len(given) + 1) :])
        expected = array.copy()
        if kind == "set":
            expected[key] = values
        else:
            UFUNCS[kind].at(expected, key, np.broadcast_to(values, sizes))
        x, traced, feeds = _traced(rng, shape, key)
        y = placeholder(values.shape)
        written = getattr(x.at[traced], kind)(y)
        weights, by_x, by_y = rng.normal(size=shape), rng.normal(size=shape), rng.normal()
        loss = (written * weights).sum() + 0.0 * (x.sum() + y.sum())
        feeds |= {x: array, y: values}
        (value, slope_x, slope_y), around = (
            interpret([written, *gradients(loss, [x, y])], feeds),
            [
                interpret([loss], feeds | {x: array + h * by_x, y: values + h * by_y})[0]
                for h in (1e-6, -1e-6)
            ],
        )
        assert_allclose(value, expected, rtol=1e-13, err_msg=str((shape, key, kind)))
        slope = (slope_x * by_x).sum() + (slope_y * by_y).sum()
        quotient = (around[0] - around[1]) / 2e-6
        assert_allclose(slope, quotient, rtol=1e-5, atol=1e-7, err_msg=str((shape, key, kind)))


X = np.random.default_rng(0).normal(size=(4, 5))
ROWS, COLUMNS = np.array([0, 3, -1, 0]), np.array([1, 4, -5, 1])


def _all(x: Any, i: Any, j: Any, t: Any, m: Any) -> list[Any]:
    return [
        x[:, j], x[i, j], x[t, j], x[t : t + 2], x[t * 1 : 1 + t * 1 + 1, j],
        x.at[i, j].add(2.0), x.at[:, j].set(7.0), x.at[i].max(0.5), x.at[i, 1:4].multiply(3.0),
        x.at[t].set(0.0), x.at[t : t + 2, ::-2].subtract(1.0), x.at[m].set(-1.0),
        x.at[m].get(size=3, fill_value=9.0), x.at[m, 2:].apply(sg.exp), x.at[1:3].power(2.0),
    ]  # fmt: skip


def _numpys(x: Any, i: Any, j: Any, t: Any, m: Any) -> list[Any]:
    added, column, largest, times, row, window, masked, squares = (x.copy() for _ in range(8))
    np.add.at(added, (i, j), 2.0)
    column[:, j] = 7.0
    np.maximum.at(largest, i, 0.5)
    np.multiply.at(times, (i, slice(1, 4)), 3.0)
    row[t] = 0.0
    window[t : t + 2, ::-2] -= 1.0
    masked[m] = -1.0
    squares[1:3] **= 2
    taken = np.concatenate([x[m], np.full((3, x.shape[1]), 9.0)])[:3]
    return [
        x[:, j], x[i, j], x[t, j], x[t : t + 2], x[t : t + 2, j], added, column, largest, times,
        row, window, masked, taken, np.where(m[:, None] & (np.arange(5) >= 2), np.exp(x), x),
        squares,
    ]  # fmt: skip


def test_kernels_read_and_write_by_keys_in_threads_too() -> None:
    x, m = sg.placeholder("x", (None, 5), "float64"), sg.placeholder("m", (None,), "bool")
    i, j = sg.placeholder("i", (None,), "int64"), sg.placeholder("j", (None,), "int32")
    t = sg.placeholder("t", (), "int64")
    outputs = _all(x, i, j, t, m)
    loss = sg.sum(sg.sin(outputs[1])) + sg.sum(outputs[4] * outputs[5][:2, :4] ** 2)
    (slope,) = sg.grad(loss, [x])
    (second,) = sg.grad(sg.sum(slope * slope), [x])
    f = sg.compile([x, i, j, t, m], [*outputs, slope, second])
    plain = sg.compile([x, i, j, t], [slope, second], numerics="exact")
    mask = np.array([True, False, True, False])

    def run(place: int) -> None:
        array = X + place
        given = array, ROWS, COLUMNS.astype("int32"), np.int64(place % 3), mask
        *found, one, other = f(*given)
        for k, (value, expected) in enumerate(zip(found, _numpys(*given), strict=True)):
            assert_allclose(value, expected, rtol=1e-14, err_msg=str(k))
        for value, expected in zip((one, other), plain(*given[:4]), strict=True):
            assert_allclose(value, expected, rtol=1e-10, atol=1e-12)

    run(1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))
    given = {"x": X, "i": ROWS, "j": COLUMNS.astype("int32"), "t": np.int64(0), "m": mask}
    for name, bad in (("i", ROWS + 1), ("j", COLUMNS.astype("int32") + 1), ("t", np.int64(3))):
        with pytest.raises(OutOfRangeError, match=r"index \d is out of range for.*test_at.py:\d+"):
            f(**given | {name: bad})
    with pytest.raises(OutOfRangeError, match="index -1 is out of range"):  # a start is none
        f(**given | {"t": np.int64(-1)})


@pytest.mark.slow
def test_both_paradigms_transforms_and_loops_write_by_keys() -> None:
    def energy(x: Any, i: Any) -> Any:
        return (x.at[i, i + 1].multiply(x[i, i]) ** 3).sum()

    array, index = X[:, :5], np.array([0, 2, 2])
    expected = sg.grad(energy)(array, index)
    tensor = dynamic.tensor(array, requires_grad=True)
    energy(tensor, dynamic.tensor(index)).backward()
    assert_allclose(tensor.grad.numpy(), expected, rtol=1e-12)
    captured = dynamic.tensor(array, requires_grad=True)
    sg.function(energy)(captured, dynamic.tensor(index)).backward()
    assert_allclose(captured.grad.numpy(), expected, rtol=1e-12)
    _, slope = sg.jvp(lambda x: energy(x, index), (array,), (np.ones_like(array),))
    assert_allclose(slope, expected.sum(), rtol=1e-10)
    many = np.stack([array, -array])
    indices = np.stack([index, index[::-1] % 2])
    apart = [
        energy(one, index) for one, index in zip(_tensors(many), _tensors(indices), strict=True)
    ]
    assert_allclose(sg.vmap(energy)(many, indices), apart, rtol=1e-12)

    def step(buffer: Any, k: Any) -> Any:
        buffer = buffer.at[k].set(sg.sin(buffer[k - 1]) + buffer[k])
        return buffer, buffer[k]

    start = sg.placeholder("start", (6,), "float64")
    last, seen = sg.scan(step, start, sg.arange(1, 6))
    value, slope = sg.compile([start], [last, sg.grad(sg.sum(seen), start)])(np.ones(6))
    buffer, by = np.ones(6), np.eye(6)
    for k in range(1, 6):
        by[k] = np.cos(buffer[k - 1]) * by[k - 1] + by[k]
        buffer[k] += np.sin(buffer[k - 1])
    assert_allclose(value, buffer, rtol=1e-14)
    assert_allclose(slope, by[1:].sum(0), rtol=1e-13)


@pytest.mark.parametrize("numerics", ["strict", "exact"])
def test_gradients_of_what_each_step_of_a_loop_reads_a_part_of(numerics: str) -> None:
    w = sg.placeholder("w", (6, 4), "float64")
    ids, start = sg.placeholder("ids", (5, 2), "int64"), sg.placeholder("start", (4,), "float64")

    def step(c: Any, i: Any) -> Any:
        rows = w[1:3].sum(0) * w[4] + w[i].sum(0) - w[::-2, 1:3].sum()
        c = sg.tanh(c * 0.5 + rows) + w[:, i].sum() * 0.1 + w[i, 1:2].sum()
        return c, c

    last, all_of = sg.scan(step, start, ids)
    slope = sg.grad(sg.sum(last) + sg.sum(all_of**2), w)
    f = sg.compile([w, ids, start], [slope], numerics=numerics)
    rng = np.random.default_rng(2)
    given = rng.normal(size=(6, 4)) * 0.3, rng.integers(-4, 4, (5, 2)), rng.normal(size=4)

    def value(w: Any) -> Any:
        c, total = given[2], 0.0
        for i in given[1]:
            rows = w[1:3].sum(0) * w[4] + w[i].sum(0) - w[::-2, 1:3].sum()
            c = np.tanh(c * 0.5 + rows) + w[:, i].sum() * 0.1 + w[i, 1:2].sum()
            total = total + (c**2).sum()
        return c.sum() + total

    expected = np.zeros((6, 4))
    for place in np.ndindex(6, 4):
        w = given[0].astype(complex)
        w[place] += 1e-20j
        expected[place] = value(w).imag / 1e-20
    assert_allclose(f(*given)[0], expected, rtol=1e-10)
    if numerics == "strict":  # no step fills zeros of the size of w
        told = str(f.explain("embed")) + str(f.explain("take_add"))
        assert "laid into the whole after the loop" in told
        assert "added up after the loop" in told


def _tensors(arrays: Any) -> list[Any]:
    return [dynamic.tensor(one) for one in arrays]


def test_what_is_not_changed_makes_no_gradient_nan() -> None:
    x, v = placeholder((4,)), placeholder(())
    array = np.array([2.0, -1.0, np.inf, np.nan])
    slopes = {"multiply": 2.0, "power": 8 * np.log(2), "divide": -2 / 9, "max": 1.0}
    keys = (0, np.array([0]), ops.logical_and(x > 1.5, x < 5))
    found = [
        gradients(getattr(x.at[key], name)(v)[:2].sum(), [v])[0] for name in slopes for key in keys
    ]
    found += gradients(x.at[x > 0].apply(ops.log)[:2].sum(), [x])
    *values, last = interpret(found, {x: array, v: np.array(3.0)})
    assert_allclose(np.reshape(values, (4, 3)), np.tile([*slopes.values()], (3, 1)).T)
    assert_allclose(last, [0.5, 1.0, 0.0, 0.0])


def test_sizes_that_are_not_known_are_bounds() -> None:
    x = placeholder((unknown("n"), 2))
    n, array = x.shape[0], np.arange(8.0).reshape(4, 2)
    cases = {
        "-n:": (x[-n:], array), "1-n:": (x[1 - n :], array[1:]), "-n": (x[-n], array[0]),
        ":n-1": (x[: n - 1], array[:-1]), "n-1": (x[n - 1], array[3]),
        "n-1:0:-1": (x[n - 1 : 0 : -1], array[3:0:-1]),
        "mask": (x[np.array([True, False, True, True])], array[[0, 2, 3]]),
    }  # fmt: skip
    for name, (picked, expected) in cases.items():
        assert_array_equal(interpret([picked], {x: array})[0], expected, name)
    with pytest.raises(ShapeError, match="differ"):  # a mask of four elements on three
        interpret([cases["mask"][0]], {x: array[:3]})


def test_what_at_refuses() -> None:
    x = placeholder((3,), "float64")
    with pytest.raises(OptionError, match="at: get takes size= for a mask whose values are not"):
        x.at[0].get(size=2)
    with pytest.raises(sg.DTypeError, match="at: "):
        placeholder((2,), "int8").at[0].set(300)
    with pytest.raises(GraphError, match=r"is not changed: x.at\[key\].set\(value\) is another"):
        x[0] = 1.0
    assert "at of" in repr(x.at)


def test_awkward_values_and_keys() -> None:
    n = placeholder((unknown("n"), 3), "float32")
    array = np.array([[1, 2, 3], [4, 5, -0.0]], "float32")
    small = placeholder((3,), "uint8")
    cases = {
        "unsigned": (small.at[0].subtract(1), [255, 1, 2]),
        "unsigned arrays": (small.at[[0, 0]].subtract(np.array([1, 1], "uint8")), [254, 1, 2]),
        "a size": (n.at[0, 0].set(n.shape[0]), [[2, 2, 3], [4, 5, -0.0]]),
        "a range": (n[range(1)], array[:1]), "nothing": (n.at[[]].add(1.0), array),
        "a tuple in a tuple": (n[(0, 1), (1, 2)], [2, -0.0]),
        "bools": ((n > 2).at[0, 0].set(True), [[True, False, True], [True, True, False]]),
        "no axis": (n[0, 0].at[...].add(3.0), 4.0), "a bool": (n[0, 0][True], [1.0]),
        "sizes of slices": (n.at[1:].set(n[:1]), [[1, 2, 3], [1, 2, 3]]),
        "weak": (n.at[0].set(ops.where(n[0] > 1, 1.0, 0.5)), [[0.5, 1, 1], [4, 5, -0.0]]),
    }  # fmt: skip
    found = interpret(
        [one for one, _ in cases.values()], {n: array, small: np.arange(3, dtype="u1")}
    )
    for name, value in zip(cases, found, strict=True):
        assert_array_equal(value, cases[name][1], name)
    tensor = dynamic.tensor(array)
    for at in (tensor.at[tensor > 2], sg.function(lambda x: x.at[x > 2].set(0.0))):
        changed = at.set(0.0) if hasattr(at, "set") else at(tensor)
        assert changed.tolist() == [[1, 2, 0], [0, 0, 0]]
    assert tensor.tolist() == array.tolist()
