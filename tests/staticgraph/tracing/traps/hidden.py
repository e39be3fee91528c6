"""What code reads without naming it: patterns, texts, caches, copies, frames."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import importlib
import inspect
import itertools
import operator
import pickle
import sys
import types
import typing
import weakref
from dataclasses import dataclass, field
from typing import Any

from .trap import trap

SCALE = 2.0


class _Point:
    __match_args__ = ("a", "b")

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b


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
def a_pattern_by_keyword(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        match config:
            case _Config(rate=r):
                return x * r

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_pattern_by_position(t: Any) -> Any:
    point = _Point(1.0, 2.0)

    def f(x: Any) -> Any:
        match point:
            case _Point(a, b):
                return x * a + b

    yield from _three(t, f, lambda: setattr(point, "b", 5.0))


@trap()
def a_pattern_of_a_mapping(t: Any) -> Any:
    table = {"kind": "a", "by": 1.0}

    def f(x: Any) -> Any:
        match table:
            case {"kind": "a", "by": by}:
                return x * by
            case {"kind": "b", **rest}:
                return x - rest["by"]

    yield from _three(t, f, lambda: table.update(by=4.0), lambda: table.update(kind="b"))


@trap()
def a_pattern_of_a_sequence(t: Any) -> Any:
    values: list[float] = [1.0]

    def f(x: Any) -> Any:
        match values:
            case [a]:
                return x * a
            case [a, *rest]:
                return x * a + len(rest)

    yield from _three(t, f, lambda: values.append(3.0), lambda: values.append(3.0))


@trap()
def an_attribute_in_a_format(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * float("{0.rate}".format(config))  # noqa: UP030, UP032

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def an_attribute_in_a_format_by_name(t: Any) -> Any:
    config, text = _Config(), "{c.sizes[0]}"

    def f(x: Any) -> Any:
        return x * float(text.format(c=config))

    def change() -> None:
        config.sizes[0] = 4.0

    yield from _three(t, f, change)


@trap()
def getattribute_by_a_text(t: Any) -> Any:
    config, key = _Config(), "".join(["ra", "te"])

    def f(x: Any) -> Any:
        return x * config.__getattribute__(key)

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def getattribute_of_object(t: Any) -> Any:
    config, key = _Config(), "".join(["ra", "te"])

    def f(x: Any) -> Any:
        return x * object.__getattribute__(config, key)

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_static_attribute(t: Any) -> Any:
    config, key = _Config(), "".join(["ra", "te"])

    def f(x: Any) -> Any:
        return x * inspect.getattr_static(config, key)

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_dataclass_as_a_dict(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * dataclasses.asdict(config)["rate"]

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_dataclass_as_a_tuple(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        first, sizes = dataclasses.astuple(config)
        return x * first + sum(sizes)

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0), lambda: config.sizes.append(2.0))


@trap()
def a_copy_of_an_object(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * sum(vars(copy.copy(config))["sizes"])

    yield from _three(t, f, lambda: config.sizes.append(2.0))


@trap()
def a_pickled_object(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * pickle.loads(pickle.dumps(config)).rate

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_state_of_an_object(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * config.__reduce_ex__(2)[2]["rate"]  # type: ignore[index]

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def members_by_inspection(t: Any) -> Any:
    config = _Config()

    def f(x: Any) -> Any:
        return x * dict(inspect.getmembers(config))["rate"]

    yield from _three(t, f, lambda: setattr(config, "rate", 3.0))


@trap()
def a_result_of_a_cache_is_changed(t: Any) -> Any:
    @functools.lru_cache
    def config() -> dict[str, float]:
        return {"scale": 1.0}

    def f(x: Any) -> Any:
        return x * config()["scale"]

    yield from _three(t, f, lambda: config().update(scale=3.0))


@trap()
def an_object_of_a_cache_is_changed(t: Any) -> Any:
    @functools.cache
    def config(name: str) -> _Config:
        return _Config()

    config("a").rate = 2.0

    def f(x: Any) -> Any:
        return x * config("a").rate

    yield from _three(t, f, lambda: setattr(config("a"), "rate", 3.0))


@trap()
def a_cached_property_is_changed(t: Any) -> Any:
    class Owner:
        @functools.cached_property
        def table(self) -> list[float]:
            return [1.0]

    owner = Owner()

    def f(x: Any) -> Any:
        return x * owner.table[0]

    def change() -> None:
        owner.table[0] = 3.0

    yield from _three(t, f, change)


@trap()
def a_single_instance_made_late(t: Any) -> Any:
    class Single:
        made: Any = None

        def __init__(self) -> None:
            self.rate = 1.0

        @classmethod
        def get(cls) -> Any:
            if cls.made is None:
                cls.made = cls()
            return cls.made

    Single.get()

    def f(x: Any) -> Any:
        return x * Single.get().rate

    yield from _three(
        t, f, lambda: setattr(Single.get(), "rate", 3.0), lambda: setattr(Single, "made", None)
    )


@trap()
def a_registry_by_a_decorator(t: Any) -> Any:
    registry: dict[str, Any] = {}

    def register(name: str) -> Any:
        def put(g: Any) -> Any:
            registry[name] = g
            return g

        return put

    @register("a")
    def first(x: Any) -> Any:
        return x + 1

    def f(x: Any) -> Any:
        return registry["a"](x)

    yield from _three(t, f, lambda: register("a")(lambda x: x * 5))


@trap()
def the_table_of_all_modules(t: Any) -> Any:
    module = sys.modules[__name__]

    def f(x: Any) -> Any:
        return x * sys.modules[__name__].SCALE

    yield from _three(t, f, lambda: setattr(module, "SCALE", 3.0))
    module.SCALE = 2.0


@trap()
def a_module_by_its_name(t: Any) -> Any:
    module = sys.modules[__name__]

    def f(x: Any) -> Any:
        return x * importlib.import_module(__name__).SCALE

    yield from _three(t, f, lambda: setattr(module, "SCALE", 3.0))
    module.SCALE = 2.0


@trap()
def globals_by_a_text(t: Any) -> Any:
    module, key = sys.modules[__name__], "".join(["SC", "ALE"])

    def f(x: Any) -> Any:
        return x * globals()[key]

    yield from _three(t, f, lambda: setattr(module, "SCALE", 3.0))
    module.SCALE = 2.0


@trap()
def a_local_of_the_caller(t: Any) -> Any:
    def f(x: Any) -> Any:
        frame = sys._getframe()
        while frame is not None and "secret" not in frame.f_locals:
            frame = frame.f_back  # type: ignore[assignment]
        return x * frame.f_locals["secret"]

    g = t.capture(f)

    def call(secret: float) -> Any:
        return g(t.x)

    yield call(1.0)
    yield call(2.0)


@trap()
def a_getter_of_a_module(t: Any) -> Any:
    module, table = types.ModuleType("late"), {"rate": 1.0}
    module.__getattr__ = lambda name: table[name]  # type: ignore[method-assign]

    def f(x: Any) -> Any:
        return x * module.rate

    yield from _three(t, f, lambda: table.update(rate=3.0))


@trap()
def an_item_of_a_class(t: Any) -> Any:
    class Table:
        rates: typing.ClassVar[dict[str, float]] = {"a": 1.0}

        def __class_getitem__(cls, key: str) -> float:
            return cls.rates[key]

    def f(x: Any) -> Any:
        return x * Table["a"]

    yield from _three(t, f, lambda: Table.rates.update(a=3.0))


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


@trap()
def a_walrus_in_a_comprehension(t: Any) -> Any:
    values = [1.0, 2.0]

    def f(x: Any) -> Any:
        total = 0.0
        parts = [total := total + v for v in values]
        return x * parts[-1] + total

    yield from _three(t, f, lambda: values.append(4.0))


@trap()
def stars_on_both_sides(t: Any) -> Any:
    values, options = [1.0, 2.0], {"c": 3.0}

    def inner(a: Any, *rest: Any, c: float = 0.0, **more: float) -> Any:
        return a * sum(rest) + c + sum(more.values())

    def f(x: Any) -> Any:
        return inner(x, *values, **options)

    yield from _three(t, f, lambda: values.append(4.0), lambda: options.update(c=1.0, d=10.0))


@trap()
def a_generator_that_is_sent_values(t: Any) -> Any:
    factor = [2.0]

    def doubling() -> Any:
        got = None
        while True:
            got = yield None if got is None else got * factor[0]

    def f(x: Any) -> Any:
        one = doubling()
        next(one)
        return one.send(x)

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)


@trap()
def an_error_as_a_way_out(t: Any) -> Any:
    class DoneError(Exception):
        pass

    limit = [2]

    def inner(x: Any) -> Any:
        for k in itertools.count():
            x = x + k
            if k >= limit[0]:
                raise DoneError(k)

    def f(x: Any) -> Any:
        try:
            inner(x)
        except DoneError as done:
            return x * done.args[0]
        return x

    def change() -> None:
        limit[0] = 4

    yield from _three(t, f, change)


@trap()
def a_group_of_errors(t: Any) -> Any:
    bad = [False]

    def f(x: Any) -> Any:
        try:
            if bad[0]:
                raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])
        except* ValueError:
            x = x * 2
        except* KeyError:
            x = x + 10
        return x

    def change() -> None:
        bad[0] = True

    yield from _three(t, f, change)


@trap()
def a_manager_that_swallows(t: Any) -> Any:
    class Swallowing:
        swallow = True

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *args: object) -> bool:
            return self.swallow

    manager = Swallowing()

    def f(x: Any) -> Any:
        with manager:
            x = x + 1
            raise ValueError("in it")
        return x * 2

    g = t.capture(f)
    yield g(t.x)
    manager.swallow = False
    try:
        g(t.x)
    except ValueError as error:
        yield str(error)


@trap()
def a_manager_that_counts(t: Any) -> Any:
    class Counting:
        def __enter__(self) -> Any:
            self.depth = 1
            return self

        def __exit__(self, *args: object) -> None:
            self.depth = 0

    manager = Counting()

    def f(x: Any) -> Any:
        with manager:
            return x * manager.depth

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x), manager.depth


@trap()
def a_stack_of_callbacks(t: Any) -> Any:
    factor = [2.0]

    def f(x: Any) -> Any:
        found: list[Any] = []
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: found.append(x * factor[0]))
        return found[0]

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)


@trap()
def an_operator_by_its_name(t: Any) -> Any:
    names = ["add"]

    def f(x: Any) -> Any:
        return getattr(operator, names[0])(x, 3.0)

    def change() -> None:
        names[0] = "mul"

    yield from _three(t, f, change)


@trap()
def code_that_is_compiled_outside(t: Any) -> Any:
    space: dict[str, Any] = {"k": 2.0}
    exec("def by(x):\n    return x * k", space)
    by = space["by"]

    def f(x: Any) -> Any:
        return by(x)

    yield from _three(t, f, lambda: space.update(k=3.0))


@trap()
def a_function_with_other_globals(t: Any) -> Any:
    def by(x: Any) -> Any:
        return x * SCALE

    space = {"SCALE": 5.0}
    other = types.FunctionType(by.__code__, space)

    def f(x: Any) -> Any:
        return other(x)

    yield from _three(t, f, lambda: space.update(SCALE=7.0))


@trap()
def a_class_made_inside(t: Any) -> Any:
    rates = {"a": 1.0}

    def f(x: Any) -> Any:
        class Inner:
            rate = rates["a"]

            def by(self, x: Any) -> Any:
                return x * self.rate

        return Inner().by(x)

    yield from _three(t, f, lambda: rates.update(a=3.0))


@trap()
def a_type_made_by_a_call(t: Any) -> Any:
    made = type("Made", (), {"rate": 1.0})

    def f(x: Any) -> Any:
        return x * made().rate  # type: ignore[attr-defined]

    yield from _three(t, f, lambda: setattr(made, "rate", 3.0))


@trap()
def a_protocol_that_is_asked(t: Any) -> Any:
    @typing.runtime_checkable
    class Scales(typing.Protocol):
        def scaled(self) -> float: ...

    class One:
        pass

    one = One()

    def f(x: Any) -> Any:
        return x * 2 if isinstance(one, Scales) else x

    yield from _three(t, f, lambda: setattr(One, "scaled", lambda self: 1.0))


@trap()
def hints_of_types(t: Any) -> Any:
    def inner(x: int) -> int:
        return x

    def f(x: Any) -> Any:
        return x * 2 if typing.get_type_hints(inner)["x"] is int else x

    yield from _three(t, f, lambda: inner.__annotations__.update(x="float"))


@trap()
def the_defaults_that_a_signature_has(t: Any) -> Any:
    def inner(x: Any, k: float = 2.0) -> Any:
        return x * k

    def f(x: Any) -> Any:
        return inner(x) + inspect.signature(inner).parameters["k"].default

    yield from _three(t, f, lambda: setattr(inner, "__defaults__", (4.0,)))


@trap()
def the_cell_of_a_helper(t: Any) -> Any:
    def make() -> Any:
        k = 2.0

        def inner(x: Any) -> Any:
            return x * k

        return inner

    inner = make()

    def f(x: Any) -> Any:
        return inner(x)

    def change() -> None:
        inner.__closure__[0].cell_contents = 5.0

    yield from _three(t, f, change)


@trap()
def a_reversed_object(t: Any) -> Any:
    class Steps:
        values: typing.ClassVar[list[float]] = [1.0, 2.0]

        def __reversed__(self) -> Any:
            return iter(self.values[::-1])

    steps = Steps()

    def f(x: Any) -> Any:
        return x * next(reversed(steps))  # type: ignore[call-overload]

    yield from _three(t, f, lambda: Steps.values.append(5.0))


@trap()
def an_awaited_value(t: Any) -> Any:
    factor = [2.0]

    async def inner(x: Any) -> Any:
        return x * factor[0]

    def f(x: Any) -> Any:
        coroutine = inner(x)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    def change() -> None:
        factor[0] = 3.0

    yield from _three(t, f, change)
