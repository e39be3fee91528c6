"""The code of docs/guide runs as it stands, and prints what the pages say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.guide import PAGES, with_output


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_prints_what_it_says(page: Path) -> None:
    assert with_output(page) == page.read_text(encoding="utf-8")


def test_there_are_pages_with_output() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(text.count("```text") for text in texts) > 20
