"""The framework of the campaigns: what is planted is found, made small, kept and replayed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from staticgraph.__main__ import main
from staticgraph.compiler.core.errors import FormatError, OptionError
from staticgraph.fuzz import campaign, failures, progress, session, shrink
from staticgraph.fuzz.process import Limits, Worker
from staticgraph.fuzz.state import open_state, ranges
from tests import planted

pytestmark = pytest.mark.slow

SMALLEST = ["x0", "y0"]


def fuzz(directory: Path, *arguments: Any) -> int:
    given = ["--directory", directory, "--jobs", 1, *arguments]
    return main(["fuzz", "tests.planted", *map(str, given)])


def kept(directory: Path) -> list[dict[str, Any]]:
    state = json.loads((directory / "state.json").read_text())
    return [json.loads((directory / f"{key}.json").read_text()) for key in state["failures"]]


def test_a_failure_is_found_made_small_and_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz(tmp_path, "--seeds", "0:24", "--jobs", 2) == 1
    (one,) = kept(tmp_path)
    assert one["program"] == {"steps": SMALLEST, "mode": "text"}
    assert one["text"] == f"2 steps, x before y\n{SMALLEST}"
    state = json.loads((tmp_path / "state.json").read_text())
    assert state["done"] == [[0, 24]]
    assert [sorted(seeds) for seeds in state["failures"].values()] == [[3, 13, 23]]
    out, err = capsys.readouterr()
    assert "# 2 steps, x before y" in out
    assert f"fail({SMALLEST})" in out
    assert "24 programs" in out
    assert "3 failed; in all 24 done, 1 failures" in out
    assert "MB per 1,000 programs" in out
    assert "seed 3: # steps, x before y" in err or "seed 13: # steps" in err
    (script,) = tmp_path.glob("*.py")
    assert f"fail({SMALLEST})" in script.read_text()


def test_no_failure_is_exit_status_0(tmp_path: Path) -> None:
    assert fuzz(tmp_path, "--seeds", "4:6", "--idle", "--memory", 30) == 0


def test_an_exception_is_a_failure(tmp_path: Path) -> None:
    assert fuzz(tmp_path, "--seeds", "3:4", "--mode", "raise") == 1
    (one,) = kept(tmp_path)
    assert one["program"]["steps"] == SMALLEST
    assert one["text"].startswith("ValueError: x0 before y\nTraceback")


def test_an_exception_of_the_generator_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz(tmp_path, "--seeds", f"{planted.REFUSED}:{planted.REFUSED + 1}") == 1
    assert kept(tmp_path)[0]["text"].startswith("RuntimeError: this seed is refused")
    assert "# RuntimeError: this seed is refused" in capsys.readouterr().out


def test_a_crash_is_found_and_made_small(tmp_path: Path) -> None:
    assert fuzz(tmp_path, "--seeds", "3:5", "--mode", "crash") == 1
    (one,) = kept(tmp_path)
    assert one["program"]["steps"] == SMALLEST
    assert one["text"].startswith("crash: the process was ended by SIGSEGV\n")
    assert "planted.py" in one["text"]  # where it was


def test_a_process_that_ends_is_a_crash(tmp_path: Path) -> None:
    worker = Worker("tests.planted", Limits(60.0), tmp_path)
    program = {"steps": SMALLEST, "mode": "exit"}
    assert worker.ask({"program": program}) == "crash: the process ended with status 7\n"
    assert worker.memory.processes == 1
    assert worker.ask({"program": {**program, "mode": "text"}}) is not None
    assert worker.memory.processes == 2
    worker.close()


def test_a_hang_is_found_with_where_it_was(tmp_path: Path) -> None:
    arguments = "--seeds", "3:5", "--mode", "hang", "--seconds", 4, "--no-shrink"
    assert fuzz(tmp_path, *arguments) == 1
    (one,) = kept(tmp_path)
    assert one["text"].startswith("hang: no answer within 4 s\n")
    assert re.search(r"planted.py.*in check", one["text"])


def test_memory_is_limited(tmp_path: Path) -> None:
    assert fuzz(tmp_path, "--seeds", "3:4", "--mode", "memory", "--memory", 20) == 1
    assert kept(tmp_path)[0]["text"].startswith("MemoryError")


def test_a_worker_that_has_grown_is_replaced(tmp_path: Path) -> None:
    worker = Worker("tests.planted", Limits(60.0, recycle=1), tmp_path)
    for seed in range(3):
        assert worker.ask({"seed": seed, "mode": "text"}) is None
    assert worker.memory.processes == 3
    assert worker.memory.peak > 0


def test_a_run_goes_on_from_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz(tmp_path, "--seeds", "0:4") == 1
    assert fuzz(tmp_path, "--seeds", "0:8") == 1
    assert "\n4 programs in" in capsys.readouterr().out
    assert json.loads((tmp_path / "state.json").read_text())["done"] == [[0, 8]]
    assert fuzz(tmp_path, "--seeds", "0:8") == 1
    assert "\n0 programs in" in capsys.readouterr().out


def test_ctrl_c_ends_a_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    arguments = ["fuzz", "tests.planted", "--jobs", "1", "--mode", "hang", "--seconds", "900"]
    arguments += ["--directory", str(tmp_path)]
    # a job in the background ignores SIGINT, and so would what it starts
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from staticgraph.__main__ import main; sys.exit(main({arguments}))"
    )
    run = subprocess.Popen([sys.executable, "-c", code])

    def done() -> set[int]:
        return open_state(tmp_path, "tests.planted", "hang").done

    while done() != {0, 1, 2}:
        assert run.poll() is None
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    assert run.wait() == session.INTERRUPTED
    assert done() == {0, 1, 2}


def test_a_failure_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = {"steps": SMALLEST, "mode": "text"}
    failing, mended = tmp_path / "failing.json", tmp_path / "mended.json"
    failures.Failure("tests.planted", 3, "", program).save(failing)
    failures.Failure("tests.planted", 3, "", {**program, "steps": ["x0"]}).save(mended)
    assert main(["fuzz", "tests.planted", "--replay", str(mended)]) == 0
    assert "mended.json: nothing is wrong" in capsys.readouterr().out
    assert main(["fuzz", "tests.planted", "--replay", str(mended), str(failing)]) == 1
    assert "failing.json:\n# 2 steps, x before y" in capsys.readouterr().out


def test_a_program_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "tests.planted", "--show", "3"]) == 0
    assert capsys.readouterr().out.startswith("fail(['")


def test_campaigns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(campaign.CAMPAIGNS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "unknown campaign 'nothing': known are "),
        (["tests.nothing"], "tests.nothing declares no campaign: No module named"),
        (["tests.values"], "tests.values declares no campaign: .* has no attribute 'CAMPAIGN'"),
        (["tests.planted", "--mode", "none"], "--mode 'none' is none of text, raise"),
        (["tests.planted", "--seeds", "3"], "--seeds '3' is not A:B with A < B"),
        (["tests.planted", "--seeds", "3:3"], "--seeds '3:3' is not A:B with A < B"),
        (["tests.planted", "--seconds", "0"], "--seconds 0.0 is not positive"),
        (["tests.planted", "--jobs", "0"], "--jobs 0 is not positive"),
        (["tests.planted", "--memory", "-1"], "--memory -1.0 is negative"),
        (["tests.planted", "--replay", "nowhere.json"], "nowhere.json: no failure of a campaign"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuzz", *arguments]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_directory_is_of_one_campaign_and_mode(tmp_path: Path) -> None:
    open_state(tmp_path, "graphs", "interpreted").save()
    with pytest.raises(OptionError, match=r"is of the campaign graphs interpreted, not files full"):
        open_state(tmp_path, "files", "full")


def test_a_damaged_failure_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text("{}")
    with pytest.raises(FormatError, match=r"one.json: no failure of a campaign: 'campaign'"):
        failures.load_failure(tmp_path / "one.json")


def test_failures_of_one_kind_differ_in_numbers_and_names_only() -> None:
    kinds = [
        failures.kind_of(f"{name}: value {number} of '{name}'\n{number}")
        for name, number in (("wrong", "1.5e-7"), ("wrong", "-3"), ("other", "2"))
    ]
    assert kinds[0] == kinds[1] == "wrong: value # of #"
    assert kinds[2] == "other: value # of #"


def test_shrinking_stays_with_the_kind_of_the_failure() -> None:
    def ask(program: dict[str, Any]) -> str | None:
        if "b" not in program["steps"]:
            return "another failure"
        return "this failure" if "a" in program["steps"] else None

    shrinker = shrink.Shrinker(planted.CAMPAIGN, ask, "this failure")
    assert shrinker.shrink({"steps": list("xxaxxbxx")}) == {"steps": ["a", "b"]}
    assert shrinker.text == "this failure"


def test_shrinking_ends_after_so_many_checks() -> None:
    asked = []

    def ask(program: dict[str, Any]) -> str | None:
        asked.append(program)
        return "wrong"

    shrinker = shrink.Shrinker(planted.CAMPAIGN, ask, "wrong", checks=3)
    shrinker.shrink({"steps": [f"a{i}" for i in range(100)]})
    assert len(asked) == 3


def test_ranges_are_half_open_and_in_order() -> None:
    assert ranges([5, 1, 2, 3, 7, 6]) == [[1, 4], [5, 8]]


def test_progress_is_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    shown = progress.progress(8)
    assert isinstance(shown, progress.Lines)
    shown._last -= progress.EVERY
    shown.show(3, 1)
    shown.show(4, 1)
    shown.close()
    assert re.fullmatch(r"3 of 8, 1 failed, \S+ per second\n", capsys.readouterr().err)


@pytest.mark.parametrize("rich", [True, False])
def test_progress_is_a_bar_on_a_terminal_with_rich(
    monkeypatch: pytest.MonkeyPatch, rich: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    shown = progress.progress(8)
    assert isinstance(shown, progress.Bar if rich else progress.Lines)
    shown.show(3, 1)
    shown.say("a line")
    shown.close()
