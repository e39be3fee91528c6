"""Imports point down: from a room to itself and to lower ones, and hardly ever in a circle."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from tests.paths import ROOT
from tests.project.rooms import (
    DOCUMENT,
    ROOMS,
    Imports,
    Room,
    drawn,
    imports_within,
    modules,
    room_of,
    upward,
)


def _circles(imports: Imports) -> list[list[str]]:
    """The sets of more than two files that lead to each other by their imports."""
    graph = nx.DiGraph([(module, one) for module, targets in imports.items() for one in targets])
    return [sorted(one) for one in nx.strongly_connected_components(graph) if len(one) > 2]


@pytest.mark.parametrize("package", ROOMS)
def test_every_module_has_a_room_and_every_room_modules(package: str) -> None:
    rooms = ROOMS[package]
    found = modules(ROOT, package)
    assert [module for module in found if room_of(module, rooms) is None] == []
    named = [name for room in rooms for name in room.modules]
    assert len(set(named)) == len(named)
    assert [name for name in named if f"{package}.{name}".rstrip(".") not in found] == []


@pytest.mark.parametrize("package", ROOMS)
def test_at_most_twelve_modules_stand_at_the_root(package: str) -> None:
    found = [path.name for path in (ROOT / package).glob("*.py")]
    assert 3 < len(found) <= 12, sorted(found)


@pytest.mark.parametrize("package", ROOMS)
def test_no_import_points_upward(package: str) -> None:
    imports = imports_within(ROOT, package)
    assert sum(map(len, imports.values())) > len(imports)  # they were read
    assert upward(imports, ROOMS[package]) == []


@pytest.mark.parametrize("package", ROOMS)
def test_no_circle_has_more_than_two_files(package: str) -> None:
    assert _circles(imports_within(ROOT, package)) == []


def test_the_rooms_are_drawn_in_the_document() -> None:
    text = DOCUMENT.read_text()
    assert drawn(text) == text, "draw them anew: python -m tests.project.rooms"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A package of two rooms that breaks both rules, one of them inside a function."""
    sources = {
        "__init__": "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from house.high.d import D as D\n",
        "low.__init__": "",
        "low.a": "from house.low import b\n",
        "low.b": "import house.low.c\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from house.high.d import D\n",
        "low.c": "def f():\n    from house.low.a import g\n    from house.high.d import D\n",
        "high.__init__": "",
        "high.d": "from house.low.a import f\nclass D: ...\n",
    }
    for name, source in sources.items():
        path = (tmp_path / "house").joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return tmp_path


def test_what_is_wrong_is_found(house: Path) -> None:
    rooms = (Room("low", "", ("low",)), Room("high", "", ("high", "")))
    imports = imports_within(house, "house")
    assert imports["house"] == set()
    assert imports["house.low.b"] == {"house.high.d", "house.low.c"}
    assert upward(imports, rooms) == [
        "house.low.b (low) imports house.high.d (high)",
        "house.low.c (low) imports house.high.d (high)",
    ]
    assert _circles(imports) == [["house.high.d", "house.low.a", "house.low.b", "house.low.c"]]
    assert upward(imports, rooms[::-1]) == ["house.high.d (high) imports house.low.a (low)"]
