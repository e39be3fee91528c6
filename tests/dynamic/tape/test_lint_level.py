"""The lint of eager programs: where its level comes from, and what it keeps alive."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref

import pytest

import dynamic as torch
from tests.paths import ROOT


@pytest.mark.slow
def test_the_level_comes_from_the_environment() -> None:
    script = "import dynamic as d; x = d.ones(1, requires_grad=True); d.round(x).backward()"
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "DYNAMIC_LINT": level, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        ).stderr
        for level in ("certain", "off", "error", "loud")
    ]  # fmt: skip
    assert "LintWarning" in said[0]
    assert said[1] == ""
    assert "LintError" in said[2]
    assert "one of" in said[3]


def test_an_optimizer_is_not_kept_alive() -> None:
    w = torch.ones(2, requires_grad=True)
    made = torch.optim.SGD([w], lr=0.1)
    gone = weakref.ref(made)
    del made
    assert gone() is None
    w.square().sum().backward()
