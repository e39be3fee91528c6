"""Every campaign: the corpus of what failed once, and a few fresh programs.

To search for long, run the command: `staticgraph fuzz CAMPAIGN --seeds A:B`. A failure that is
mended goes from its directory into `tests/corpus/CAMPAIGN/`, under a name that says what was wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from staticgraph.fuzz import server
from staticgraph.fuzz.campaign import CAMPAIGNS, load, module_of
from staticgraph.fuzz.failures import load_failure
from tests.combinations import some
from tests.paths import TESTS

pytestmark = pytest.mark.slow

CORPUS = TESTS / "corpus"
FILES = sorted(CORPUS.glob("*/*.json"))
SEEDS = some(range(4), 2)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_failed_once_is_right(path: Path) -> None:
    failure = load_failure(path)
    assert failure.campaign == path.parent.name
    assert server.run(load(module_of(failure.campaign)), {"program": failure.program}) is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_fresh_programs(name: str, seed: int) -> None:
    campaign = load(module_of(name))
    for mode in campaign.modes:
        assert server.run(campaign, {"seed": seed, "mode": mode}) is None


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_seed_names_a_program_and_its_script_runs(name: str) -> None:
    campaign = load(module_of(name))
    program = campaign.generate(1)
    assert program == campaign.generate(1) != campaign.generate(2)
    compile(campaign.script({**program, "mode": campaign.modes[0]}), "script", "exec")
