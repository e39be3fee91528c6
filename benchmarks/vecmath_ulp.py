"""Largest error of the vectorised maths functions over all float32 numbers.

    python benchmarks/vecmath_ulp.py sin tanh          # every one of the 2**32 arguments
    python benchmarks/vecmath_ulp.py --stride 257      # every 257th, all unary functions
    python benchmarks/vecmath_ulp.py --markdown docs/ulp.md   # and note them in the table there

The reference is float64 NumPy. Ctrl-C stops early and prints what has been measured.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from vecmath_loops import vectorised

from staticgraph.compiler.llvm.vecmath import ARITY
from staticgraph.compiler.llvm.vecmath.accuracy import FLOAT64_REFERENCE, ULP_BOUND, ulp_error

CHUNK = 1 << 15  # arguments, whose float64 arrays stay in the cache
UNARY = tuple(name for name in ULP_BOUND if ARITY[name] == 1)


@dataclass(frozen=True)
class Worst:
    """The largest error seen, its argument, and how many arguments were tried."""

    error: float = -1.0
    argument: float = 0.0
    count: int = 0


def measure(name: str, stride: int) -> Iterator[Worst]:
    """The worst error so far, after each chunk of arguments."""
    reference, worst = FLOAT64_REFERENCE[name], Worst()
    for start in range(0, 1 << 32, CHUNK * stride):
        stop = min(start + CHUNK * stride, 1 << 32)
        x = np.arange(start, stop, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)
        out = vectorised(name, x)
        with np.errstate(all="ignore"):
            error = ulp_error(out, reference(x.astype(np.float64)))
        top = int(np.argmax(error))
        count = worst.count + x.size
        if error[top] > worst.error:
            worst = Worst(float(error[top]), float(x[top]))
        worst = Worst(worst.error, worst.argument, count)
        yield worst


HEADER = """\
# Largest errors of the float32 functions

In units in the last place of the exact result, which float64 NumPy stands for. Written by
`python benchmarks/vecmath_ulp.py --markdown docs/ulp.md` in minutes per function; where fewer
arguments were tried than there are, every 251st (`--stride 251`). "Stated" is the bound in
`compiler/llvm/vecmath/accuracy.py`, which the tests check on samples.

| function | largest error | stated | at | arguments tried | date | processor |
|---|---|---|---|---|---|---|
"""


def processor() -> str:
    """The name of the processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def note(path: Path, found: dict[str, Worst]) -> None:
    """Replace the rows of the functions that were measured in the table at `path`."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    for name, worst in found.items():
        cells = (
            name, f"{worst.error:.3f}", str(ULP_BOUND[name]["float32"]),
            str(np.float32(worst.argument)), f"{worst.count:,}", str(date.today()), processor(),
        )  # fmt: skip
        rows[name] = f"| {' | '.join(cells)} |"
    table = [rows[name] for name in sorted(UNARY) if name in rows]
    path.write_text(HEADER + "\n".join(table) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=UNARY, help="functions; all if none is given")
    parser.add_argument("--stride", type=int, default=1, help="try every n-th float32")
    parser.add_argument("--markdown", type=Path, help="a file with a table to note the results in")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(UNARY))
    if unknown:
        parser.error(f"not a unary function with a stated bound: {', '.join(unknown)}")
    found: dict[str, Worst] = {}
    try:
        with Progress() as progress:
            for name in options.names:
                task = progress.add_task(name, total=(1 << 32) // options.stride)
                for worst in measure(name, options.stride):
                    found[name] = worst
                    progress.update(task, completed=worst.count)
    except KeyboardInterrupt:
        pass
    if options.markdown is not None:
        note(options.markdown, {name: one for name, one in found.items() if one.count > 0})
    table = Table("function", "largest ulp", "stated", "at", "arguments")
    for name, worst in found.items():
        stated = ULP_BOUND[name]["float32"]
        row = (f"{worst.error:.3f}", f"{stated}", f"{worst.argument!r}", f"{worst.count:,}")
        table.add_row(name, *row)
    Console().print(table)


if __name__ == "__main__":
    main()
