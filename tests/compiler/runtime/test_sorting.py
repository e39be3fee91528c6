"""Large sorts that threads share: the same bits as NumPy's, for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.runtime import sharing, threads
from staticgraph.compiler.runtime.sorting import sort

SIZE = 3001


@pytest.fixture(params=[1, 2, 3, 8])
def several(request: pytest.FixtureRequest) -> Iterator[int]:
    before = threads.get_num_threads()
    threads.share_among(request.param)
    yield request.param
    threads.share_among(before)


def values(dtype: str, shape: tuple[int, ...] = (SIZE,)) -> Any:
    """With many ties, infinities, and nan of several kinds."""
    x = np.random.default_rng(0).standard_normal(shape) * 100
    if dtype[0] in "iu?":
        return np.abs(x).astype(dtype)
    x = (x.round() + 0.0).astype(dtype)  # no zeros of two kinds, which it leaves mixed
    x.reshape(-1)[::9], x.reshape(-1)[1::31] = np.inf, -np.inf
    bits = x.view(f"u{x.dtype.itemsize}").reshape(-1)
    bits[3::5] = np.asarray(np.nan, dtype).view(bits.dtype) + np.arange(len(bits[3::5])) % 7
    bits[4::10] = np.asarray(-np.nan, dtype).view(bits.dtype)
    return x


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
def test_a_vector_is_in_numpys_order_with_one_kind_of_nan(several: int, dtype: str) -> None:
    x = values(dtype)
    expected = np.sort(x)
    if x.dtype.kind == "f":
        expected[np.isnan(expected)] = np.nan
    sort(x, 0)
    assert x.tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_a_vector_may_be_shorter_than_there_are_threads(several: int, size: int) -> None:
    x = np.arange(size)[::-1].copy()
    sort(x, 0)
    assert_array_equal(x, np.arange(size))


@pytest.mark.parametrize("shape", [(30, 40), (1, 90), (5, 1, 60)])
def test_rows_are_in_order_along_each_axis(several: int, shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        x = values("f4", shape)
        expected = np.sort(x, axis)
        sort(x, axis)
        assert_array_equal(x, expected)


def test_threads_share_it_though_the_blas_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    submit = sharing.ThreadPoolExecutor.submit

    def counted(self: Any, *task: Any) -> Any:
        counts.append(1)
        return submit(self, *task)

    monkeypatch.setattr("staticgraph.compiler.runtime.blas.get_threads", lambda: 2)
    monkeypatch.setattr(sharing.ThreadPoolExecutor, "submit", counted)
    before = threads.get_num_threads()
    threads.share_among(2)
    try:
        sort(values("f4"), 0)
    finally:
        threads.share_among(before)
    assert counts == [1]  # parting is one thread's


@pytest.mark.parametrize("shape", [(1 << 18,), (512, 600)])
@pytest.mark.parametrize("descending", [False, True])
def test_an_op_of_many_elements_keeps_the_order_of_zeros(
    several: int, shape: tuple[int, ...], descending: bool
) -> None:
    x = (np.random.default_rng(1).standard_normal(shape) * 2).round().astype("f4")
    given = sg.placeholder("x", shape, "f4")
    call = sg.compile([given], [sg.sort(given, -1, descending=descending),
                                sg.argsort(given, -1, descending=descending)])  # fmt: skip
    key = -x if descending else x
    places = np.argsort(key, -1, kind="stable")
    found, at = call(x)
    assert_array_equal(at, places)
    assert found.tobytes() == np.take_along_axis(x, places, -1).tobytes()
    assert np.signbit(found[found == 0]).any()


def test_an_executable_of_one_thread_sorts_and_sums_on_it(
    several: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def submitted(process: int) -> Any:
        asked.append(process)
        raise RuntimeError("no more threads")

    monkeypatch.setattr(sharing, "_helpers", submitted)
    x = sg.placeholder("x", (None,), "float64")
    given = np.random.default_rng(0).normal(size=300_000)
    for limit, helped in ((1, False), (2, True), (None, several > 1)):
        call = sg.compile([x], sg.sort(x), threads=limit)
        np.testing.assert_array_equal(call(given), np.sort(given))
        assert bool(asked) == helped
        asked.clear()
