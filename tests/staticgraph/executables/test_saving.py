"""Executables in files: what is loaded computes the same, and what is damaged is refused."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core import dims
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define, to_text
from staticgraph.compiler.graph.serialise import Reader, Writer
from tests.data.make_saved_graphs import graphs
from tests.graphs import random_graph
from tests.paths import ROOT, TESTS

X = np.random.default_rng(0).normal(size=(5, 8)).astype("float32")
Y = np.array([0, 1, 2, 1, 0])


def _training() -> tuple[sg.Executable, sg.Executable]:
    rng = np.random.default_rng(1)
    x = sg.placeholder("x", (None, 8))
    y = sg.placeholder("the target", ("n",), "int64")
    w = sg.variable(rng.normal(size=(8, 3)).astype("float32"), name="w")
    b = sg.variable(np.zeros(3, "float32"))
    logits = sg.gelu(x @ w + b) * np.linspace(0.5, 1.5, 3, dtype="float32")
    loss = sg.cross_entropy(logits, y)
    updates = sg.optim.SGD(lr=0.1, momentum=0.9).minimize(loss)
    train = sg.compile([x, y], {"the loss": loss, 3: logits}, updates, name="train")
    return train, sg.compile([x], [sg.softmax(logits)], numerics="fast", fuse=False)


def _same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert list(left) == list(right)
        left, right = list(left.values()), list(right.values())
    for one, other in zip(left, right, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.slow
def test_a_training_step_goes_on_bit_for_bit(tmp_path: Path) -> None:
    train, _ = _training()
    train(X, Y)
    train.save(tmp_path / "train.sg")
    loaded = sg.load(tmp_path / "train.sg")
    assert repr(loaded) == repr(train)
    assert loaded.source == train.source
    assert to_text(loaded.definition) == to_text(train.definition)
    for _ in range(5):
        _same(loaded(X, Y), train(X, Y))
    _same(loaded(X[:2], Y[:2]), train(X[:2], Y[:2]))
    for name, one in train.variables.items():
        assert one.value.tobytes() == loaded.variables[name].value.tobytes()


def test_variables_by_name(tmp_path: Path) -> None:
    train, _ = _training()
    assert list(train.variables)[:2] == ["w", "variable 1"]
    train.save(tmp_path / "train.sg")
    loaded = sg.load(tmp_path / "train.sg")
    assert list(loaded.variables) == list(train.variables)
    before = train.variables["w"].value
    loaded.variables["w"].value = np.zeros((8, 3), "float32")
    np.testing.assert_array_equal(train.variables["w"].value, before)
    assert not loaded.variables["w"].value.any()


def test_names_that_come_twice_are_told_apart() -> None:
    a, b, c = (sg.variable(np.ones(2, "float32"), name=name) for name in ("w", "w", None))
    assert list(sg.compile([], a + b + c).variables) == ["w", "w (1)", "variable 2"]


def test_several_executables_share_their_variables(tmp_path: Path) -> None:
    train, predict = _training()
    sg.save({"train": train, "predict": predict}, tmp_path / "both.sg")
    loaded = sg.load(tmp_path / "both.sg")
    assert list(loaded) == ["train", "predict"]
    before = loaded["predict"](X)
    _same(loaded["train"](X, Y), train(X, Y))
    _same(loaded["predict"](X), predict(X))
    assert not np.array_equal(before[0], loaded["predict"](X)[0])
    assert loaded["predict"].options == predict.options
    assert loaded["predict"].options.numerics == "fast"


def test_errors_of_a_loaded_executable_name_the_line_that_defined_it(tmp_path: Path) -> None:
    x, y = sg.placeholder("x", (None,)), sg.placeholder("y", (None,))
    executable = sg.compile([x, y], x * y)
    executable.save(tmp_path / "f.sg")
    with pytest.raises(sg.ShapeError, match=r"test_saving.py:\d+"):
        sg.load(tmp_path / "f.sg")(np.ones(2, "float32"), np.ones(3, "float32"))


@pytest.mark.slow
def test_another_process_loads_it_with_its_own_numbers(tmp_path: Path) -> None:
    train, _ = _training()
    train.save(tmp_path / "train.sg")
    np.save(tmp_path / "x.npy", X)
    code = (
        "import sys, numpy as np, staticgraph as sg\n"
        "[sg.placeholder('other', (None, None)) for _ in range(7)]\n"
        "train = sg.load(sys.argv[1] + '/train.sg')\n"
        "x = np.load(sys.argv[1] + '/x.npy')\n"
        "result = train(x, np.array([0, 1, 2, 1, 0]))\n"
        "print(result['the loss'].tobytes().hex(), result[3].tobytes().hex())\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    expected = train(X, Y)
    assert found.split() == [expected["the loss"].tobytes().hex(), expected[3].tobytes().hex()]


def test_loops_and_branches(tmp_path: Path) -> None:
    h, xs = sg.placeholder("h", (None, 3)), sg.placeholder("xs", (None, None, 3))
    w = sg.variable(np.eye(3, dtype="float32") * 0.5, name="w")
    last, ys = sg.scan(lambda h, x: (sg.tanh(h @ w + x), h.sum(axis=-1)), h, xs)
    executable = sg.compile([h, xs], [last, ys, *sg.grad((last * last).sum(), [w])])
    executable.save(tmp_path / "loop.sg")
    rng = np.random.default_rng(0)
    given = [rng.normal(size=size).astype("float32") for size in ((2, 3), (4, 2, 3))]
    _same(sg.load(tmp_path / "loop.sg")(*given), executable(*given))


@pytest.mark.parametrize("make", [list, tuple, lambda one: one[0]])
def test_structures(make: Callable[[Any], Any], tmp_path: Path) -> None:
    x = sg.placeholder("x", (2,))
    executable = sg.compile([x], make([x * 2]))
    executable.save(tmp_path / "f.sg")
    found, expected = (f(np.ones(2, "float32")) for f in (sg.load(tmp_path / "f.sg"), executable))
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_are_the_same_when_read(seed: int) -> None:
    grown = random_graph(seed)
    graph = define(grown.inputs, grown.outputs, grown.updates)
    writer = Writer()
    record = json.loads(json.dumps(writer.graph(graph)))
    again = define(*Reader(writer.arrays, writer.states).graph(record))
    verify(graph_of(again))
    assert to_text(again) == to_text(graph)
    other = Writer()
    assert _numbered(other.graph(again)) == _numbered(record)
    assert other.states == writer.states


def _numbered(form: Any, numbers: dict[int, int] | None = None) -> Any:
    """The record with the unknown sizes numbered as they come."""
    numbers = {} if numbers is None else numbers
    if isinstance(form, list):
        return [_numbered(one, numbers) for one in form]
    if not isinstance(form, dict):
        return form
    if set(form) == {"number", "label"}:
        return {**form, "number": numbers.setdefault(form["number"], len(numbers))}
    return {key: _numbered(one, numbers) for key, one in form.items()}


def test_sizes_keep_their_normal_form() -> None:
    n, m = sg.placeholder("x", (None, None)).shape
    k = sg.placeholder("y", ("k",)).shape[0]
    for size in (7, n, 2 * n + 1, n * m - k, (n + 3) // 2 + m, dims.maximum(n, m) * k, -n + 5):
        writer = Writer()
        form = json.loads(json.dumps(writer.value((size,))))
        (again,) = Reader([], []).value(form)
        assert str(again) == str(size)
        atoms = dims.atoms([size])
        values = {str(atom): i + 3 for i, atom in enumerate(sorted(atoms, key=str))}
        assert dims.evaluate(again, {one: values[str(one)] for one in dims.atoms([again])}) == (
            dims.evaluate(size, {one: values[str(one)] for one in atoms})
        )


@pytest.mark.parametrize(
    "value", [None, True, 3, 2**70, "mean", -0.0, float("inf"), (1, (2.5, None)), np.dtype("int8")]
)
def test_values_of_attributes(value: Any) -> None:
    form = json.loads(json.dumps(Writer().value(value), allow_nan=False))
    again = Reader([], []).value(form)
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_text_that_could_not_be_read_is_not_written() -> None:
    with pytest.raises(sg.FormatError, match="'mean of all' is no word"):
        Writer().value("mean of all")


def test_a_file_name_with_any_characters(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    text = "import staticgraph as sg\nx = sg.placeholder('x', (2,))\nf = sg.compile([x], x * 2)"
    exec(compile(text, "a\n\udc80\u200b.py", "exec"), names)
    names["f"].save(tmp_path / "f.sg")
    loaded = sg.load(tmp_path / "f.sg")
    assert loaded(np.ones(2, "float32")).tolist() == [2, 2]
    assert loaded.feeds[0].source == "a???.py:2"


def test_numpys_integers_become_pythons() -> None:
    assert Writer().value((np.int64(3), np.bool_(True))) == {"tuple": [3, True]}


def test_nan_keeps_being_nan() -> None:
    assert np.isnan(Reader([], []).value(Writer().value(float("nan"))))


def test_a_value_without_a_form_is_refused() -> None:
    with pytest.raises(sg.FormatError, match="a value of type slice cannot be saved: slice"):
        Writer().value(slice(None))


def test_only_executables_are_saved(tmp_path: Path) -> None:
    with pytest.raises(sg.OptionError, match="save: 'f': <built-in function len> is no executable"):
        sg.save({"f": len}, tmp_path / "f.sg")  # type: ignore[dict-item]
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    train, _ = _training()
    train.save(tmp_path / "f.sg")
    before = (tmp_path / "f.sg").read_bytes()

    def fail(*args: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="no space left"):
        train.save(tmp_path / "f.sg")
    assert (tmp_path / "f.sg").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["f.sg"]


def test_equal_executables_make_equal_files(tmp_path: Path) -> None:
    train, _ = _training()
    train.save(tmp_path / "a.sg")
    train.save(tmp_path / "b.sg")
    assert (tmp_path / "a.sg").read_bytes() == (tmp_path / "b.sg").read_bytes()


def test_the_file_holds_json_and_arrays_only(tmp_path: Path) -> None:
    train, _ = _training()
    train.save(tmp_path / "train.sg")
    with zipfile.ZipFile(tmp_path / "train.sg") as archive:
        names = archive.namelist()
        assert json.loads(archive.read("graph.json"))["format"] == "staticgraph executables 1"
        for name in names[1:-1]:
            np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
        lines = archive.read("sha256").decode().splitlines()
        for line, name in zip(lines, names, strict=False):
            assert line == f"{hashlib.sha256(archive.read(name)).hexdigest()}  {name}"
    assert names[0] == "graph.json"
    assert names[-1] == "sha256"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sg.load(tmp_path / "none.sg")


def test_a_file_of_an_earlier_version_loads() -> None:
    """See tests/data/make_saved_graphs.py, which wrote it before forms were shared."""
    found = sg.load(TESTS / "data" / "saved_graphs.sg")
    x = np.arange(12, dtype="float32").reshape(4, 3)
    weight = np.arange(6, dtype="float32").reshape(3, 2)
    for _ in range(2):
        assert found["step"](x) == pytest.approx(float((x @ weight).sum()))
        weight /= 2
    y = np.array([[0.25, -3.0], [2.5, 0.5]])
    shaped = found["shaped"](y)
    np.testing.assert_array_equal(shaped["pooled"], [[[[2.5]]]])
    np.testing.assert_array_equal(shaped["joined"], np.concatenate([y, y + np.eye(2)]))
    np.testing.assert_array_equal(shaped["whole"], [[0, 0], [1, 0]])
    np.testing.assert_allclose(shaped["leaky"], np.where(y > 0, y, 0.1 * y))
    total, sums, order = found["order"](y)
    np.testing.assert_allclose(total, np.tanh(y).sum(0))
    np.testing.assert_allclose(sums, [0, np.tanh(y[0]).sum()])
    np.testing.assert_array_equal(order, [[0, 0], [1, 1]])


def test_what_is_written_is_what_earlier_versions_wrote(tmp_path: Path) -> None:
    sg.save(graphs(), tmp_path / "again.sg")
    new, old = (_shapes(path) for path in (tmp_path / "again.sg", TESTS / "data/saved_graphs.sg"))
    assert new == old


def _shapes(path: Path) -> Any:
    """The graphs of a file without what every run counts anew, and without names for people."""
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("graph.json"))
    numbers: dict[int, int] = {}

    def plain(form: Any) -> Any:
        if isinstance(form, list):
            return [plain(one) for one in form]
        if not isinstance(form, dict):
            return form
        if "number" in form:
            return numbers.setdefault(form["number"], len(numbers))
        names = ("source", "key", "name") if "op" in form else ("source", "key")
        return {key: plain(one) for key, one in form.items() if key not in names}

    return plain(content)
