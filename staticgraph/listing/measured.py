"""The errors of ops that were measured: at 100 points each, beside fifty digits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("measured.json")
"""Written by `python -m tests.derivatives --write`."""


@cache
def errors() -> dict[str, dict[str, str]]:
    """Per op the largest error of "value", "first", "second" and "forward"."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
