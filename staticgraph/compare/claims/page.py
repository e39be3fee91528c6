"""The page "static or dynamic?": every claim with what was measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from staticgraph.compare.claims.records import Claim, Finding, Setup
from staticgraph.compare.claims.table import CLAIMS
from staticgraph.compare.machine import this_machine
from staticgraph.compiler.core.errors import OptionError

INTRODUCTION = """\
# Static or dynamic?

What tutorials, posts and threads say of computation graphs that are defined first (static) and of
graphs that are recorded as the code runs (dynamic), each claim with a measurement of it in this
project, where both paradigms have the same ops. Made by one command, which anyone can run again:

    staticgraph compare --claims docs/static_or_dynamic.md

and a single claim, printed, by `staticgraph compare --claims - NAME`. Times are minima of calls in
turn in one process, memory is that of arrays. Verdicts follow from the figures of the run. For a
function of your own, `staticgraph compare my.py:loss --inputs "x=f32[n,64]"` gives the answer.
"""


def chosen(names: Sequence[str]) -> list[Claim]:
    """The claims of these names, all if there is none; OptionError for others."""
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise OptionError(f"compare: unknown claim {name!r}: known are {', '.join(known)}")
    return [known[name] for name in names] or list(CLAIMS)


def write(
    path: Path | None, names: Sequence[str], setup: Setup, watch: Callable[[str], None]
) -> bool:
    """Measure claims, and write the page, or print it without a path; Ctrl-C ends it early.

    Returns:
        Whether all were measured. The page says if not, and has those that were.
    """
    found: dict[Claim, Finding] = {}
    wanted = chosen(names)
    with suppress(KeyboardInterrupt):
        for claim in wanted:
            watch(claim.name)
            found[claim] = claim.measure(setup)
    missing = [claim.name for claim in wanted if claim not in found]
    text = page(found, missing)
    if path is None:
        print(text)
    else:
        path.write_text(text, encoding="utf-8")
    return not missing


def page(found: Mapping[Claim, Finding], missing: Sequence[str] = ()) -> str:
    """The page as Markdown; `missing` are the claims that an interrupted run has not measured."""
    machine = this_machine()
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg()) if hasattr(os, "getloadavg") else "-"
    versions = ", ".join(f"{name} {one}" for name, one in machine.versions.items())
    rows = "".join(
        f"| [{claim.name}](#{claim.name}) | {claim.said} | {finding.holds} |\n"
        for claim, finding in found.items()
    )
    parts = [
        INTRODUCTION,
        f"{machine.processor}, {machine.cores} cores, load {load}; {versions}; "
        f"{datetime.now(UTC).isoformat(timespec='seconds')}.\n",
        *([f"**The run was interrupted**, before {', '.join(missing)}.\n"] if missing else []),
        f"| | claim | here |\n| --- | --- | --- |\n{rows}",
        *(_section(claim, finding) for claim, finding in found.items()),
    ]
    return "\n".join(parts)


def _section(claim: Claim, finding: Finding) -> str:
    rows = "".join(f"| {name} | {value} |\n" for name, value in map(_escaped, finding.figures))
    return (
        f"## {claim.name}\n\n> {claim.said}\n\n**{finding.holds.capitalize()}.** "
        f"{finding.verdict}\n\n| measured | |\n| --- | --- |\n{rows}\n"
        f"    staticgraph compare --claims - {claim.name}\n"
    )


def _escaped(pair: tuple[str, str]) -> tuple[str, str]:
    name, value = (text.replace("|", "\\|").replace("*", "\\*") for text in pair)
    return name, value
