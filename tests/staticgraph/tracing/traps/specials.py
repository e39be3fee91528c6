"""What Python looks for in objects: patterns, descriptors, operators, special methods."""

from __future__ import annotations

import copy
import dataclasses
import functools
import types
from typing import Any

import numpy as np

from .trap import trap

FACTOR = [1.0]


@trap()
def a_class_pattern_with_match_args(t: Any) -> Any:
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a: float, b: float) -> None:
            self.a, self.b = a, b

    point = Point(1.0, 2.0)

    def f(x: Any) -> Any:
        match point:
            case Point(1.0, k):
                return x * k
            case Point(_, k):
                return x + k

    g = t.capture(f)
    yield g(t.x)
    point.b = 5.0
    yield g(t.x)
    Point.__match_args__ = ("b", "a")
    yield g(t.x)


@trap()
def a_guard_of_a_case(t: Any) -> Any:
    limits = {"low": 0.0}

    def f(x: Any) -> Any:
        match x.shape:
            case (n,) if n > limits["low"]:
                return x * n
            case _:
                return x

    g = t.capture(f)
    yield g(t.x)
    limits["low"] = 10.0
    yield g(t.x)


@trap()
def an_exception_group_is_split(t: Any) -> Any:
    errors = [ValueError(2.0), TypeError(3.0)]

    def f(x: Any) -> Any:
        k = 1.0
        try:
            raise ExceptionGroup("both", errors)
        except* ValueError as group:
            k *= group.exceptions[0].args[0]
        except* TypeError as group:
            k += group.exceptions[0].args[0]
        return x * k

    g = t.capture(f)
    yield g(t.x)
    errors[0] = ValueError(7.0)
    yield g(t.x)


@trap()
def an_async_generator(t: Any) -> Any:
    rates = [2.0, 3.0]

    async def numbers() -> Any:
        for one in rates:
            yield one

    def f(x: Any) -> Any:
        async def total() -> float:
            return sum([one async for one in numbers()])

        coroutine = total()
        try:
            coroutine.send(None)
        except StopIteration as end:
            return x * end.value
        return x

    g = t.capture(f)
    yield g(t.x)
    rates.append(4.0)
    yield g(t.x)


@trap()
def a_metaclass_with_getattr(t: Any) -> Any:
    class Meta(type):
        table = {"rate": 2.0}  # noqa: RUF012

        def __getattr__(cls, name: str) -> float:
            return Meta.table[name]

    class Config(metaclass=Meta):
        pass

    f = t.capture(lambda x: x * Config.rate)
    yield f(t.x)
    Meta.table["rate"] = 4.0
    yield f(t.x)


@trap()
def prepare_of_a_metaclass(t: Any) -> Any:
    rates = [2.0]

    class Meta(type):
        @classmethod
        def __prepare__(cls, name: str, bases: Any, **more: Any) -> Any:
            return {"rate": rates[0]}

    def f(x: Any) -> Any:
        class Made(metaclass=Meta):
            pass

        return x * Made.rate  # type: ignore[attr-defined]

    g = t.capture(f)
    yield g(t.x)
    rates[0] = 3.0
    yield g(t.x)


@trap()
def a_class_is_made_with_set_name(t: Any) -> Any:
    class Field:
        def __set_name__(self, owner: Any, name: str) -> None:
            self.name = f"_{name}"

        def __get__(self, one: Any, owner: Any = None) -> Any:
            return getattr(one, self.name)

    class Config:
        rate = Field()

        def __init__(self) -> None:
            self._rate, self._other = 2.0, 9.0

    config = Config()
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)
    config._rate = 3.0
    yield f(t.x)
    vars(Config)["rate"].name = "_other"
    yield f(t.x)


@trap()
def a_module_with_a_getattr_of_its_own(t: Any) -> Any:
    module: Any = types.ModuleType("of_their_own")
    module.table = {"rate": 2.0}
    module.__getattr__ = lambda name: module.table[name]
    f = t.capture(lambda x: x * module.rate)
    yield f(t.x)
    module.table["rate"] = 5.0
    yield f(t.x)


@trap()
def an_override_by_an_instance_of_a_special_method(t: Any) -> Any:
    class Scale:
        def __call__(self, x: Any) -> Any:
            return x * 2

    scale = Scale()
    f = t.capture(lambda x: scale(x))
    yield f(t.x)
    scale.__call__ = lambda x: x * 9  # type: ignore[method-assign]
    yield f(t.x)
    Scale.__call__ = lambda self, x: x * 3  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_single_dispatch_on_what_is_traced(t: Any) -> Any:
    @functools.singledispatch
    def scaled(x: Any) -> Any:
        return x * 2

    @scaled.register
    def _(x: np.ndarray) -> Any:
        return x * 3

    @scaled.register
    def _(x: float) -> Any:
        return x * 5

    f = t.capture(lambda x: scaled(x) + scaled(1.0))
    yield f(t.x)
    scaled.register(float, lambda x: x * 7)
    yield f(t.x)


@trap()
def an_operator_of_an_object_on_the_right(t: Any) -> Any:
    class Scale:
        k = 2.0

        def __rmul__(self, x: Any) -> Any:
            return x * self.k

        __array_ufunc__ = None
        __array_priority__ = 1000

    scale = Scale()
    f = t.capture(lambda x: x * scale)
    yield f(t.x)
    scale.k = 3.0
    yield f(t.x)


@trap()
def a_matrix_product_of_an_object(t: Any) -> Any:
    class Operator:
        def __init__(self) -> None:
            self.calls: list[int] = []
            self.k = 2.0

        def __matmul__(self, x: Any) -> Any:
            return x * self.k

    one = Operator()
    f = t.capture(lambda x: one @ x)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)


@trap()
def deepcopy_of_an_object_inside(t: Any) -> Any:
    class Config:
        def __init__(self) -> None:
            self.rates = [2.0]

    config = Config()

    def f(x: Any) -> Any:
        other = copy.deepcopy(config)
        other.rates.append(1.0)
        return x * sum(other.rates)

    g = t.capture(f)
    yield g(t.x)
    config.rates[0] = 5.0
    yield g(t.x)
    yield len(config.rates)


@trap()
def deepcopy_of_what_is_traced(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = copy.deepcopy(x)
        z = copy.copy(x)
        return y * 2 + z

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 2)


@trap()
def replace_of_a_dataclass_inside(t: Any) -> Any:
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float = 2.0
        decay: float = 1.0

        def __post_init__(self) -> None:
            object.__setattr__(self, "decay", self.rate * FACTOR[0])

    configs = {"now": Config()}
    f = t.capture(lambda x: x * dataclasses.replace(configs["now"], rate=3.0).decay)
    yield f(t.x)
    FACTOR[0] = 5.0
    try:
        yield f(t.x)
    finally:
        FACTOR[0] = 1.0


@trap()
def an_object_that_changes_its_hash(t: Any) -> Any:
    class Key:
        def __init__(self, k: int) -> None:
            self.k = k

        def __hash__(self) -> int:
            return self.k

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.k == other.k

    key = Key(1)
    table = {key: 5.0}
    f = t.capture(lambda x: x * table.get(key, 1.0))
    yield f(t.x)
    key.k = 2
    yield f(t.x)
