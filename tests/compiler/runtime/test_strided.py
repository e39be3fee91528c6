"""Inputs that are not row-major: read in place by a kernel of their own, with the same results."""

from __future__ import annotations

import itertools
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.core.errors import FeedError, OutOfRangeError, ShapeError
from staticgraph.compiler.graph.strided import Order
from staticgraph.compiler.runners import strided
from staticgraph.compiler.runtime.background import Compilation
from staticgraph.compiler.runtime.cache.loader import counts
from tests.combinations import some
from tests.layouts import all_in_place, laid_out

RNG = np.random.default_rng(0)


@pytest.fixture
def in_place() -> Iterator[None]:
    with all_in_place():
        yield


def matrix(rows: int = 7, columns: int = 5, dtype: str = "float32") -> np.ndarray:
    return RNG.standard_normal((rows, columns)).astype(dtype)


def kernels(executable: Any) -> list[Any]:
    return list(executable.runner._strided.values())


# -- which arrays are read in place ----------------------------------------------------------------


@pytest.mark.parametrize(
    "array, order",
    [
        (np.zeros((4, 3)).T, Order((1, 0), 0)),
        (np.zeros((4, 6))[:, :3], Order((0, 1), 1)),
        (np.zeros((4, 6))[:, ::2], Order((0, 1), 2)),
        (np.zeros((4, 5))[:, ::2], Order((0, 1), 2)),
        (np.zeros((4, 3, 5))[:, ::2, ::2].T, Order((2, 1, 0), 3)),
        (np.zeros((8, 3))[::2], Order((0, 1), 1)),
        (np.zeros((8, 3))[::2].T, Order((1, 0), 1)),
        (np.zeros((2, 3, 4)).transpose(2, 0, 1), Order((1, 2, 0), 0)),
        (np.zeros((2, 6, 4))[:, :3].transpose(1, 0, 2), Order((1, 0, 2), 1)),
        (np.zeros((5, 3))[:, 1], Order((0,), 1)),
        (np.zeros((5, 3))[:, 1:2], Order((1, 0), 2)),
        (np.zeros((4, 1, 6))[:, :, :3], Order((1, 0, 2), 2)),
    ],
)
def test_the_order_of_an_array(array: np.ndarray, order: Order, in_place: None) -> None:
    assert strided.order_of(array) == order


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 3)),
        np.zeros(()),
        np.zeros((0, 3)).T,
        np.zeros((4, 3))[::-1],
        np.zeros((4, 3))[:, ::-1].T,
        np.broadcast_to(np.zeros(3), (4, 3)),
        np.lib.stride_tricks.sliding_window_view(np.zeros(9), 3),
        np.zeros(33, np.uint8)[1:].view(np.float32)[::2],
        np.zeros(8, [("a", "f4"), ("b", "u1")])["a"],
    ],
    ids=[
        "row-major", "a number", "empty", "backwards", "backwards, transposed", "broadcast",
        "overlapping", "misaligned", "no whole stride",
    ],
)  # fmt: skip
def test_what_is_copied(array: np.ndarray, in_place: None) -> None:
    assert strided.order_of(array) is None
    x = sg.placeholder("x", (None,) * array.ndim, array.dtype)
    executable = sg.compile([x], x + 1)
    assert_array_equal(executable(array), array + 1)
    assert not kernels(executable)


def test_small_inputs_are_copied() -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], x + 1)
    executable(matrix().T)
    assert not kernels(executable)
    large = np.zeros((strided.LEAST_BYTES // 4 // 100 + 1, 100), "float32")
    assert_array_equal(executable(large.T), large.T + 1)
    assert len(kernels(executable)) == 1


# -- the same results ------------------------------------------------------------------------------


LAYOUTS = {
    "transposed": ((1, 0), (1, 1)),
    "columns of a matrix": ((0, 1), (1, 3)),
    "rows of a matrix": ((0, 1), (2, 1)),
    "transposed with gaps": ((1, 0), (1, 2)),
    "gaps everywhere": ((0, 1), (3, 2)),
}

GRAPHS: dict[str, Callable[[Any], Any]] = {
    "the input itself": lambda x: x,
    "elements": lambda x: sg.tanh(x) * sg.exp(-x * x),
    "sum": lambda x: sg.exp(x).sum(),
    "sums of rows": lambda x: sg.exp(x).sum(1),
    "sums of columns": lambda x: sg.exp(x).sum(0),
    "softmax": lambda x: sg.softmax(x, -1),
    "softmax over columns": lambda x: sg.softmax(x, 0),
    "standardised": lambda x: (x - x.mean(0)) / x.std(0),
    "gram matrix": lambda x: x.T @ x,
    "product on the left": lambda x: x @ np.arange(15, dtype="float32").reshape(5, 3),
    "product on the right": lambda x: np.ones((2, 7), "float32") @ x,
    "product with a vector": lambda x: x @ np.arange(5, dtype="float32"),
    "transposed": lambda x: x.T * 2,
    "in another shape": lambda x: x.reshape(-1) + 1,
    "parts": lambda x: sg.concatenate([x[2:, ::2], x[:-2, ::-2]], 0),
    "rows by number": lambda x: sg.take(x, np.array([3, 0, 3]), 0),
    "scan": lambda x: sg.scan(lambda c, row: (c + row, c * row), x[0] * 0, x),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", some(GRAPHS, 9))
@pytest.mark.parametrize("known", some([False, True], 1), ids=["unknown sizes", "known sizes"])
def test_graphs(name: str, known: bool, in_place: None) -> None:
    """Every graph in every layout, one half with known and the other with unknown sizes."""
    value = matrix()
    x = sg.placeholder("x", value.shape if known else (None, 5), "float32")
    result = GRAPHS[name](x)
    outputs = list(result) if isinstance(result, tuple) else [result]
    executable = sg.compile([x], outputs)
    wanted = executable(value)
    first = (list(GRAPHS).index(name) + known) % 2
    orders = set()
    for layout in list(LAYOUTS)[first::2]:
        array = laid_out(value, *LAYOUTS[layout])
        orders.add(strided.order_of(array))
        before = array.copy()
        for one, other in zip(executable(array), wanted, strict=True):
            assert not np.shares_memory(one, array), layout
            assert_allclose(one, other, rtol=2e-6, atol=1e-6, err_msg=layout)
        assert len(kernels(executable)) == len(orders - {None}) > 0, layout
        assert_array_equal(array, before, err_msg=layout)


@pytest.mark.slow
def test_elements_keep_their_bits(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.gelu(x) + sg.sin(x))
    value = matrix(33, 65)
    for layout in LAYOUTS.values():
        assert executable(laid_out(value, *layout)).tobytes() == executable(value).tobytes()


@pytest.mark.slow
def test_axes_of_one_element(in_place: None) -> None:
    x = sg.placeholder("x", (None, None, None), "float64")
    w = sg.placeholder("w", (None, 2), "float64")
    executable = sg.compile([x, w], [x @ w, x.sum((0, 2)), sg.softmax(x, 1)])
    for shape in ((1, 1, 1), (3, 1, 1), (1, 3, 1), (1, 1, 3), (3, 1, 3)):
        value, weight = RNG.standard_normal(shape), RNG.standard_normal((shape[2], 2))
        wanted = executable(value, weight)
        for axes in itertools.permutations(range(3)):
            for steps in itertools.product((1, 2), repeat=3):
                found = executable(laid_out(value, axes, steps), weight)
                for one, other in zip(found, wanted, strict=True):
                    assert_allclose(one, other, rtol=1e-13)


def test_strides_that_mean_nothing(in_place: None) -> None:
    """The stride of an axis of one element may be anything: the BLAS must not see it."""
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], x @ np.ones((6, 2), "float32"))
    memory = np.arange(12, dtype="float32")
    for strides in ((0, 8), (4, 8), (-400, 8), (1 << 40, 8)):
        row = np.lib.stride_tricks.as_strided(memory, (1, 6), strides)
        assert_array_equal(executable(row), [[30, 30]])


def test_updates_and_results_into_arrays(in_place: None) -> None:
    x, w = sg.placeholder("x", (None, 3), "float64"), sg.variable(np.zeros(3), name="w")
    loss = ((x @ w - 1) ** 2).mean()
    step = sg.compile([x], loss, sg.optim.SGD(lr=0.1).minimize(loss, [w]))
    value = RNG.standard_normal((6, 3))
    step(value)
    wanted = w.value
    w.value = np.zeros(3)
    out = np.empty(())
    assert step(np.asfortranarray(value), out=out) is out
    assert_allclose(w.value, wanted, rtol=1e-14)
    assert_allclose(out, 1.0)
    square = sg.compile([x], x * 2)
    array = np.zeros((3, 4)).T
    with pytest.raises(FeedError, match=r"out\[0\]: shares memory"):
        square(array, out=array.base.reshape(4, 3))


def test_results_in_the_gaps_of_an_input(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float64")
    sums = sg.compile([x], x.sum(1))
    memory = np.arange(60.0).reshape(6, 10)
    value, out = memory[:, :4], memory[2, 4:]
    wanted = value.sum(1)
    assert sums(value, out=out) is out
    assert_array_equal(out, wanted)
    with pytest.raises(FeedError, match=r"out\[0\]: shares memory"):
        sums(value, out=memory[2, 3:9])


# -- kernels ---------------------------------------------------------------------------------------


def test_nothing_is_copied() -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.exp(x).sum(1))
    large = np.zeros((1500, 2000), "float32")
    copying = sg.compile([x], sg.exp(x).sum(1), disable=["view_inputs"])
    peaks = []
    for run in (executable, copying):
        run(large.T)
        tracemalloc.start()
        run(large.T)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < large.nbytes / 50
    assert peaks[1] >= large.nbytes
    assert not kernels(copying)


def test_new_strides_and_sizes_compile_nothing(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.softmax(x, -1) @ sg.ones((5, 2), "float32"))
    executable(laid_out(matrix(3), (0, 1), (2, 1)))
    before = counts["compiled"]
    for rows, step in itertools.product((1, 2, 9, 64), (2, 3, 5)):
        value = matrix(rows)
        found = executable(laid_out(value, (0, 1), (step, 1)))
        assert_allclose(found, executable(value), rtol=1e-6)
    assert counts["compiled"] == before


def test_the_kernel_comes_from_the_cache(in_place: None) -> None:
    def compiled() -> Any:
        x = sg.placeholder("x", (None, None), "float32")
        return sg.compile([x], sg.cosh(x) * 3)

    value = matrix()
    wanted = compiled()(value.T)
    before = counts["compiled"]
    assert_array_equal(compiled()(value.T), wanted)
    assert counts["compiled"] == before


@pytest.mark.slow
def test_there_are_only_so_many_kernels(in_place: None) -> None:
    x = sg.placeholder("x", (None,) * 4, "float32")
    executable = sg.compile([x], x + 1)
    value = RNG.standard_normal((2, 3, 4, 5)).astype("float32")
    for axes in itertools.permutations(range(4)):
        assert_array_equal(executable(laid_out(value, axes, (1,) * 4)), value + 1)
    assert len(kernels(executable)) == strided.MOST_KERNELS


@pytest.mark.slow
def test_repeated_and_shared_calls_have_the_same_bits(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], [sg.exp(x).sum(), sg.exp(x).sum(0), x.T @ x])
    array = laid_out(matrix(300, 200), (1, 0), (1, 2))
    wanted = [value.tobytes() for value in executable(array)]
    found: list[list[bytes]] = []

    def call() -> None:
        for _ in range(30):
            found.append([value.tobytes() for value in executable(array)])

    callers = [threading.Thread(target=call) for _ in range(4)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert len(found) == 120
    assert all(one == wanted for one in found)


def test_in_the_background_nobody_waits(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.sinh(x) - 7, background=True)
    executable.wait()
    value = matrix()
    wanted = executable(value)
    assert_array_equal(executable(value.copy("F")), wanted)
    (compilation,) = kernels(executable)
    if isinstance(compilation, Compilation):
        compilation.wait()
    assert_array_equal(executable(value.copy("F")), wanted)
    assert isinstance(kernels(executable)[0], strided.Strided)


@pytest.mark.slow
def test_profiles_show_what_a_call_does(in_place: None) -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.exp(x).sum(0))
    found = executable.profile(matrix().T)
    assert "sum" in {op for one in found.steps for op in one.ops}
    assert len(kernels(executable)) == 1


# -- errors ----------------------------------------------------------------------------------------


def test_errors_are_those_of_row_major_inputs(in_place: None) -> None:
    x = sg.placeholder("x", (None, 5), "float32")
    i = sg.placeholder("i", (None,), "int64")
    executable = sg.compile([x, i], sg.take(x, i, 0) + 1)
    array = matrix(5, 7).T
    good = np.array([0, 6])
    assert_array_equal(executable(array, good), array[good] + 1)
    with pytest.raises(ShapeError, match=r"feed 'x': axis 1 of \[5, 7\] is 7, not 5"):
        executable(array.T[:, :], good)
    with pytest.raises(OutOfRangeError, match=r"take.*7.*test_strided"):
        executable(array, np.array([0, 7]))
    indices = np.arange(14).reshape(7, 2)[:, 0]
    with pytest.raises(OutOfRangeError, match=r"take.*12"):
        executable(array, indices)


def test_the_rewrite_has_a_name() -> None:
    x = sg.placeholder("x", (None, None), "float32")
    executable = sg.compile([x], sg.exp(x).sum(), disable=["view_inputs"])
    large = RNG.standard_normal((900, 800)).astype("float32")
    assert executable(large.T).tobytes() == executable(large.T.copy()).tobytes()
    assert not kernels(executable)
