"""The lines that refusals of captured functions name."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import staticgraph as sg


def _grow(x: Any, seen: list[int]) -> Any:
    seen.append(1)
    return x * len(seen)


def _tracer(frame: Any, event: str, arg: Any) -> Any:
    return _tracer


def test_the_line_is_found_under_a_debugger_too() -> None:
    line = _grow.__code__.co_firstlineno + 1
    before = sys.gettrace()
    sys.settrace(_tracer)
    try:
        with pytest.raises(sg.EffectError, match=rf"{re.escape(__file__)}:{line}"):
            sg.function(_grow)(np.ones(3), [])
        assert sys.gettrace() is _tracer
    finally:
        sys.settrace(before)
