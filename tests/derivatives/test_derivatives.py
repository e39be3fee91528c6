"""Values and derivatives of every op beside those in fifty digits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.listing import composed, measured as recorded
from staticgraph.listing.table import differentiable
from tests.derivatives.__main__ import main
from tests.derivatives.case import Case, between
from tests.derivatives.cases import CASES
from tests.derivatives.composed import COMPOSED
from tests.derivatives.measure import KINDS, LIMITS, measured
from tests.derivatives.quotients import LIMITS as COMPOSED_LIMITS, above, figures, measured_composed

BY_NAME = {case.name: case for case in CASES}
FEW = ("power", "i1", "softmax", "solve", "dft", "while_loop")


def test_every_differentiable_op_is_compared() -> None:
    assert len(BY_NAME) == len(CASES)
    assert BY_NAME.keys() == {op.name for op in differentiable()}


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


def test_every_composed_function_is_compared_or_has_a_reason() -> None:
    compared = {*COMPOSED}
    assert composed.composed() <= compared | composed.WITHOUT.keys()
    assert composed.WITHOUT.keys() <= composed.composed() - compared
    assert composed.measured().keys() == compared
    for name, found in composed.measured().items():
        assert all(found.values()), name
        for kind in ("first", "second", "forward"):
            assert float(found[kind]) <= COMPOSED_LIMITS[kind], name


@pytest.mark.slow
def test_a_few_composed_functions_are_what_they_should_be() -> None:
    for name in ("median", "nn.unfold", "fft.rfft"):
        errors, _ = measured_composed(name, 2, seed=1)
        assert not above(errors), (name, errors)


@pytest.mark.long
@pytest.mark.parametrize("name", COMPOSED)
def test_all_composed_functions_are_what_they_should_be(name: str) -> None:
    errors, host_steps = measured_composed(name, 20, seed=1)
    assert not above(errors), errors
    assert figures(errors, host_steps)["kernel"] == composed.measured()[name]["kernel"]


def test_a_wrong_derivative_of_a_composed_function_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def slightly(x: Any) -> Any:
        return x * x + sg.stop_gradient(x) * 1e-6

    monkeypatch.setitem(COMPOSED, "fliplr", slightly)
    monkeypatch.setattr("tests.derivatives.__main__.composed.FILE", tmp_path / "composed.json")
    monkeypatch.setattr(
        sys, "argv", ["derivatives", "fliplr", "--composed", "--points", "1", "--write"]
    )
    assert main() == 1
    assert "ABOVE: forward first" in capsys.readouterr().out
    assert set(json.loads((tmp_path / "composed.json").read_text())) == {"fliplr"}


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
