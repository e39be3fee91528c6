"""What `import staticgraph` loads: only what defining a graph needs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

import staticgraph as sg
from tests.paths import ROOT

LATER = (
    "networkx",
    "numba",
    "llvmlite",
    "staticgraph.compiler.driver",
    "staticgraph.compiler.passes",
    "staticgraph.compiler.codegen.kernel",
)

PROGRAM = """
import sys
import staticgraph as sg
x = sg.placeholder("x", (None,)) + sg.variable(1.0)
print(*[name for name in sys.argv[1:] if name in sys.modules])
"""


def test_an_import_does_not_load_what_compiles() -> None:
    command = [sys.executable, "-c", PROGRAM, *LATER]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == []


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
        assert getattr(sg, name) is not None
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
