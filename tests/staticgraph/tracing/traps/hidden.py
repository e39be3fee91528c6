"""What code reads without naming it: patterns, texts, caches, copies."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import inspect
import pickle
import sys
import types
import typing
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
