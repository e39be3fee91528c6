"""How compile time and memory grow with the number of ops, against JAX's jit.

    python benchmarks/growth.py --jax PATH/TO/PYTHON [--ops 100 1000 10000] [--write docs/growth.md]

Each graph is defined and compiled in a process of its own, without a kernel cache: processor time
from the start of the definition to the first result, imports aside, the time of a call, and the
largest resident memory. The contenders run in turn. JAX lives in an environment of its own, whose
interpreter `--jax` names. A process that takes longer than `--limit` seconds is ended.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ELEMENTS = 1000
CALLS = 5


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


@dataclass(frozen=True)
class Result:
    """Processor seconds until the first result, seconds of a call, bytes, and the result."""

    first: float
    call: float
    memory: int
    value: float


def with_staticgraph(shape: str, ops: int) -> Callable[[], Callable[[], float]]:
    """What defines and compiles a graph with staticgraph, and gives what runs it."""
    import numpy as np

    import compiler.driver
    import compiler.llvm.entry
    import compiler.llvm.native  # noqa: F401  these the first compile imports
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


def measure(contender: str, shape: str, ops: int) -> None:
    """Measure one graph in this process, and print it."""
    make = {"staticgraph": with_staticgraph, "jax": with_jax}[contender](shape, ops)
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
    print(json.dumps([first, min(times), memory, value]))


def measured(interpreter: str, contender: str, shape: str, ops: int, limit: float) -> Result | None:
    """What a process of its own measures; None if it fails or takes too long."""
    command = [interpreter, __file__, "--measure", contender, shape, str(ops)]
    environment = os.environ | {"STATICGRAPH_CACHE": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return Result(*json.loads(done.stdout)) if done.returncode == 0 else None


def rows(
    interpreters: dict[str, str], counts: Sequence[int], limit: float
) -> Iterator[tuple[str, int, list[Result | None]]]:
    """Each graph at each size, by all contenders in turn."""
    for shape in SHAPES:
        for ops in counts:
            results = []
            for name, interpreter in interpreters.items():
                print(f"{shape}, {ops}: {name}", end="   \r", file=sys.stderr, flush=True)
                results.append(measured(interpreter, name, shape, ops, limit))
            yield shape, ops, results


def cells(result: Result | None, limit: float) -> list[str]:
    """What a table says of a result."""
    if result is None:
        return [f"over {limit:.0f}", "", ""]
    call, memory = result.call * 1e3, result.memory / 2**20
    return [f"{result.first:.2f}", f"{call:.2f}", f"{memory:.0f}"]


def show(names: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="s until the first result, ms per call, largest memory in MB")
    for heading in headings(names):
        table.add_column(heading, justify="left" if heading == "graph" else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    Console().print(table)


def headings(names: Sequence[str]) -> list[str]:
    """The first line of the table."""
    parts = [f"{name} {unit}" for name in names for unit in ("s", "ms", "MB")]
    return ["graph", "ops", *parts]


def markdown(names: Sequence[str], lines: Sequence[Sequence[str]], command: str) -> str:
    """The table as a page."""
    first = headings(names)
    table = [first, ["---"] + ["---:"] * (len(first) - 1), *lines]
    text = "\n".join("| " + " | ".join(line) + " |" for line in table)
    return f"# Growth\n\n{__doc__}\nWritten by `{command}`.\n\n{text}\n"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--jax", help="an interpreter whose environment has JAX")
    parser.add_argument("--ops", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    parser.add_argument("--limit", type=float, default=300, help="seconds for each process")
    parser.add_argument("--write", type=Path, help="a page for the table, in Markdown")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        contender, shape, ops = options.measure
        measure(contender, shape, int(ops))
        return
    interpreters = {"staticgraph": sys.executable}
    if options.jax:
        interpreters["jax"] = options.jax
    lines = []
    for shape, ops, results in rows(interpreters, options.ops, options.limit):
        given = [one.value for one in results if one is not None]
        if any(abs(value - given[0]) > 1e-6 * max(1.0, abs(given[0])) for value in given):
            sys.exit(f"{shape}, {ops}: the contenders give {given}")
        lines.append(
            [shape, f"{ops:,}", *(cell for one in results for cell in cells(one, options.limit))]
        )
    show(list(interpreters), lines)
    if options.write:
        command = "python benchmarks/growth.py --jax PATH/TO/PYTHON"
        command += f" --limit {options.limit:.0f} --write {options.write}"
        options.write.write_text(markdown(list(interpreters), lines, command))


if __name__ == "__main__":
    main()
