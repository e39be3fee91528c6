"""Counts the cases of the array API standard's public test suite that `dynamic.xp` passes.

`make array-api` runs it. The suite is cloned, with the specification that it reads, into
`out/array-api-tests` unless it is there; that alone needs a network. `--module array_api_strict`
counts those of the strict reference, with which the figures of docs/array_api.md are compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"


def clone(folder: Path) -> None:
    """The suite at the commit that was measured, with its submodule."""
    for command in (
        ["git", "clone", "--quiet", SUITE, str(folder)],
        ["git", "-C", str(folder), "checkout", "--quiet", COMMIT],
        ["git", "-C", str(folder), "submodule", "--quiet", "update", "--init"],
    ):
        subprocess.run(command, check=True)


def run(folder: Path, module: str, examples: int, report: Path) -> None:
    """Run the suite; it fails where a case fails, and the report tells which."""
    environment = os.environ | {"ARRAY_API_TESTS_MODULE": module, "PYTHONPATH": str(ROOT)}
    options = ["-q", "-p", "no:cacheprovider", "--disable-deadline", f"--max-examples={examples}"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", "array_api_tests"],
        cwd=folder, env=environment, check=False,
    )  # fmt: skip


def counted(report: Path) -> tuple[Counter[str], list[str]]:
    """How many cases passed, failed and were left out; the names of those that failed."""
    counts: Counter[str] = Counter()
    failed = []
    for case in ElementTree.parse(report).iter("testcase"):
        tags = {child.tag for child in case}
        outcome = (
            "left out"
            if "skipped" in tags
            else "failed"
            if tags & {"failure", "error"}
            else "passed"
        )
        counts[outcome] += 1
        if outcome == "failed":
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return counts, failed


def main() -> None:
    """Read the command line, run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, default=ROOT / "out" / "array-api-tests")
    parser.add_argument("--module", default="dynamic.xp")
    parser.add_argument("--examples", type=int, default=20)
    options = parser.parse_args()
    if not options.suite.exists():
        clone(options.suite)
    report = options.suite / f"report-{options.module}.xml"
    run(options.suite, options.module, options.examples, report)
    counts, failed = counted(report)
    print("\n".join(failed))
    print(f"{options.module}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))


if __name__ == "__main__":
    main()
