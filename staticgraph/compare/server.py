"""One contender in a process of its own, driven by lines of JSON: `python server.py TASK`.

It runs in the peers' environments too, so it imports nothing of the project and loads the adapter
and the workload by their paths. The task names them, the arrays (files of NumPy), the threads, the
mode and the learning rate. Lines that it writes:

    {"ready": version}                                  when the first result is there
    {"phases": {phase: seconds}}                        import, build, compile, first_call, ...
    {"failure": text}                                   instead of either; the process then ends

and answers to lines that it reads:

    {"do": "check", "calls": n, "into": folder}      -> {"arrays": how many, "memory": bytes}
    {"do": "measure", "seconds": s}                  -> {"median": s, "minimum": s, "calls": n}
    {"do": "profile"}                                -> {"steps": [[ops, seconds], ...]}

A task that names a script and arguments asks for what its function `contender` gives: a report,
which stands beside "ready", and steps, of which an order to measure names one (`scripts.py`). A
step that is no measurement is run by another order:

    {"do": "run", "step": name, "arguments": [...]}  -> {"answer": what it returns}
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

BATCH_SECONDS = 1e-4  # calls that are shorter are timed together
FEWEST_SAMPLES = 3
WARM_UP = 0.1  # of the seconds of a measurement


def load_module(path: str) -> Any:
    """The module in a file, under a name that no framework has; torch.compile imports by it."""
    name = "compared_" + os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Phases:
    """The seconds of each phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what happens inside the block."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def forget_peak() -> None:
    """Let the peak of the resident memory be what is resident now, where the system can."""
    try:
        with open("/proc/self/clear_refs", "w") as control:
            control.write("5")  # proc(5): reset the peak resident set size
    except OSError:
        return


def peak_memory() -> int:
    """The largest resident memory so far, in bytes."""
    try:
        with open("/proc/self/status") as status:
            (line,) = (line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes


def sample(run: Callable[[], object], seconds: float) -> dict[str, float]:
    """Median and minimum of the seconds of a call; short calls are timed in batches."""
    end = time.perf_counter() + WARM_UP * seconds
    calls, shortest = 0, float("inf")
    while time.perf_counter() < end or calls < 2:
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
        calls += 1
    batch = max(1, round(BATCH_SECONDS / shortest))
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < FEWEST_SAMPLES:
        start = time.perf_counter()
        for _ in range(batch):
            run()
        times.append((time.perf_counter() - start) / batch)
    times.sort()
    middle = len(times) // 2
    median = times[middle] if len(times) % 2 else (times[middle - 1] + times[middle]) / 2
    return {"median": median, "minimum": times[0], "calls": batch * len(times)}


def check(
    run: Callable[[], object], results: Callable[[], list[Any]], calls: int, into: str
) -> dict[str, int]:
    """Run on until as many calls are done, the first included, and store the last's results."""
    import numpy as np

    for _ in range(calls - 2):
        run()
    memory = peak_memory()
    arrays = results()
    for i, array in enumerate(arrays):
        np.save(os.path.join(into, f"{i}.npy"), np.asarray(array))
    return {"arrays": len(arrays), "memory": memory}


def serve(task: Mapping[str, Any], reply: Callable[[Mapping[str, Any]], None]) -> None:
    """Set the contender up, then answer one line after the other until there are no more."""
    if task["path"] and task["path"] not in sys.path:
        sys.path.insert(0, task["path"])
    if "script" in task:
        serve_script(task, reply)
        return
    timed = Phases()
    with timed("import"):
        adapter = load_module(task["adapter"])
        library, version = adapter.load(task)
        import numpy as np
    model = load_module(task["workload"])
    version_of = f"{task['peer']}_loss"
    if task["peer"] and not hasattr(model, version_of):
        reply({"failure": f"the workload has no version for it ({version_of})"})
        return
    arrays = {name: np.load(path) for name, path in task["arrays"].items()}
    forget_peak()
    before = peak_memory()
    run, results = adapter.prepare(library, task, model, arrays, timed)
    with timed("first_call"):
        run()
    reply({"ready": version})
    if hasattr(adapter, "passes"):
        timed.seconds["passes"] = adapter.passes(run)
        timed.seconds["compile"] = max(0.0, timed.seconds["compile"] - timed.seconds["passes"])
    reply({"phases": timed.seconds})
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "check":
            answer = check(run, results, order["calls"], order["into"])
            reply(answer | {"memory": answer["memory"] - before})
        elif order["do"] == "profile":
            reply({"steps": adapter.profile(run) if hasattr(adapter, "profile") else []})
        else:
            reply(sample(run, order["seconds"]))


def serve_script(task: Mapping[str, Any], reply: Callable[[Mapping[str, Any]], None]) -> None:
    """Set up what a script measures, then measure the steps that are asked for."""
    report, steps = load_module(task["script"]).contender(*task["arguments"])
    reply({"ready": "", "report": report})
    reply({"phases": {}})
    for line in sys.stdin:
        order = json.loads(line)
        step = steps[order["step"]]
        if order["do"] == "run":
            reply({"answer": step(*order["arguments"])})
        else:
            reply(sample(step, order["seconds"]))


def main() -> None:
    """Keep standard output for the answers, whatever a framework prints there."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(answer: Mapping[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        serve(json.loads(sys.argv[1]), reply)
    except Exception as error:
        notes = getattr(error, "__notes__", ())  # JAX's, below a line, is of frames that it hides
        lines = [str(error), *(one for one in notes if not one.startswith("-----"))]
        reply({"failure": f"{type(error).__name__}: {'; '.join(lines)}"})


if __name__ == "__main__":
    main()
