"""The code of the README runs as it stands, and prints what its comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SHOWN = re.compile(r"print\(.*\) +# (tensor.*|torch\.Size.*|True.*|\(.*)")


def _program(number: int) -> str:
    """A block, behind those that it goes on from: it has no imports of its own."""
    block = BLOCKS[number]
    return block if block.startswith(("import", "from")) else _program(number - 1) + block


def test_readme_has_code() -> None:
    assert len(BLOCKS) == 7


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_runs_and_prints_its_comments(
    number: int, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where it writes its files
    namespace: dict[str, Any] = {}
    exec(compile(_program(number), f"README block {number}", "exec"), namespace)
    printed = capsys.readouterr().out
    for comment in SHOWN.findall(BLOCKS[number]):
        assert comment in printed.splitlines()


def test_what_is_printed_is_in_a_comment_somewhere() -> None:
    assert len(SHOWN.findall("".join(BLOCKS))) >= 5


def test_error_messages_are_those_of_the_readme() -> None:
    x = sg.placeholder("x", (None, 64))
    with pytest.raises(sg.ShapeError) as wrong_axis:
        x @ sg.variable(np.ones((63, 10), "float32"))
    assert str(wrong_axis.value) in README
    predict = sg.compile([x], x * 2)
    with pytest.raises(sg.DTypeError) as wrong_dtype:
        predict(np.ones((32, 64)))
    message = re.sub(r"\(.*:\d+\)", "(train.py:8)", str(wrong_dtype.value))
    assert message in README


def test_both_paradigms_agree_on_the_shared_function() -> None:
    namespace: dict[str, Any] = {}
    exec(compile(BLOCKS[3], "README block 3", "exec"), namespace)
    x, w = namespace["x"], namespace["w"]
    by_x, by_w = namespace["compiled"](x.detach().numpy(), w.detach().numpy())
    np.testing.assert_allclose(by_x, x.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(by_w, w.grad.numpy(), rtol=1e-5)


def test_ops_of_both_packages_are_the_same_objects() -> None:
    assert dynamic.tanh is sg.tanh
    assert dynamic.relu is sg.relu
