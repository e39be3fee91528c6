"""The command `staticgraph diff`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from staticgraph.__main__ import main

SOURCE = """
import numpy as np
import staticgraph as sg
import beside


def energy(x, w, k=1.0):
    return sg.sum(sg.tanh(x @ w) * k)


def answer():
    return sg.sum(sg.exp(np.ones(3)))


def impure(x):
    beside.calls += 1
    return x * float(beside.calls)


x = sg.placeholder("x", (None, 3), "float64")
square = sg.compile([x], x * x, name="square")
inputs = {"x": np.ones((2, 3)), "w": np.ones((3, 2))}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my.py").write_text(SOURCE)
    (tmp_path / "beside.py").write_text("calls = 0\n")
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.chdir(tmp_path)
    return "my.py"


def test_it_shows_a_table_and_the_verdict(file: str, capsys: Any) -> None:
    options = ["--inputs", "x=f64[n,3],w=f64[3,2],k=2", "--size", "n=4", "--gradient", "--exact"]
    assert main(["diff", f"{file}:energy", *options]) == 0
    text = capsys.readouterr().out
    assert "tanh" in text
    assert "my.py:8" in text
    assert "float64[4, 2]" in text
    assert "gradient by w" in text
    assert "energy: equal bits in " in text
    assert "most apart at: eager, compiled\n" in text  # a line is not folded where nobody reads it


def test_a_terminal_gets_it_folded(file: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["diff", f"{file}:energy"]) == 0
    text = capsys.readouterr().out
    assert "tanh" in text
    assert "energy: " in text
    assert "most apart at: eager, compiled" not in text


def test_inputs_may_be_the_files_own(file: str, capsys: Any) -> None:
    assert main(["diff", f"{file}:energy"]) == 0
    assert "float64[2, 2]" in capsys.readouterr().out
    assert main(["diff", f"{file}:square", "--inputs", "x=f64[n,3]"]) == 0
    assert "float64[16, 3]" in capsys.readouterr().out


def test_what_diverges_has_its_status(file: str, capsys: Any) -> None:
    assert main(["diff", f"{file}:energy", "--bound", "0"]) in (0, 1)
    status = main(["diff", f"{file}:impure", "--inputs", "x=f64[3]"])
    told = "".join(capsys.readouterr())
    assert status == 1 or (status == 2 and "my.py:1" in told)  # or capture refuses it


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["my.py:nothing"], "diff: my.py has no function 'nothing'"),
        (["other.py:f"], "diff: other.py: No such file"),
        (["my.py:energy", "--inputs", "x=f64[3]"], "--inputs does not give 'w'"),
        (["my.py:energy", "--inputs", "x=f65[3]"], "'f65' is no dtype"),
        (["my.py:energy", "--inputs", "x=f64[n],w=f64[n]", "--size", "m=3"], "of the sizes n"),
        (["my.py:energy", "--inputs", "x=f64[n],w=f64[n]", "--size", "n=0"], "NAME=N expected"),
    ],
)
def test_slips_are_told(arguments: list[str], message: str, file: str, capsys: Any) -> None:
    assert main(["diff", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("staticgraph: diff: ")
    assert message in told


def test_an_interruption_ends_it_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_given: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("staticgraph.differences.command.run_diff", interrupted)
    assert main(["diff", "my.py:f"]) == 130
    assert capsys.readouterr().err == "staticgraph: interrupted\n"
