"""What a user's file imports in the process of a peer."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from staticgraph.compare.own import contender
from staticgraph.compare.own.ways import substitutes


def _sum(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    return np.sum(x, axis=dim, keepdims=keepdim)


def _module(name: str, **names: object) -> Any:
    made = types.ModuleType(name)
    vars(made).update(names)
    return made


TORCH = _module(
    "torch", sum=_sum, tanh=np.tanh, stack=np.stack, compile=None, float32=np.float32,
    special=_module("special", erf=abs),
    linalg=_module("linalg", norm=np.linalg.norm),
    nn=_module("nn", functional=_module("functional", relu=lambda x: np.maximum(x, 0))),
)  # fmt: skip
JAX = _module(
    "jax", numpy=np, nn=_module("nn", relu=lambda x: np.maximum(x, 0)),
    scipy=_module("scipy", special=_module("special", erf=abs)),
    lax=_module("lax", scan=1, cond=2, while_loop=3),
)  # fmt: skip

SOURCE = """
import dynamic as torch
import dynamic.nn.functional as F
import staticgraph as sg
from staticgraph.dynamic import nn
from staticgraph import linalg

def f(x):
    return F.relu(sg.tanh(torch.sum(x, dim=0))) + linalg.norm(x), nn
"""


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which our packages have not been imported, as far as imports can tell."""
    for name in list(sys.modules):
        if name.partition(".")[0] in contender.PACKAGES:
            monkeypatch.delitem(sys.modules, name)
    before = list(sys.meta_path)
    yield
    sys.meta_path[:] = before
    for name in [x for x in sys.modules if x.partition(".")[0] in contender.PACKAGES]:
        del sys.modules[name]  # the substitutes; monkeypatch brings back what was there


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("stand", "peer"), [(substitutes.for_torch, TORCH),
                                             (substitutes.for_jax, JAX)])  # fmt: skip
def test_the_file_runs_as_it_stands(stand: Any, peer: Any, tmp_path: Path) -> None:
    sys.meta_path.insert(0, contender.Aliases(lambda name: stand(name, peer)))
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    f = contender.loaded(str(path), "f")
    x = np.array([[1.0, -2.0], [0.5, -1.0]])
    value, _ = f(x)
    expected = np.maximum(np.tanh(x.sum(axis=0)), 0) + np.linalg.norm(x)
    np.testing.assert_array_equal(value, expected)


@pytest.mark.usefixtures("alone")
def test_a_module_without_substitute_is_named(tmp_path: Path) -> None:
    sys.meta_path.insert(0, contender.Aliases(lambda name: substitutes.for_torch(name, TORCH)))
    path = tmp_path / "mine.py"
    path.write_text("import staticgraph.fuzz.session\n")
    with pytest.raises(ModuleNotFoundError, match=r"no substitute for 'staticgraph\.fuzz'"):
        contender.loaded(str(path), "f")


def test_names_of_arguments_are_those_of_the_peer() -> None:
    sg = substitutes.for_torch("staticgraph", TORCH)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(sg.sum(x, axis=1, keepdims=True), x.sum(1, keepdims=True))
    assert sg.float32 is np.float32
    jnp = substitutes.for_jax("dynamic", JAX)
    np.testing.assert_array_equal(jnp.sum(x, dim=1, keepdim=True), x.sum(1, keepdims=True))


@pytest.mark.parametrize("name", ["frobnicate", "compile", "variable"])
def test_what_has_no_substitute_is_said(name: str) -> None:
    sg = substitutes.for_torch("staticgraph", TORCH)
    with pytest.raises(AttributeError, match=f"torch has nothing that stands for '{name}'"):
        getattr(sg, name)


def test_a_scan_is_a_loop_in_eager_torch() -> None:
    sg = substitutes.for_torch("staticgraph", TORCH)
    carry, sums = sg.scan(lambda c, x: (c + x, c + x), 0.0, np.arange(4.0))
    assert carry == 6
    np.testing.assert_array_equal(sums, [0, 1, 3, 6])
    assert sg.scan(lambda c, x: (c + x, None), 0, None, length=3) == (3, None)


def test_structures_are_flattened_in_one_order() -> None:
    assert contender.flat({"b": (1, [2]), "a": 3}) == [3, 1, 2]
    call = contender.flattened(lambda x, k: {"y": x + k}, ["x"], {"k": 2})
    assert call(1) == [3]


def test_what_is_no_function_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("f = 3\n")
    with pytest.raises(TypeError, match=r"f of mine\.py is 3, no function"):
        contender.loaded(str(path), "f")
