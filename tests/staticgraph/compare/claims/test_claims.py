"""The claims about both paradigms: what does not depend on time, and the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from staticgraph.__main__ import main
from staticgraph.compare.claims import page, slices
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
    "two_losses": TRUE, "accumulation": TRUE, "four_times": TRUE, "frozen": TRUE, "in_place": TRUE,
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
