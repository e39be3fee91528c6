"""Install each file of a release into an environment of its own, and run both engines there.

    python .ci/tried.py dist/*.whl dist/*.tar.gz

Prints what an installation takes on disk and how long the imports take.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import sys, time
from importlib.metadata import distribution
start = time.perf_counter()
import staticgraph as sg
static = time.perf_counter() - start
import dynamic
eager = time.perf_counter() - start - static
import numpy as np
assert dynamic is sg.dynamic
for package in (sg, dynamic, sg.compiler):
    assert package.__file__.startswith(sys.prefix), package.__file__
installed = distribution("staticgraph")
assert installed.version == sg.__version__, (installed.version, sg.__version__)
files = {str(one) for one in installed.files}
assert {"staticgraph/py.typed", "dynamic/py.typed", "staticgraph/compiler/core/op.py"} <= files
assert not any(one.startswith("compiler/") for one in files)
assert any(one.endswith("LICENSE") for one in files)
assert not any(one.startswith(("tests/", "examples/", "benchmarks/")) for one in files)
x = sg.placeholder("x", (None,), "float64")
w = sg.variable(np.ones(1), name="w")
loss = sg.sum((w * x - 3.0) ** 2)
step = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
t = dynamic.tensor([1.0], dtype=dynamic.float64, requires_grad=True)
for _ in range(5):
    found = step(np.ones(1))
    eager_loss = ((t * 1.0 - 3.0) ** 2).sum()
    eager_loss.backward()
    assert abs(found - eager_loss.item()) < 1e-12
    with dynamic.no_grad():
        t -= 0.1 * t.grad
    t.grad = None
print(f"import staticgraph {static:.3f} s, then dynamic {eager:.3f} s")
"""


def tried(file: Path) -> None:
    """Install `file` alone, run the program in an empty folder, and say what it took."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = Path(place, "bin", "python")
        quiet = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input"]
        before = _size(place)
        subprocess.run([*quiet, "install", file.resolve()], check=True)
        taken = _size(place) - before
        empty = Path(place, "empty")
        empty.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": place}
        for _ in range(2):  # the second time as the imports always are: compiled to bytecode
            run = subprocess.run(
                [python, "-c", PROGRAM], cwd=empty, env=environment, check=True, text=True,
                stdout=subprocess.PIPE,
            )  # fmt: skip
        megabytes = file.stat().st_size / 1e6
        print(f"{file.name}: {megabytes:.1f} MB; installed {taken / 1e6:.0f} MB, of it")
        ours = sum(_size(next(Path(place).glob(f"lib/*/site-packages/{name}"))) for name in OURS)
        print(f"  {ours / 1e6:.1f} MB ours, the rest NumPy, Numba, llvmlite and networkx")
        print(f"  {run.stdout.strip()}")


OURS = ("staticgraph", "dynamic")


def _size(place: str | Path) -> int:
    return sum(one.stat().st_size for one in Path(place).rglob("*") if one.is_file())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        tried(Path(name))
