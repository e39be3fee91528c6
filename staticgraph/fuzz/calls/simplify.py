"""Simplifications of a failing program, beside leaving steps out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from staticgraph.fuzz.campaign import Program

_SIMPLER: dict[str, Any] = {
    "form": "plain", "by": "position", "group": 0, "function": 0, "busy": False, "seed": 0,
    "variable": 0, "all": False, "line": 0, "how": "copy",
}  # fmt: skip
_DROPPED = ("out", "far", "repeat")


def simplify(program: Program) -> Iterator[Program]:
    """The boldest first: compiled as usual, fewer steps within steps, simpler calls."""
    if program["way"] != "compiled":
        yield {**program, "way": "compiled"}
    for steps in _changed(program["steps"]):
        yield {**program, "steps": steps}


def _changed(given: object) -> Iterator[Any]:
    """What is given with one thing in it simpler."""
    if isinstance(given, list):
        for i, one in enumerate(given):
            yield from ([*given[:i], *changed, *given[i + 1 :]] for changed in _one(one))
    elif isinstance(given, dict):
        for key in _DROPPED:
            if key in given:
                yield {name: one for name, one in given.items() if name != key}
        for key, simpler in _SIMPLER.items():
            if key in given and given[key] != simpler:
                yield {**given, key: simpler}
        if "sizes" in given:
            yield from _smaller(given)
        for key in ("steps", "threads", "feeds", "call"):
            if key in given:
                for one in _changed(given[key]):
                    yield {**given, key: one}


def _one(one: Any) -> Iterator[list[Any]]:
    """Nothing, for a call or a feed of several, or the same but simpler."""
    if isinstance(one, list) or "form" in one or "do" in one:
        yield []
    yield from ([changed] for changed in _changed(one))


def _smaller(feed: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, size in feed["sizes"].items():
        for smaller in (1, 2):
            if size > smaller:
                yield {**feed, "sizes": {**feed["sizes"], name: smaller}}
