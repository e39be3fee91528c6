"""Printed forms, errors and warnings of `dynamic.nn`, against those that PyTorch recorded."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest

import dynamic
from staticgraph.compiler.core.errors import StaticGraphError
from tests.data.nn_texts import ERRORS, REPRS, WARNINGS, namespace
from tests.dynamic.words import begins_as_recorded
from tests.paths import TESTS

RECORDED: dict[str, Any] = json.loads((TESTS / "data" / "nn_texts.json").read_text())


@pytest.mark.parametrize("text", REPRS)
def test_printed_forms_are_those_of_pytorch(text: str) -> None:
    assert repr(eval(text, namespace(dynamic))) == RECORDED["reprs"][text]


@pytest.mark.parametrize("program", ERRORS)
def test_errors_are_those_of_pytorch(program: str) -> None:
    kind, message = RECORDED["errors"][program]
    # a wrong value is a ValueError also where PyTorch asserts
    expected = ValueError if kind == "AssertionError" else getattr(builtins, kind)
    with pytest.raises(expected) as caught:
        exec(program, namespace(dynamic))
    assert isinstance(caught.value, StaticGraphError) or kind == "KeyError"
    ours, theirs = "staticgraph.dynamic.nn.containers", "torch.nn.modules.container"
    assert begins_as_recorded(str(caught.value).replace(ours, theirs), message)


@pytest.mark.parametrize("program", WARNINGS)
def test_warnings_are_those_of_pytorch(program: str) -> None:
    with pytest.warns(UserWarning) as caught:
        exec(program, namespace(dynamic))
    assert [str(warning.message) for warning in caught] == [RECORDED["warnings"][program]]
    assert caught[0].filename == "<string>"
