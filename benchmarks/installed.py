"""What an installation takes on disk, and how long a process takes to its first gradient.

    python benchmarks/installed.py [--rounds 9] [--markdown FILE]

The wheel of this checkout, without extras, is built and installed into an environment that has
nothing else; beside it are those environments of the peers that `staticgraph peers install` has
made, each with the peer, NumPy, and what they require. Processes are started in turn, each of them
once before, so that bytecode is compiled and kernels are in their caches; the figures are minima.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMED = """
import json, resource, sys, time
start = time.perf_counter()
import {module}
imported = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
memory *= 1 if sys.platform == "darwin" else 1024
modules = len(sys.modules)
import numpy as np
x = np.linspace(-1.0, 1.0, 7)
{first}
assert abs(float(found[3]) - 2.0) < 1e-6, found
print(json.dumps([imported, time.perf_counter() - start, memory, modules]))
"""
"""What is run in a process: the gradient of x * x + sin(2 x), which is 2 at 0."""

COMPILED = """
a = staticgraph.placeholder("x", (None,), "float64")
y = staticgraph.sum(a * a + staticgraph.sin(2 * a))
found = staticgraph.compile([a], staticgraph.grad(y, a))(x)
"""
EAGER = """
a = {module}.tensor(x, requires_grad=True)
(a * a + {module}.sin(2 * a)).sum().backward()
found = a.grad
"""
JAX = """
found = jax.jit(jax.grad(lambda a: (a * a + jax.numpy.sin(2 * a)).sum()))(x)
"""
PYTENSOR = """
import pytensor.tensor as pt
a = pt.dvector("a")
found = pytensor.function([a], pytensor.grad((a * a + pt.sin(2 * a)).sum(), a))(x)
"""
OURS = "staticgraph"
PROGRAMS: dict[str, tuple[str, str, str, str]] = {
    "compiled": (OURS, OURS, COMPILED, "staticgraph"),
    "eager": (OURS, "dynamic", EAGER.format(module="dynamic"), "staticgraph"),
    "torch, eager": ("torch", "torch", EAGER.format(module="torch"), "torch"),
    "jax.jit": ("jax", "jax", JAX, "jaxlib"),
    "pytensor": ("pytensor", "pytensor", PYTENSOR, "pytensor"),
}
"""By label the environment, what is imported, the program, and the folder that is the library's."""

HEADS = (
    "environment", "packages", "MB on disk", "of it its own", "program", "import, s",
    "to the first gradient, s", "MB of memory after the import", "modules",
)  # fmt: skip


def environments(place: Path) -> Iterator[tuple[str, Path]]:
    """Ours, made in `place`, and the peers' that are there, with their interpreters."""
    from staticgraph.compare.peers import PEERS, interpreter

    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"]
    root = Path(__file__).parents[1]
    wheels = place / "wheels"
    subprocess.run([sys.executable, *pip, "wheel", "--no-deps", "-w", wheels, root], check=True)
    venv.create(place / OURS, with_pip=True)
    python = place / OURS / "bin" / "python"
    subprocess.run([python, *pip, "install", *wheels.glob("*.whl")], check=True)
    yield OURS, python
    for name in PEERS:
        found = interpreter(name)
        if found is None:
            print(f"{name} is left out: staticgraph peers install {name}", file=sys.stderr)
        else:
            yield name, found


def on_disk(python: Path, own: str) -> tuple[int, float, float]:
    """The packages of an environment but for pip, their megabytes, and those of one of them."""
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    sizes = {
        one.name: sum(part.stat().st_size for part in one.rglob("*") if part.is_file())
        for one in site.iterdir()
        if not one.name.startswith(("pip", "setuptools", "_distutils", "distutils"))
    }
    packages = sum(name.endswith(".dist-info") for name in sizes)
    return packages, sum(sizes.values()) / 1e6, sizes[own] / 1e6


def started(python: Path, module: str, first: str, home: Path) -> list[float]:
    """One process: seconds to the import and to the gradient, bytes, modules."""
    done = subprocess.run(
        [python, "-c", TIMED.format(module=module, first=first)], cwd=home, text=True, check=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    found: list[float] = json.loads(done.stdout)
    return found


def measured(rounds: int) -> list[list[str]]:
    """A row per program."""
    from rich.progress import track

    rows = []
    with tempfile.TemporaryDirectory(prefix="staticgraph-installed-") as folder:
        place = Path(folder)
        pythons = dict(environments(place))
        programs = {label: one for label, one in PROGRAMS.items() if one[0] in pythons}
        runs: dict[str, list[list[float]]] = {label: [] for label in programs}
        for _ in track(range(rounds + 1), "starting", transient=True):
            for label, (where, module, first, _) in programs.items():
                runs[label].append(started(pythons[where], module, first, place))
        for label, (where, _, _, own) in programs.items():
            count, size, part = on_disk(pythons[where], own)
            imported, gradient, memory, modules = map(min, zip(*runs[label][1:], strict=True))
            rows.append([
                where, str(count), f"{size:.0f}", f"{part:.1f}", label, f"{imported:.2f}",
                f"{gradient:.2f}", f"{memory / 1e6:.0f}", str(int(modules)),
            ])  # fmt: skip
    return rows


def main() -> None:
    """The command line."""
    from staticgraph.compare.machine import this_machine
    from staticgraph.compare.peers import PEERS
    from staticgraph.compare.scripts import markdown, parser, show

    line = parser(__doc__, rounds=9)
    line.add_argument("--markdown", type=Path, help="where to write the page")
    options: Any = line.parse_args()
    rows = measured(options.rounds)
    show("What is installed", HEADS, rows)
    if options.markdown:
        peers = ", ".join(one for name in PEERS for one in PEERS[name][:1])
        options.markdown.write_text(
            "# Installing and importing, beside others\n\nWritten by `python "
            "benchmarks/installed.py --markdown docs/installed.md`, which says what is\nmeasured: "
            "environments with one library each and what it requires, of us the wheel without "
            "extras;\nprocesses from their start to an import and to the gradient of x * x + "
            "sin(2 x) of 7 numbers, with warm caches.\nMinima of "
            f"{options.rounds} starts in turn, on {this_machine().processor}. The peers are "
            f"{peers}, of torch the build for CPUs.\n\n" + markdown(HEADS, rows),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
