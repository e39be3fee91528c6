"""Twelve broken programs in several frameworks: what each says, and who names the line.

    python benchmarks/broken_programs.py [--peer torch=/path/to/python ...] [--markdown FILE]

The programs are in `benchmarks/broken/`, the same in each framework as far as it allows. Each runs
as it comes, and again with the best tools that its framework has for it: anomaly mode in PyTorch
and our eager tensors, `jax_debug_nans` and strict promotion in JAX, `NanGuardMode` in PyTensor,
`on_nonfinite`, `lint="warn"`, `checks="int"` and, eagerly, `set_lint("warn")` in ours. Judged by
what is said:

- *line*: it names a line that is to blame, marked `# culprit` in the program;
- *right*: the result is right all the same, as that of a framework that computes what was meant;
- *says*: it says something, but of no such line: half a point;
- *silent*: nothing is said, and the result is wrong.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "broken"
ROOT = Path(__file__).parents[1]
PROGRAMS = {
    "nan_from_log": "nan from log",
    "shape_mismatch": "shapes that do not fit in a call",
    "exploding_loss": "exploding loss",
    "softmax_over_batch": "softmax over the wrong axis",
    "frozen_branch": "a branch on a value",
    "dead_gradient": "dead gradient",
    "in_place_conflict": "in-place conflict",
    "integers": "integer overflow and division by zero",
    "mutated_capture": "a captured value that changes",
    "index_in_scan": "index out of range in a loop",
    "float64_creeps_in": "float64 creeping in",
    "never_updated": "a parameter that is never updated",
}
POINTS = {"line": 1.0, "right": 1.0, "says": 0.5, "silent": 0.0}
RUN_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Contender:
    """A framework, or a form of ours: the file of its programs, and what that is told."""

    label: str
    file: str
    arguments: tuple[str, ...] = ()
    peer: str = ""


CONTENDERS = (
    Contender("PyTorch", "tensor_programs.py", ("torch",), "torch"),
    Contender("torch.compile", "tensor_programs.py", ("torch.compile",), "torch"),
    Contender("JAX", "jax_programs.py", (), "jax"),
    Contender("PyTensor", "pytensor_programs.py", (), "pytensor"),
    Contender("ours, static", "static_programs.py"),
    Contender("ours, function", "tensor_programs.py", ("function",)),
    Contender("ours, eager", "tensor_programs.py", ("dynamic",)),
)


class Verdict(NamedTuple):
    """What a framework said of a program."""

    kind: str
    said: str


def main() -> None:
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--json", type=Path, help="keep verdicts, and take those not run again")
    parser.add_argument("--only", action="append", metavar="LABEL", help="run these alone")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    peers = dict(one.split("=", 1) for one in options.peer)
    found = _kept(options.json)
    for one in CONTENDERS:
        if (one.peer and one.peer not in peers) or one.label not in (options.only or [one.label]):
            continue
        interpreter = peers.get(one.peer, sys.executable)
        found[one.label] = [verdicts(one, interpreter, tools) for tools in (False, True)]
        print(f"{one.label}: done", file=sys.stderr)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    text = document({one.label: found[one.label] for one in CONTENDERS if one.label in found})
    if options.markdown:
        options.markdown.write_text(text)
    print(text)


def _kept(path: Path | None) -> dict[str, list[dict[str, Verdict]]]:
    """The verdicts of earlier runs."""
    if path is None or not path.exists():
        return {}
    return {
        label: [{name: Verdict(*one) for name, one in part.items()} for part in parts]
        for label, parts in json.loads(path.read_text()).items()
    }


def verdicts(one: Contender, interpreter: str, tools: bool) -> dict[str, Verdict]:
    """What a contender says of each program that it has."""
    file = FOLDER / one.file
    arguments = [*one.arguments, *(["tools"] if tools else []), "--", *PROGRAMS]
    run = subprocess.run(
        [interpreter, str(file), *arguments],
        capture_output=True, text=True, timeout=RUN_SECONDS, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)} if not one.peer else None,
    )  # fmt: skip
    if run.returncode:
        raise SystemExit(f"{one.label}: {run.stderr}")
    lines = culprits(file)
    return {
        name: judged(said["text"], said["right"], one.file, lines[name])
        for name, said in json.loads(run.stdout.splitlines()[-1]).items()
    }


def culprits(file: Path) -> dict[str, list[int]]:
    """The lines of each program that are to blame."""
    found: dict[str, list[int]] = {}
    name = ""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        begins = re.match(r"def (\w+)\(", line)
        name = begins[1] if begins else name
        if line.endswith("# culprit"):
            found.setdefault(name, []).append(number)
    return found


def judged(text: str, right: bool | None, file: str, lines: list[int]) -> Verdict:
    """The verdict on what was said; what a program prints itself is no message."""
    messages = [line for line in text.splitlines() if not _is_own(line)]
    named = [
        line
        for line in messages
        for number in lines
        if re.search(rf'{re.escape(file)}(", line |:){number}\b', line)
    ]
    said = _short(messages)
    if named and not right:
        return Verdict("line", said)
    if right:
        return Verdict("right", said)
    return Verdict("says", said) if messages else Verdict("silent", "")


def _is_own(line: str) -> bool:
    """Whether a program printed it."""
    printed = ("loss", "gradient", "mean", "total", "dtype", "b")
    return not line.strip() or line.split(" ", 1)[0] in printed


def _short(messages: list[str]) -> str:
    """The line that tells most: that of the error or warning itself."""
    telling = [
        one
        for one in messages
        if re.match(r"[\w.]*(Error|Warning|Exception)\b|.*: \w*Warning: ", one)
    ]
    text = (telling or messages or [""])[-1].strip()
    text = re.sub(r"(/[\w.-]+)+/", "", text)
    return text if len(text) <= 150 else text[:147] + "..."


def document(found: dict[str, list[dict[str, Verdict]]]) -> str:
    """The tables, and what was said."""
    labels = list(found)
    lines = [
        "# Twelve broken programs",
        "",
        "Made by `python benchmarks/broken_programs.py --peer torch=/path/to/python ... --markdown",
        "docs/broken_programs.md`; the programs are in `benchmarks/broken`.",
        "",
        *(line.strip() for line in (__doc__ or "").split("\n\n", 2)[2].splitlines()),
        "",
    ]
    for i, title in enumerate(("As they come", "With the best tools of each")):
        lines += [
            f"## {title}",
            "",
            f"| | {' | '.join(labels)} |",
            "| --- " * (len(labels) + 1) + "|",
        ]
        for name, shown in PROGRAMS.items():
            kinds = [
                found[label][i][name].kind if name in found[label][i] else "-" for label in labels
            ]
            lines.append(f"| {shown} | {' | '.join(kinds)} |")
        totals = [sum(POINTS[one.kind] for one in found[label][i].values()) for label in labels]
        lines += [
            f"| **of {len(PROGRAMS)}** | {' | '.join(f'**{one:g}**' for one in totals)} |",
            "",
        ]
    lines += ["## What they say", ""]
    for name, shown in PROGRAMS.items():
        lines += [f"### {shown}", ""]
        for label in labels:
            plain, helped = (found[label][i].get(name) for i in (0, 1))
            if plain is None or helped is None:
                continue
            lines.append(f"- **{label}**: {_told(plain)}")
            if helped != plain:
                lines.append(f"  - with tools: {_told(helped)}")
        lines.append("")
    return "\n".join(lines)


def _told(verdict: Verdict) -> str:
    said = verdict.said.replace("`", "'")
    return f"*{verdict.kind}*" + (f" `{said}`" if said else "")


if __name__ == "__main__":
    main()
