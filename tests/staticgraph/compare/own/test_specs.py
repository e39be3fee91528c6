"""What `--inputs`, `--sweep` and `my.py:loss` say, and where their errors point."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest

from staticgraph.compare.own import specs
from staticgraph.compare.own.specs import Input, as_text, read_inputs, read_sweep
from staticgraph.compare.own.subject import check_arguments, read_subject
from staticgraph.compiler.core.errors import OptionError


def test_every_kind_of_input() -> None:
    text = "x=f32[n,64], y = i64[0..9][n],p=f64[0.5..2][n,m],mask=bool[n],lr=f32,k=3,eps=1e-5"
    found = read_inputs(text)
    assert found.arrays == (
        Input("x", "float32", ("n", 64)),
        Input("y", "int64", ("n",), 0, 9),
        Input("p", "float64", ("n", "m"), 0.5, 2),
        Input("mask", "bool", ("n",)),
        Input("lr", "float32", ()),
    )
    assert found.constants == {"k": 3, "eps": 1e-5}
    assert found.size_names == ("n", "m")
    assert read_inputs(as_text(found)) == found


def test_the_arrays_are_what_was_asked_for() -> None:
    found = read_inputs("x=f32[n,3],y=i32[-2..2][n],p=f64[1..2][n],mask=bool[n],flag=i64[n],s=f64")
    made = found.make({"n": 500})
    assert {name: (x.dtype.name, x.shape) for name, x in made.items()} == {
        "x": ("float32", (500, 3)), "y": ("int32", (500,)), "p": ("float64", (500,)),
        "mask": ("bool", (500,)), "flag": ("int64", (500,)), "s": ("float64", ()),
    }  # fmt: skip
    assert set(made["y"]) == {-2, -1, 0, 1, 2}
    assert set(made["flag"]) == {0, 1}
    assert 1 <= made["p"].min() < made["p"].max() <= 2
    assert all((found.make({"n": 500})[name] == x).all() for name, x in made.items())
    assert made["x"].std() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [("x=q32[n]", 2, "'q32' is no dtype: known are f32, f64, i32, i64, bool"),
     ("x=f32[n", 7, "',' expected after a size of f32[...], the end found"),
     ("x=f32[n,0]", 8, "0 is no size"),
     ("x=f32[n,1.5]", 8, "1.5 is no size"),
     ("x=f32[n] w=f32", 9, "',' expected after 'x', 'w' found"),
     ("x=f32[n],x=f64", 9, "'x' is given twice"),
     ("x=f32[n],=f64", 9, "a name of an argument expected, '=' found"),
     ("x f32", 2, "'=' expected after 'x', 'f' found"),
     ("x=i64[0..][n]", 9, "a number expected, ']' found"),
     ("x=i64[0..1.5][n]", 6, "the range of i64 is of whole numbers"),
     ("x=i64[5..2][n]", 6, "the range is empty: 5 > 2"),
     ("x=bool[0..1]", 7, "truth values have no range"),
     ("x=f32[0..1[n]", 10, "']' expected after the range, '[' found"),
     ("x=", 2, "a dtype or a number expected, the end found"),
     ("k=3", 0, "no argument is an array, such as x=f32[n,64]"),
     ("", 0, "a name of an argument expected, the end found")],
)  # fmt: skip
def test_an_error_points_at_its_place(text: str, place: int, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_inputs(text)
    first, shown, caret = str(caught.value).split("\n")
    assert first == f"compare: --inputs, character {place + 1}: {message}"
    assert shown == "    " + text
    assert caret == "    " + " " * place + "^"


INPUTS = read_inputs("x=f32[n,m],w=f32[m]")


def test_sizes() -> None:
    found = read_sweep(["n=1..4096", "m=8"], INPUTS)
    assert [one["n"] for one in found] == [1, 4, 16, 64, 256, 1024, 4096]
    assert {one["m"] for one in found} == {8}
    assert read_sweep(["n=1,10,10,100", "m=2"], INPUTS)[-1] == {"n": 100, "m": 2}
    assert len(read_sweep(["n=1,10,10,100", "m=2"], INPUTS)) == 3
    assert read_sweep([], read_inputs("x=f32[3]")) == [{}]
    assert specs.geometric(2, 5) == [2, 3, 4, 5]
    assert specs.geometric(7, 7) == [7]
    assert doctest.testmod(specs).failed == 0


@pytest.mark.parametrize(
    ("sweep", "message"),
    [(["k=1..2"], "--sweep, character 1: no input has a size 'k': there are n, m"),
     (["n=8"], "the size 'm' of the inputs has no value: --sweep m=1..4096, or m=256"),
     (["n=1..4", "m=1..4"], "several values to 'n' and 'm': one of them can be swept"),
     (["n=1", "n=2"], "--sweep gives 'n' twice"),
     (["n=9..2", "m=1"], "--sweep, character 6: the range is empty: 9 > 2"),
     (["n=0..2", "m=1"], "--sweep, character 3: a size expected: a whole number from 1 on"),
     (["n=1;2", "m=1"], "--sweep, character 4: ';' is not understood")],
)  # fmt: skip
def test_sizes_that_do_not_fit(sweep: list[str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_sweep(sweep, INPUTS)
    assert message in str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(
        "import os\n"
        "from os.path import join as joined\n"
        "model = other = None\n\n"
        "class Net: ...\n\n"
        "def loss(x, w, *, k, scale=2):\n    return (x @ w).sum() * scale\n\n"
        "def any(x, **more):\n    return x\n"
    )
    return path


def test_a_function_is_read_and_not_run(file: Path) -> None:
    found = read_subject(f"{file}:loss")
    assert (found.name, found.line) == ("loss", 7)
    assert found.source == "def loss(x, w, *, k, scale=2):\n    return (x @ w).sum() * scale"
    assert found.parameters == ("x", "w", "k", "scale")
    assert found.required == ("x", "w", "k")
    assert read_subject(f"{file}:any").parameters is None
    for name in ("model", "other", "Net", "os", "joined"):
        assert read_subject(f"{file}:{name}").parameters is None


@pytest.mark.parametrize(
    ("name", "message"),
    [(":lost", "mine.py has no function 'lost': there are loss, any"),
     ("", "mine.py: which function? mine.py:loss, mine.py:any"),
     (":", "mine.py: which function? mine.py:loss, mine.py:any")],
)  # fmt: skip
def test_a_function_that_is_not_there(file: Path, name: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_subject(f"{file}{name}")
    assert message in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"nothing\.py: No such file"):
        read_subject(f"{tmp_path}/nothing.py:f")
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.raises(OptionError, match=r"broken\.py is not Python: invalid syntax"):
        read_subject(f"{tmp_path}/broken.py:f")


def test_inputs_are_what_the_function_takes(file: Path) -> None:
    subject = read_subject(f"{file}:loss")
    check_arguments(subject, ["x", "w", "k"])
    check_arguments(read_subject(f"{file}:any"), ["x", "whatever"])
    with pytest.raises(OptionError, match=r"loss\(x, w, k, scale\): --inputs does not give 'k'"):
        check_arguments(subject, ["x", "w"])
    with pytest.raises(OptionError, match=r"takes no 'y', which --inputs gives"):
        check_arguments(subject, ["x", "w", "k", "y"])


def test_what_is_differentiated_by() -> None:
    inputs = read_inputs("x=f32[n],y=i64[n]")
    assert specs.check_names(["x", "x"], inputs) == ("x",)
    with pytest.raises(OptionError, match=r"--gradient 'y': floating-point inputs are x"):
        specs.check_names(["y"], inputs)


def test_arrays_describe_themselves() -> None:
    found = specs.of_arrays({"x": np.ones((2, 3)), "y": np.ones(2, "int32")})
    assert as_text(found) == "x=f64[2,3],y=i32[2]"
    with pytest.raises(OptionError, match="'z' is complex128: known are float32"):
        specs.of_arrays({"z": np.ones(2, complex)})
