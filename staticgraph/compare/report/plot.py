"""The times against the limits, drawn."""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from staticgraph.compare.kinds import COMPILED
from staticgraph.compare.records import Report
from staticgraph.compare.report import numbers

MARKERS = "oDs^vPX*"


def save_plot(report: Report, path: Path) -> None:
    """A row per workload and a mark per contender: how many times the limit a call takes."""
    outcomes = [outcome for outcome in report.outcomes if outcome.limit is not None]
    kinds = list(dict.fromkeys(one.contender for o in outcomes for one in o.measurements))
    figure = Figure(figsize=(9, 1.6 + 0.5 * len(outcomes)), layout="constrained")
    axes = figure.add_subplot()
    for i, kind in enumerate(kinds):
        points = [
            (median / outcome.limit, row)
            for row, outcome in enumerate(outcomes)
            if (median := numbers.median_of(outcome, kind)) is not None and outcome.limit
        ]
        if points:
            ours = kind == COMPILED
            axes.scatter(
                [times for times, _ in points], [row for _, row in points],
                label=kind, marker=MARKERS[i % len(MARKERS)], s=70 if ours else 40,
                zorder=3 if ours else 2, alpha=1.0 if ours else 0.7,
            )  # fmt: skip
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("median time of a call / the machine's limit")
    axes.set_yticks(range(len(outcomes)), [outcome.workload for outcome in outcomes])
    axes.invert_yaxis()
    axes.grid(axis="both", linewidth=0.4, alpha=0.6)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside upper center", ncols=len(kinds), frameon=False)
    # the same report gives the same file
    with matplotlib.rc_context({"svg.hashsalt": "staticgraph", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
