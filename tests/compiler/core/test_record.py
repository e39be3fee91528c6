"""Records: what they compare, print and keep."""

from __future__ import annotations

import copy
import pickle
from dataclasses import field, replace
from functools import partial

from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.ir.records import NOWHERE, Assign, Hole, Name


@record
class Point(Record):
    """Two numbers, and where they are from."""

    x: float
    y: float = 0.0
    source: str = field(default="", kw_only=True)


def test_records_are_equal_in_their_positional_fields_alone() -> None:
    assert Point(1, source="a") == Point(1, 0.0, source="b")
    assert hash(Point(1, source="a")) == hash(Point(1, source="b"))
    assert Point(1) != Point(2)
    assert Point(1) != (1, 0.0)
    nan = float("nan")
    assert Point(nan) == Point(nan)


def test_records_of_two_classes_differ() -> None:
    assert Name("a") != Hole("a")
    assert len({Name("a"), Hole("a"), Name("a")}) == 2


def test_a_record_prints_its_positional_fields() -> None:
    assert repr(Point(1, 2, source="a")) == "Point(1, 2)"


def _pickled(one: Point, protocol: int) -> Point:
    found: Point = pickle.loads(pickle.dumps(one, protocol))
    return found


def test_a_copy_has_all_fields() -> None:
    pickled = [partial(_pickled, protocol=number) for number in range(pickle.HIGHEST_PROTOCOL + 1)]
    for made in (copy.deepcopy, *pickled, replace):
        found = made(Point(1, 2, source="a"))
        assert (found.x, found.y, found.source) == (1, 2, "a")
    assert not hasattr(Point(1), "__dict__")


def test_a_statement_has_a_node_that_is_not_compared() -> None:
    assert Assign("a", Name("b")).node == NOWHERE
    assert Assign("a", Name("b"), node=3) == Assign("a", Name("b"), node=4)
