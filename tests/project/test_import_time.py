"""What `import staticgraph` loads: only what defining a graph needs."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import staticgraph as sg
from tests.paths import ROOT

LATER = (
    "networkx",
    "numba",
    "llvmlite",
    "numpy.random",
    "staticgraph.compilation",
    "staticgraph.linalg",
    "staticgraph.optim",
    "staticgraph.compiler.driver",
    "staticgraph.compiler.passes",
    "staticgraph.compiler.codegen.kernel",
    "staticgraph.compiler.ops.windows.conv",
    "staticgraph.compiler.ops.linalg.decompositions",
    "staticgraph.compiler.transforms.control_flow",
)

PROGRAM = """
import sys
import staticgraph as sg
x = sg.placeholder("x", (None,)) + sg.variable(1.0)
print(*[name for name in sys.argv[1:] if name in sys.modules])
"""
FIRST_STEP = """
import sys
import numpy as np
before = set(sys.modules)
import staticgraph as sg
x, w = sg.placeholder("x", (None, 3)), sg.variable(np.ones((3, 4), "float32"))
loss = sg.mean(sg.relu(x @ w))
step = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
assert step(np.ones((2, 3), "float32")) == 3
print(*sys.modules.keys() - before)
"""
FIRST_GRADIENT = """
import sys
import numpy as np
before = set(sys.modules)
import staticgraph as sg
x, y = sg.placeholder("x", ()), sg.placeholder("y", ())
z = x * x + sg.sin(2 * y)
run = sg.compile([x, y], [z, *sg.grad(z, [x, y])])
assert run(np.float32(3), np.float32(0)) == [9, 6, 2]
print(*sys.modules.keys() - before)
"""
MOST = {FIRST_STEP: 212, FIRST_GRADIENT: 203}
"""The modules of programs out of the kernel cache, Python's own too: 211 and 202 were counted."""
UNUSED = {
    "networkx",
    "numba",
    "staticgraph.compiler.driver",
    "staticgraph.compiler.ops.library",
    "staticgraph.tracing.functions",
}


def printed(program: str, *arguments: str) -> list[str]:
    """The words that a program prints."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.split()


def test_an_import_does_not_load_what_compiles() -> None:
    assert printed(PROGRAM, *LATER) == []


@pytest.mark.slow
@pytest.mark.parametrize("program", [FIRST_STEP, FIRST_GRADIENT], ids=["step", "gradient"])
def test_a_program_out_of_the_cache_loads_little(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "kernels"))
    printed(program)
    found = printed(program)
    assert not UNUSED & set(found)
    if sys.platform == "linux" and platform.machine() == "x86_64":
        assert "llvmlite.binding" not in found
        assert len(found) <= MOST[program]


@pytest.mark.slow
def test_a_compilation_makes_no_networkx_graph() -> None:
    program = """
import sys
import staticgraph as sg
x = sg.placeholder("x", (None,))
run = sg.compile([x], sg.grad(sg.sum(sg.sin(x)), x))
print(run([0.0]), "networkx" in sys.modules, len(run.graph), "networkx" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, capture_output=True, text=True, cwd=ROOT,
        env=os.environ | {"STATICGRAPH_CACHE": "0"},
    )  # fmt: skip
    assert done.stdout.split() == ["[1.]", "False", "5", "True"]


def test_every_public_name_is_there() -> None:
    for name in sg.__all__:
        assert hasattr(sg, name)
    assert set(sg.__all__) <= set(dir(sg))


def test_functions_are_not_hidden_by_modules() -> None:
    for module in (
        "tracing.functions",
        "regions",
        "executables.saving",
        "loading",
        "compilation",
        "transforms",
    ):
        importlib.import_module(f"staticgraph.{module}")
    for name in ("function", "checkpoint", "compile", "grad", "load"):
        assert callable(getattr(sg, name))


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'staticgraph' has no attribute 'complie'"):
        sg.complie  # noqa: B018
