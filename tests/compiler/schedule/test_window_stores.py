"""What is joined along an axis is placed by the loops that compute it, in one sweep."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.schedule.groups import LoopGroup
from tests.combinations import some
from tests.graphs import kernel

RNG = np.random.default_rng(7)


def groups(inputs: list[sg.Expression], *outputs: sg.Expression) -> list[LoopGroup]:
    found = kernel((inputs, list(outputs), {})).fusion.groups
    return [group for group in found if isinstance(group, LoopGroup)]


def vectors(count: int) -> list[sg.Expression]:
    size = sg.placeholder("n", (None,)).shape[0]
    return [sg.placeholder(f"v{i}", (size,)) for i in range(count)]


@pytest.mark.parametrize("count", [3, 30])
def test_a_stack_of_vectors_is_one_sweep(count: int) -> None:
    xs = vectors(count)
    assert len(groups(xs, sg.stack(xs, axis=-1))) == 1
    assert len(groups(xs, sg.stack([sg.sin(x) * xs[0] for x in xs], axis=-1))) == 1


def test_what_is_stacked_is_placed_where_it_is_computed_once() -> None:
    (x,) = vectors(1)
    y = sg.sin(x)
    (group,) = groups([x], y, sg.stack([y, y * 2], axis=1))
    assert len(group.stores) == 2


def test_along_the_first_axis_each_operand_is_placed_inside_the_result() -> None:
    m, k = sg.placeholder("m", (None, 8)), sg.placeholder("k", (None, 8))
    found = groups([m, k], sg.concatenate([m * 2, sg.exp(k)]))
    assert [len(group.stores) for group in found] == [1, 1]
    assert not any(len(group.members) for group in found)


def test_a_padded_value_is_written_as_it_is_computed() -> None:
    m = sg.placeholder("m", (None, 8))
    hidden = sg.tanh(m)
    (group,) = groups([m], hidden, sg.pad(hidden, 1))
    assert len(group.stores) == 1


def test_a_row_of_softmax_is_joined_from_its_own_pass() -> None:
    m = sg.placeholder("m", (None, 8))
    (group,) = groups([m], sg.concatenate([sg.softmax(m), m], axis=1))
    assert len(group.stores) == 2


def test_sums_of_rows_are_stacked_where_they_are_computed() -> None:
    m = sg.placeholder("m", (None, 8, 6))
    sums = [sg.sum(m, axis=-1), sg.sum(m * 2, axis=-1)]
    (group,) = groups([m], sg.stack(sums, axis=1))
    assert len(group.stores) == 2
    # in turn, they would be written apart, and the sums not be vectorised across rows
    assert len(groups([m], sg.stack(sums, axis=2))) == 2
    array = RNG.normal(size=(5, 8, 6)).astype("float32")
    found = sg.compile([m], [sg.stack(sums, axis=axis) for axis in (1, 2)])(array)
    expected = [array.sum(-1), 2 * array.sum(-1)]
    for axis, one in zip((1, 2), found, strict=True):
        np.testing.assert_allclose(one, np.stack(expected, axis), rtol=1e-5, atol=1e-5)


def test_many_operands_are_several_sweeps_of_bounded_size() -> None:
    xs = vectors(300)
    found = groups(xs, sg.stack(xs, axis=-1))
    assert 3 <= len(found) <= 5
    assert sum(len(group.stores) for group in found) == 300


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("threads", some([3, 1, 2], 1))
def test_joined_values_are_those_of_numpy(axis: int, threads: int) -> None:
    shape = (4, 5, 6)
    a, b, c = (sg.placeholder(name, (None,) * 3) for name in "abc")
    total = sg.sum(a, axis=1, keepdims=True)
    parts = [a, sg.exp(a) + total, b[:, ::-1], sg.transpose(c, 1, 0, 2), a]
    joined = sg.concatenate(parts, axis=axis)
    arrays = [RNG.normal(size=s).astype("float32") for s in (shape, shape, (5, 4, 6))]
    outputs = [joined, sg.pad(joined, ((1, 0), (0, 2), (1, 1)), 3.0), sg.exp(a)]
    f = sg.compile([a, b, c], outputs, threads=threads)
    one = sg.compile([a, b, c], outputs, threads=1)
    plain = sg.compile([a, b, c], outputs, fuse=False)
    x, y, z = arrays
    expected = np.concatenate(
        [x, np.exp(x) + x.sum(1, keepdims=True), y[:, ::-1], z.transpose(1, 0, 2), x], axis
    )
    for found, same, separate in zip(f(*arrays), one(*arrays), plain(*arrays), strict=True):
        np.testing.assert_array_equal(found, same)
        np.testing.assert_allclose(found, separate, rtol=1e-6)
    np.testing.assert_allclose(f(*arrays)[0], expected, rtol=1e-5, atol=1e-6)


def test_a_joined_value_that_updates_what_it_is_made_of() -> None:
    start = RNG.normal(size=(6,)).astype("float32")
    v = sg.variable(start)
    x = sg.placeholder("x", (3,))
    new = sg.concatenate([v[3:] + x, v[:3] * 2])
    f = sg.compile([x], sg.sum(new), updates={v: new})
    given = RNG.normal(size=3).astype("float32")
    f(given)
    np.testing.assert_array_equal(v.value, np.concatenate([start[3:] + given, start[:3] * 2]))


def test_every_order_of_shared_and_computed_operands() -> None:
    a, b = vectors(2)
    parts = {"a": a, "s": sg.sin(a), "t": sg.sum(b) + a, "f": sg.flip(a, 0)}
    x, y = (RNG.normal(size=50).astype("float32") for _ in range(2))
    values = {"a": x, "s": np.sin(x), "t": y.sum() + x, "f": x[::-1]}
    orders = list(itertools.permutations(parts, 3))[::5]
    f = sg.compile([a, b], [sg.stack([parts[k] for k in order], axis=1) for order in orders])
    for order, found in zip(orders, f(x, y), strict=True):
        expected = np.stack([values[k] for k in order], 1)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_what_is_placed_behind_many_unknown_sizes_is_one_loop() -> None:
    xs = [sg.placeholder(f"x{i}", (None,), "float64") for i in range(30)]
    compiled = sg.compile(xs, sg.concatenate(xs))
    assert compiled.source.count("def unit") < 15  # a place of many terms is computed before
    given = [np.full(i % 4, float(i)) for i in range(30)]
    np.testing.assert_array_equal(compiled(*given), np.concatenate(given))


@pytest.mark.long
def test_places_behind_many_unknown_sizes_by_numba() -> None:
    xs = [sg.placeholder(f"x{i}", (None,), "float64") for i in range(12)]
    given = [np.full(i % 4, float(i)) for i in range(12)]
    compiled = sg.compile(xs, sg.concatenate(xs), backend="numba")
    np.testing.assert_array_equal(compiled(*given), np.concatenate(given))
