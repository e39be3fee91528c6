"""`on_nonfinite`: kernels stop at inf and nan, before anything is updated, and change no bit."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import staticgraph as sg
from staticgraph.compiler.runtime.cache.loader import counts
from tests.combinations import some
from tests.workloads import compiled

pytestmark = pytest.mark.slow

LONG = 700_001  # elements: several chunks, the last of another length


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def step(**options: Any) -> tuple[sg.Executable, Any]:
    """A step of gradient descent, whose product is added to the variable in place."""
    x = sg.placeholder("x", (None, 3), "float64")
    w = sg.variable(np.array([[1.0], [2.0], [3.0]]), "w")
    count = sg.variable(np.array(0.0), "count")
    loss = sg.mean(sg.log(x @ w))
    updates = [*sg.optim.SGD(lr=0.1).minimize(loss, [w]).items(), (count, count + 1)]
    return sg.compile([x], loss, updates, name="train", lint="off", **options), (w, count)


GOOD, BAD = np.ones((4, 3)), np.vstack([np.ones((3, 3)), np.zeros((1, 3))])


@pytest.mark.parametrize(
    "options",
    [
        {}, {"backend": "numba"}, {"debug": True}, {"numerics": "fast"}, {"fuse": False},
        {"threads": 1}, {"background": True},
    ],
    ids=str,
)  # fmt: skip
def test_nothing_is_updated_when_it_raises(options: dict[str, Any]) -> None:
    run, (w, count) = step(on_nonfinite="raise", **options)
    plain, (same, _) = step(**options)
    run.wait()
    plain.wait()
    assert_array_equal(run(GOOD), plain(GOOD))
    before = w.value
    assert_array_equal(before, same.value)
    for _ in range(2):
        # debug mode tells of it first
        with (
            warnings.catch_warnings(),
            pytest.raises(sg.NonFiniteError, match=r"train: not finite: output.*update of 'w'"),
        ):
            warnings.simplefilter("ignore", sg.NonFiniteWarning)
            run(BAD)
        assert_array_equal(w.value, before)
        assert count.value == 1
    found = run.replay().first
    assert found is not None
    assert (found.op, found.line.rpartition(":")[0]) == ("log", __file__)
    assert_array_equal(run(x=GOOD), plain(GOOD))
    assert_array_equal(w.value, same.value)


def test_arrays_of_out_and_named_inputs_take_the_same_way() -> None:
    run, (w, _) = step(on_nonfinite="raise")
    out, before = np.zeros(()), w.value
    with pytest.raises(sg.NonFiniteError, match="log"):
        run(BAD, out=out)
    with pytest.raises(sg.NonFiniteError, match="log"):
        run(x=BAD)
    assert_array_equal(w.value, before)
    assert run(GOOD, out=out) is out


def test_warn_and_report_go_on_once_they_have_told() -> None:
    for policy in ("warn", "report"):
        run, (w, count) = step(on_nonfinite=policy)
        plain, (same, _) = step()
        if policy == "warn":
            with pytest.warns(sg.NonFiniteWarning, match="log = float64") as caught:
                value = run(BAD)
            assert caught[0].filename == __file__
        else:
            value = run(BAD)
        assert_array_equal(value, plain(BAD))
        assert_array_equal(w.value, same.value)  # updated: not finite any more
        run(BAD)
        assert count.value == 2
        report = run.replay()
        assert report.first is not None
        assert report.first.op == "log"
        w.value = np.ones((3, 1))
        if policy == "report":
            run(BAD * [1, 1, np.nan])
            again = run.replay().first
            assert again is not None
            assert (again.op, again.name, again.is_leaf) == ("placeholder", "x", True)


def test_report_keeps_the_inputs_of_each_call_on_the_direct_path() -> None:
    run, _ = step(on_nonfinite="report")
    ways: list[Callable[[Any], Any]] = [
        run, lambda x: run(x=x), lambda x: run(x, out=np.empty(())), run, copy.copy(run)
    ]  # fmt: skip
    turned = np.ones((3, 50_000)).T  # read where it lies, by a kernel of its own
    for way in ways:
        for given in (np.ones((4, 3)), np.ones((5, 3)), turned.copy("K")):
            way(given)
            told = way if isinstance(way, sg.Executable) else run
            assert told.replay().first is None
            given[1] = 0  # the arrays themselves are kept
            found = told.replay().first
            assert found is not None
            assert found.op == "log"
    assert run._idle
    given = np.ones((4, 3))
    run(given)
    run.profile(np.ones((4, 3)))  # is no call
    given[1] = 0
    assert run.replay().first is not None


def test_masks_and_integers_are_no_fault() -> None:
    x = sg.placeholder("x", (None,), "float32")
    masked = sg.softmax(sg.where(x > 0, x, -np.inf))
    run = sg.compile([x], [masked, sg.argmax(x), x > 0], on_nonfinite="raise")
    assert_array_equal(run([1, -1])[0], [1, 0])
    with pytest.raises(sg.NonFiniteError):
        run([-1, -1])


@pytest.mark.parametrize(
    "case",
    some([("float32", 2), ("float32", 1), ("float64", 1), ("float64", 2)], 1),
)
def test_one_element_anywhere_is_found(case: tuple[str, int]) -> None:
    dtype, threads = case
    x = sg.placeholder("x", (None,), dtype)
    w = sg.variable(np.zeros(LONG, dtype), "w")
    run = sg.compile([x], sg.sum(x > 0), {w: w + x * 2}, on_nonfinite="raise", threads=threads)
    given = np.ones(LONG, dtype)
    run(given)
    before = w.value
    for place in (0, 1, LONG // 3, LONG // 2 - 1, LONG // 2, LONG - 2, LONG - 1):
        for value in (np.nan, np.inf, -np.inf, np.finfo(dtype).max):
            given[place] = value
            with pytest.raises(sg.NonFiniteError, match=rf"not finite, .* at \[{place}\]"):
                run(given)
        given[place] = 1
    assert_array_equal(w.value, before)
    run(given)


def outputs() -> dict[str, tuple[Any, Any]]:
    """An output of each kind of group, and a variable that is updated by each."""
    x = sg.placeholder("x", (None, 5), "float64")
    _, ys = sg.scan(lambda h, row: (h + row, h * row), sg.zeros((5,), "float64"), x)
    return {
        "itself": (x, x), "transposed": (x, x.T), "product": (x, x @ sg.ones((5, 3), "float64")),
        "sum": (x, sg.sum(x)), "rows": (x, sg.sum(x, axis=1)), "columns": (x, sg.max(x, axis=0)),
        "scan": (x, ys), "sort": (x, sg.sort(x, axis=0)), "padded": (x, sg.pad(x, 1)),
        "flipped": (x, sg.flip(x, axis=0)), "joined": (x, sg.concatenate([x, x], axis=0)),
        "reshaped": (x, x.reshape(-1)), "gathered": (x, x[::-1][1:]),
        "cond": (x, sg.cond(sg.sum(x[0]) > 0, lambda a: a * 2, lambda a: a, x)),
        "softmax": (x, sg.softmax(x)),
    }  # fmt: skip


@pytest.mark.parametrize("kind", some(outputs(), 8))
def test_every_kind_of_output_is_checked(kind: str) -> None:
    x, y = outputs()[kind]
    run = sg.compile([x], [y, sg.sum(x > 0)], on_nonfinite="raise")
    plain = sg.compile([x], [y, sg.sum(x > 0)])
    for rows in (3, 40_000 if kind in ("transposed", "rows", "columns", "padded") else 4):
        given = np.linspace(0.5, 1.5, rows * 5).reshape(rows, 5)
        assert_array_equal(run(given)[0], plain(given)[0])
        given[rows - 2, 3] = np.nan
        with pytest.raises(sg.NonFiniteError):
            run(given)


@pytest.mark.parametrize("name", ["mlp_small", "rnn"])
def test_a_workload_has_the_same_bits(name: str) -> None:
    (run, args), (plain, _) = compiled(name, on_nonfinite="raise"), compiled(name)
    for _ in range(3):
        assert_array_equal(run(*args), plain(*args))
    for one, other in zip(run.variables.values(), plain.variables.values(), strict=True):
        assert_array_equal(one.value, other.value)


def test_adam_changes_neither_weights_nor_moments() -> None:
    x = sg.placeholder("x", (None, 64))
    w = sg.variable(np.ones((64, 32), "float32"), "w")
    loss = sg.mean(sg.exp(x @ w))
    run = sg.compile([x], loss, sg.optim.Adam(lr=0.1).minimize(loss), on_nonfinite="raise")
    run(np.zeros((8, 64), "float32"))
    before = {name: one.value for name, one in run.variables.items()}
    with pytest.raises(sg.NonFiniteError, match="exp"):
        run(np.full((8, 64), 100, "float32"))
    for name, one in run.variables.items():
        assert_array_equal(one.value, before[name])


def updates() -> dict[str, tuple[Any, Any, Any]]:
    """A variable that is updated in place by each kind of group, and new values of it."""
    rng = np.random.default_rng(0)
    x = sg.placeholder("x", (None, 300), "float64")

    def weight(*shape: int) -> Any:
        return sg.variable(rng.normal(size=shape), "w")

    small, wide, total = weight(300, 10), weight(300, 300), weight()
    row, mean = weight(300), weight(300)
    gradient, moved = sg.sum(x, axis=0), sg.mean(x)
    return {
        "deep product": (x, small, small * 0.5 + x.T @ x[:, :10]),
        "product in cells": (x, wide, wide - x.T @ x),
        "two products": (x, wide, x.T @ x + (2 * x).T @ sg.tanh(x)),
        "row": (x, row, row - gradient / (abs(gradient) + 1)),
        "number": (x, total, total + moved),
        "moments": (x, mean, mean * 0.9 + gradient * 0.1),
    }


@pytest.mark.parametrize("kind", updates())
def test_what_is_written_in_place_comes_back(kind: str) -> None:
    x, w, new = updates()[kind]
    last = sg.variable(np.ones(()), "last")
    changes = {w: new, last: last / sg.min(x)}
    run = sg.compile([x], sg.max(x), changes, on_nonfinite="raise", threads=2)
    good = np.random.default_rng(1).uniform(0.5, 1, (900, 300))
    first = w.value
    run(good)
    second = w.value
    assert not np.array_equal(first, second)
    for rows in (900, 1, 40):  # only the last variable is lost
        with pytest.raises(sg.NonFiniteError, match=r"not finite: the update of 'last'\n"):
            run(np.zeros((rows, 300)))
        assert_array_equal(w.value, second)
    w.value = first
    run(good)
    assert_array_equal(w.value, second)


def test_large_inputs_that_are_read_where_they_lie() -> None:
    x = sg.placeholder("x", (None, None))
    run = sg.compile([x], sg.sqrt(x) * 2, on_nonfinite="raise")
    given = np.ones((600, 700), "float32")
    assert_array_equal(run(given.T), 2 * given.T)
    given[3, 5] = -1
    with pytest.raises(sg.NonFiniteError, match=r"sqrt .* the first is nan at \[5, 3\], of -1"):
        run(given.T)


def test_copies_pickles_and_files_keep_the_option(tmp_path: Path) -> None:
    run, _ = step(on_nonfinite="raise")
    run.save(tmp_path / "run.sg")
    others = (copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run)))
    for one in (*others, sg.load(tmp_path / "run.sg")):
        assert one.options.on_nonfinite == "raise"
        with pytest.raises(sg.NonFiniteError, match="log"):
            one(BAD)
        assert one.variables["count"].value == 0


def test_the_report_and_the_error_are_pickled() -> None:
    run, _ = step(on_nonfinite="raise")
    with pytest.raises(sg.NonFiniteError) as error:
        run(BAD)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value)
    assert repr(again.report) == repr(run.replay())


def test_a_kernel_from_the_cache_checks_and_is_another_than_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path))
    for loaded in (0, 1):
        before = counts["launch_plans"]
        for policy in (None, "raise"):
            run, _ = step(on_nonfinite=policy)
            if policy is None:
                assert not np.isfinite(run(BAD))
            else:
                with pytest.raises(sg.NonFiniteError, match="log"):
                    run(BAD)
        assert counts["launch_plans"] - before == 2 * loaded
    warm = counts["launch_plans"]
    step(on_nonfinite="warn")  # the code is the same for all policies
    assert counts["launch_plans"] == warm + 1


def test_a_forked_child_checks_too() -> None:
    run, (w, _) = step(on_nonfinite="raise")
    run(GOOD)
    before = w.value
    child = os.fork()
    if not child:
        try:
            run(BAD)
        except sg.NonFiniteError:
            os._exit(0 if np.array_equal(w.value, before) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_looks_at_a_kernel_goes_on(tmp_path: Path) -> None:
    run, (w, _) = step(on_nonfinite="raise")
    before = w.value
    assert run.profile(BAD).runs
    assert_array_equal(w.value, before)
    assert "# inf and nan" in run.source
    run.export(tmp_path / "kernel.py", GOOD)
    assert "lost" not in (tmp_path / "kernel.py").read_text()


def test_a_function_passes_it_on() -> None:
    fast = sg.function(lambda x: sg.log(x), on_nonfinite="raise")
    fast(np.ones(3))
    with pytest.raises(sg.NonFiniteError, match="log"):
        fast(np.zeros(3))


def test_a_value_that_it_cannot_have_is_refused() -> None:
    x = sg.placeholder("x", ())
    with pytest.raises(sg.OptionError, match=r"on_nonfinite is None or one of .*, not 'ignore'"):
        sg.compile([x], x + 1, on_nonfinite="ignore")


def test_without_the_option_nothing_of_it_is_there() -> None:
    run, _ = step()
    assert "inf and nan" not in run.source
    assert run.runner.compiled("kernel").launch_plan.lost is None


def test_every_place_that_a_long_loop_in_blocks_writes_is_looked_at() -> None:
    x = sg.placeholder("x", (None,))
    f = sg.compile([x], [sg.sum(sg.tanh(x)), sg.log(x)], on_nonfinite="raise", lint="off")
    assert "in range(block, " in f.source and " = add_lost(" in f.source
    for size, place in ((1025, 1024), (5000, 1023), (5000, 4999)):
        given = np.ones(size, "float32")
        f(given)
        given[place] = 0
        with pytest.raises(sg.NonFiniteError, match=rf"is -inf at \[{place}\]"):
            f(given)
