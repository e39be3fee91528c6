"""Places in order: those of NumPy's stable sort, for every dtype, axis and count."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.reference.orders import first_in_order, order
from staticgraph.compiler.runtime import selecting, threads
from tests.combinations import some

SHAPES = [(300,), (3, 500), (2, 400, 3), (100, 2), (2, 9000)]


def stable(x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return np.argsort(x, axis, kind="stable")
    found = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - found, axis)


def values(kind: str, shape: tuple[int, ...]) -> list[Any]:
    """Some with many ties, and floats with zeros of both signs, infinities and nan."""
    x = np.random.default_rng(0).standard_normal(shape) * 30
    if kind[0] in "iu?":
        return [np.abs(x).astype(kind) if kind[0] == "u" else x.astype(kind)]
    x = x.astype(kind)
    flat = x.reshape(-1)
    flat[::7], flat[3::7], flat[5::11], flat[6::13] = 0.0, -0.0, np.inf, -np.inf
    with_nan = x.copy()
    with_nan.reshape(-1)[::17] = np.nan
    with_nan.reshape(-1)[1::17] = -np.nan
    return [x, with_nan]


@pytest.mark.parametrize("kind", ["f2", "bfloat16", "u1", "i1", "?", "i2", "f4", "i4"])
def test_sorted_elements_are_those_of_a_stable_sort(kind: str) -> None:
    """Bits and all: floats of 16 bits, bytes and bools are sorted in ways of their own."""
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    for shape in SHAPES:
        for x in values("f4" if kind == "bfloat16" else kind, shape):
            x = x.astype(dtype)
            wide = x.astype("f4") if dtype.itemsize == 2 and kind != "i2" else x
            for axis in range(x.ndim):
                for descending in (False, True):
                    places = stable(wide, axis, descending)
                    expected = np.take_along_axis(wide, places, axis)
                    found = sg.sort(x, axis, descending=descending)
                    assert found.dtype == dtype
                    assert_array_equal(found.astype(wide.dtype), expected)
                    if wide.dtype.kind == "f":
                        zero = expected == 0
                        signs = np.signbit(found.astype(wide.dtype)[zero])
                        assert_array_equal(signs, np.signbit(expected[zero]))


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "i8", "i2", "u1", "u4", "?"])
def test_places_in_order_are_those_of_a_stable_sort(kind: str) -> None:
    for shape in SHAPES:
        for x in values(kind, shape):
            for axis in range(x.ndim):
                for descending in (False, True):
                    expected = stable(x, axis, descending)
                    found = order(x, axis=axis, descending=descending)
                    assert found.dtype == np.int64
                    assert_array_equal(found, expected)
                    for count in {0, 1, 2, 10, 90, 250} & set(range(x.shape[axis])):
                        first = first_in_order(x, count, axis, descending)
                        assert first.dtype == np.int64
                        assert_array_equal(first, expected.take(range(count), axis))


@pytest.mark.parametrize("kind", ["i8", "u8", "f8"])
def test_places_of_values_of_64_bits_that_are_far_apart(kind: str) -> None:
    """They are sorted by halves: those that are equal in one of them stay apart, or in order."""
    lower, upper = np.random.default_rng(1).integers(0, 40, (2, 2, 3000), dtype="u8")
    bits = lower << np.uint64(27) | upper << np.uint64(58)
    bits[:, :4] = [0, 2**64 - 1, 2**63 - 1, 2**63]  # the extremes; of floats nan, too
    x = bits.view(kind)
    for descending in (False, True):
        assert_array_equal(order(x, axis=1, descending=descending), stable(x, 1, descending))


@pytest.mark.parametrize("shape", [(3000,), (2, 3000)])
def test_places_of_what_is_in_order_already(shape: tuple[int, ...]) -> None:
    x = np.broadcast_to(np.arange(shape[-1]) // 2, shape) * 0.5
    found = sg.argsort(x, stable=True)
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))
    assert found.flags.writeable
    almost = x.copy()
    almost[..., -1] = 0.0
    expected = np.argsort(almost, kind="stable")
    np.testing.assert_array_equal(sg.argsort(almost, stable=True), expected)


def among_extremes(kind: str, shape: tuple[int, ...]) -> list[Any]:
    """Values as above, and in both orders, all equal, and with the least and greatest integers."""
    found = values(kind, shape)
    if kind[0] == "i":
        limits = np.iinfo(kind)
        found.append(np.random.default_rng(2).choice([limits.min, -1, limits.max], shape))
        found[-1] = found[-1].astype(kind)
    rows = np.sort(found[0], -1)
    equal = limits.min if kind[0] == "i" else np.nan
    return [*found, rows, np.ascontiguousarray(rows[..., ::-1]), np.full(shape, equal, kind)]


@pytest.mark.parametrize("kind", some(["f4", "f8", "i8", "i4"], 2))
def test_the_loop_for_the_first_places_finds_those_of_a_stable_sort(kind: str) -> None:
    for shape in [(300,), (2, 400, 3), (3, 4097)]:
        for x in among_extremes(kind, shape):
            for axis in {int(np.argmax(shape)), x.ndim - 1}:
                for descending in (False, True):
                    expected = stable(x, axis, descending)
                    for count in {1, 3, 9, selecting.MOST} & set(range(x.shape[axis] // 32 + 1)):
                        first = selecting.first_places(x, count, axis, descending)
                        assert first is not None and first.dtype == np.int64
                        assert_array_equal(first, expected.take(range(count), axis))


def test_threads_share_the_rows_whose_first_places_are_looked_for() -> None:
    x = np.random.default_rng(3).standard_normal((70, 3, 1000)).astype("f4")
    expected = stable(x, 2, True)[..., :7]
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 3):
            threads.share_among(count)
            assert_array_equal(sg.topk(x, 7)[1], expected)
            assert_array_equal(
                selecting.first_places(np.moveaxis(x, 2, 0), 7, 0, True),
                np.moveaxis(expected, 2, 0),
            )
    finally:
        threads.share_among(before)


def test_no_loop_looks_for_many_places_or_among_other_elements() -> None:
    x = np.arange(4000.0)
    assert selecting.first_places(x, 126, 0, True) is None
    assert selecting.first_places(x, selecting.MOST + 1, 0, True) is None
    assert selecting.first_places(x.astype("i2"), 3, 0, True) is None
    assert selecting.first_places(x.astype(">f4"), 3, 0, True) is None  # bytes in another order
    many = np.broadcast_to(x, (9, 4000))
    assert_array_equal(sg.topk(many, 126)[1], np.broadcast_to(3999 - np.arange(126), (9, 126)))
