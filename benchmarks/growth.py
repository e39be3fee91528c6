"""How compile time and memory grow with the number of ops, against JAX's jit.

    python benchmarks/growth.py --jax PATH/TO/PYTHON [--ops 100 1000 10000] [--write docs/growth.md]

Each graph is defined and compiled in a process of its own, without a kernel cache: processor time
from the start of the definition to the first result, imports aside, the time of a call, and the
largest resident memory. The contenders run in turn. JAX lives in an environment of its own, whose
interpreter `--jax` names. A process that takes longer than `--limit` seconds is ended.
"""

from __future__ import annotations

import itertools
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ELEMENTS = 1000
CALLS = 5
UNITS = ("s", "ms", "MB")


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


def main() -> None:
    """The command line."""
    from staticgraph.compare.process import ContenderError
    from staticgraph.compare.scripts import Entrant, markdown, parser, running, show

    given = parser(__doc__)
    given.add_argument("--jax", help="an interpreter whose environment has JAX")
    given.add_argument("--ops", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    given.add_argument("--limit", type=float, default=300, help="seconds for each process")
    given.add_argument("--write", type=Path, help="a page for the table, in Markdown")
    options = given.parse_args()
    interpreters = {"staticgraph": sys.executable}
    if options.jax:
        interpreters["jax"] = options.jax

    def measured(name: str, shape: str, ops: int) -> Any:
        print(f"{shape}, {ops}: {name}", end="   \r", file=sys.stderr, flush=True)
        off = {"STATICGRAPH_CACHE": "0"}
        one = Entrant(name, [name, shape, ops], interpreters[name], variables=off)
        try:
            with running(__file__, [one], options.limit) as processes:
                return processes[name].report
        except ContenderError as error:
            print(f"{shape}, {ops}: {name}: {error}", file=sys.stderr)
            return None

    lines = []
    for shape, ops in itertools.product(SHAPES, options.ops):
        reports = [measured(name, shape, ops) for name in interpreters]
        values = [one["value"] for one in reports if one is not None]
        if any(abs(value - values[0]) > 1e-6 * max(1.0, abs(values[0])) for value in values):
            sys.exit(f"{shape}, {ops}: the contenders give {values}")
        figures = (cell for one in reports for cell in cells(one, options.limit))
        lines.append([shape, f"{ops:,}", *figures])
    heads = ["graph", "ops", *(f"{one} {unit}" for one in interpreters for unit in UNITS)]
    show("s until the first result, ms per call, largest memory in MB", heads, lines)
    if options.write:
        command = "python benchmarks/growth.py --jax PATH/TO/PYTHON"
        command += f" --limit {options.limit:.0f} --write {options.write}"
        text = f"# Growth\n\n{__doc__}\nWritten by `{command}`.\n\n{markdown(heads, lines)}"
        options.write.write_text(text)


if __name__ == "__main__":
    main()
