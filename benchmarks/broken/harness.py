"""Runs the programs of a file, and tells as JSON what each said; needs nothing but Python.

A program is a function of a file. The lines that are to blame in it end with `# culprit`. It gives
whether its result is right all the same, or None if nothing can be right.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any


def tools() -> bool:
    """Whether the best tools of the framework are to be switched on."""
    return "tools" in sys.argv[1:]


def main(programs: dict[str, Any], names: list[str]) -> None:
    """Run the programs of these names, and print what each said."""
    found = {name: _said(programs[name]) for name in names if name in programs}
    print(json.dumps(found))


def _said(program: Callable[[], bool | None]) -> dict[str, Any]:
    told, right = io.StringIO(), None
    with (
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(told),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # of frameworks, about themselves
        try:
            right = program()
        except Exception:  # whatever a framework raises is what it says
            traceback.print_exc()
    return {"text": told.getvalue(), "right": None if right is None else bool(right)}
