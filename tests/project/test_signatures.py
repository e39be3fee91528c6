"""Where packages meet, signatures say what they mean: `Any` is in none of them.

Read from the sources: for each import from another top-level package, the definition that it leads
to. Of a function the signature counts, of a class its public methods and fields. Values that ops
apply to, of which nothing more can be said, are called so (`compiler/core/values.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.paths import ROOT
from tests.project.rooms import in_folder, modules

PACKAGES = ("compiler", "dynamic", "staticgraph")
SPECIAL = ("__init__", "__call__")
Definition = ast.FunctionDef | ast.ClassDef


class Place(NamedTuple):
    """A name of a module."""

    module: str
    name: str


class Sources:
    """The modules of some packages, parsed."""

    def __init__(self, root: Path, packages: tuple[str, ...]) -> None:
        self.packages = packages
        paths = {name: path for one in packages for name, path in modules(root, one).items()}
        self.trees = {name: ast.parse(path.read_text()) for name, path in paths.items()}
        self._known: dict[str, tuple[dict[str, Definition], dict[str, list[Place]], list[str]]] = {}

    def met(self) -> Iterator[Place]:
        """The names that a package takes from another one, by import or as a module's attribute."""
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if not isinstance(node, ast.ImportFrom) or node.module is None:
                    continue
                source = in_folder(node.module)
                package = source.partition(".")[0]
                if package not in self.packages or package == module.partition(".")[0]:
                    continue
                for alias in node.names:
                    whole = in_folder(f"{source}.{alias.name}")
                    if whole not in self.trees:
                        yield Place(source, alias.name)
                    else:
                        own = alias.asname or alias.name
                        yield from (Place(whole, name) for name in _attributes(tree, own))

    def defined(self, place: Place) -> tuple[str, Definition] | None:
        """The module and the definition of a function or class, through imports; else None."""
        seen: set[Place] = set()
        waiting = [place]
        while waiting:
            place = waiting.pop()
            if place in seen or place.module not in self.trees:
                continue
            seen.add(place)
            definitions, named, starred = self._names(place.module)
            if place.name in definitions:
                return place.module, definitions[place.name]
            waiting += named.get(place.name, [Place(one, place.name) for one in starred])
        return None

    def _names(
        self, module: str
    ) -> tuple[dict[str, Definition], dict[str, list[Place]], list[str]]:
        """What a module defines, what it imports by name, and from where it imports all."""
        if module not in self._known:
            tree = self.trees[module]
            definitions = {one.name: one for one in tree.body if isinstance(one, Definition)}
            named: dict[str, list[Place]] = {}
            starred: list[str] = []
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    for alias in node.names:
                        if alias.name == "*":
                            starred.append(in_folder(node.module))
                        else:
                            place = Place(in_folder(node.module), alias.name)
                            named.setdefault(alias.asname or alias.name, []).append(place)
            self._known[module] = definitions, named, starred
        return self._known[module]

    def vague(self) -> list[str]:
        """The functions, methods and fields that one package has of another and that say `Any`."""
        found = {self.defined(place) for place in set(self.met())}
        return sorted(
            f"{module}.{name}"
            for module, node in (one for one in found if one is not None)
            for name, said in _signatures(node)
            if any(map(_says_any, said))
        )


def _attributes(tree: ast.AST, module: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == module
    }


def _signatures(node: Definition) -> Iterator[tuple[str, list[ast.expr | None]]]:
    """What a definition is made of that others see, with its annotations."""
    if isinstance(node, ast.FunctionDef):
        given = node.args
        both = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        yield node.name, [node.returns, *(one.annotation for one in both if one is not None)]
        return
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and (one.name in SPECIAL or one.name[0] != "_"):
            yield from ((f"{node.name}.{name}", found) for name, found in _signatures(one))
        elif isinstance(one, ast.AnnAssign) and ast.unparse(one.target)[0] != "_":
            yield f"{node.name}.{ast.unparse(one.target)}", [one.annotation]


def _says_any(annotation: ast.expr | None) -> bool:
    words = ast.walk(annotation) if annotation is not None else ()
    return any(
        (isinstance(node, ast.Name) and node.id == "Any")
        or (isinstance(node, ast.Constant) and "Any" in re.findall(r"\w+", str(node.value)))
        for node in words
    )


@cache
def _ours() -> Sources:
    return Sources(ROOT, PACKAGES)


@pytest.mark.slow
def test_no_signature_where_packages_meet_says_any() -> None:
    assert _ours().vague() == []


@pytest.mark.slow
def test_what_is_met_is_found() -> None:
    found = [_ours().defined(place) for place in set(_ours().met())]
    names = {f"{module}.{node.name}" for module, node in (one for one in found if one is not None)}
    assert {
        "compiler.core.op.Op",
        "compiler.compile.compile_graph",
        "compiler.runners.compiled.CompiledRunner",
        "compiler.ops.indexing.getting.getitem",
        "compiler.transforms.control_flow.scan",
    } <= names
    assert len(names) > 100


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x: Any) -> int: ...", ["low.m.f"]),
        ("def f(x: int) -> 'list[Any]': ...", ["low.m.f"]),
        ("def f(*x: Any, **y: int) -> int: ...", ["low.m.f"]),
        ("def f(x: object) -> Value: ...", []),
        ("class f:\n    def g(self) -> Any: ...\n    def _h(self) -> Any: ...", ["low.m.f.g"]),
        ("class f:\n    x: Any\n    _y: Any", ["low.m.f.x"]),
        ("def f(x: int) -> int: ...\ndef g(x: Any) -> int: ...", []),
    ],
)
@pytest.mark.parametrize(
    "use", ["from low.m import f", "from low import m\nm.f()", "from low.all import f as g"]
)
def test_any_is_seen(source: str, expected: list[str], use: str, tmp_path: Path) -> None:
    for name, text in {
        "low/m.py": source, "low/all.py": "from low.m import *", "high/n.py": use,
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert Sources(tmp_path, ("low", "high")).vague() == expected
