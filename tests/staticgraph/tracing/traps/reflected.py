"""What code reads of classes, descriptors and contexts without naming it."""

from __future__ import annotations

import collections
import contextvars
import enum
import functools
import weakref
from dataclasses import dataclass, field
from typing import Any

from .trap import trap


@dataclass
class _Config:
    rate: float = 1.0
    sizes: list[float] = field(default_factory=lambda: [1.0])


def _three(t: Any, f: Any, change: Any, another: Any = None) -> Any:
    """What a captured function gives before and after changes."""
    g = t.capture(f)
    yield g(t.x)
    change()
    yield g(t.x)
    if another is not None:
        another()
        yield g(t.x)


@trap()
def a_call_of_a_metaclass(t: Any) -> Any:
    class Meta(type):
        bonus = 0.0

        def __call__(cls, *args: Any) -> Any:
            made = super().__call__(*args)
            made.value += cls.bonus
            return made

    class Made(metaclass=Meta):
        def __init__(self, value: float) -> None:
            self.value = value

    def f(x: Any) -> Any:
        return x * Made(1.0).value

    yield from _three(t, f, lambda: setattr(Meta, "bonus", 2.0))


@trap()
def an_instance_check_of_a_metaclass(t: Any) -> Any:
    allowed = {"Circle"}

    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            return type(one).__name__ in allowed

    class Shape(metaclass=Meta):
        pass

    class Circle:
        pass

    one = Circle()

    def f(x: Any) -> Any:
        return x * 2 if isinstance(one, Shape) else x

    yield from _three(t, f, allowed.clear)


@trap()
def a_descriptor_that_computes(t: Any) -> Any:
    class Doubled:
        factor = 2.0

        def __set_name__(self, owner: Any, name: str) -> None:
            self.name = f"_{name}"

        def __get__(self, one: Any, owner: Any = None) -> Any:
            return one.__dict__[self.name] * self.factor

    class Owner:
        rate = Doubled()

        def __init__(self) -> None:
            self.__dict__["_rate"] = 1.0

    owner = Owner()

    def f(x: Any) -> Any:
        return x * owner.rate

    yield from _three(
        t, f, lambda: owner.__dict__.update(_rate=3.0), lambda: setattr(Doubled, "factor", 5.0)
    )


@trap()
def a_setter_that_keeps(t: Any) -> Any:
    class Owner:
        def __init__(self) -> None:
            self._rate = 1.0

        @property
        def rate(self) -> float:
            return self._rate * 2

        @rate.setter
        def rate(self, value: float) -> None:
            self._rate = value + 1

    owner = Owner()

    def f(x: Any) -> Any:
        return x * owner.rate

    yield from _three(t, f, lambda: setattr(owner, "rate", 3.0))


@trap()
def an_attribute_is_set_inside_for_the_first_time(t: Any) -> Any:
    class Owner:
        pass

    owner: Any = Owner()

    def f(x: Any) -> Any:
        owner.rank = len(x.shape)
        return x * owner.rank

    g = t.capture(f)
    yield g(t.x), owner.rank
    owner.rank = 9
    yield g(t.x), owner.rank


@trap()
def an_attribute_of_a_class_is_set_inside(t: Any) -> Any:
    class Owner:
        pass

    def f(x: Any) -> Any:
        Owner.rank = len(x.shape)  # type: ignore[attr-defined]
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    Owner.rank = 9  # type: ignore[attr-defined]
    yield g(t.x), Owner.rank  # type: ignore[attr-defined]


@trap()
def an_attribute_of_a_function_is_set_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        f.calls = 1  # type: ignore[attr-defined]
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    f.calls = 0  # type: ignore[attr-defined]
    yield g(t.x), f.calls  # type: ignore[attr-defined]


@trap()
def whether_an_object_has_something(t: Any) -> Any:
    class Owner:
        pass

    owner: Any = Owner()

    def f(x: Any) -> Any:
        return x * owner.rate if hasattr(owner, "rate") else x

    yield from _three(t, f, lambda: setattr(owner, "rate", 3.0), lambda: delattr(owner, "rate"))


@trap()
def a_default_of_getattr(t: Any) -> Any:
    class Owner:
        __slots__ = ("rate",)

    owner = Owner()

    def f(x: Any) -> Any:
        return x * getattr(owner, "rate", 1.0)

    yield from _three(t, f, lambda: setattr(owner, "rate", 3.0), lambda: delattr(owner, "rate"))


@trap()
def a_method_by_types(t: Any) -> Any:
    class Owner:
        @functools.singledispatchmethod
        def scaled(self, by: Any, x: Any) -> Any:
            return x

        @scaled.register
        def _(self, by: int, x: Any) -> Any:
            return x * by

    owner = Owner()

    def f(x: Any) -> Any:
        return owner.scaled("a", x) + owner.scaled(2, x)

    def change() -> None:
        Owner.scaled.register(str, lambda self, by, x: x * 10)  # type: ignore[attr-defined]

    yield from _three(t, f, change)


@trap()
def a_partial_method_is_replaced(t: Any) -> Any:
    class Owner:
        def by(self, x: Any, factor: float) -> Any:
            return x * factor

        twice = functools.partialmethod(by, factor=2.0)

    owner = Owner()

    def f(x: Any) -> Any:
        return owner.twice(x)

    yield from _three(
        t, f, lambda: setattr(Owner, "twice", functools.partialmethod(Owner.by, factor=7.0))
    )


@trap()
def a_context_that_is_run(t: Any) -> Any:
    variable: contextvars.ContextVar[float] = contextvars.ContextVar("rate", default=1.0)
    context = contextvars.copy_context()

    def f(x: Any) -> Any:
        return x * context.run(variable.get)

    yield from _three(t, f, lambda: context.run(variable.set, 3.0))


@trap()
def a_value_in_a_context(t: Any) -> Any:
    variable: contextvars.ContextVar[float] = contextvars.ContextVar("rate", default=1.0)

    def f(x: Any) -> Any:
        return x * variable.get()

    g = t.capture(f)
    yield g(t.x)
    token = variable.set(3.0)
    yield g(t.x)
    variable.reset(token)
    yield g(t.x)


@trap()
def an_object_in_a_context(t: Any) -> Any:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("config")
    config = _Config()
    variable.set(config)

    def f(x: Any) -> Any:
        return x * variable.get().rate

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_dict_of_ones_own(t: Any) -> Any:
    table = collections.UserDict({"rate": 1.0})

    def f(x: Any) -> Any:
        return x * table["rate"]

    yield from _three(t, f, lambda: table.update(rate=3.0))


@trap()
def a_list_of_ones_own(t: Any) -> Any:
    values = collections.UserList([1.0])

    def f(x: Any) -> Any:
        return x * sum(values)

    yield from _three(t, f, lambda: values.append(3.0))


@trap()
def a_value_that_a_weak_dict_has(t: Any) -> Any:
    config = _Config()
    table: Any = weakref.WeakValueDictionary({"a": config})

    def f(x: Any) -> Any:
        return x * table["a"].rate

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def an_object_with_a_total_order(t: Any) -> Any:
    @functools.total_ordering
    class Size:
        def __init__(self, value: float) -> None:
            self.value = value

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Size) and self.value == other.value

        def __lt__(self, other: Any) -> bool:
            return bool(self.value < other.value)

        __hash__ = None  # type: ignore[assignment]

    one, other = Size(1.0), Size(2.0)

    def f(x: Any) -> Any:
        return x * 2 if one >= other else x

    yield from _three(t, f, lambda: setattr(one, "value", 5.0))


@trap()
def a_flag_of_an_enum_gets_an_attribute(t: Any) -> Any:
    class Mode(enum.Enum):
        A = 1
        B = 2

    Mode.A.factor = 1.0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        return x * Mode["A"].factor  # type: ignore[attr-defined]

    yield from _three(t, f, lambda: setattr(Mode.A, "factor", 3.0))


@trap()
def a_comparison_by_a_key(t: Any) -> Any:
    values, sign = [3.0, 1.0, 2.0], [1]
    key = functools.cmp_to_key(lambda a, b: sign[0] * int(a - b))

    def f(x: Any) -> Any:
        return x * sorted(values, key=key)[0]

    def change() -> None:
        sign[0] = -1

    yield from _three(t, f, change)
