"""The sessions that docs/debugging.md shows are those that one gets."""

from __future__ import annotations

from tests.project.transcripts import PAGE, drawn


def test_the_page_shows_what_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == drawn()
