"""How time, compile time and memory grow: with the number of ops, and with the size of workloads.

    python benchmarks/growth.py --jax PATH/TO/PYTHON [NAME ...] [--ops 100 1000 10000]
        [--scales 1 10 100] [--json FILE] [--write docs/growth.md]

Graphs: each is defined and compiled in a process of its own, without a kernel cache: processor time
from the start of the definition to the first result, imports aside, the time of a call, and the
largest resident memory. A process that takes longer than `--limit` seconds is ended.

Workloads: those of `staticgraph compare` but `seed`, which has no size, at each scale in a process
of its own, without a kernel cache: seconds of definition and compilation; the least time of a call;
by how much the resident memory grew at its peak. JAX compiles in its first call, of which a second
one's time is subtracted. What would take over 16 GB or 60 s, by what the smaller scales took, is
not tried, and what needs more memory fails. Exponents are those of the scale, from each to the
next: 1 is in proportion. Values that no longer fit a cache, or pages of memory that a system gives
anew to each large result, make a step above 1 without more work.

The contenders run in turn. JAX lives in an environment of its own, whose interpreter `--jax` names.
What `--json` holds already is not measured again; NAME chooses graphs and workloads.
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ELEMENTS = 1000
CALLS = 5
UNITS = ("s", "ms", "MB")
OUT_OF_MEMORY = ("MemoryError", "RESOURCE_EXHAUSTED", "Unable to allocate")
SIZE_UNITS = ("compile s", "call ms", "MB")


def chain(np: Any, x: Any, ops: int) -> Any:
    """Elementwise ops one after the other, half of them sines."""
    for i in range(ops):
        x = np.sin(x) if i % 2 else x * 1.01
    return x


def sines(np: Any, x: Any, ops: int) -> Any:
    """A sum of so many sines of other frequencies: three ops each."""
    total = np.sin(x)
    for i in range(1, ops):
        total = total + np.sin(x * (1 + i / ops))
    return total


def arithmetic(np: Any, x: Any, ops: int) -> Any:
    """Additions and multiplications one after the other."""
    for i in range(ops):
        x = x + 0.001 if i % 2 else x * 1.0001
    return x


SHAPES: dict[str, tuple[Callable[[Any, Any, int], Any], bool]] = {
    "chain": (chain, False),
    "chain, gradient": (chain, True),
    "sum of sines": (sines, False),
    "arithmetic": (arithmetic, False),
}
"""Each graph, and whether its gradient is taken too."""


def with_staticgraph(shape: str, ops: int) -> Callable[[], Callable[[], float]]:
    """What defines and compiles a graph with staticgraph, and gives what runs it."""
    import numpy as np

    import staticgraph as sg

    function, is_differentiated = SHAPES[shape]

    def make() -> Callable[[], float]:
        x = sg.placeholder("x", (ELEMENTS,), "float64")
        outputs = [sg.sum(function(sg, x, ops))]
        if is_differentiated:
            outputs += sg.grad(outputs[0], [x])
        compiled, feed = sg.compile([x], outputs), np.linspace(0.0, 1.0, ELEMENTS)
        return lambda: float(compiled(feed)[-1].sum())

    return make


def with_jax(shape: str, ops: int) -> Callable[[], Callable[[], float]]:
    """The same with JAX's jit."""
    sys.setrecursionlimit(1_000_000)
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    function, is_differentiated = SHAPES[shape]

    def make() -> Callable[[], float]:
        def total(x: Any) -> Any:
            return function(jnp, x, ops).sum()

        compiled = jax.jit(jax.value_and_grad(total) if is_differentiated else total)
        feed = jnp.linspace(0.0, 1.0, ELEMENTS)
        return lambda: float((compiled(feed)[1] if is_differentiated else compiled(feed)).sum())

    return make


def contender(name: str, shape: str, ops: int) -> tuple[Any, dict[str, Any]]:
    """Seconds until the first result and of a call, bytes, and the result; there are no steps."""
    make = {"staticgraph": with_staticgraph, "jax": with_jax}[name](shape, ops)
    start = time.process_time()
    run = make()
    value = run()
    first = time.process_time() - start
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    unit = 1 if sys.platform == "darwin" else 1024
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return {"first": first, "call": min(times), "memory": memory, "value": value}, {}


def cells(report: Any, limit: float) -> list[str]:
    """What a table says of a contender; of None, that it took too long."""
    if report is None:
        return [f"over {limit:.0f}", "", ""]
    call, memory = report["call"] * 1e3, report["memory"] / 2**20
    return [f"{report['first']:.2f}", f"{call:.2f}", f"{memory:.0f}"]


def graphs(options: Any, interpreters: Mapping[str, str], kept: dict[str, Any]) -> list[list[str]]:
    """The rows of the table of graphs."""
    lines = []
    for shape, ops in itertools.product(chosen(SHAPES, options.names), options.ops):
        reports = []
        for name in interpreters:
            key = f"{shape}, {ops}, {name}"
            if key not in kept:
                one = run(options, interpreters, __file__, name, [name, shape, ops])
                kept[key] = None if isinstance(one, str) else one
                save(options)
            reports.append(kept[key])
        values = [one["value"] for one in reports if one is not None]
        if any(abs(value - values[0]) > 1e-6 * max(1.0, abs(values[0])) for value in values):
            sys.exit(f"{shape}, {ops}: the contenders give {values}")
        figures = (cell for one in reports for cell in cells(one, options.limit))
        lines.append([shape, f"{ops:,}", *figures])
    return lines


def workloads(
    options: Any, interpreters: Mapping[str, str], kept: dict[str, Any]
) -> list[list[str]]:
    """The rows of the table of workloads."""
    from benchmarks import growth_workloads
    from staticgraph.compare.workloads import WORKLOADS

    lines: list[list[str]] = []
    sized = [name for name, model in WORKLOADS.items() if "SCALED" in vars(model)]
    for workload in chosen(sized, options.names):

        def measure(name: str, scale: float, workload: str = workload) -> Any:
            key = f"{workload}, {scale:g}, {name}"
            if key not in kept:
                arguments = [name, workload, scale]
                script = growth_workloads.__file__
                kept[key] = run(options, interpreters, script, name, arguments)
                save(options)
            return kept[key]

        model = WORKLOADS[workload]
        found = growth_workloads.measured(model, options.scales, list(interpreters), measure)
        lines += growth_workloads.rows(workload, model, found)
    return lines


def chosen(known: Iterable[str], names: Sequence[str]) -> list[str]:
    """Those that are named; all if none is."""
    return [one for one in known if not names or one in names]


def run(
    options: Any, interpreters: Mapping[str, str], script: str, name: str, arguments: list[Any]
) -> Any:
    """What a contender reports; the reason if it fails."""
    from staticgraph.compare.process import ContenderError
    from staticgraph.compare.scripts import Entrant, running

    print(*arguments[1:], name, end="   \r", file=sys.stderr, flush=True)
    off = {"STATICGRAPH_CACHE": "0"}
    one = Entrant(name, arguments, interpreters[name], options.threads, variables=off)
    try:
        with running(script, [one], options.limit) as processes:
            return processes[name].report
    except ContenderError as error:
        print(*arguments, error, file=sys.stderr)
        return "out of memory" if any(one in str(error) for one in OUT_OF_MEMORY) else "failed"


def save(options: Any) -> None:
    """Keep what was measured."""
    if options.json:
        from staticgraph.compare.scripts import write_json

        write_json(options.json, options.kept)


def main() -> None:
    """The command line."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from staticgraph.compare.scripts import markdown, parser, show

    given = parser(__doc__)
    given.add_argument("names", nargs="*", metavar="NAME", help="graphs or workloads; all")
    given.add_argument("--jax", help="an interpreter whose environment has JAX")
    given.add_argument("--ops", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    given.add_argument("--scales", type=float, nargs="+", default=[1.0, 10.0, 100.0])
    given.add_argument("--threads", type=int, default=2)
    given.add_argument("--limit", type=float, default=120, help="seconds for each process")
    given.add_argument("--json", type=Path, help="where figures are kept, and looked for")
    given.add_argument("--write", type=Path, help="a page for the tables, in Markdown")
    options = given.parse_args()
    interpreters = {"staticgraph": sys.executable}
    if options.jax:
        interpreters["jax"] = options.jax
    there = options.json and options.json.exists()
    options.kept = (
        json.loads(options.json.read_text()) if there else {"graphs": {}, "workloads": {}}
    )
    sections = ""
    for title, first, second, units, table in (
        ("Graphs", "graph", "ops", UNITS, graphs),
        ("Workloads", "workload", "size", SIZE_UNITS, workloads),
    ):
        lines = table(options, interpreters, options.kept[title.lower()])
        heads = [first, second]
        heads += [f"{one} {unit}" for one in interpreters for unit in units]
        if lines:
            show(title, heads, lines)
        sections += f"\n## {title}\n\n{markdown(heads, lines)}"
    if options.write:
        from staticgraph.compare.machine import this_machine

        command = f"python benchmarks/growth.py --jax PATH/TO/PYTHON --write {options.write}"
        text = f"# Growth\n\n{__doc__}\nWritten by `{command}`, on {this_machine().processor}.\n"
        options.write.write_text(text + sections)


if __name__ == "__main__":
    main()
