"""The public names: each is bound where an editor finds it, and no op is without one."""

from __future__ import annotations

import ast
import importlib
import pickle
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op, all_ops
from staticgraph.compiler.ops import library
from tests.paths import ROOT


@cache
def _bound(module: str) -> frozenset[str]:
    """The names that the text of a module binds, those of its star imports too."""
    found: set[str] = set()
    path = Path(str(importlib.import_module(module).__file__))
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
            if names == ["*"]:
                source = importlib.import_module(str(node.module))
                names = [one for one in _bound(str(node.module)) if not one.startswith("_")]
                exported = getattr(source, "__all__", names)
                assert set(exported) <= set(names), f"{node.module} exports what it does not bind"
                names = exported
            found.update(names)
    return frozenset(found)


@pytest.mark.parametrize("module", [sg, sg.linalg, dynamic], ids=["sg", "sg.linalg", "dynamic"])
def test_every_public_name_is_in_the_text(module: object) -> None:
    names = set(module.__all__)  # type: ignore[attr-defined]
    assert names - _bound(module.__name__) == set()  # type: ignore[attr-defined]
    assert len(names) > 15


def test_constants_are_those_of_numpy() -> None:
    for name in ("e", "inf", "nan", "newaxis", "pi"):
        assert name in sg.__all__
        np.testing.assert_equal(getattr(sg, name), getattr(np, name))


def test_no_module_writes_its_names_at_run_time() -> None:
    texts = [p for package in ("compiler", "dynamic") for p in (ROOT / package).rglob("*.py")]
    assert [path for path in texts if "globals().update" in path.read_text("utf-8")] == []


def test_every_op_has_its_name_in_the_library() -> None:
    known = {value for value in vars(library).values() if isinstance(value, Op)}
    assert [op.name for op in all_ops() if op.name in ops.LIBRARY and op not in known] == []


def test_both_frontends_export_the_public_ops() -> None:
    for name in ops.PUBLIC:
        assert name in sg.__all__
        assert name in dynamic.__all__
        assert getattr(sg, name) is getattr(ops, name)
    for name in ops.LINALG:
        assert getattr(sg.linalg, name) is getattr(ops, name)


@pytest.mark.parametrize(
    "module",
    [
        "dynamic", "dynamic.nn.functional", "dynamic.linalg", "dynamic.fft", "dynamic.special",
        "dynamic.func", "dynamic.xp", "dynamic.xp.linalg", "dynamic.xp.fft", "staticgraph",
        "staticgraph.linalg", "staticgraph.fft", "staticgraph.special", "staticgraph.nn",
        "staticgraph.random", "staticgraph.xp", "staticgraph.xp.linalg", "staticgraph.xp.fft",
    ],
)  # fmt: skip
def test_functions_and_ops_are_pickled_by_name(module: str) -> None:
    space = importlib.import_module(module)
    names = {*dir(space), *getattr(space, "__all__", ())}
    functions = [getattr(space, one) for one in names if not one.startswith("_")]
    functions = [one for one in functions if isinstance(one, FunctionType | Op)]
    assert len(functions) > 4
    for one in functions:
        assert pickle.loads(pickle.dumps(one)) is one
