"""The arithmetic of the comparison: medians, intervals, break-even, agreement, limits."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from staticgraph.compare import meter, outcome
from staticgraph.compare.agreement import Agreement, compare
from staticgraph.compare.figures import (
    Ahead,
    Interval,
    break_even,
    geometric_mean,
    median_interval,
)
from staticgraph.compare.process import Process
from staticgraph.compare.records import Limits, Measurement
from staticgraph.compare.report import numbers
from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.compiler.inspect import limits as limits_module, probe
from staticgraph.compiler.inspect.limits import bandwidth_at, bound, measure_limits, strongest
from tests.paths import ROOT

LIMITS = Limits(2, {2**20: 100e9, 2**22: 50e9}, {"float32": 200e9, "float64": 100e9}, 3e-7)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 9, 20, 101])
def test_the_interval_is_that_of_the_binomial_distribution(count: int) -> None:
    values = np.random.default_rng(count).permutation(count).astype(float)
    found = median_interval(values.tolist())
    rank = max(1, int(stats.binom.ppf(0.025, count, 0.5)))  # the first that is not too unlikely
    ordered = np.sort(values)
    assert (found.low, found.high) == (ordered[rank - 1], ordered[count - rank])
    missed = 2 * stats.binom.cdf(rank - 1, count, 0.5)
    assert found.confidence == pytest.approx(max(0, 1 - missed))
    assert found.confidence >= 0.95 or rank == 1
    assert found.low <= np.median(values) <= found.high


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(4000, 9))
    intervals = [median_interval(row.tolist()) for row in samples]
    covered = np.mean([i.low <= math.log(2) <= i.high for i in intervals])
    assert covered == pytest.approx(intervals[0].confidence, abs=0.015)  # 4 standard errors


def test_the_geometric_mean() -> None:
    values = [0.2, 1.7, 3.0]
    assert geometric_mean(values) == pytest.approx(stats.gmean(values))


@pytest.mark.parametrize(
    ("once", "call", "other_once", "other_call"),
    [(1.0, 0.01, 0.1, 0.2), (0.1, 0.01, 1.0, 0.2), (0.1, 0.25, 1.0, 0.125), (5.0, 0.25, 0.5, 0.25),
     (1.0, 0.5, 2.0, 0.5), (2.0, 0.5, 1.0, 0.25), (1.0, 0.25, 1.0, 0.5), (0.25, 0.25, 0.5, 0.125)],
)  # fmt: skip
def test_break_even_against_counting(
    once: float, call: float, other_once: float, other_call: float
) -> None:
    n = np.arange(1, 1000)
    ahead = n[once + (n - 1) * call <= other_once + (n - 1) * other_call]
    found = break_even(once, call, other_once, other_call)
    assert found.first == (None if ahead.size == 0 else ahead[0])
    assert found.last == (None if ahead.size == 0 or ahead[-1] == n[-1] else ahead[-1])


def _results(**arrays: Any) -> dict[str, list[Any]]:
    return {name: [np.float32(1.0), np.asarray(array)] for name, array in arrays.items()}


def test_one_wrong_among_three_is_found() -> None:
    right = np.linspace(-1, 1, 7, dtype=np.float32)
    wrong = right.copy()
    wrong[3] += 2e-4
    found = compare(_results(a=right, b=right, c=wrong), (), "float32", 10)
    assert found["a"] == found["b"] == Agreement(0.0, True)
    assert found["c"] == Agreement(pytest.approx(2e-4, rel=1e-3), False)
    nearly = right + np.float32(5e-5)
    assert compare(_results(a=right, b=right, c=nearly), (), "float32", 10)["c"].agrees


def test_of_two_that_differ_both_disagree() -> None:
    found = compare(_results(a=[1.0, 2.0], b=[1.0, 2.1]), (), "float64", 10)
    assert not found["a"].agrees
    assert not found["b"].agrees


def test_of_parameters_the_change_is_compared() -> None:
    before = np.full(4, 10.0)
    results = _results(a=before + 1e-3, b=before + 1e-3, c=before + 2e-3)
    found = compare(results, [before], "float64", 10)
    assert found["c"] == Agreement(pytest.approx(1.0), False)
    tolerated = _results(a=before + 1e-3, b=before + 1e-3, c=before + 1e-3 + 9e-7)
    assert not compare(tolerated, [before], "float64", 10)["c"].agrees
    assert compare(tolerated, [before], "float32", 10)["c"].agrees  # ten roundings of 10


@pytest.mark.parametrize("other", [[1.0, np.nan], [1.0, np.inf], [1.0], [[1.0, 2.0]]])
def test_what_is_not_finite_or_has_another_shape_disagrees(other: Any) -> None:
    found = compare(_results(a=[1.0, 2.0], b=[1.0, 2.0], c=other), (), "float32", 10)
    assert found == {"a": Agreement(0, True), "b": Agreement(0, True), "c": Agreement(None, False)}


def test_a_missing_array_disagrees() -> None:
    results = _results(a=[1.0], b=[1.0])
    results["b"].pop()
    assert not compare(results, (), "float32", 10)["b"].agrees
    assert compare({}, (), "float32", 10) == {}


def test_a_step_of_any_size_counts_by_its_share_of_all_where_gradients_are_normalised() -> None:
    before, right = np.zeros(1000), np.full(1000, 1e-3)
    other = right.copy()
    other[0] = -1e-3  # its gradient was nearly zero
    results = {"a": [1.0, right], "b": [1.0, right], "c": [1.0, other]}
    found = compare(results, [before], "float32", 1, normalised=True)
    assert found["c"] == Agreement(pytest.approx(2e-3), False)
    other[0] = 0.95e-3
    assert compare(results, [before], "float32", 1, normalised=True)["c"].agrees
    assert not compare(results, [before], "float32", 1)["c"].agrees
    assert not compare(results, (), "float32", 1, normalised=True)["c"].agrees


def test_the_limit_is_the_slowest_of_three() -> None:
    memory = bound(LIMITS, 4_000_000_000, 1000, "float32")
    assert (memory.by, memory.seconds) == ("memory", pytest.approx(4 / 50))
    arithmetic = bound(LIMITS, 1000, 400_000_000_000, "float64")
    assert (arithmetic.by, arithmetic.seconds) == ("arithmetic", pytest.approx(4))
    assert bound(LIMITS, 20, 40, "float32").by == "call"


def test_the_bandwidth_is_interpolated_between_sizes() -> None:
    assert bandwidth_at(LIMITS, 1000) == 100e9
    assert bandwidth_at(LIMITS, 2**21) == pytest.approx(75e9)
    assert bandwidth_at(LIMITS, 2**30) == 50e9


def test_the_strongest_limits_are_the_best_of_each() -> None:
    other = Limits(1, {2**20: 50e9, 2**22: 60e9}, {"float32": 90e9, "float64": 101e9}, 2e-7)
    assert strongest([LIMITS, other]) == Limits(
        2, {2**20: 100e9, 2**22: 60e9}, {"float32": 200e9, "float64": 101e9}, 2e-7
    )
    assert strongest([]) is None


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    script = tmp_path / "probe.py"
    script.write_text("raise MemoryError('no room')")
    monkeypatch.setattr(limits_module, "PROBE", script)
    with pytest.raises(StaticGraphError, match="the machine's limits: MemoryError: no room"):
        measure_limits(1, 0.01)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_limits_are_measured(
    threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    script = tmp_path / "small_probe.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from staticgraph.compiler.inspect import probe\n"
        "probe.SIZES, probe.WIDTHS, probe.CALLS = (2**16, 2**18), (64,), 10\n"
        "probe.main()\n"
    )
    monkeypatch.setattr(limits_module, "PROBE", script)
    found = measure_limits(threads, 0.001)
    assert found.threads == threads
    assert list(found.bandwidth) == [2**16, 2**18]
    assert all(1e6 < rate < 1e13 for rate in found.bandwidth.values())
    assert list(found.flops) == ["float32", "float64"]
    assert all(1e6 < rate < 1e13 for rate in found.flops.values())
    assert 1e-8 < found.call < 1e-2


SMALL = """
import sys
sys.path.insert(0, {root!r})
from staticgraph.compiler.inspect import probe
probe.SIZES, probe.WIDTHS, probe.CALLS = (2**16, 2**18), (64,), 10
contender = probe.contender
"""


@pytest.fixture
def small_probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """A probe that takes milliseconds."""
    script = tmp_path / "small.py"
    script.write_text(SMALL.format(root=str(ROOT)))
    monkeypatch.setattr(meter, "PROBE", script)


@pytest.mark.usefixtures("small_probe")
def test_the_best_of_all_measurements_is_the_limit() -> None:
    with meter.Meter([2, 1, 1]) as metered:
        assert metered.limits() == []
        found = []
        for need in (None, meter.Need(2**16, {"float32": 1}), None):
            metered.measure(0.001, need)
            found.append(metered.limits())
    assert [one.threads for one in found[0]] == [1, 2]
    for before, after in itertools.pairwise(found):
        assert [strongest([a, b]) for a, b in zip(before, after, strict=True)] == after
    assert all(one.call > 0 for one in found[0])


@pytest.mark.usefixtures("small_probe")
def test_what_is_known_is_not_measured_anew_where_only_the_rest_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, steps = Process.ask, list[str]()

    def noted(process: Process, **order: Any) -> dict[str, Any]:
        steps.append(order["step"])
        return asked(process, **order)

    monkeypatch.setattr(Process, "ask", noted)
    with meter.Meter([1]) as metered:
        metered.measure(0.001, meter.Need(2**16, {"float32": 1}), new=True)
        first = {*steps}
        metered.measure(0.001, meter.Need(2**16, {"float32": 1}), new=True)
        assert {*steps} == first
        steps.clear()
        metered.measure(0.001, meter.Need(2**16, {"float64": 1}), new=True)
    assert steps
    assert first.isdisjoint(steps)


@pytest.mark.usefixtures("small_probe")
def test_of_a_measurement_that_is_interrupted_nothing_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C in the middle of the first one: there are no limits, and no half of them."""
    need = meter.Need(2**16, {"float32": 1})
    asked = Process.ask

    def interrupted(process: Process, **order: Any) -> dict[str, Any]:
        if order["step"] == process.report[-1][0]:  # the call, which the limits cannot do without
            raise KeyboardInterrupt
        return asked(process, **order)

    with meter.Meter([1, 2]) as metered:
        monkeypatch.setattr(Process, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            metered.measure(0.001, need)
        assert metered.limits() == []
        assert metered.least(need) is None
        monkeypatch.undo()
        metered.measure(0.001, need)
        assert metered.least(need) is not None
        assert metered.least(meter.Need(2**16, {"float64": 1})) is None  # nobody has asked for it


@pytest.mark.usefixtures("small_probe")
def test_a_limit_that_was_exceeded_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that was busy when the limits were measured, and is not any more."""
    monkeypatch.setattr(meter, "RETRY_SECONDS", 0.001)
    with meter.Meter([1]) as metered:
        metered.measure(0.001)
        metered._best[1]["flops", "float64"] = 1.0  # an operation a second
        need = meter.Need(1, {"float64": 10**6})
        least = metered.least(need)
        assert least is not None
        assert (least.by, least.seconds) == ("arithmetic", 1e6)
        assert metered.until(lambda: 0.5, need)
        assert metered.least(need).seconds <= 0.5
        assert not metered.until(lambda: 0.0, need)  # tried so often, then reported


def test_a_meter_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    script = tmp_path / "probe.py"
    script.write_text("raise MemoryError('no room')")
    monkeypatch.setattr(meter, "PROBE", script)
    with pytest.raises(StaticGraphError, match="the machine's limits: MemoryError: no room"):
        meter.Meter([1]).__enter__()


def test_what_is_measured_again_is_what_the_bandwidth_is_interpolated_from() -> None:
    sizes = probe.SIZES
    for near in (1, 2**14, 2**15, 2**20, 3 * 2**20, 2**28, 2**33):
        rates = dict.fromkeys(sizes, 1e9)
        for size in sizes:
            if meter._beside(size, near):
                rates[size] = 5e9
        assert bandwidth_at(Limits(1, rates, {}, 0.0), near) == pytest.approx(5e9)


def test_the_probe_times_the_shortest_call() -> None:
    calls = []
    assert 0 < probe.shortest(lambda: calls.append(1), 0) < 1
    assert len(calls) == 4  # one to warm up


def test_starts_are_medians_and_once_adds_the_stages() -> None:
    processes = [
        {"process": p, "import": 0.5, "build": b, "compile": 1.0, "first_call": 0.25}
        for p, b in [(3.0, 0.5), (2.0, 0.25), (9.0, 8.0)]
    ]
    found = outcome.start(processes)
    assert found is not None
    assert (found.process, found.build, found.passes, found.compile) == (3.0, 0.5, None, 1.0)
    assert (found.once, found.imports, found.processes) == (1.75, 0.5, 3)
    assert outcome.start([]) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5e-7, "250 ns"), (9.999e-7, "1.00 µs"), (1.234e-5, "12.3 µs"), (0.1004, "100 ms"),
     (0.9996, "1.00 s"), (1234.0, "1,234 s"), (None, "-")],
)  # fmt: skip
def test_times_have_three_digits(seconds: float | None, text: str) -> None:
    assert numbers.duration(seconds) == text


def test_break_even_intervals_and_shares_as_text() -> None:
    assert numbers.calls(None) == "-"
    assert numbers.calls(Ahead(None)) == "never"
    assert numbers.calls(Ahead(12345)) == "12,345"
    assert numbers.calls(Ahead(1, 7)) == "1 to 7"
    assert numbers.interval(Interval(1.5e-6, 2e-6, 0.95)) == "1.50 – 2.00 µs"
    assert numbers.interval(Interval(1.5e-7, 2e-6, 0.95)) == "150 ns – 2.00 µs"
    assert numbers.share(0.834) == "83 %"
    assert numbers.megabytes(2_500_000) == "2.5 MB"
    assert numbers.difference(Measurement("a", 1)) == "-"
    assert numbers.difference(Measurement("a", 1, difference=1e-7, agrees=True)) == "1e-07"
    assert numbers.difference(Measurement("a", 1, difference=None, agrees=False)) == "MISMATCH"
