"""The eager engine against PyTorch's: small and large ops, layers and training steps.

    python benchmarks/eager.py --torch PATH/TO/PYTHON [WORKLOAD ...] [--rounds 7] [--seconds 0.2]
        [--threads 2] [--before PATH/TO/CHECKOUT] [--json FILE [--page docs/eager_speed.md]]

Both run the same code, `import dynamic as torch` or `import torch` (`eager_workloads`), with the
same number of threads. PyTorch lives in an environment of its own, whose interpreter `--torch`
names. Every contender has a process of its own; for each workload they are measured in turn, so
that noise hits all. Printed are the minimum and the median of the rounds' medians, and both as
ratios to PyTorch's, with the limit that the project sets itself for the minima: medians tell what
else ran on the machine. `--json` adds to what a file has of earlier runs, of which every
contender's best figures stay, and `--page` writes the tables of it all into a page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""What is kept of a workload: its class, the figures of all contenders, and the ratios."""

LIMITS = {
    "single ops": 0.7, "small graphs": 0.7, "training steps of small models": 0.8,
    "large arrays": 1.0, "whole models": 1.0,
}  # fmt: skip
"""What kinds of workloads there are, and the part of PyTorch's time that each may take."""


def kinds_of(torch: Any) -> Iterator[tuple[str, dict[str, Callable[[], Any]]]]:
    """Every workload by its kind."""
    from benchmarks.eager_workloads import large, models, small, training

    yield "single ops", small.single_ops(torch)
    yield "small graphs", small.small_graphs(torch)
    yield "training steps of small models", training.small_steps(torch)
    for part in (large.elementwise, large.reductions, large.rearranged, large.products):
        yield "large arrays", part(torch)
    yield "large arrays", models.convolutions(torch)
    yield "large arrays", large.recurrent(torch)
    yield "whole models", training.large_steps(torch) | models.whole_models(torch)


def contender(name: str, threads: int, wanted: list[str]) -> tuple[Any, dict[str, Any]]:
    """Kind and value of each workload that is wanted, and the workloads."""
    if name == "torch":
        import torch

        torch.set_num_threads(threads)
        version = torch.__version__
    else:
        import dynamic as torch

        version = ""
    made = {}
    kinds: dict[str, Any] = {}
    for kind, makers in kinds_of(torch):
        for workload, maker in makers.items():
            if not wanted or any(part in workload or part in kind for part in wanted):
                made[workload] = step = maker()
                kinds[workload] = [kind, float(step().sum().item())]
    return {"version": version, "workloads": kinds}, made


def agreed(reports: Mapping[str, Any]) -> dict[str, str]:
    """The kind of each workload, whose values are the same for all contenders."""
    ours, *others = (report["workloads"] for report in reports.values())
    for name, (_, mine) in ours.items():
        for other in others:
            theirs = other[name][1]
            if not abs(mine - theirs) <= 2e-3 * max(1.0, abs(theirs)):
                sys.exit(f"{name}: {mine} and {theirs} differ: not the same computation")
    return {name: kind for name, (kind, _) in ours.items()}


def measured(kind: str, times: Mapping[str, Any], before: Record | None) -> Record:
    """What is kept of a workload: of several runs each contender's best, minimum and median."""
    best = {label: [one.minimum, one.median] for label, one in times.items()}
    for label, known in (before or {"times": {}})["times"].items():
        if label in best:
            best[label] = [min(pair) for pair in zip(best[label], known, strict=True)]
    first, *_, last = best.values()
    ratios = [one / other for one, other in zip(first, last, strict=True)]
    return {"kind": kind, "times": best, "ratios": ratios}


def row(name: str, record: Record) -> list[str]:
    """A line of the table."""
    by_minimum, by_median = record["ratios"]
    limit = LIMITS[record["kind"]]
    figures = [f"{a * 1e6:,.1f} ({b * 1e6:,.1f})" for a, b in record["times"].values()]
    ratio = f"{by_minimum:.2f} ({by_median:.2f})"
    return [name, *figures, ratio, f"{limit:.1f}{'' if by_minimum <= limit else ' missed'}"]


def summary(kind: str, records: list[Record]) -> list[str]:
    """A line for a kind: how many there are, how many keep the limit, the mean of the ratios."""
    ratios = [record["ratios"][0] for record in records]
    mean = 1.0
    for ratio in ratios:
        mean *= ratio ** (1 / len(ratios))
    kept = sum(ratio <= LIMITS[kind] for ratio in ratios)
    return [kind, f"{LIMITS[kind]:.1f}", f"{kept} of {len(ratios)}", f"{mean:.2f}"]


def write_page(page: Path, records: Mapping[str, Record]) -> None:
    """Write the tables between the page's marks; all else stays."""
    from staticgraph.compare.scripts import markdown

    kinds = list(LIMITS)
    ordered = sorted(records.items(), key=lambda item: kinds.index(item[1]["kind"]))
    parts = {
        kind: dict(group) for kind, group in groupby(ordered, key=lambda item: item[1]["kind"])
    }
    heads = ["", "limit", "within it", "geometric mean"]
    rows = [summary(kind, list(part.values())) for kind, part in parts.items()]
    text = markdown(heads, rows)
    for kind, part in parts.items():
        labels = list(next(iter(part.values()))["times"])
        lines = [row(name, record) for name, record in part.items()]
        table = markdown([f"{kind}, µs", *labels, "ratio", "limit"], lines)
        text += f"\n{table}"
    before = page.read_text(encoding="utf-8")
    marks = re.compile(r"(<!-- tables -->\n).*(<!-- end of tables -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", before), "utf-8")


def main() -> None:
    """The command line."""
    from staticgraph.compare.scripts import ROOT, Entrant, parser, raced, running, show

    given = parser(__doc__, rounds=7, seconds=0.2)
    given.add_argument("workloads", nargs="*", help="parts of names or kinds; all if none is given")
    given.add_argument("--torch", help="an interpreter whose environment has PyTorch")
    given.add_argument("--before", type=Path, help="another checkout, measured too")
    given.add_argument("--threads", type=int, default=2)
    given.add_argument("--json", type=Path, help="a file of what was measured, which is added to")
    given.add_argument("--page", type=Path, help="a page whose tables are written")
    options = given.parse_args()
    threads = options.threads
    arguments = [threads, options.workloads]
    tried = [Entrant("dynamic", ["dynamic", *arguments], threads=threads)]
    if options.before:
        tried.append(
            Entrant("before", ["dynamic", *arguments], threads=threads, root=options.before)
        )
    if options.torch:
        tried.append(Entrant("PyTorch", ["torch", *arguments], options.torch, threads, ROOT))
    kept: dict[str, Record] = {}
    if options.json and options.json.exists():
        kept = json.loads(options.json.read_text(encoding="utf-8"))
    records: dict[str, Record] = {}
    with running(__file__, tried) as processes:
        kinds = agreed({label: process.report for label, process in processes.items()})
        for name, times in raced(processes, list(kinds), options.rounds, options.seconds):
            records[name] = measured(kinds[name], times, kept.get(name))
    heads = ["", *(one.label for one in tried), "ratio", "limit"]
    show("µs: minima (medians)", heads, [row(name, record) for name, record in records.items()])
    if options.json:
        records = kept | records
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    if options.page:
        write_page(options.page, records)


if __name__ == "__main__":
    main()
