"""The commonest mistakes: the class of PyTorch's error, and a text that says at least as much."""

from __future__ import annotations

import builtins
import json
import warnings

import pytest

import dynamic as torch
from staticgraph.compiler.core.errors import StaticGraphError
from tests.data.make_mistake_fixtures import error_of
from tests.data.mistakes import MISTAKES
from tests.paths import TESTS

RECORDED = json.loads((TESTS / "data" / "mistakes.json").read_text())
SHARED = ("concatenate:", "clip:", "multiply:", "equal:", "power:")
"""Names of shared ops that PyTorch calls otherwise."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_raises_pytorchs_class_and_says_what_did_not_fit(name: str) -> None:
    program, words = MISTAKES[name]
    kind, _ = RECORDED[name]
    expected = torch.linalg.LinAlgError if kind == "_LinAlgError" else getattr(builtins, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes that differ, before they do not fit
        kinds, text = error_of(torch, program)
    assert expected.__name__ in kinds, text
    assert [word for word in words if word not in text] == [], text
    assert not text.startswith(SHARED), text


def test_most_mistakes_are_errors_of_this_package() -> None:
    """What Python says itself, of names and of calls that do not fit, is not."""
    found = {name: error_of(torch, program)[0] for name, (program, _) in MISTAKES.items()}
    foreign = [name for name, kinds in found.items() if StaticGraphError.__name__ not in kinds]
    assert len(foreign) < 20, foreign


def test_what_pytorch_says_comes_first() -> None:
    """Of shapes in products, of views and of sizes: scripts and users look for these words."""
    for name in (
        "matmul", "mm", "mv", "bmm", "addmm", "linear", "linear layer", "view", "reshape",
        "reshape with -1", "expand", "add", "mul", "compare", "cat", "conv2d channels",
        "linear dtypes", "negative size",
        "size of floats", "dropout of integers", "minus of booleans", "cross_entropy int32",
    ):  # fmt: skip
        _, text = error_of(torch, MISTAKES[name][0])
        recorded = RECORDED[name][1]
        assert text.startswith(recorded.rstrip(".")), (text, recorded)
