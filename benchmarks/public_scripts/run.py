"""Compares public scripts of many authors, with `dynamic` as `torch`, with PyTorch.

    python benchmarks/public_scripts/run.py SOURCES --torch PYTHON [--only WORD] [--write]

The results are kept in `results.json`, job by job; `--write` makes docs/scripts.md of them.
SOURCES has the repositories as folders `owner/name`, which whoever runs this fetches: their text is
not part of this project. PYTHON is an interpreter with PyTorch; both need what docs/scripts.md
lists. Scripts are run as they are, in float64, and random numbers are
equal on both sides; each loss that `backward` is called on is compared.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jobs
from page import page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOUND = 1e-6


@dataclass(frozen=True)
class Outcome:
    """What one side of a job gave."""

    losses: list[float]
    printed: str
    failure: str
    kinds: tuple[str, ...] = ()


def pairs(theirs: Outcome, ours: Outcome) -> list[tuple[float, float]]:
    """Losses in pairs; of a script without `backward`, the numbers that it prints."""
    if theirs.losses:
        return list(zip(theirs.losses, ours.losses, strict=False))
    return list(zip(numbers(theirs.printed), numbers(ours.printed), strict=False))


def difference(theirs: Outcome, ours: Outcome) -> float:
    """The largest relative difference: infinite where one alone is no finite number."""
    return max((_apart(a, b) for a, b in pairs(theirs, ours)), default=0.0)


def _apart(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    found = abs(a - b) / max(abs(a), 1e-8)
    return math.inf if math.isnan(found) else found


def verdict(theirs: Outcome, ours: Outcome) -> str:
    """In a word: what stops in PyTorch has to stop with the same error, after the same losses."""
    if bool(theirs.failure) != bool(ours.failure) or (
        theirs.kinds and theirs.kinds[0] not in ours.kinds
    ):
        return "fails" if ours.failure else "runs where PyTorch fails"
    if len(theirs.losses) != len(ours.losses) or difference(theirs, ours) > BOUND:
        return "differs"
    return "stops as PyTorch does" if theirs.failure else "agrees"


def last_line(text: str) -> str:
    """The error of a traceback, without the module of its class."""
    line = text.strip().splitlines()[-1] if text.strip() else ""
    return re.sub(r"^[\w.]+\.(?=\w+:)", "", line)[:200]


def numbers(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(one) for one in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def _text(count: int) -> str:
    words = [f"{a}{b}{c}" for a in "bdfg" for b in "aeio" for c in ("", "l", "nd", "rst")]
    return " ".join(words[(k * k * 7 + k // 3) % len(words)] for k in range(count))


def _content(name: str) -> str:
    """A file of made-up names or text."""
    words = _text(4000).split(" ")
    if name == "names.txt":
        return "\n".join(words[:1300])
    return "\n".join(" ".join(words[k : k + 12]) for k in range(0, len(words), 12)) + "\n"


def _environment(side: str) -> dict[str, str]:
    path = [str(ROOT), os.environ.get("PYTHONPATH", "")] if side == "dynamic" else []
    threads = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return os.environ | threads | {"PYTHONPATH": os.pathsep.join(path)}


def one_side(job: jobs.Job, side: str, python: str, sources: Path, folder: Path) -> Outcome:
    """Run a job in a folder of its own."""
    place = folder / side
    place.mkdir(parents=True, exist_ok=True)
    for name in job.files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(_content(name))
    repository = sources / job.repository
    script = repository / job.path
    told = {
        "file": str(script), "args": job.args, "steps": job.steps, "drive": job.drive,
        "paths": [str(repository), *(str(repository / one) for one in job.roots)],
    }  # fmt: skip
    given, out = place / "job.json", place / "result.json"
    given.write_text(json.dumps(told))
    out.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            [python, str(HERE / "child.py"), side, str(given), str(out)], timeout=200, check=False,
            cwd=script.parent if job.cwd else place, env=_environment(side), capture_output=True,
            text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome([], "", "timed out")
    if not out.exists():
        return Outcome([], done.stdout, done.stderr)
    found = json.loads(out.read_text())
    return Outcome(found["losses"], done.stdout, found["failure"], tuple(found["kinds"]))


def compare(job: jobs.Job, number: int, args: argparse.Namespace) -> dict[str, object]:
    """Both sides of a job, and what is kept of them."""
    place = Path(args.out) / f"{number:03d}"
    theirs = one_side(job, "torch", args.torch, args.sources, place)
    ours = one_side(job, "dynamic", sys.executable, args.sources, place)
    return {
        "name": job.title, "verdict": verdict(theirs, ours), "steps": len(pairs(theirs, ours)),
        "printed": not theirs.losses, "difference": difference(theirs, ours), "data": job.data,
        "theirs": last_line(theirs.failure), "ours": last_line(ours.failure),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="out/public_scripts")
    parser.add_argument("--again", action="store_true", help="also those with results")
    parser.add_argument("--part", default="0/1", help="0/2: every second, for two at a time")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    args.sources = args.sources.resolve()
    kept = Path(args.out) / "results.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(kept.read_text()) if kept.exists() else {}
    part, parts = map(int, args.part.split("/"))
    for number, job in list(enumerate(jobs.JOBS))[part::parts]:
        if args.only not in job.title or (job.title in found and not args.again):
            continue
        one = found[job.title] = compare(job, number, args)
        print(*(one[key] for key in ("verdict", "steps", "difference", "name")), flush=True)
        if one["ours"]:
            print(f"    torch: {one['theirs']}\n    dynamic: {one['ours']}")
        kept.write_text(json.dumps(found, indent=1))
    if args.write:
        (ROOT / "docs" / "scripts.md").write_text(
            page([found[job.title] for job in jobs.JOBS if job.title in found])
        )


if __name__ == "__main__":
    main()
