"""Which of the names that a campaign is about its programs have reached, and how it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Coverage: TypeAlias = "dict[str, dict[str, list[int | str]]]"
"""Per name and outcome: how often, and what was said the first time."""

_noted: Coverage = {}


def note(name: str, outcome: str, said: str = "") -> None:
    """A program has reached a name."""
    add(_noted, {name: {outcome: [1, said]}})


def taken() -> Coverage:
    """What was noted since this was asked."""
    found = dict(_noted)
    _noted.clear()
    return found


def add(coverage: Coverage, more: Coverage) -> None:
    """Add to a coverage."""
    for name, outcomes in more.items():
        known = coverage.setdefault(name, {})
        for outcome, (count, said) in outcomes.items():
            before = known.get(outcome, [0, said])
            known[outcome] = [int(before[0]) + int(count), before[1]]


def report(
    coverage: Coverage, names: Iterable[str], outcomes: Sequence[str], apart: Mapping[str, str]
) -> str:
    """What of `names` was reached, as a text.

    Args:
        outcomes: the best first: a name counts for the best that it had.
        apart: names that are left out, and why.
    """
    best = {name: _best(coverage.get(name, {}), outcomes) for name in names}
    counts = {one: sum(found == one for found in best.values()) for one in [*outcomes, None]}
    told = ", ".join(f"{count} {one or 'not reached'}" for one, count in counts.items())
    lines = [f"{len(best)} names: {told}; {len(apart)} are left out"]
    for outcome in outcomes[1:]:
        lines += [
            f"  {outcome}: {name}: {coverage[name][outcome][1]}"
            for name, found in best.items()
            if found == outcome
        ]
    lines += [f"  not reached: {name}" for name, found in best.items() if found is None]
    lines += [f"  left out: {name}: {reason}" for name, reason in apart.items()]
    return "\n".join(lines)


def _best(found: Mapping[str, object], outcomes: Sequence[str]) -> str | None:
    return next((one for one in outcomes if one in found), None)
