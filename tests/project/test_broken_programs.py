"""The twelve broken programs: the judge, and what our forms say of them."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from tests.combinations import some
from tests.paths import ROOT


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "broken_programs", ROOT / "benchmarks" / "broken_programs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


broken = script()


def test_the_judge_knows_a_line_from_a_message_and_from_silence() -> None:
    lines = [7, 70]
    for text, right, kind in (
        ("loss nan", None, "silent"),
        ("", None, "silent"),
        ("loss 1", True, "right"),
        ('  File "/a/b.py", line 7, in f\nValueError: no', None, "line"),
        ("SomeError: log at b.py:70 made nan", None, "line"),
        ("SomeError: log at b.py:71 made nan", None, "says"),
        ('  File "/a/b.py", line 77, in f\nValueError: no', None, "says"),
        ('  File "/a/c.py", line 7, in f\nValueError: no', None, "says"),
        ("b.py:7: LintWarning: slip\nloss 1", True, "right"),
    ):
        assert broken.judged(text, right, "b.py", lines).kind == kind, text


def test_every_program_has_a_line_to_blame_in_every_file() -> None:
    files = sorted((ROOT / "benchmarks" / "broken").glob("*_programs.py"))
    assert len(files) == 4
    for file in files:
        assert set(broken.culprits(file)) == set(broken.PROGRAMS), file.name


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    some(
        [
            ("ours, static", True, set()),
            ("ours, static", False, {"integers"}),
            ("ours, function", False, set()),
            ("ours, function", True, set()),
            ("ours, eager", False, {"softmax_over_batch", "float64_creeps_in"}),
            ("ours, eager", True, set()),
        ],
        2,
    ),
    ids=lambda case: f"{case[0]}-{case[1]}",
)
def test_ours_name_their_lines(case: tuple[str, bool, set[str]]) -> None:
    label, tools, expected = case
    (ours,) = [one for one in broken.CONTENDERS if one.label == label]
    found = broken.verdicts(ours, sys.executable, tools)
    assert {name for name, one in found.items() if one.kind not in ("line", "right")} == expected
