"""The transcripts in docs/debugging.md: `python -m tests.project.transcripts` makes them again.

The files of the page are run under their names, and pdb gets the commands below.
`test_transcripts.py` compares.
"""

from __future__ import annotations

import io
import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import staticgraph as sg
from tests.paths import ROOT

PAGE = ROOT / "docs" / "debugging.md"
BEGIN = "<!-- transcript{}: python -m tests.project.transcripts -->\n"
END = "<!-- end of transcript -->\n"
COMMANDS = [
    "l", "p i0, float(x_1)", "c", "p round(float(p_5), 4), float(y_6)", "up", "p n0", "p w", "down",
    "n", "q",
]  # fmt: skip


@contextmanager
def _run(page: str, file: str) -> Iterator[dict[str, Any]]:
    """What a file of the page defines."""
    found = re.search(rf"```python\n# {file}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text = f"# {file}\n{found[1]}"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    try:
        names: dict[str, Any] = {}
        exec(compile(text, file, "exec"), names)
        yield names
    finally:
        del linecache.cache[file]


def _session(page: str) -> str:
    shown = io.StringIO()
    with _run(page, "train.py") as names:
        inputs, options = (names["xb"], names["yb"]), {"commands": COMMANDS, "stdout": shown}
        names["train"].step(*inputs, break_at="train.py:8", **options)
    return shown.getvalue()


def _explanation(page: str) -> str:
    with _run(page, "train.py") as names:
        return str(names["train"].explain("p"))


def _comparison(page: str) -> str:
    with _run(page, "energy.py") as names:
        return str(sg.diff(names["energy"], *names["inputs"], exact=True))


MADE: dict[str, Callable[[str], str]] = {
    "": _session,
    " of explain": _explanation,
    " of diff": _comparison,
}
"""What makes each transcript."""


def drawn() -> str:
    """The page with its transcripts as they are made now."""
    page = PAGE.read_text(encoding="utf-8")
    for title, made in MADE.items():
        before, begin, rest = page.partition(BEGIN.format(title))
        _, _, after = rest.partition(END)
        said = "\n".join([line.rstrip() for line in made(page).splitlines()])
        page = f"{before}{begin}```\n{said}\n```\n{END}{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
