"""Records: what they compare, print and keep."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import (
    FrozenInstanceError,
    astuple,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from functools import partial
from typing import Any, ClassVar

import pytest

from staticgraph.compiler.core.record import Record, frozen, mutable, record
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


def declared(make: Any, base: type = object) -> Any:
    """A class with fields of all kinds."""

    class Measured(base):  # type: ignore[misc]
        """What was measured."""

        name: str
        value: float = 0.0
        parts: list[int] = field(default_factory=list)
        unit: str = field(default="m", kw_only=True)
        note: str = field(default="", compare=False, repr=False)
        count: int = field(default=3, init=False)
        kinds: ClassVar[int] = 2

        def __post_init__(self) -> None:
            assert self.count == 3

    return make(Measured)


@frozen
class Pair:
    """Two values."""

    a: Any
    b: Any = 1


@frozen
class Named(Pair):
    """Two values with a name."""

    name: str = field(default="", kw_only=True)


@mutable
class Counter:
    """What counts."""

    count: int = 0


MAKERS = (
    (frozen, dataclass(frozen=True, slots=True)),
    (mutable, dataclass(slots=True)),
    (frozen(eq=False), dataclass(frozen=True, slots=True, eq=False)),
    (mutable(eq=False), dataclass(slots=True, eq=False)),
)


@pytest.mark.parametrize(("make", "reference"), MAKERS)
def test_a_class_is_what_a_dataclass_is(make: Any, reference: Any) -> None:
    ours, other = declared(make), declared(reference)
    assert str(inspect.signature(ours)) == str(inspect.signature(other))
    for args, kwargs in ((("x",), {}), (("x", 2.0, [1]), {"unit": "s", "note": "n"})):
        one, same, there = ours(*args, **kwargs), ours(*args, **kwargs), other(*args, **kwargs)
        assert repr(one) == repr(there)
        assert astuple(one) == astuple(there)
        assert (one == same) == (there == other(*args, **kwargs))
        assert (one == replace(one, note="m")) == (there == replace(there, note="m"))
        assert replace(one, name="y").name == "y"
    assert ours.__match_args__ == other.__match_args__
    assert (ours.__hash__ is None) == (other.__hash__ is None)
    assert [one.name for one in fields(ours)] == [one.name for one in fields(other)]
    assert is_dataclass(ours)
    assert ours.kinds == 2
    assert ours("x").parts is not ours("x").parts
    assert not hasattr(ours("x"), "__dict__")
    for args in ((), ("x", 1, [], "note", 5)):
        with pytest.raises(TypeError) as ours_said:
            ours(*args)
        with pytest.raises(TypeError) as other_said:
            other(*args)
        assert str(ours_said.value) == str(other_said.value)


def test_what_is_frozen_is_neither_set_nor_deleted() -> None:
    one = Pair(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a
    assert (one.a, one.b) == (1, 1)
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)


def test_frozen_ones_are_hashed_copied_and_sent_by_their_fields() -> None:
    one = Named(1, (2, 3), name="x")
    assert hash(one) == hash(Named(1, (2, 3), name="x"))
    assert one != Named(1, (2, 3), name="y")
    assert one != Pair(1, (2, 3))
    for made in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        assert made(one) == one
    assert repr(one) == "Named(a=1, b=(2, 3), name='x')"
    match one:
        case Pair(a, b):
            assert (a, b) == (1, (2, 3))
    nan = float("nan")
    assert Counter(nan) == Counter(nan)  # type: ignore[arg-type]  # the same, as in tuples
