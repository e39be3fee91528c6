"""Exported files on what they are called with: where arrays begin, and what does not fit."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

pytestmark = pytest.mark.slow


@pytest.fixture
def exported(tmp_path: Path) -> Callable[[sg.Executable], Any]:
    """The function `run` of the file of an executable."""

    def run_of(executable: sg.Executable) -> Any:
        executable.export(tmp_path / "kernel.py")
        return runpy.run_path(str(tmp_path / "kernel.py"))["run"]

    return run_of


def test_arrays_are_read_backwards_from_where_they_begin(exported: Any) -> None:
    w = sg.variable(np.arange(9, dtype="float32").reshape(3, 1, 3), name="w")
    x = sg.placeholder("x", (None, 4))
    outputs = [sg.max(sg.flip(w * 2), axis=1), sg.flip(w * 3), x[:, ::-1] * 2, x[:, 3:0:-2] + 1]
    executable = sg.compile([x], outputs)
    given = np.arange(8, dtype="float32").reshape(2, 4)
    found = exported(executable)(given, w=w.value.copy())
    for one, expected in zip(found, executable(given), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_slices_of_a_loop_are_read_backwards(exported: Any) -> None:
    x = sg.placeholder("x", (3, 5), "float64")
    last, rows = sg.scan(
        lambda h, row: (h + sg.flip(row), sg.flip(h)[::2] + row[4:0:-2].sum()),
        sg.constant(np.zeros(5)),
        x,
    )
    executable = sg.compile([x], [last, rows])
    given = np.random.default_rng(3).normal(size=(3, 5))
    for one, expected in zip(exported(executable)(given), executable(given), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize(
    ("make", "shape", "good"),
    [
        (lambda x: x[5] * 2, (2,), (6,)),
        (lambda x: sg.reshape(x, (2, -1)) + 1, (5,), (6,)),
        (sg.max, (0,), (1,)),
        (lambda x: sg.argmin(x, axis=0), (0,), (2,)),
        (lambda x: sg.max_pool2d(sg.reshape(x, (1, 1, 4, -1)), 3), (8,), (16,)),
    ],
    ids=["index", "reshape", "max", "argmin", "pool"],
)
def test_sizes_that_the_executable_refuses_are_refused(
    make: Any, shape: Any, good: Any, exported: Any
) -> None:
    x = sg.placeholder("x", (None,))
    executable = sg.compile([x], make(x))
    run = exported(executable)
    np.testing.assert_array_equal(
        run(np.ones(good, "float32")), executable(np.ones(good, "float32"))
    )
    with pytest.raises((sg.ShapeError, sg.OutOfRangeError)):
        executable(np.ones(shape, "float32"))
    with pytest.raises(ValueError, match=r"<- .*test_feeds.py:\d+: the sizes do not fit: \d+ and"):
        run(np.ones(shape, "float32"))


def test_softmax_of_nothing_is_nothing(exported: Any) -> None:
    x = sg.placeholder("x", (None, None))
    run = exported(sg.compile([x], [sg.softmax(x), sg.logsumexp(x, axis=1)]))
    found = run(np.zeros((2, 0), "float32"))
    assert found[0].shape == (2, 0)
    np.testing.assert_array_equal(found[1], [-np.inf, -np.inf])


def test_what_is_updated_is_apart_from_all_else(exported: Any) -> None:
    x = sg.placeholder("x", (None, 3))
    w, u = (sg.variable(np.zeros(3, "float32"), name=name) for name in "wu")
    run = exported(sg.compile([x], x * 2, updates=[(w, w + x.sum(axis=0)), (u, u + w)]))
    memory = np.arange(8, dtype="float32")
    given = np.ones((1, 3), "float32")
    for left, right in ((memory[:3], memory[:3]), (memory[:3], memory[2:5])):
        with pytest.raises(TypeError, match="w: it is updated in place, and shares memory with u"):
            run(given, w=left, u=right)
    with pytest.raises(TypeError, match="u: it is updated in place, and shares memory with x"):
        run(memory[:3].reshape(1, 3), w=memory[3:6], u=memory[:3])
    np.testing.assert_array_equal(memory, np.arange(8))
    run(given, w=memory[:3], u=memory[3:6])
    np.testing.assert_array_equal(memory[:6], [1, 2, 3, 3, 5, 7])


def test_only_arrays_are_taken(exported: Any) -> None:
    x = sg.placeholder("x", (None, 2))
    run = exported(sg.compile([x], x * 2))
    with pytest.raises(TypeError, match="x: a list given, a NumPy array expected"):
        run([[1.0, 2.0]])
    masked = np.ma.masked_array(np.ones((1, 2), "float32"), [[True, False]])
    with pytest.raises(TypeError, match="x: a masked array has elements without a value"):
        run(masked)
    given = np.ones((1, 2), "float32")
    np.testing.assert_array_equal(run(given.view(np.matrix)), 2 * given)


def test_names_of_modules_that_python_needs_are_refused(tmp_path: Path) -> None:
    x = sg.placeholder("x", (3,))
    executable = sg.compile([x], x + 1)
    for name in ("numpy", "numba", "math", "queue"):
        with pytest.raises(sg.OptionError, match=f"'{name}.py' would hide the module {name}"):
            executable.export(tmp_path / f"{name}.py")
    with pytest.raises(sg.OptionError, match=r"a Python module expected, not 'class.py'"):
        executable.export(tmp_path / "class.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(IsADirectoryError):
        executable.export(tmp_path / "folder.py", np.zeros(3, "float32"))
    assert [one.name for one in tmp_path.iterdir()] == ["folder.py"]  # no arrays of no file
