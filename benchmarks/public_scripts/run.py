"""Compares public scripts of many authors, with `dynamic` as `torch`, with PyTorch: docs/scripts.md.

    python benchmarks/public_scripts/run.py SOURCES --torch PYTHON [--only WORD] [--write]

SOURCES has the repositories as folders `owner/name`, which whoever runs this fetches: their text is
not part of this project. PYTHON is an interpreter with PyTorch; both need gymnasium, einops, tqdm,
pillow, matplotlib and scikit-learn. Scripts are run as they are, in float64, and random numbers are
equal on both sides; each loss that `backward` is called on is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import jobs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BOUND = 1e-6


@dataclass(frozen=True)
class Outcome:
    """What one side of a job gave."""

    losses: list[float]
    printed: str
    failure: str


@dataclass(frozen=True)
class Compared:
    """A job, and both sides."""

    job: jobs.Job
    theirs: Outcome
    ours: Outcome

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Losses in pairs; of a script without `backward`, the numbers that it prints."""
        if self.theirs.losses:
            return list(zip(self.theirs.losses, self.ours.losses, strict=False))
        return list(zip(numbers(self.theirs.printed), numbers(self.ours.printed), strict=False))

    @property
    def difference(self) -> float:
        """The largest relative difference."""
        return max((abs(a - b) / max(abs(a), 1e-8) for a, b in self.pairs if a == a), default=0.0)

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.theirs.failure:
            return "not with PyTorch"
        if self.ours.failure:
            return "fails"
        same = len(self.theirs.losses) == len(self.ours.losses)
        return "agrees" if same and self.difference <= BOUND and self.pairs else "differs"


def numbers(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(one) for one in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", text)]


def _text(count: int) -> str:
    words = [f"{a}{b}{c}" for a in "bdfg" for b in "aeio" for c in ("", "l", "nd", "rst")]
    return " ".join(words[(k * k * 7 + k // 3) % len(words)] for k in range(count))


def _content(name: str) -> dict[str, str]:
    """The files of a made-up kind."""
    if name == "names.txt":
        return {name: "\n".join(_text(1300).split(" "))}
    lines = _text(4000).split(" ")
    return {name: "\n".join(" ".join(lines[k : k + 12]) for k in range(0, len(lines), 12)) + "\n"}


def _environment(side: str) -> dict[str, str]:
    path = [str(ROOT)] if side == "dynamic" else []
    more = os.environ.get("PYTHONPATH", "") if side == "dynamic" else ""
    threads = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return os.environ | threads | {"PYTHONPATH": os.pathsep.join([*path, more])}


def one_side(job: jobs.Job, side: str, python: str, sources: Path, folder: Path) -> Outcome:
    """Run a job in a folder of its own."""
    place = folder / side
    place.mkdir(parents=True, exist_ok=True)
    for name in job.files:
        for file, text in _content(name).items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text)
    repository = sources / job.repository
    script = repository / job.path
    told = {
        "file": str(script), "args": job.args, "steps": job.steps, "drive": job.drive,
        "paths": [str(repository), *(str(repository / one) for one in job.roots)],
    }  # fmt: skip
    given, out = place / "job.json", place / "result.json"
    given.write_text(json.dumps(told))
    out.unlink(missing_ok=True)
    where = script.parent if job.cwd else place
    try:
        done = subprocess.run(
            [python, str(HERE / "child.py"), side, str(given), str(out)], timeout=200, check=False,
            cwd=where, env=_environment(side), capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome([], "", "timed out")
    if not out.exists():
        return Outcome([], done.stdout, done.stderr)
    found = json.loads(out.read_text())
    return Outcome(found["losses"], done.stdout, found["failure"])


def compare(args: argparse.Namespace) -> Iterator[Compared]:
    """Each job in turn, two at a time."""
    folder = Path(args.out)
    chosen = [job for job in jobs.JOBS if args.only in job.name]

    def both(numbered: tuple[int, jobs.Job]) -> Compared:
        k, job = numbered
        place = folder / (f"{k:03d}-" + re.sub(r"\W+", "-", job.name))
        theirs = one_side(job, "torch", args.torch, args.sources, place)
        return Compared(job, theirs, one_side(job, "dynamic", sys.executable, args.sources, place))

    with ThreadPoolExecutor(args.jobs) as pool:
        yield from pool.map(both, enumerate(chosen))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=Path)
    parser.add_argument("--torch", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="/tmp/public_scripts")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    args.sources = args.sources.resolve()
    found = []
    for one in compare(args):
        found.append(one)
        print(
            f"{one.verdict:17} {len(one.pairs):4} {one.difference:9.1e}  {one.job.name}", flush=True
        )
        for side, outcome in (("torch", one.theirs), ("dynamic", one.ours)):
            if outcome.failure:
                print(f"    {side}: " + " | ".join(outcome.failure.strip().splitlines()[-3:]))


if __name__ == "__main__":
    main()
