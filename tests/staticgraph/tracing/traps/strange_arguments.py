"""Arguments that equal others and are not the same, that change, and that are seldom given."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from .trap import trap


class Rank(enum.IntEnum):
    """Numbers with names."""

    ONE = 1


@dataclasses.dataclass(frozen=True)
class Setting:
    """What equals another by its fields."""

    rate: Any = 0.0


@dataclasses.dataclass
class Changing:
    """What is no key of a dict."""

    rate: float = 2.0

    __hash__ = object.__hash__


def _sign(value: Any) -> float:
    return 1.0 if not str(value).startswith("-") else -1.0


EQUAL: dict[str, tuple[Callable[[Any, Any], Any], list[Any]]] = {
    "sets_of_equal_numbers": (lambda x, s: x * len(str(min(s))),
                              [frozenset({1}), frozenset({True}), frozenset({1.0})]),
    "equal_decimals": (lambda x, s: x * len(str(s)),
                       [decimal.Decimal("1"), decimal.Decimal("1.00")]),
    "equal_moments": (
        lambda x, s: x * s.hour,
        [datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC),
         datetime.datetime(2024, 1, 1, 14,
                           tzinfo=datetime.timezone(datetime.timedelta(hours=2)))],
    ),
    "times_that_are_folded": (lambda x, s: x + s.fold,
                              [datetime.datetime(2024, 1, 1, fold=0),
                               datetime.datetime(2024, 1, 1, fold=1)]),
    "equal_ranges": (lambda x, s: x * s.stop, [range(0, 3, 2), range(0, 4, 2)]),
    "signs_of_zero_in_a_record": (lambda x, s: x * _sign(s.rate), [Setting(0.0), Setting(-0.0)]),
    "types_in_a_record": (lambda x, s: x * len(str(s.rate)),
                          [Setting(1), Setting(1.0), Setting(True)]),
    "types_in_a_tuple": (lambda x, s: x * len(str(s[0])), [(1,), (True,), (1.0,)]),
    "signs_of_zero_in_a_complex_number": (lambda x, s: x * _sign(s.imag),
                                          [complex(1, 0.0), complex(1, -0.0)]),
    "a_number_with_a_name": (lambda x, s: x * len(repr(s)), [1, Rank.ONE, True, 1.0]),
    "an_int_of_a_class_of_ones_own": (lambda x, s: x * getattr(s, "rate", 5.0),
                                      [type("Own", (int,), {"rate": 2.0})(1),
                                       type("Own", (int,), {"rate": 3.0})(1)]),
    "a_text_of_a_class_of_ones_own": (lambda x, s: x * len(s.upper()),
                                      ["ab", type("Own", (str,), {"upper": lambda s: "A"})("ab")]),
    "fractions_and_numbers": (lambda x, s: x * len(str(s)),
                              [fractions.Fraction(2), 2, decimal.Decimal(2)]),
    "bytes_and_texts": (lambda x, s: x * s[0] if isinstance(s, bytes) else x, [b"a", "a"]),
    "scalars_of_numpy": (lambda x, s: x * s, [np.float32(2), np.float64(2), np.int64(2)]),
    "slices": (lambda x, s: x[s], [slice(0, 2), slice(0, 2, 1), slice(None, None, 2)]),
    "none_and_nothing": (lambda x, s: x if s is None else x * 2, [None, (), [], {}]),
    "modules_by_name": (lambda x, s: x * len(s.__name__), [np, types, collections]),
    "classes": (lambda x, s: x * len(s.__name__), [int, float, Setting]),
    "identities": (lambda x, s: x * (s.version or 0),
                   [uuid.UUID(int=1), uuid.UUID("12345678-1234-4234-9234-123456789abc")]),
}  # fmt: skip


def _program(function: Callable[..., Any], values: list[Any]) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        f = t.capture(function)
        for value in (*values, values[0]):
            yield f(t.x, value)
        f = t.capture(lambda x, *, s: function(x, s))
        for value in (*values, values[0]):
            yield f(t.x, s=value)

    return program


def _around(function: Callable[..., Any], values: list[Any]) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        held = [values[0]]
        f = t.capture(lambda x: function(x, held[0]))
        for value in (*values, values[0]):
            held[0] = value
            yield f(t.x)

    return program


for _name, _given in EQUAL.items():
    for _prefix, _make in (("given", _program), ("around", _around)):
        _made = _make(*_given)
        _made.__name__ = f"{_prefix}_{_name}"
        trap("arrays", "tensors", "torch")(_made)


@trap()
def an_object_that_is_given_and_changes(t: Any) -> Any:
    setting = Changing()
    f = t.capture(lambda x, s: x * s.rate)
    yield f(t.x, setting)
    setting.rate = 3.0
    yield f(t.x, setting)
    yield f(t.x, Changing(5.0))


@trap()
def an_object_with_an_equality_of_its_own(t: Any) -> Any:
    class Same:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

        def __hash__(self) -> int:
            return 1

    f = t.capture(lambda x, s: x * s.rate)
    for rate in (2.0, 3.0, 2.0):
        yield f(t.x, Same(rate))
    held = [Same(2.0)]
    g = t.capture(lambda x: x * held[0].rate)
    for rate in (2.0, 3.0, 2.0):
        held[0] = Same(rate)
        yield g(t.x)


@trap()
def an_object_of_slots_with_an_equality_of_its_own(t: Any) -> Any:
    class Same:
        __slots__ = ("rate",)

        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

        def __hash__(self) -> int:
            return 1

    f = t.capture(lambda x, s: x * s.rate)
    for rate in (2.0, 3.0, 2.0):
        yield f(t.x, Same(rate))


@dataclasses.dataclass(frozen=True)
class Partly:
    """What equals another that is not the same."""

    name: str
    rate: float = dataclasses.field(default=1.0, compare=False)
    rates: Any = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "more", self.rate * 2)


@trap()
def a_record_of_which_a_part_is_not_compared(t: Any) -> Any:
    f = t.capture(lambda x, s: x * s.rate)
    g = t.capture(lambda x, s: x * s.rates[0])
    for rate in (2.0, 3.0, 2.0):
        yield f(t.x, Partly("a", rate)), g(t.x, Partly("a", 1.0, [rate]))


@trap()
def a_record_that_has_more_than_its_fields(t: Any) -> Any:
    f = t.capture(lambda x, s: x * s.more)
    one, other = Partly("a", 2.0), Partly("a", 2.0)
    object.__setattr__(other, "more", 50.0)
    yield f(t.x, one), f(t.x, other), f(t.x, one)


@trap()
def records_in_a_set_that_is_given(t: Any) -> Any:
    f = t.capture(lambda x, s: x * min(one.rate for one in s))
    yield f(t.x, frozenset({Partly("a", 2.0)}))
    yield f(t.x, frozenset({Partly("a", 3.0)}))


@trap()
def a_function_that_is_given(t: Any) -> Any:
    rates = [2.0]
    f = t.capture(lambda x, g: g(x))
    yield f(t.x, lambda v: v * rates[0])
    kept = functools.partial(lambda r, v: v * r[0], rates)
    yield f(t.x, kept)
    rates[0] = 5.0
    yield f(t.x, kept)


@trap()
def a_list_with_itself_twice(t: Any) -> Any:
    f = t.capture(lambda pair: pair[0] * 2 + pair[1] if pair[0] is pair[1] else pair[0])
    yield f([t.x, t.x])
    one = t.x
    yield f([one, one])


@trap()
def dicts_in_other_orders(t: Any) -> Any:
    def f(tree: Any) -> Any:
        total = t.x * 0
        for i, value in enumerate(tree.values()):
            total = total * 10 + value * (i + 1)
        return total

    g = t.capture(f)
    yield g({"a": t.x, "b": t.x * 2})
    yield g({"b": t.x * 2, "a": t.x})


@trap()
def keywords_in_other_orders(t: Any) -> Any:
    def f(**given: Any) -> Any:
        return sum(value * 10**i for i, value in enumerate(given.values()))

    g = t.capture(f)
    yield g(a=t.x, b=t.x * 2)
    yield g(b=t.x * 2, a=t.x)


@trap()
def what_an_argument_shares_with_the_outside(t: Any) -> Any:
    shared = {"rate": [2.0]}
    f = t.capture(lambda x, table: x * table["rate"][0] + shared["rate"][0])
    yield f(t.x, {"rate": [3.0]})
    shared["rate"][0] = 7.0
    yield f(t.x, {"rate": [3.0]})
    yield f(t.x, {"rate": shared["rate"]})


@trap()
def a_number_with_attributes_around(t: Any) -> Any:
    class Rate(int):
        unit: float

    def rate(value: int, unit: float) -> Rate:
        made = Rate(value)
        made.unit = unit
        return made

    held = [rate(2, 1.0)]
    f = t.capture(lambda x: x * held[0].unit)
    yield f(t.x)
    held[0] = rate(2, 5.0)
    yield f(t.x), f(t.x)


@trap()
def a_text_with_attributes_around(t: Any) -> Any:
    class Name(str):
        length = 7

    held = {"name": Name("ab")}
    f = t.capture(lambda x: x * held["name"].length)
    yield f(t.x)
    held["name"] = Name("ab")
    held["name"].length = 9
    yield f(t.x), f(t.x)


@trap()
def keys_that_equal_others(t: Any) -> Any:
    table: dict[Any, float] = {1: 2.0}
    f = t.capture(lambda x: x * sum(len(repr(key)) for key in table))
    yield f(t.x)
    table.clear()
    table[True] = 2.0
    yield f(t.x), f(t.x)
    table.clear()
    table[1.0] = 2.0
    yield f(t.x), f(t.x)


@trap()
def members_that_equal_others(t: Any) -> Any:
    members: set[Any] = {1}
    f = t.capture(lambda x: x * sum(len(repr(one)) for one in members))
    yield f(t.x)
    members.clear()
    members.add(True)
    yield f(t.x), f(t.x)


@trap()
def tuples_that_equal_others(t: Any) -> Any:
    held: dict[str, Any] = {"pair": (1, (0.0, "a"))}
    f = t.capture(lambda x: x * len(repr(held["pair"])))
    for pair in ((True, (0.0, "a")), (1, (-0.0, "a")), (1, (0, "a")), (1, [0.0, "a"])):
        held["pair"] = pair
        yield f(t.x), f(t.x)


@trap()
def a_default_that_equals_another(t: Any) -> Any:
    def scaled(x: Any, rate: Any = 1) -> Any:
        return x * len(repr(rate))

    f = t.capture(lambda x: scaled(x))
    yield f(t.x)
    for rate in (True, 1.0, 1 + 0j):
        scaled.__defaults__ = (rate,)
        yield f(t.x), f(t.x)


@trap()
def numbers_of_numpy_that_equal_others(t: Any) -> Any:
    held: list[Any] = [np.float32(2)]
    f = t.capture(lambda x: x * len(repr(held[0])))
    for rate in (np.float64(2), np.int8(2), 2.0, np.float32(-0.0), np.float32(0.0)):
        held[0] = rate
        yield f(t.x), f(t.x)


@trap()
def frozen_sets_around_that_equal_others(t: Any) -> Any:
    held: list[Any] = [frozenset({1})]
    f = t.capture(lambda x: x * len(repr(held[0])))
    for members in (frozenset({True}), frozenset({1.0}), frozenset({1})):
        held[0] = members
        yield f(t.x), f(t.x)
