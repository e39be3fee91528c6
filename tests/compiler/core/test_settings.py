"""The environment variables: one table, which the documentation shows and all readers go by."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from staticgraph.__main__ import main
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.settings import CACHE, DUMP, LOG, SETTINGS, table
from tests.paths import ROOT

PROGRAM = """
import numpy as np
import staticgraph as sg
x = sg.placeholder("x", (8,), "float64")
print(sg.compile([x], sg.exp(x) * 2, name="twice")(np.zeros(8))[0])
"""
LARGE = """
import dynamic
x = dynamic.ones(1 << 18)
print(float(x.tanh()[0]) == float(x.tanh()[1]))
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ | environment,
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_the_documentation_shows_the_table() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert table() in text


def test_no_variable_is_read_past_the_table() -> None:
    known = {one.name for one in SETTINGS}
    for package in ("compiler", "dynamic", "staticgraph"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            named = set(re.findall(r"\b(?:STATICGRAPH|DYNAMIC)_[A-Z][A-Z_]+\b", text))
            assert named <= known, path
            read = re.findall(r"environ(?:\.get\(|\[)\s*\"((?:STATICGRAPH|DYNAMIC)_\w+)", text)
            # the campaign of the cache sets a variable for a process that it starts
            assert not read or path.name == "cache.py", (path, read)


def test_the_command_lists_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE.name, "0")
    monkeypatch.delenv(LOG.name, raising=False)
    assert main(["env"]) == 0
    shown = capsys.readouterr().out
    assert f"{CACHE.name}  '0'" in shown
    assert f"{LOG.name}  default: none" in shown
    assert all(one.meaning in shown for one in SETTINGS)


@pytest.mark.slow
def test_what_is_asked_for_is_told(tmp_path: Path) -> None:
    environment = {"STATICGRAPH_CACHE_DIR": str(tmp_path), LOG.name: "cache, compile"}
    first, second = (run(PROGRAM, **environment) for _ in range(2))
    assert first.stdout == second.stdout == "2.0\n"
    assert re.search(
        r"^staticgraph cache: code of 1 units: stored, \w{12}, \d+ bytes$", first.stderr, re.M
    )
    assert re.search(
        r"^staticgraph compile: twice: 4 nodes, 1 units: passes \d.*s, machine code \d.*s$",
        first.stderr, re.M,
    )  # fmt: skip
    assert "staticgraph cache: twice: loaded\n" in second.stderr
    assert "staticgraph compile" not in second.stderr


@pytest.mark.slow
def test_nothing_is_told_unasked(tmp_path: Path) -> None:
    done = run(PROGRAM, STATICGRAPH_CACHE_DIR=str(tmp_path))
    assert done.stderr == ""


@pytest.mark.slow
def test_large_arrays_of_the_eager_engine_are_told() -> None:
    done = run(LARGE, **{LOG.name: "dispatch"})
    assert done.stdout == "True\n"
    assert re.search(r"^staticgraph dispatch: tanh\(float32\[\S+\]\): ", done.stderr, re.M)


@pytest.mark.parametrize("variable", [LOG.name, DUMP.name])
def test_unknown_words_are_refused(variable: str) -> None:
    done = run("import staticgraph.compiler.compile", **{variable: "cash"})
    assert f"OptionError: {variable}: 'cash' is not one of " in done.stderr


@pytest.mark.slow
def test_what_a_graph_becomes_is_written(tmp_path: Path) -> None:
    environment = {"STATICGRAPH_CACHE_DIR": str(tmp_path / "cache")}
    assert run(PROGRAM, **environment).returncode == 0  # it is in the cache
    place = tmp_path / "dump"
    environment |= {"STATICGRAPH_DUMP": "ir,source,llvm,asm", "STATICGRAPH_DUMP_DIR": str(place)}
    done = run(PROGRAM, **environment)
    assert done.stdout == "2.0\n"
    (folder,) = place.iterdir()
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert texts.keys() == {"name.txt", "graph.txt", "kernel.py", "kernel.ll", "kernel.s"}
    assert texts["name.txt"] == "twice\n"
    assert "exp(" in texts["graph.txt"]
    assert "def " in texts["kernel.py"]
    assert "define " in texts["kernel.ll"]
    assert "step_0" in texts["kernel.s"]


def test_words_are_split_and_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOG.name, " cache,,compile ")
    assert LOG.listed(("cache", "compile")) == {"cache", "compile"}
    with pytest.raises(OptionError, match=r"^STATICGRAPH_LOG: 'compile' is not one of cache$"):
        LOG.listed(("cache",))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    done = run(PROGRAM, STATICGRAPH_DUMP="ir", STATICGRAPH_DUMP_DIR=str(place))
    assert f"OptionError: STATICGRAPH_DUMP_DIR: {place}" in done.stderr
    assert "cannot be made: Not a directory" in done.stderr


def test_a_command_ends_quietly_when_nobody_reads_it() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "staticgraph", "env"], cwd=ROOT, check=False, stdout=writing,
        stderr=subprocess.PIPE, text=True, timeout=120,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_command_runs_without_output() -> None:
    program = "import sys; sys.stdout = None; from staticgraph.__main__ import main; "
    done = run(program + "sys.exit(main(['env']))")
    assert (done.returncode, done.stderr) == (0, "")
