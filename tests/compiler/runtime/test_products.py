"""Products cut into cells: every element once, and the same bits for any number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.codegen.bytecode import Share
from staticgraph.compiler.runtime import threads
from staticgraph.compiler.schedule import chunks
from staticgraph.compiler.schedule.chunks import TILE, Cells
from tests.combinations import some
from tests.fences import fenced, placed
from tests.layouts import all_in_place

RNG = np.random.default_rng(0)
DTYPES = {"float32": 2e-5, "float64": 2e-13}


@pytest.fixture(autouse=True)
def own_number() -> Iterator[None]:
    """Leave the number of threads as it was."""
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@pytest.fixture(params=[1, 2, 3, 8])
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As on a machine of so many, for small products."""
    count: int = request.param
    monkeypatch.setattr(chunks, "PROCESSORS", count)
    monkeypatch.setattr(chunks, "PRODUCT_GRAIN", 1 << 14)  # a cell for each
    return count


def normal(*shape: int, dtype: str = "float32") -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def on_threads(executable: Any, *arrays: Any) -> Any:
    """The result, which is the same on one, two and three threads, and again."""
    found = []
    for count in (1, 2, 3, 2):
        threads.set_num_threads(count)
        found.append(executable(*arrays))
    assert len({value.tobytes() for value in found}) == 1
    return found[0]


ROW_TILE, COLUMN_TILE = TILE

# -- the grid --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 16, 64])
def test_threads_are_done_about_together(count: int) -> None:
    """Cells differ by a tile at most, and threads by the cells that whole rounds leave."""
    for rows, columns in ((2048, 1024), (1024, 1024), (4096, 128), (128, 4096), (768, 768)):
        down, across = chunks._grid(rows, columns, count)
        assert down * across <= chunks.SPARE * count
        tiles = -(-rows // ROW_TILE // down) * -(-columns // COLUMN_TILE // across)
        rounds = -(-down * across // count)
        assert rounds * tiles * count <= 1.5 * (rows // ROW_TILE) * (columns // COLUMN_TILE)


@pytest.mark.parametrize(
    ("sizes", "grid"),
    [
        ((1024, 1024), (2, 2)),  # several for each of two threads: they cost little
        ((2048, 1024), (2, 1)),
        ((64, 4096), (1, 4)),  # no thread copies all of the larger operand
        ((4096, 64), (6, 1)),
        ((60, 96), (2, 1)),  # 15 tiles by 3: 8 and 7, rather than 2 and 1
        ((4, 32), (1, 1)),  # a tile
    ],
    ids=str,
)
def test_the_cells_of_two_threads(sizes: tuple[int, int], grid: tuple[int, int]) -> None:
    assert chunks._grid(*sizes, 2) == grid


def test_the_number_of_cells_depends_on_sizes_and_machine_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = Cells(512, 512, 512)
    found = set()
    monkeypatch.setattr(chunks, "PROCESSORS", 4)
    for count in (1, 2, 4):
        threads.set_num_threads(count)
        found.add(cells.count({}))
    assert len(found) == 1 and found.pop() % 4 == 0
    monkeypatch.setattr(chunks, "PROCESSORS", 1)
    assert cells.count({}) == 1


def test_a_cell_has_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "PROCESSORS", 64)
    assert Cells(128, 128, 127).count({}) == 1
    assert Cells(128, 128, 128).count({}) > 1
    assert Cells(256, 9, 512).count({}) > 1  # a vector of columns is computed whole
    assert Cells(256, 8, 256).count({}) == 1
    assert Cells(0, 128, 128).count({}) == 1


def test_bits_depend_neither_on_the_machine_nor_on_other_rows_and_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever a product is cut into, and whatever else is computed, an element is one sum."""
    left, right = normal(300, 900), normal(900, 260)
    a, b = sg.placeholder("a", (None, 900)), sg.placeholder("b", (900, None))
    product = a @ b
    found = set()
    for count in (1, 2, 3, 8, 64):
        monkeypatch.setattr(chunks, "PROCESSORS", count)
        chunks._grid.cache_clear()
        found.add(sg.compile([a, b], product)(left, right).tobytes())
    assert len(found) == 1
    whole = np.frombuffer(found.pop(), "float32").reshape(300, 260)
    part = sg.compile([a, b], product)(left[17:48], np.ascontiguousarray(right[:, 5:99]))
    assert_array_equal(part, whole[17:48, 5:99])


# -- what is computed ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("transposed", list(itertools.product((False, True), repeat=2)), ids=str)
@pytest.mark.parametrize(
    "sizes",
    some([(200, 150, 180), (129, 257, 97), (1000, 65, 33), (16, 300, 500), (900, 300, 10)], 2),
    ids=str,
)  # fmt: skip
def test_each_transposition_with_sizes_known_and_not(
    sizes: tuple[int, int, int], transposed: tuple[bool, bool], processors: int
) -> None:
    m, k, n = sizes
    for dtype, rtol in DTYPES.items():
        left = normal(*((k, m) if transposed[0] else (m, k)), dtype=dtype)
        right = normal(*((n, k) if transposed[1] else (k, n)), dtype=dtype)
        a, b = (
            sg.placeholder(name, array.shape if dtype == "float32" else (None, None), dtype)
            for name, array in (("a", left), ("b", right))
        )
        executable = sg.compile(
            [a, b], (a.T if transposed[0] else a) @ (b.T if transposed[1] else b)
        )
        expected = np.matmul(
            left.T if transposed[0] else left, right.T if transposed[1] else right, dtype="float64"
        )
        found = on_threads(executable, left, right)
        assert_allclose(found, expected, rtol=rtol, atol=rtol * np.sqrt(k))


def test_strided_operands_and_a_given_result(processors: int) -> None:
    whole, other = normal(300, 420), normal(250, 700)
    a, b = sg.placeholder("a", whole.shape), sg.placeholder("b", other.shape)
    executable = sg.compile([a, b], a[20:270, 100:350] @ b[:, 10:690:2])
    expected = whole[20:270, 100:350].astype("float64") @ other[:, 10:690:2]
    assert_allclose(on_threads(executable, whole, other), expected, rtol=1e-4, atol=1e-3)
    out = np.full(expected.shape, np.nan, "float32")
    executable(whole, other, out=out)
    assert_array_equal(out, executable(whole, other))


@pytest.fixture(scope="module", params=["float32", "float64", "int32"])
def any_product(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """The product of two matrices of any size, and one onto what is given."""
    dtype = request.param
    a, b, c = (sg.placeholder(name, (None, None), dtype) for name in "abc")
    return dtype, sg.compile([a, b, c], [a @ b, c + a @ b])


def whole_numbers(*shape: int, dtype: str) -> Any:
    return RNG.integers(-8, 9, shape).astype(dtype)


VIEWS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T.copy().T,
    "columns of a wider one": lambda x: np.tile(x, (1, 2))[:, : x.shape[1]],
    "every other row": lambda x: np.repeat(x, 2, 0)[::2],
    "every other column": lambda x: np.repeat(x, 2, 1)[:, ::2],
    "rows backwards": lambda x: x[::-1].copy()[::-1],
    "columns backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "one row over and over": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column over and over": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "overlapping rows": lambda x: np.lib.stride_tricks.as_strided(
        x.ravel(), x.shape, x.itemsize * np.array([1 if len(x) <= x.size else 0, 1])
    ),
    "misaligned": lambda x: np.frombuffer(b"-" + x.tobytes(), x.dtype, x.size, 1).reshape(x.shape),
}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_operands_of_any_strides_where_memory_ends(any_product: tuple[str, Any], view: str) -> None:
    """Whole numbers are multiplied exactly; nothing is read behind or before the operands."""
    dtype, executable = any_product
    sizes = [(1, 1, 1), (2, 3, 17), (13, 33, 5), (37, 1, 50), (1, 65, 40), (70, 45, 390)]
    with fenced(1 << 20) as one, fenced(1 << 20) as other, all_in_place():
        for m, n, k in sizes:
            left, right = (
                VIEWS[view](whole_numbers(m, k, dtype=dtype)),
                whole_numbers(k, n, dtype=dtype),
            )
            for a, b in ((left, right), (right.T.copy(), left.T)):
                for at_end in (False, True):
                    given = [placed(one, a, at_end), placed(other, b, at_end)]
                    c = whole_numbers(len(a), b.shape[1], dtype=dtype)
                    expected = np.matmul(a, b, dtype="float64")
                    for _ in range(2):  # a kernel for such strides is compiled meanwhile
                        found, onto = executable(*given, c)
                        assert_array_equal(found, expected)
                        assert_array_equal(onto, c + expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    "batches", [((2, 3), (2, 3)), ((1, 3), (2, 1)), ((0, 1), (1, 3)), ((1,), (2, 3))], ids=str
)
def test_batches_that_are_repeated_and_empty_sizes(
    dtype: str, batches: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    x, y = (
        sg.placeholder(name, (*batch, None, None), dtype)
        for name, batch in zip("xy", batches, strict=True)
    )
    executable = sg.compile([x, y], x @ y)
    for m, k, n in itertools.product((0, 1, 3, 18), repeat=3):
        left = whole_numbers(*batches[0], m, k, dtype=dtype)
        right = whole_numbers(*batches[1], k, n, dtype=dtype)
        assert_array_equal(executable(left, right), left @ right)


def test_a_matrix_times_itself() -> None:
    a, b = sg.placeholder("a", (60, 60)), sg.placeholder("b", (60, 60))
    executable = sg.compile([a, b], a @ b)
    matrix = whole_numbers(60, 60, dtype="float32")
    for given in ((matrix, matrix), (matrix, matrix.T)):
        assert_array_equal(executable(*given), given[0] @ given[1])


def test_steps_of_a_scan_and_several_calls_at_once(processors: int) -> None:
    x, w = sg.placeholder("x", (40, 60)), sg.placeholder("w", (60, 60))
    last, _ = sg.scan(lambda carry, _: (sg.tanh(carry @ w), None), x, length=5)
    executable = sg.compile([x, w], last)
    start, weights = normal(40, 60), normal(60, 60) / 8
    found = on_threads(executable, start, weights)
    wanted = start.astype("float64")
    for _ in range(5):
        wanted = np.tanh(wanted @ weights)
    assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: executable(start, weights), range(16)))
    assert {one.tobytes() for one in results} == {found.tobytes()}


def test_batches(processors: int) -> None:
    left, right, single = normal(6, 70, 90), normal(6, 90, 110), normal(90, 210)
    x = sg.placeholder("x", (None, 70, 90))
    y, z = sg.placeholder("y", (None, 90, 110)), sg.placeholder("z", single.shape)
    found = on_threads(sg.compile([x, y], x @ y), left, right)
    assert_allclose(found, np.matmul(left, right), rtol=1e-4, atol=1e-4)
    found = on_threads(sg.compile([x, z], x @ z), left, single)
    assert_allclose(found, np.matmul(left, single), rtol=1e-4, atol=1e-4)


def test_what_is_added_to_a_variable(processors: int) -> None:
    x, y = normal(120, 300), normal(120, 200)
    start = normal(300, 200)
    a, b = sg.placeholder("a", (None, 300)), sg.placeholder("b", (None, 200))
    found = []
    for count in (1, 2, 3):
        threads.set_num_threads(count)
        w = sg.variable(start.copy())
        step = sg.compile([a, b], [], updates={w: 0.5 * w - 0.1 * (a.T @ b)})
        step(x, y)
        found.append(w.value.tobytes())
    assert len(set(found)) == 1
    assert_allclose(w.value, 0.5 * start - 0.1 * (x.T @ y), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [(0, 300, 200), (200, 0, 300), (200, 300, 0), (1, 900, 3000)])
def test_sizes_that_only_a_call_tells(sizes: tuple[int, int, int], processors: int) -> None:
    m, k, n = sizes
    a, b = sg.placeholder("a", (None, None)), sg.placeholder("b", (None, None))
    executable = sg.compile([a, b], a @ b)
    assert any(isinstance(one, Share) for one in executable.kernel.program)
    left, right = normal(m, k), normal(k, n)
    found = on_threads(executable, left, right)
    assert found.shape == (m, n)
    assert_allclose(found, left @ right, rtol=1e-3, atol=1e-4)


def test_a_start_from_the_cache_has_the_same_cells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    a, b = sg.placeholder("a", (None, 300)), sg.placeholder("b", (300, None))
    cold, warm = sg.compile([a, b], a @ b), sg.compile([a, b], a @ b)
    cells = {cut.counted for _, cut in warm.runner.launch_plan.chunks if isinstance(cut, Cells)}
    assert cells == {"cells", "down", "across"}
    left, right = normal(500, 300), normal(300, 400)
    assert_array_equal(warm(left, right), cold(left, right))
