"""Words of memory tell of every change of a dict, a list, a cell and an object's class."""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Callable
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler.runtime import unchanged

CHANGES: dict[str, Callable[[Any], object]] = {
    "put": lambda d: d.__setitem__("a", 2),
    "more": lambda d: d.__setitem__("b", 2),
    "deleted": lambda d: d.__delitem__("a"),
    "update": lambda d: d.update(a=3),
    "merged": lambda d: d.__ior__({"a": 4}),
    "default": lambda d: d.setdefault("b", 1),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "clear": lambda d: d.clear(),
    "back again": lambda d: d.update([("a", 5), ("a", 1)]),
    "initialised": lambda d: d.__init__(a=6),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_of_a_dict_is_told(name: str) -> None:
    attributes = vars(SimpleNamespace(a=1))
    for table in ({"a": 1}, attributes):
        told = unchanged.unchanged([unchanged.version_of(table)])
        assert told() is True
        CHANGES[name](table)
        assert told() is False


def test_an_attribute_that_quick_code_sets_is_told() -> None:
    class Part:
        """Something with attributes."""

    part = Part()

    def train(mode: object) -> None:
        part.training = mode  # type: ignore[attr-defined]

    for _ in range(100):
        train(object())
        table = vars(part)
        told = unchanged.unchanged([unchanged.version_of(table)])
        assert told() is True
        assert part.training is table["training"]  # type: ignore[attr-defined]
        assert told() is True
        train(object())
        assert told() is False


def test_every_change_of_a_list_is_told() -> None:
    one, other = object(), object()
    changes: list[Callable[[Any], object]] = [
        lambda items: items.append(one), lambda items: items.pop(),
        lambda items: items.__setitem__(1, other), lambda items: items.clear(),
        lambda items: items.reverse(), lambda items: items.extend([one] * 1000),
    ]  # fmt: skip
    for change in changes:
        items = [one, one, other]
        whole = unchanged.unchanged(unchanged.items_of(items, [one, one, other]))
        size = unchanged.unchanged([unchanged.size_of(items, 3)])
        last = unchanged.unchanged(unchanged.item_of(items, 2, other))
        assert (whole(), size(), last()) == (True, True, True)
        change(items)
        assert whole() is False
        assert size() is (len(items) == 3)
        assert last() is (len(items) == 3 and items[2] is other)


def test_a_class_a_cell_and_a_length_are_told() -> None:
    class Left:
        """A class."""

    class Right:
        """Another."""

    value: Any = Left()
    cell, hooks = CellType(value), OrderedDict[int, int]()
    told = unchanged.unchanged([
        unchanged.class_of(value, Left), unchanged.contents_of(cell, value),
        unchanged.length_of(hooks, 0),
    ])  # fmt: skip
    assert told() is True
    hooks[0] = 1
    assert told() is False
    del hooks[0]
    assert told() is True
    value.__class__ = Right
    assert told() is False
    value.__class__ = Left
    cell.cell_contents = None
    assert told() is False


@pytest.mark.slow
def test_it_takes_no_argument_and_keeps_no_object() -> None:
    told = unchanged.unchanged([])
    assert told() is True
    with pytest.raises(TypeError):
        told(1)  # type: ignore[call-arg]
    table = {"a": 1}
    changed = unchanged.unchanged([unchanged.version_of(table)])
    table["a"] = 2
    gc.collect()
    before = sys.getrefcount(True), sys.getrefcount(False)
    for _ in range(100_000):
        told()
        changed()
    after = sys.getrefcount(True), sys.getrefcount(False)
    assert np.abs(np.subtract(after, before)).max() < 1000


def test_words_that_lie_elsewhere_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unchanged.fields_are_right()
    for name in ("USED", "VERSION", "SIZE", "ITEMS", "CONTENTS"):
        with monkeypatch.context() as patch:
            patch.setattr(unchanged, name, unchanged.HEAD - 8)
            assert not unchanged.fields_are_right.__wrapped__(), name
