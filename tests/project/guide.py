"""What the code of docs/index.md and docs/guide prints.

`python -m tests.project.guide` writes it into the pages.

The Python blocks of a page are one script, named as the page; the block of text behind one is what
it prints, the last line of an error included. `test_guide.py` compares.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.paths import ROOT

PAGES = [ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def with_output(page: Path) -> str:
    """The page with what its code prints now, run in an empty folder."""
    text = page.read_text(encoding="utf-8")
    name = f"{page.stem}.py"
    script = "".join(block[1] for block in BLOCK.finditer(text))
    linecache.cache[name] = len(script), None, script.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"__name__": "guide"}
    before = 0

    def block(found: re.Match[str]) -> str:
        nonlocal before
        printed = _printed("\n" * before + found[1], name, namespace)
        before += found[1].count("\n")
        output = f"\n```text\n{printed}```\n" if printed else ""
        return f"```python\n{found[1]}```\n{output}"

    with _elsewhere():
        try:
            return BLOCK.sub(block, text)
        finally:
            del linecache.cache[name]


def _printed(code: str, name: str, namespace: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which go to stderr
        try:
            exec(compile(code, name, "exec"), namespace)
        except Exception as error:
            kind = type(error)
            place = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            print(f"{place}{kind.__qualname__}: {error}")
    return out.getvalue()


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """In a folder of its own, as scripts that write files are."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    for one in PAGES:
        if sys.argv[1:] and one.stem not in sys.argv[1:]:
            continue
        one.write_text(with_output(one), encoding="utf-8")
        print(one.relative_to(ROOT))
