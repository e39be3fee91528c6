"""Programs on graphs, hooks and modes print what they print in PyTorch."""

from __future__ import annotations

import json

import pytest

import dynamic
from tests.data.autograd_programs import PROGRAMS, namespace
from tests.paths import TESTS

RECORDED: dict[str, str] = json.loads((TESTS / "data" / "autograd_programs.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_print_what_they_print_in_pytorch(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(PROGRAMS[name], namespace(dynamic))
    assert capsys.readouterr().out == RECORDED[name]
