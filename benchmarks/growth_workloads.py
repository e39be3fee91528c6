"""How time, compile time and memory of the workloads grow with their size, for `growth.py`."""

from __future__ import annotations

import importlib.util
import inspect
import math
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

COMPARE = Path(__file__).resolve().parents[1] / "staticgraph" / "compare"
KINDS = {"staticgraph": "compiled", "jax": "jax"}
MEMORY, SECONDS = 16e9, 60.0
"""What a process may take: bytes, and seconds from its start to the last call."""
LONGEST_CALL = SECONDS / 4  # there are two at least, and what is before them
ENOUGH = 0.5  # seconds of calls

Report = Mapping[str, float]


def contender(name: str, workload: str, scale: float) -> tuple[Any, dict[str, Any]]:
    """Seconds of compiling, of a call, and by how many bytes the memory grew; there are no steps.

    It runs in the environment of a peer too, without the project: the harness is loaded by paths.
    """
    server = _module(COMPARE / "server.py")
    adapter = server.load_module(str(COMPARE / "adapters" / f"{KINDS[name]}.py"))
    model = server.load_module(str(COMPARE / "workloads" / f"{workload}.py"))
    task = {"mode": "", "peer": "" if name == "staticgraph" else name}
    library, _ = adapter.load(task)
    import numpy as np

    _limit_memory()
    arrays = model.data(np.random.default_rng(0), **sizes(model, scale))
    server.forget_peak()
    before = server.peak_memory()
    timed = server.Phases()
    run, _ = adapter.prepare(library, task, model, arrays, timed)
    with timed("first_call"):
        run()
    times: list[float] = []
    while sum(times) < ENOUGH:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    call, first = min(times), timed.seconds.pop("first_call")
    compiling = sum(timed.seconds.values())
    if "compile" not in timed.seconds:  # it is a part of the first call
        compiling += first - call
    return {"compile": compiling, "call": call, "memory": server.peak_memory() - before}, {}


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _limit_memory() -> None:
    """Let what would take more than it may fail, where the system can."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (int(MEMORY), int(MEMORY)))


def sizes(model: Any, scale: float) -> dict[str, int]:
    """The arguments of `data` and `needs` for a scale."""
    standard = inspect.signature(model.data).parameters[model.SCALED].default
    return {model.SCALED: max(1, round(standard * scale))}


def operations(model: Any, scale: float) -> float:
    """The floating-point operations that a workload needs at a scale."""
    return float(model.needs(**sizes(model, scale))[1])


def slope(first: float, second: float, scales: Sequence[float]) -> float:
    """By which power of the scale something grew from one scale to another."""
    return math.log(max(second, 1e-9) / max(first, 1e-9)) / math.log(scales[1] / scales[0])


def beyond(model: Any, found: Mapping[float, Report | str], scale: float) -> str:
    """Why a scale is not tried, after what was measured at smaller ones; empty if it is."""
    before = sorted(found)
    if not before:
        return ""
    last = found[before[-1]]
    if isinstance(last, str):
        return last
    factor = scale / before[-1]
    work = [operations(model, one) for one in (before[-1], scale)]
    asked = slope(*work, (before[-1], scale))
    steeper = {"call": asked, "memory": min(asked, 2.0)}
    if len(before) > 1:
        earlier = found[before[-2]]
        assert not isinstance(earlier, str)
        for what in steeper:
            seen = slope(earlier[what], last[what], before[-2:])
            steeper[what] = max(1.0, seen) if what == "memory" else max(asked, seen)
    if last["memory"] * factor ** steeper["memory"] > MEMORY:
        return f"over {MEMORY / 1e9:.0f} GB"
    return (
        f"over {SECONDS:.0f} s" if last["call"] * factor ** steeper["call"] > LONGEST_CALL else ""
    )


def measured(
    model: Any,
    scales: Sequence[float],
    names: Sequence[str],
    measure: Callable[[str, float], Report | str],
) -> dict[str, dict[float, Report | str]]:
    """What each contender takes at each scale, or why it was not measured."""
    found: dict[str, dict[float, Report | str]] = {name: {} for name in names}
    for scale in scales:
        for name in names:
            found[name][scale] = beyond(model, found[name], scale) or measure(name, scale)
    return found


def rows(
    workload: str, model: Any, found: Mapping[str, Mapping[float, Report | str]]
) -> list[list[str]]:
    """A row for each scale, and one of exponents from each scale to the next."""
    scales = sorted(next(iter(found.values())))
    made = []
    for scale in scales:
        cells = [workload, f"{next(iter(sizes(model, scale).values())):,} {model.SCALED}"]
        for one in found.values():
            report = one[scale]
            if isinstance(report, str):
                cells += [report, "", ""]
            else:
                figures = report["compile"], report["call"] * 1e3, report["memory"] / 1e6
                cells += [f"{figures[0]:.2f}", f"{figures[1]:.4g}", f"{figures[2]:,.0f}"]
        made.append(cells)
    asked = [slope(operations(model, a), operations(model, b), (a, b)) for a, b in pairwise(scales)]
    cells = ["", f"exponents; of operations {listed(asked)}"]
    for one in found.values():
        for what in ("compile", "call", "memory"):
            reports = {a: told for a in scales if not isinstance(told := one[a], str)}
            known = [(a, b) for a, b in pairwise(scales) if b in reports]
            grown = [slope(reports[a][what], reports[b][what], (a, b)) for a, b in known]
            cells.append(listed(grown))
    return [*made, cells]


def listed(exponents: Sequence[float]) -> str:
    """Exponents, one after the other."""
    return ", ".join(f"{round(one, 2) + 0.0:.2f}" for one in exponents)
