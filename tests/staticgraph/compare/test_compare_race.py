"""Contenders in processes of their own: compared, failing, interrupted."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from staticgraph.compare import process, session
from staticgraph.compare.kinds import Kind
from staticgraph.compare.server import load_module
from staticgraph.compiler.inspect.limits import Limits
from tests.staticgraph.compare.found_limits import FoundLimits

pytestmark = pytest.mark.slow

WORKLOAD = """
import numpy as np

TITLE = "the square of a vector"
PARAMETERS = ("x",)
OPTIMIZER = {optimizer}
BATCHED = ()
DTYPE = "float64"
BYTES, FLOPS = 64, 16

def data(rng):
    return {{"x": rng.standard_normal(4)}}

def loss(package, x):
    return (x * x).sum()

known_loss = loss
"""

ADAPTER = """
import os, signal, sys, time
import numpy as np

def load(task):
    {load}
    return np, "1.2"

def prepare(library, task, model, arrays, timed):
    with timed("build"):
        x = arrays["x"].copy()
        {prepare}

    calls = []

    def run():
        calls.append(1)
        if model.OPTIMIZER:
            x[:] -= 0.01 * 2 * x
        {run}

    def results():
        run()
        return [np.float64(1.0), {result}]

    return run, results
"""
LIMITS = Limits(1, {2**20: 1e10}, {"float32": 1e11, "float64": 1e11}, 2e-7)

Compared = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Compared:
    """Runs contenders whose adapters have these parts; gives the exit status and the JSON."""

    def run(
        contenders: Mapping[str, Mapping[str, str]],
        *,
        updated: bool = False,
        peers: Mapping[str, str | None] | None = None,
        peer: str = "",
        rounds: int = 2,
    ) -> tuple[int, dict[str, Any]]:
        source = tmp_path / "squares.py"
        source.write_text(WORKLOAD.format(optimizer={"name": "SGD"} if updated else None))
        parts = {"load": "pass", "prepare": "pass", "run": "pass"}
        parts["result"] = "x.copy()" if updated else "2 * x"
        kinds = []
        for name, given in contenders.items():
            adapter = tmp_path / f"{name}_adapter.py"
            adapter.write_text(ADAPTER.format(**parts | dict(given)))
            kinds.append(Kind(name, adapter, peer if peers is not None else ""))
        monkeypatch.setattr(process, "PATIENCE", 0.2)
        monkeypatch.setattr(session, "KINDS", kinds)
        monkeypatch.setattr(session, "WORKLOADS", {"squares": load_module(str(source))})
        monkeypatch.setattr(session, "Meter", lambda numbers: FoundLimits(LIMITS))
        file = tmp_path / "out.json"
        status = session.run(
            session.Plan(("squares",), dict(peers or {}), 1, 0.002, rounds, 1, json=file)
        )
        return status, json.loads(file.read_text())

    return run


def _by_name(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    (outcome,) = report["outcomes"]
    return {one["contender"]: one for one in outcome["measurements"]}


def test_those_that_agree(compared: Compared) -> None:
    status, report = compared({"compiled": {}, "eager": {}, "third": {}})
    assert status == 0
    assert report["complete"]
    assert [one["agrees"] for one in _by_name(report).values()] == [True] * 3
    assert {one["version"] for one in _by_name(report).values()} == {"1.2"}
    assert len(_by_name(report)["eager"]["steady"]["rounds"]) == 2


def test_a_wrong_gradient_is_found(compared: Compared, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"result": "2 * x * np.array([1, 1, 1, 1 + 1e-9])"}
    status, report = compared({"compiled": wrong, "eager": {}, "third": {}})
    assert status == 1
    assert [one["agrees"] for one in _by_name(report).values()] == [False, True, True]
    assert 1e-10 < _by_name(report)["compiled"]["difference"] <= 1e-9
    assert "MISMATCH" in capsys.readouterr().out


def test_wrong_updates_are_found(compared: Compared) -> None:
    wrong = {"run": "x[:] -= 1e-6 * x"}  # a hundredth of a percent of a step
    status, report = compared({"compiled": {}, "eager": wrong, "third": {}}, updated=True)
    assert status == 1
    assert [one["agrees"] for one in _by_name(report).values()] == [True, False, True]


def test_right_updates_agree(compared: Compared) -> None:
    status, _ = compared({"compiled": {}, "eager": {}}, updated=True)
    assert status == 0


@pytest.mark.parametrize(
    ("part", "statement", "reason"),
    [("load", "import no_such_framework", "ModuleNotFoundError: No module named"),
     pytest.param("prepare", "raise ValueError('cannot do this')", "ValueError: cannot do this",
                  marks=pytest.mark.long),
     pytest.param("run", "raise ValueError('not today')", "ValueError: not today",
                  marks=pytest.mark.long),
     ("run", "if len(calls) == 12: e = ValueError('tired'); e.add_note('why'); "
      "e.add_note('----- frames are hidden'); raise e", "ValueError: tired; why"),
     ("prepare", "print('out of luck', file=sys.stderr); sys.stderr.flush(); os._exit(3)",
      "the process ended with status 3: out of luck")],
)  # fmt: skip
def test_a_contender_that_fails_is_reported_and_the_others_go_on(
    compared: Compared,
    capsys: pytest.CaptureFixture[str],
    part: str,
    statement: str,
    reason: str,
) -> None:
    kinds = {"broken": {part: statement}, "works": {}}
    status, report = compared(kinds, peers={"known": sys.executable}, peer="known")
    assert status == 0
    found = _by_name(report)
    assert found["broken"]["failure"].startswith(reason)
    assert "-----" not in found["broken"]["failure"]
    assert found["broken"]["steady"] is None
    assert found["works"]["steady"]["median"] > 0
    assert reason in capsys.readouterr().out


def test_one_of_ours_that_fails_is_an_error(compared: Compared) -> None:
    status, _ = compared({"compiled": {"run": "raise ValueError('no')"}, "eager": {}})
    assert status == 1


@pytest.mark.parametrize(
    ("interpreter", "peer", "reason"),
    [(None, "known", "not installed: staticgraph peers install known"),
     ("/nowhere/python", "known", "/nowhere/python: No such file or directory"),
     (sys.executable, "other", "the workload has no version for it (other_loss)")],
)  # fmt: skip
def test_a_peer_that_is_not_there_is_a_row_with_the_reason(
    compared: Compared,
    capsys: pytest.CaptureFixture[str],
    interpreter: str | None,
    peer: str,
    reason: str,
) -> None:
    status, report = compared({"lost": {}}, peers={peer: interpreter}, peer=peer)
    assert status == 0
    assert _by_name(report)["lost"]["failure"] == reason
    assert f"lost: {reason}" in capsys.readouterr().out


def test_one_that_never_answers_is_given_up(
    compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LONGEST_START", 0.5)
    _, report = compared({"compiled": {"prepare": "time.sleep(60)"}})
    assert _by_name(report)["compiled"]["failure"] == "no answer within 0.5 s"


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_keeps_what_is_done(compared: Compared, capsys: pytest.CaptureFixture[str]) -> None:
    interrupting = "if len(calls) == 15: os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
    status, report = compared(
        {"compiled": {}, "eager": {}, "third": {"run": interrupting}}, rounds=50
    )
    assert status == 130
    assert not report["complete"]
    found = _by_name(report)
    assert len(found["compiled"]["steady"]["rounds"]) == 1
    assert found["third"]["steady"] is None
    assert found["third"]["agrees"]
    printed = capsys.readouterr().out
    assert "interrupted" in printed
    assert "compiled" in printed


def test_what_a_framework_prints_does_not_disturb(compared: Compared) -> None:
    status, report = compared({"compiled": {"load": "print('welcome')"}})
    assert status == 0
    assert _by_name(report)["compiled"]["failure"] is None


def test_the_growth_of_memory_is_that_of_the_workload(compared: Compared) -> None:
    size = 40_000_000
    grows = {"prepare": f"kept = np.ones({size // 8})", "run": "kept"}
    _, report = compared({"compiled": grows, "eager": {"load": f"np.ones({size // 8})"}})
    found = _by_name(report)
    assert found["compiled"]["memory"] == pytest.approx(size, rel=0.1)
    assert found["eager"]["memory"] < size / 4
