"""Compare values and derivatives of every op with exact ones, and print the largest errors.

`python -m tests.derivatives [OP ...] [--points 100] [--composed] [--write]`; with `--write` those
of the ops that were measured become those that `staticgraph ops` lists; with `--composed` it is the
functions that are composed of ops.
"""

from __future__ import annotations

import argparse
import json

from staticgraph.listing import composed
from staticgraph.listing.measured import FILE, errors
from tests.derivatives.cases import CASES
from tests.derivatives.composed import COMPOSED
from tests.derivatives.measure import KINDS, LIMITS, measured
from tests.derivatives.quotients import above, figures, measured_composed


def rounded(error: float) -> str:
    """One digit of an error, rounded up."""
    return f"{error * 1.05 if error else 0:.0e}"


def main() -> int:
    """The command line: 1 if an error is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="OP")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--composed", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.composed:
        return of_composed(given.names or list(COMPOSED), given.points, given.write)
    found: dict[str, dict[str, str]] = {}
    failed = 0
    for case in CASES:
        if given.names and case.name not in given.names:
            continue
        of_case = measured(case, given.points)
        wrong = [kind for kind, error in of_case.items() if not error <= LIMITS[kind]]
        failed += bool(wrong)
        found[case.name] = {kind: rounded(of_case[kind]) for kind in KINDS if kind in of_case}
        said = ", ".join(f"{kind} {error}" for kind, error in found[case.name].items())
        print(f"{case.name}: {said}{', ABOVE: ' + ' '.join(wrong) if wrong else ''}", flush=True)
    if given.write:
        names = {case.name for case in CASES}
        kept = {name: one for name, one in errors().items() if name in names} | found
        FILE.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    return bool(failed)


def of_composed(names: list[str], points: int, write: bool) -> int:
    """Measure composed functions: 1 if an error is above its limit."""
    before = json.loads(composed.FILE.read_text("utf-8")) if composed.FILE.exists() else {}
    found = {name: one for name, one in before.items() if name in COMPOSED}
    failed = 0
    for name in names:
        errors_of, host_steps = measured_composed(name, points)
        wrong = above(errors_of)
        failed += bool(wrong)
        found[name] = figures(errors_of, host_steps)
        said = ", ".join(f"{kind} {error}" for kind, error in found[name].items())
        print(f"{name}: {said}{', ABOVE: ' + ' '.join(wrong) if wrong else ''}", flush=True)
        if write:  # one by one: all take half an hour
            text = json.dumps(dict(sorted(found.items())), indent=1) + "\n"
            composed.FILE.write_text(text, encoding="utf-8")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
