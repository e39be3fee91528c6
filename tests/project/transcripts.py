"""The transcripts in docs/debugging.md: `python -m tests.project.transcripts` makes them again.

The file of the page is run under its name, and pdb gets the commands below. `test_transcripts.py`
compares.
"""

from __future__ import annotations

import io
import linecache
import re
from typing import Any

from tests.paths import ROOT

PAGE = ROOT / "docs" / "debugging.md"
BEGIN = "<!-- transcript: python -m tests.project.transcripts -->\n"
END = "<!-- end of transcript -->\n"
FILE = "train.py"
COMMANDS = [
    "l", "p i0, float(x_1)", "c", "p round(float(p_5), 4), float(y_6)", "up", "p n0", "p w", "down",
    "n", "q",
]  # fmt: skip


def drawn() -> str:
    """The page with its transcript as it is made now."""
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"```python\n# {FILE}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text = f"# {FILE}\n{found[1]}"
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE
    try:
        names: dict[str, Any] = {}
        exec(compile(text, FILE, "exec"), names)
        shown = io.StringIO()
        commands = {"commands": COMMANDS, "stdout": shown}
        names["train"].step(names["xb"], names["yb"], break_at=f"{FILE}:8", **commands)
    finally:
        del linecache.cache[FILE]
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    said = "\n".join([line.rstrip() for line in shown.getvalue().splitlines()])
    return f"{before}{BEGIN}```\n{said}\n```\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
