"""Compare values and derivatives of every op with exact ones, and print the largest errors.

`python -m tests.derivatives [OP ...] [--points 100] [--write]`; with `--write` those of the
ops that were measured become those that `staticgraph ops` lists.
"""

from __future__ import annotations

import argparse
import json

from staticgraph.listing.measured import FILE, errors
from tests.derivatives.cases import CASES
from tests.derivatives.measure import KINDS, LIMITS, measured


def rounded(error: float) -> str:
    """One digit of an error, rounded up."""
    return f"{error * 1.05 if error else 0:.0e}"


def main() -> int:
    """The command line: 1 if an error is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="OP")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
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


if __name__ == "__main__":
    raise SystemExit(main())
