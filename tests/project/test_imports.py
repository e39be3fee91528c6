"""Which package may import which, read from the sources, and what importing them loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGES = ("compiler", "staticgraph", "dynamic")


def _modules() -> dict[str, Path]:
    """Every module of the three packages by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imported(name: str, path: Path, *, lazy: bool = True) -> Iterator[str]:
    """The dotted names that a module imports, with those inside functions if `lazy`."""
    tree = ast.parse(path.read_text())
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if not lazy and node in inside:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import in line {node.lineno}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


MODULES = _modules()
IMPORTS = {name: set(_imported(name, path)) for name, path in MODULES.items()}


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _breaches(importer: str, *imported: str) -> list[str]:
    return [
        f"{module} imports {name}"
        for module, names in IMPORTS.items()
        if _within(module, importer)
        for name in names
        if any(_within(name, package) for package in imported)
    ]


def test_the_sources_are_read() -> None:
    assert "compiler.ops.arithmetic" in MODULES
    assert "numpy" in IMPORTS["compiler.ops.arithmetic"]
    in_a_function = "compiler.transforms.control_symbolic"
    assert in_a_function in IMPORTS["compiler.transforms.control_flow"]


def test_compiler_imports_neither_frontend() -> None:
    assert not _breaches("compiler", "staticgraph", "dynamic")


def test_dynamic_does_not_import_staticgraph() -> None:
    assert not _breaches("dynamic", "staticgraph")


# What runs both paradigms side by side, each with a command of its own.
COMMANDS = "staticgraph.compare", "staticgraph.fuzz"


def test_only_commands_import_both_paradigms() -> None:
    outside = [
        breach
        for breach in _breaches("staticgraph", "dynamic")
        if not any(_within(breach.split()[0], command) for command in COMMANDS)
    ]
    assert not outside


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_but_another_command_imports_a_command(command: str) -> None:
    users = [
        breach
        for package in PACKAGES
        for breach in _breaches(package, command)
        if not any(_within(breach.split()[0], one) for one in COMMANDS)
        and breach.split()[0] != "staticgraph.__main__"  # the command line loads it when called
    ]
    assert not users


@pytest.mark.parametrize("layer", ["graph", "emit", "runtime", "passes", "autodiff"])
def test_the_op_library_does_not_know_what_uses_it(layer: str) -> None:
    # composites infer their type by applying their expansion to symbolic operands
    allowed = "compiler.ops.declare imports compiler.graph.expression."
    breaches = _breaches("compiler.ops", f"compiler.{layer}")
    assert not [breach for breach in breaches if not breach.startswith(allowed)]
    eager = _imported("compiler.ops.declare", MODULES["compiler.ops.declare"], lazy=False)
    assert not [name for name in eager if _within(name, "compiler.graph")]


@pytest.mark.parametrize("module", ["errors", "dims", "types", "affine", "lowering", "op"])
def test_records_and_rules_import_no_higher_layer(module: str) -> None:
    higher = [f"compiler.{name}" for name in ("ops", "graph", "emit", "runtime", "passes")]
    assert not _breaches(f"compiler.{module}", *higher, "compiler.transforms.autodiff")


@pytest.mark.parametrize(
    "module", ["compiler.ops", "compiler.graph.expression", "compiler.transforms.autodiff"]
)
def test_importing_symbols_loads_neither_numba_nor_networkx(module: str) -> None:
    code = f"import sys, {module}; print([m for m in ('numba', 'networkx') if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stdout.strip() == "[]"


def test_the_interpreter_does_not_load_numba() -> None:
    code = "import sys, compiler.inspect.interpret; print('numba' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stdout.strip() == "False"
