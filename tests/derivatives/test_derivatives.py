"""Values and derivatives of every op beside those in fifty digits."""

from __future__ import annotations

import json
import sys

import pytest

from staticgraph.listing import measured as recorded
from staticgraph.listing.table import differentiable
from tests.derivatives.__main__ import main
from tests.derivatives.case import Case, between
from tests.derivatives.cases import CASES, WITHOUT
from tests.derivatives.measure import KINDS, LIMITS, measured

BY_NAME = {case.name: case for case in CASES}
FEW = ("power", "i1", "softmax", "solve", "dft", "while_loop")


def test_every_differentiable_op_is_compared() -> None:
    assert len(BY_NAME) == len(CASES)
    assert BY_NAME.keys() == {op.name for op in differentiable()} - WITHOUT.keys()


def test_the_recorded_errors_are_of_all_of_them_and_below_the_limits() -> None:
    assert recorded.errors().keys() == BY_NAME.keys()
    for name, errors in recorded.errors().items():
        assert set(KINDS) - errors.keys() == ({"second"} if BY_NAME[name].order < 2 else set())
        assert all(float(error) <= LIMITS[kind] for kind, error in errors.items()), name


@pytest.mark.slow
def test_a_few_are_what_they_should_be() -> None:
    for name in FEW:
        errors = measured(BY_NAME[name], 3, seed=1)
        assert all(error <= LIMITS[kind] for kind, error in errors.items()), (name, errors)


@pytest.mark.long
@pytest.mark.parametrize("name", BY_NAME)
def test_all_are_what_they_should_be(name: str) -> None:
    errors = measured(BY_NAME[name], 100, seed=1)
    assert all(error <= LIMITS[kind] for kind, error in errors.items()), errors


def test_a_wrong_derivative_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slightly(x: object) -> object:
        return x * x * (1 + 1e-8) - x * x * 1e-8 + x * 1e-8  # type: ignore[operator]

    wrong = Case("square", slightly, lambda x: x * x, (between(0.5, 1),), single=True)
    monkeypatch.setattr("tests.derivatives.__main__.CASES", [wrong])
    monkeypatch.setattr(sys, "argv", ["derivatives", "square", "--points", "2"])
    assert main() == 1
    assert "ABOVE: value forward first" in capsys.readouterr().out


def test_the_file_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    path = tmp_path / "measured.json"  # type: ignore[operator]
    monkeypatch.setattr("tests.derivatives.__main__.FILE", path)
    monkeypatch.setattr("tests.derivatives.__main__.CASES", [BY_NAME["square"]])
    monkeypatch.setattr(sys, "argv", ["derivatives", "--points", "1", "--write"])
    assert main() == 0
    assert set(json.loads(path.read_text())["square"]) == set(KINDS)
