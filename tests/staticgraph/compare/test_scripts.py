"""Scripts that measure: contenders in processes, in turn, and their tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from staticgraph.compare.process import ContenderError
from staticgraph.compare.scripts import (
    Entrant,
    Times,
    apart,
    called_in_turn,
    markdown,
    raced,
    running,
    show,
)

SCRIPT = """
import os, time

def contender(name, pause):
    print("what a framework prints is no answer")
    if name == "wrong":
        raise ValueError("of no use")
    if name == "late":
        time.sleep(60)
    report = {"name": name, "process": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")}
    return report, {"wait": lambda: time.sleep(pause), "nothing": lambda: None}
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "waiting.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.mark.slow
def test_contenders_are_measured_in_processes_of_their_own(script: str) -> None:
    entrants = [Entrant("one", ["one", 0.002], threads=1), Entrant("two", ["two", 0.02], threads=2)]
    with running(script, entrants) as processes:
        reports = [process.report for process in processes.values()]
        found = dict(raced(processes, ["wait", "nothing"], rounds=3, seconds=0.01))
    assert [one["name"] for one in reports] == ["one", "two"]
    assert [one["threads"] for one in reports] == ["1", "2"]
    assert len({os.getpid(), *(one["process"] for one in reports)}) == 3
    assert found.keys() == {"wait", "nothing"}
    assert {len(one.medians) for times in found.values() for one in times.values()} == {3}
    assert 0.002 <= found["wait"]["one"].minimum <= found["wait"]["one"].median
    assert found["wait"]["two"].minimum >= 0.02
    assert found["nothing"]["two"].minimum > 0


def test_a_contender_that_fails_says_why(script: str) -> None:
    with (
        pytest.raises(ContenderError, match="ValueError: of no use"),
        running(script, [Entrant("one", ["wrong", 0])]),
    ):
        pass


@pytest.mark.slow
def test_a_contender_that_takes_too_long_is_ended(script: str) -> None:
    with (
        pytest.raises(ContenderError, match=r"no answer within 0\.5 s"),
        running(script, [Entrant("one", ["late", 0])], longest=0.5),
    ):
        pass


def test_calls_of_one_process_alternate() -> None:
    made: list[str] = []
    times = called_in_turn([lambda: made.append("a"), lambda: made.append("b")], 0.001)
    assert made[::2] == ["a"] * (len(made) // 2)
    assert made[1::2] == ["b"] * (len(made) // 2)
    assert all(0 < one.minimum <= one.median for one in times)


def test_a_pause_is_followed_by_a_call_that_is_not_counted() -> None:
    made: list[str] = []
    called_in_turn([lambda: made.append("a"), lambda: made.append("b")], 0, pause=1e-6)
    assert made == ["a", "a", "b", "b"]


def test_the_median_is_that_of_the_rounds() -> None:
    assert Times((3.0, 1.0, 2.0), 0.5).median == 2.0


def test_how_far_values_are_apart() -> None:
    assert apart([1.0, -2.2], [1.0, -2.0]) == pytest.approx(0.1)


def test_a_table_is_printed_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    heads, rows = ("name", "ms"), [["first", "1.5"]]
    show("times", heads, rows)
    printed = capsys.readouterr().out
    assert all(text in printed for text in ("times", "name", "ms", "first", "1.5"))
    assert markdown(heads, rows) == "| name | ms |\n| --- | ---: |\n| first | 1.5 |\n"
