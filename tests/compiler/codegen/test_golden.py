"""The kernels of a few graphs, word for word, so that a change of the emitter is seen and reviewed.

To accept what is emitted now:

    UPDATE_GOLDEN=1 python -m pytest tests/compiler/codegen/test_golden.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.graph.definition import to_text
from tests.graphs import DEFINITIONS, built, kernel, lowered
from tests.paths import TESTS

FOLDER = TESTS / "golden"


def normalised(source: str) -> str:
    """The source without the places where the nodes were defined, which differ and move."""
    return re.sub(r"  <- .*|(?<=^# )\S+\.py:\d+ +", "", source, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["seed", "mlp_step", "softmax_of_layer_norm"])
def test_golden(name: str) -> None:
    text = f"{to_text(lowered(built(name)))}\n\n{normalised(listing(kernel(DEFINITIONS[name]())))}"
    file = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"see the text of {__name__}"


def test_places_are_normalised() -> None:
    source = listing(kernel(DEFINITIONS["seed"]()))
    assert "graphs.py:" in source
    assert str(Path(__file__).parent) not in normalised(source)
