"""The results page and the summary, from records made by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from staticgraph.compare.figures import Ahead, Interval
from staticgraph.compare.records import (
    Machine,
    Measurement,
    Outcome,
    Report,
    Settings,
    Start,
    Steady,
    Step,
)
from staticgraph.compare.report import numbers
from staticgraph.compare.report.markdown import markdown
from staticgraph.compare.report.plot import save_plot
from staticgraph.compare.report.table import print_limits, print_outcome, print_summary
from staticgraph.compare.server import load_module
from staticgraph.compiler.inspect.limits import Limits


def _steady(median: float, minimum: float) -> Steady:
    return Steady(median, Interval(median, median, 0.95), minimum, (median,), 10)


START = Start(1.5, 0.5, 0.125, 0.25, 0.5, 0.0625, 0.9375, 3)
OURS = Measurement(
    "compiled", 2, "0.1", cold=START, warm=replace(START, process=0.25), steady=_steady(1e-3, 9e-4),
    memory=3_000_000, difference=1e-7, agrees=True, fraction=0.5, best=True,
    steps=(
        Step(("matmul",), 3e-4), Step(("exp", "sum", "exp"), 5e-4), Step(("matmul",), 3e-4),
        Step(("a",), 4e-5), Step(("b",), 3e-5), Step(("c",), 2e-5), Step(("d",), 1e-5),
    ),
)  # fmt: skip
EAGER = replace(
    OURS, contender="eager", warm=None, steady=_steady(4e-3, 4e-3), ahead=Ahead(77),
    ahead_warm=Ahead(3),
)  # fmt: skip
TORCH = replace(EAGER, contender="torch", steady=_steady(2e-3, 1e-3), threads=1)
TORCH_TWO = replace(TORCH, steady=_steady(3e-3, 5e-4), threads=2, best=False)
LOST = Measurement("jax", 0, failure="not installed")
OUTCOME = Outcome(
    "work", "some work", 100, 200, 5e-4, "memory", 1e-4, (OURS, EAGER, TORCH, TORCH_TWO, LOST)
)
REPORT = Report(
    date="2026-01-01",
    complete=True,
    machine=Machine("a processor", 2, {"L1 data": "32K"}, 8_000_000, "Linux", {"python": "3.11"}),
    settings=Settings(2, 0.5, 9, 3, ("OMP_NUM_THREADS",)),
    limits=(Limits(2, {2**20: 5e10}, {"float32": 1e11}, 2.5e-7),),
    outcomes=(OUTCOME,),
)


def test_the_ratio_is_to_the_fastest_peer() -> None:
    assert numbers.against_best_peer(OUTCOME) == (pytest.approx(0.5), "torch")
    by_minimum = numbers.against_best_peer(OUTCOME, numbers.minimum_of)
    assert by_minimum == (pytest.approx(1.8), "torch")
    assert numbers.means([OUTCOME]) == (
        "compiled / best peer, geometric mean: 0.50 by medians, 1.80 by minima"
    )
    alone = replace(OUTCOME, measurements=(OURS, EAGER))
    assert numbers.means([alone]) is None
    assert numbers.ratio(alone) == "-"


def test_the_better_number_of_threads_is_shown_unless_the_other_is_wrong() -> None:
    assert numbers.shown(OUTCOME) == [OURS, EAGER, TORCH, LOST]
    wrong = replace(TORCH_TWO, agrees=False)
    shown = numbers.shown(replace(OUTCOME, measurements=(OURS, TORCH, wrong)))
    assert shown == [OURS, wrong]


def test_the_page_has_every_figure() -> None:
    page = markdown(REPORT, "plot.svg")
    for text in (
        "Ours have 2 threads", "9 rounds of 0.5 s", "![time against the limit](plot.svg)",
        "| processor | a processor, 2 cores |", "50 GB/s over 1 MiB; 100 GFLOP/s float32",
        "| **work**: some work | 1.00 ms (2) | 4.00 ms (2) | 2.00 ms (1) | - | 500 µs (memory) "
        "| 50 % | 0.50 (torch) | 1.80 (torch) |",
        "| work | 1.50 s (250 ms) | 1.50 s | 1.50 s | - |",
        "| work | 500 ms | 125 ms | 250 ms | 500 ms | 62.5 ms |",
        "| work | 77 (3) | 77 (3) | - |",
        "| work | 3.0 MB | 3.0 MB | 3.0 MB | - |",
        "- work, jax: not installed",
    ):  # fmt: skip
        assert text in page
    assert "interrupted" not in page


def test_the_longest_steps_are_shown_those_of_the_same_ops_together() -> None:
    page = markdown(REPORT, None)
    assert "| work | 50 % matmul; 42 % exp, sum; 3 % a; 2 % b; 2 % c |" in page
    without = replace(OUTCOME, measurements=(replace(OURS, steps=()), TORCH))
    assert "matmul;" not in markdown(replace(REPORT, outcomes=(without,)), None)


def test_a_page_says_what_is_wrong_with_it() -> None:
    wrong = replace(OUTCOME, measurements=(replace(OURS, agrees=False), EAGER))
    page = markdown(replace(REPORT, complete=False, outcomes=(wrong,)), None)
    assert "The run was interrupted" in page
    assert "1.00 ms (2) **wrong result**" in page
    assert "Not measured" not in page
    assert "![" not in page


def test_the_tables_in_the_terminal() -> None:
    console = Console(width=160, record=True)
    print_outcome(console, OUTCOME)
    print_summary(console, REPORT)
    print_limits(console, REPORT.limits[0])
    printed = console.export_text()
    assert "work: some work (limit 500 µs, by memory)" in printed
    assert "jax: not installed" in printed
    assert "0.50 (torch)" in printed
    assert "limits, 2 threads: 50 GB/s at 1 MiB; 100 GFLOP/s float32; a native call 250" in printed
    rows = [line.split() for line in printed.splitlines() if line.startswith("eager")]
    assert "77" in rows[0]
    assert "1.50" in rows[1]


@pytest.mark.slow
def test_the_same_report_is_drawn_the_same(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_plot(REPORT, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "work" in (tmp_path / "a.svg").read_text()
    save_plot(replace(REPORT, outcomes=()), tmp_path / "empty.svg")


def test_a_module_that_is_loaded_by_path_can_be_imported_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "torch.py"
    path.write_text("VALUE = 3")
    module = load_module(str(path))
    try:
        assert sys.modules[module.__name__] is module
        assert module.__name__ != "torch"
    finally:
        del sys.modules[module.__name__]
