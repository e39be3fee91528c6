"""Errors, warnings and printed lines of autograd, against those that PyTorch recorded."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest

import dynamic
from tests.data import module_scripts, tutorial_scripts
from tests.data.autograd_texts import ERRORS, SCRIPTS, WARNINGS, namespace
from tests.paths import TESTS

RECORDED: dict[str, Any] = json.loads((TESTS / "data" / "autograd_texts.json").read_text())


def says(found: str, recorded: str) -> bool:
    """Whether a text is that of PyTorch, without advice at its end or with more than it says.

    PyTorch's ends with links to its own issues; ours with the line that changed a tensor.
    """
    stable = found.rstrip(" .,")
    return found.startswith(recorded) or (len(stable) > 40 and recorded.startswith(stable))


@pytest.mark.filterwarnings("ignore:.* should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize(("row", "program"), ERRORS)
def test_errors_are_those_of_pytorch(row: int, program: str) -> None:
    kind, message = RECORDED["errors"][program]
    expected = RuntimeError if kind == "CheckpointError" else getattr(builtins, kind)
    with pytest.raises(expected) as caught:
        exec(program, namespace(dynamic))
    assert says(str(caught.value), message)


@pytest.mark.parametrize(("row", "program"), WARNINGS)
def test_warnings_are_those_of_pytorch(row: int, program: str) -> None:
    names = namespace(dynamic)
    with pytest.warns(UserWarning) as caught:
        exec(program, names)
    assert says(str(caught[0].message), RECORDED["warnings"][program])


@pytest.mark.parametrize("name", SCRIPTS)
def test_printed_lines_are_those_of_pytorch(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(SCRIPTS[name], namespace(dynamic))
    assert capsys.readouterr().out == RECORDED["printed"][name]


LONGER = tutorial_scripts.SCRIPTS | module_scripts.SCRIPTS


@pytest.mark.slow
@pytest.mark.parametrize("name", LONGER)
def test_scripts_print_what_they_print_in_pytorch(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(tutorial_scripts.source(LONGER[name], "dynamic"), {})
    assert capsys.readouterr().out == RECORDED["tutorials"][name]
