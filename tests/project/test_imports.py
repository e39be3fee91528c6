"""Which package may import which, read from the sources, and what importing them loads."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

from tests.paths import ROOT
from tests.project.rooms import imported, modules

PACKAGES = ("compiler", "staticgraph", "dynamic")


@cache
def _imports(types: bool = True) -> dict[str, frozenset[str]]:
    """What each module imports; with what it imports for types alone or not."""
    return {
        name: imported(path, types=types)
        for package in PACKAGES
        for name, path in modules(ROOT, package).items()
    }


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _breaches(importer: str, *packages: str, types: bool = True) -> list[str]:
    return [
        f"{module} imports {name}"
        for module, names in _imports(types).items()
        if _within(module, importer)
        for name in names
        if any(_within(name, package) for package in packages)
    ]


def test_the_sources_are_read() -> None:
    imports = _imports()
    assert "numpy" in imports["compiler.ops.elementwise.arithmetic"]
    in_a_function = "compiler.transforms.control_symbolic"
    assert in_a_function in imports["compiler.transforms.control_flow"]


def test_compiler_imports_neither_frontend() -> None:
    assert not _breaches("compiler", "staticgraph", "dynamic")


def test_dynamic_does_not_import_staticgraph() -> None:
    assert not _breaches("dynamic", "staticgraph")


# What runs both paradigms side by side, each with a command of its own.
COMMANDS = (
    "staticgraph.compare",
    "staticgraph.differences",
    "staticgraph.fuzz",
    "staticgraph.listing",
)


def test_only_commands_import_both_paradigms() -> None:
    outside = [
        breach
        for breach in _breaches("staticgraph", "dynamic")
        if not any(_within(breach.split()[0], command) for command in COMMANDS)
    ]
    assert not outside


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_another_command_imports_a_command(command: str) -> None:
    users = [
        breach
        for package in PACKAGES
        for breach in _breaches(package, command, types=False)
        if not any(_within(breach.split()[0], one) for one in COMMANDS)
        and breach.split()[0] != "staticgraph.__main__"  # the command line loads it when called
    ]
    assert not users


@pytest.mark.parametrize(
    "module",
    [
        "compiler.ops",
        "compiler.graph.expression",
        "compiler.transforms.autodiff",
    ],
)
def test_importing_symbols_loads_neither_numba_nor_networkx(module: str) -> None:
    loaded = "[name for name in ('numba', 'networkx') if name in sys.modules]"
    code = f"import sys, staticgraph.{module}; print({loaded})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stdout.strip() == "[]"


def test_the_interpreter_does_not_load_numba() -> None:
    code = "import sys, staticgraph.compiler.inspect.interpret; print('numba' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stdout.strip() == "False"
