"""The claims about both paradigms: what does not depend on time, and the page."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from staticgraph import dynamic
from staticgraph.__main__ import main
from staticgraph.compare.claims import graphs, page, slices, speed, tape
from staticgraph.compare.claims.records import (
    FALSE,
    PARTLY,
    TRUE,
    Claim,
    Finding,
    Setup,
    memory,
    raised,
    shortened,
)
from staticgraph.compare.claims.table import CLAIMS
from staticgraph.compiler.core.errors import OptionError
from tests.combinations import some
from tests.paths import ROOT

SETUP = Setup(0.002)
CERTAIN = {
    "defined_once": TRUE, "debugging": PARTLY, "freed": TRUE, "second_backward": TRUE,
    "two_losses": TRUE, "four_times": TRUE, "frozen": TRUE, "in_place": TRUE,
    "cases": PARTLY, "flexible": PARTLY, "recording": TRUE,
}  # fmt: skip
"""The claims whose verdict follows from counts, errors and memory, on every machine."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CERTAIN)
def test_what_does_not_depend_on_time(name: str) -> None:
    (claim,) = page.chosen([name])
    found = claim.measure(SETUP)
    assert found.holds == CERTAIN[name], found
    assert all(value for _, value in found.figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", some([claim.name for claim in CLAIMS if claim.name not in CERTAIN], 1)
)
def test_what_does(name: str) -> None:
    (claim,) = page.chosen([name])
    found = claim.measure(SETUP)
    assert found.holds in (TRUE, PARTLY, FALSE)
    assert found.figures
    assert found.verdict


class _Time(NamedTuple):
    minimum: float


def _times(monkeypatch: pytest.MonkeyPatch, module: ModuleType, *seconds: float) -> None:
    """What is called in turn takes so long."""
    monkeypatch.setattr(module, "called_in_turn", lambda *_: [_Time(one) for one in seconds])


@pytest.mark.parametrize(
    ("seconds", "holds", "said"),
    [
        ((1.0, 8.0), TRUE, "takes 8.0 times as long as the whole batch here, as every part pays"),
        ((1.0, 1.0), PARTLY, "In parts it takes as long as the whole batch here."),
        ((1.0, 0.5), PARTLY, "In parts it takes 0.5 of the time of the whole batch here."),
    ],
)
def test_words_about_time_follow_from_the_figures(
    seconds: tuple[float, float], holds: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _times(monkeypatch, speed, *seconds)
    found = speed.accumulation(SETUP)
    assert found.holds == holds
    assert said in found.verdict


def test_a_compiled_call_may_be_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "MEASURED", ("seed",))
    _times(monkeypatch, speed, 4.0, 1.0)
    found = speed.faster(SETUP)
    assert found.holds == FALSE
    assert "compiling never pays" in found.figures[0][1]
    assert "Slower compiled: seed." in found.verdict
    assert "from 0.2 (seed) to 0.2 (seed) times as long" in found.verdict
    _times(monkeypatch, speed, 1.0, 1.1)
    assert "takes as long as eager" in speed.decorator(SETUP).verdict
    _times(monkeypatch, speed, 1.0, 1.0, 0.9)
    recorded = speed.recording(SETUP).verdict
    assert "Recording is no measurable part" in recorded
    assert "The compiled call takes as long as the one in no_grad" in recorded
    _times(monkeypatch, tape, 1.0, 1.5)
    found = tape.no_grad(SETUP)
    assert found.holds == PARTLY
    assert "It takes 1.50 of the time where arrays are large, and 1.50 where they" in found.verdict


def test_the_lines_that_are_named_are_those_that_were_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dynamic.set_lint("certain"):
        found = graphs.debugging(SETUP)
    assert "backward() names the line" in found.verdict
    assert "a training step that gives nan names the line" in found.verdict
    monkeypatch.setattr(graphs, "_told", lambda act: "")
    found = graphs.debugging(SETUP)
    assert found.holds == TRUE
    assert "backward() names no line" in found.verdict
    assert "a training step that gives nan names no line" in found.verdict
    assert "black box is a property" not in found.verdict


def test_the_two_ways_of_slices_are_the_same() -> None:
    for values in zip(*(run() for run in slices.static_forms(2)), strict=True):
        np.testing.assert_array_equal(*values)


def test_the_page_has_all_claims_and_the_command() -> None:
    finding = Finding(PARTLY, (("a | b", "c * d"),), "It depends.")
    text = page.page({Claim(one.name, one.said, one.measure): finding for one in CLAIMS})
    for one in CLAIMS:
        assert f"## {one.name}" in text
        assert f"staticgraph compare --claims - {one.name}" in text
    assert "| a \\| b | c \\* d |" in text
    kept = (ROOT / "docs" / "static_or_dynamic.md").read_text(encoding="utf-8")
    assert [one for one in CLAIMS if f"## {one.name}\n\n> {one.said}\n" not in kept] == []


def test_claims_are_chosen_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match="unknown claim 'lost': known are speed, recording"):
        page.chosen(["lost"])
    assert main(["compare", "--claims", "-", "cases", "--peers", "none"]) == 0
    assert "## cases" in capsys.readouterr().out
    path = tmp_path / "page.md"
    assert main(["compare", "--claims", str(path), "cases", "in_place", "--peers", "none"]) == 0
    assert "## in_place" in path.read_text()
    assert main(["compare", "--claims", "/nowhere/page.md"]) == 2
    assert "/nowhere/page.md cannot be written" in capsys.readouterr().err


def _interrupted(_setup: Setup) -> Finding:
    os.kill(os.getpid(), signal.SIGTERM)  # as `timeout` does
    time.sleep(10)
    raise AssertionError("the process goes on")


def test_an_interrupted_run_keeps_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, freed = page.chosen(["cases", "freed"])
    monkeypatch.setattr(page, "CLAIMS", (cases, Claim("freed", freed.said, _interrupted)))
    path = tmp_path / "page.md"
    assert main(["compare", "--claims", str(path), "--peers", "none"]) == 130
    assert "what was measured is kept" in capsys.readouterr().err
    text = path.read_text()
    assert "## cases" in text
    assert "## freed" not in text
    assert "**The run was interrupted**, before freed." in text
    assert "interrupted" not in page.page({})
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_arrays_are_followed() -> None:
    with memory() as found:
        kept = np.ones(100_000)
        np.ones(200_000).sum()
    assert 800_000 <= found.held < 900_000
    assert 2_400_000 <= found.peak < 2_500_000
    assert kept.size == 100_000


def test_messages_are_told_in_a_line() -> None:
    def act() -> None:
        raise ValueError("one\ntwo")

    assert raised(act) == "ValueError: one"
    assert raised(act, whole=True) == "ValueError: one two"
    assert raised(lambda: None) == ""
    assert len(shortened("x" * 1000)) == 130
    assert shortened("short") == "short"
