"""Operators and hooks of classes of one's own, dataclasses, enums, partials."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
import types
from typing import Any, NamedTuple

from .trap import trap


@trap()
def an_object_that_is_an_index(t: Any) -> Any:
    class Own:
        def __index__(self) -> int:
            return i

    one, i, numbers = Own(), 0, [2.0, 3.0]
    f = t.capture(lambda x: x * numbers[one])
    yield f(t.x)
    i = 1
    yield f(t.x)


@trap()
def an_object_that_is_true(t: Any) -> Any:
    class Own:
        def __bool__(self) -> bool:
            return flag

    one, flag = Own(), True
    f = t.capture(lambda x: x * 2 if one else x)
    yield f(t.x)
    flag = False
    yield f(t.x)


@trap()
def an_object_as_a_key(t: Any) -> Any:
    class Own:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            return equal

    one, equal = Own(), False
    table = {Own(): 3.0}
    f = t.capture(lambda x: x * table.get(one, 2.0))
    yield f(t.x)
    equal = True
    yield f(t.x)


@trap()
def an_order_of_objects(t: Any) -> Any:
    class Own:
        def __init__(self, k: float) -> None:
            self.k = k

        def __lt__(self, other: Any) -> bool:
            return sign * self.k < sign * other.k

    sign, ones = 1, [Own(2.0), Own(3.0)]
    f = t.capture(lambda x: x * min(ones).k)
    yield f(t.x)
    sign = -1
    yield f(t.x)


@trap()
def an_instance_by_its_class(t: Any) -> Any:
    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            return flag

    class Own(metaclass=Meta): ...

    flag = True
    f = t.capture(lambda x: x * 2 if isinstance(3, Own) else x)
    yield f(t.x)
    flag = False
    yield f(t.x)


@trap()
def a_missing_key(t: Any) -> Any:
    class Own(dict[str, float]):
        def __missing__(self, key: str) -> float:
            return k

    k, one = 2.0, Own()
    f = t.capture(lambda x: x * one["a"])
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def an_item_of_a_class(t: Any) -> Any:
    class Own:
        def __class_getitem__(cls, key: float) -> float:
            return key * k

    k = 2.0
    f = t.capture(lambda x: x * Own[3.0])  # type: ignore[type-arg]
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_text_of_an_object(t: Any) -> Any:
    class Own:
        def __format__(self, form: str) -> str:
            return str(k)

    k, one = 2.0, Own()
    f = t.capture(lambda x: x * float(f"{one}"))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_representation_of_an_object(t: Any) -> Any:
    class Own:
        def __repr__(self) -> str:
            return str(k)

    k, one = 2.0, Own()
    f = t.capture(lambda x: x * float(repr(one)))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def an_equality_of_objects(t: Any) -> Any:
    class Own:
        def __eq__(self, other: object) -> bool:
            return equal

        def __hash__(self) -> int:
            return 1

    equal, one = True, Own()
    f = t.capture(lambda x: x * (2.0 if one == 3 else 1.0))
    yield f(t.x)
    equal = False
    yield f(t.x)


@trap()
def a_method_that_is_given_to_a_class(t: Any) -> Any:
    class Own: ...

    one: Any = Own()
    f = t.capture(lambda x: x * (len(one) if hasattr(one, "__len__") else 1.0))
    yield f(t.x)
    Own.__len__ = lambda self: 3  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_hash_of_an_object(t: Any) -> Any:
    class Own:
        def __hash__(self) -> int:
            return k

    k, one = 2, Own()
    f = t.capture(lambda x: x * hash(one))
    yield f(t.x)
    k = 3
    yield f(t.x)


@trap()
def an_attribute_is_set_by_a_hook(t: Any) -> Any:
    class Own:
        def __setattr__(self, key: str, value: float) -> None:
            vars(self)[key] = value * k

    def f(x: Any) -> Any:
        one: Any = Own()
        one.a = 2.0
        return x * one.a

    k = 2.0
    g = t.capture(f)
    yield g(t.x)
    k = 3.0
    yield g(t.x)


@trap()
def a_subclass_is_initialised(t: Any) -> Any:
    class Base:
        def __init_subclass__(cls) -> None:
            cls.k = k

    def f(x: Any) -> Any:
        class Own(Base): ...

        return x * Own.k  # type: ignore[attr-defined]

    k = 2.0
    g = t.capture(f)
    yield g(t.x)
    k = 3.0
    yield g(t.x)


@trap()
def a_field_made_by_a_factory(t: Any) -> Any:
    @dataclasses.dataclass
    class Own:
        numbers: list[float] = dataclasses.field(default_factory=lambda: [k])

    k = 2.0
    f = t.capture(lambda x: x * Own().numbers[0])
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_default_of_a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Own:
        k: float = 2.0

    f = t.capture(lambda x: x * Own().k)
    yield f(t.x)
    Own.__init__.__defaults__ = (3.0,)
    yield f(t.x)


@trap()
def the_fields_of_a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Own:
        k: float = 2.0

    one = Own()
    f = t.capture(lambda x: x * sum(dataclasses.asdict(one).values()))
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_replacement_of_a_dataclass(t: Any) -> Any:
    @dataclasses.dataclass
    class Own:
        k: float
        a: float = 1.0

    one = Own(2.0)
    f = t.capture(lambda x: x * dataclasses.replace(one, a=4.0).k)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def a_subclass_of_a_named_tuple(t: Any) -> Any:
    class Pair(NamedTuple):
        a: float
        b: float

    class Own(Pair):
        @property
        def k(self) -> float:
            return self.a * scale

    one, scale = Own(2.0, 3.0), 2.0
    f = t.capture(lambda x: x * one.k)
    yield f(t.x)
    scale = 5.0
    yield f(t.x)


@trap()
def a_default_of_a_named_tuple(t: Any) -> Any:
    class Pair(NamedTuple):
        a: float = 2.0

    f = t.capture(lambda x: x * Pair().a)
    yield f(t.x)
    Pair.__new__.__defaults__ = (3.0,)
    yield f(t.x)


@trap()
def a_member_of_an_enum_has_more(t: Any) -> Any:
    class Own(enum.Enum):
        A = 1

    Own.A.k = 2.0  # type: ignore[attr-defined]
    f = t.capture(lambda x: x * Own.A.k)  # type: ignore[attr-defined]
    yield f(t.x)
    Own.A.k = 3.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_member_of_an_enum_is_looked_up(t: Any) -> Any:
    class Own(enum.Enum):
        A = 1
        B = 2

        @classmethod
        def _missing_(cls, value: object) -> Own:
            return cls[name]

    name = "A"
    f = t.capture(lambda x: x * Own(9).value)
    yield f(t.x)
    name = "B"
    yield f(t.x)


@trap()
def a_value_of_an_enum_is_changed(t: Any) -> Any:
    class Own(enum.Enum):
        A = 1

    f = t.capture(lambda x: x * Own.A.value)
    yield f(t.x)
    Own.A._value_ = 5
    yield f(t.x)


@trap()
def a_partial_of_a_partial(t: Any) -> Any:
    numbers = [2.0]
    one = functools.partial(functools.partial(lambda a, b: a[0] * b, numbers), 3.0)
    f = t.capture(lambda x: x * one())
    yield f(t.x)
    numbers[0] = 5.0
    yield f(t.x)


@trap()
def the_state_of_a_partial(t: Any) -> Any:
    one = functools.partial(operator.mul, 2.0)
    f = t.capture(lambda x: x * one(3.0))
    yield f(t.x)
    one.__setstate__((operator.mul, (5.0,), {}, {}))  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_keyword_of_a_partial(t: Any) -> Any:
    one = functools.partial(lambda k: k, k=2.0)
    f = t.capture(lambda x: x * one())
    yield f(t.x)
    one.keywords["k"] = 3.0
    yield f(t.x)


@trap()
def a_cached_method(t: Any) -> Any:
    class Own:
        def __init__(self) -> None:
            self.k = 2.0

        @functools.cache  # noqa: B019 - what is tested
        def scale(self) -> float:
            return self.k

    one = Own()
    f = t.capture(lambda x: x * one.scale())
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)
    Own.scale.cache_clear()
    yield f(t.x)


@trap()
def a_size_of_a_cache(t: Any) -> Any:
    @functools.lru_cache
    def scale(k: float) -> float:
        return k

    f = t.capture(lambda x: x * (1 + scale.cache_info().currsize))
    yield f(t.x)
    scale(3.0)
    yield f(t.x)


@trap()
def an_attribute_getter_of_many(t: Any) -> Any:
    one = types.SimpleNamespace(a=2.0, b=3.0)
    both = operator.attrgetter("a", "b")
    f = t.capture(lambda x: x * sum(both(one)))
    yield f(t.x)
    one.b = 5.0
    yield f(t.x)


@trap()
def a_reduction_with_an_operator(t: Any) -> Any:
    numbers = [2.0, 3.0]
    f = t.capture(lambda x: x * functools.reduce(operator.mul, numbers))
    yield f(t.x)
    numbers.append(4.0)
    yield f(t.x)
