"""No comprehension has the name of a global that another one in its function reads.

Python 3.12.1 takes that name for a local then, which has no value (PEP 709's inlining).
"""

from __future__ import annotations

import symtable
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

_KINDS = ("listcomp", "setcomp", "dictcomp")


def _taken(table: symtable.SymbolTable) -> Iterator[str]:
    """The names of globals that a function's comprehensions have for their own, too."""
    inner = [one for one in table.get_children() if one.get_name() in _KINDS]
    own = {x.get_name() for one in inner for x in one.get_symbols() if x.is_local()}
    read = {x.get_name() for one in inner for x in one.get_symbols() if x.is_global()}
    if table.get_type() == "function":
        yield from (f"{table.get_name()}, line {table.get_lineno()}: {x}" for x in own & read)
    for one in table.get_children():
        yield from _taken(one)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["compiler", "dynamic", "staticgraph"])
def test_names_of_comprehensions_are_no_globals_of_their_siblings(package: str) -> None:
    found = {
        str(path.relative_to(ROOT)): taken
        for path in (ROOT / package).rglob("*.py")
        if (taken := [*_taken(symtable.symtable(path.read_text(), str(path), "exec"))])
    }
    assert found == {}


def test_such_a_name_is_found() -> None:
    text = "def f(a):\n b = [one(c) for c in a]\n return [one for one in a]\n"
    assert [*_taken(symtable.symtable(text, "f.py", "exec"))] == ["f, line 1: one"]
