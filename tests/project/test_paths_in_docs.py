"""Files that the documentation names are there, so that nothing keeps its old name in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda page: page.as_posix(),
)
FOLDERS = ("compiler", "staticgraph", "dynamic", "tests", "examples", "benchmarks", "docs")
SOURCES = [
    "/" + path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.py")
]
NAMED_BY_EXAMPLES = {"dynamic.py", "my.py", "train.py", "model.py", "kernel.py", "energy.py"}


def named(text: str) -> set[str]:
    """The sources that a page names in backticks, but for those of a reader's own."""
    return set(re.findall(r"`([\w./]+\.py)`", text)) - NAMED_BY_EXAMPLES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sources_and_links_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lost = [one for one in named(text) if not any(path.endswith("/" + one) for path in SOURCES)]
    assert not lost
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_names_are_found() -> None:
    assert named("`compiler/core/op.py`, `my.py` and `threads=`") == {"compiler/core/op.py"}
