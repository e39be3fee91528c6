"""Programs of what Python has for state: dispatch, patterns, generators, protocols."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
import typing
from typing import Any

import numpy as np

from .trap import trap


@trap()
def a_dispatched_method_gets_another_function(t: Any) -> Any:
    class Scaled:
        @functools.singledispatchmethod
        def factor(self, value: Any) -> float:
            return 2.0

    scaled = Scaled()
    f = t.capture(lambda x: x * scaled.factor(1))
    yield f(t.x)
    Scaled.__dict__["factor"].register(int, lambda self, value: 5.0)
    yield f(t.x)


@trap()
def a_cached_helper_keeps_what_a_global_was(t: Any) -> Any:
    rates = {"rate": 2.0}

    @functools.lru_cache
    def rate(k: int) -> float:
        return rates["rate"] * k

    f = t.capture(lambda x: x * rate(3))
    yield f(t.x)
    rates["rate"] = 5.0
    yield f(t.x)
    rate.cache_clear()
    yield f(t.x)


@trap()
def a_comparison_of_total_ordering(t: Any) -> Any:
    @functools.total_ordering
    class Level:
        def __init__(self, k: int) -> None:
            self.k = k

        def __eq__(self, other: Any) -> bool:
            return bool(self.k == other.k)

        def __lt__(self, other: Any) -> bool:
            return bool(self.k < other.k)

        __hash__ = None  # type: ignore[assignment]

    low, high = Level(1), Level(2)
    f = t.capture(lambda x: x * (2.0 if high >= low else 3.0))
    yield f(t.x)
    low.k = 9
    yield f(t.x)


@trap()
def a_generator_expression_binds_late(t: Any) -> Any:
    state = {"k": 2.0}

    def late(x: Any) -> Any:
        k = state["k"]
        products = (x * k * i for i in (1.0, 2.0))
        k = k + 1
        return sum(products)

    f = t.capture(late)
    yield f(t.x)
    state["k"] = 7.0
    yield f(t.x)


@trap()
def a_generator_is_closed_early(t: Any) -> Any:
    closed: list[str] = []

    def rows(x: Any) -> Any:
        try:
            yield x * 2
            yield x * 3
        finally:
            closed.append("closed")

    def first(x: Any) -> Any:
        one = rows(x)
        value = next(one)
        one.close()
        return value * len(closed)

    f = t.capture(first)
    yield f(t.x)
    yield f(t.x)
    yield closed


@trap()
def a_generator_returns_by_yield_from(t: Any) -> Any:
    scale = [2.0]

    def inner(x: Any) -> Any:
        yield x
        return scale[0]

    def outer(x: Any) -> Any:
        k = yield from inner(x)
        yield x * k

    f = t.capture(lambda x: list(outer(x))[-1])
    yield f(t.x)
    scale[0] = 4.0
    yield f(t.x)


@trap()
def a_generator_is_thrown_into(t: Any) -> Any:
    class StopError(Exception):
        k = 3.0

    def rows(x: Any) -> Any:
        try:
            yield x
        except StopError as stop:
            yield x * stop.k

    def f_(x: Any) -> Any:
        one = rows(x)
        next(one)
        return one.throw(StopError())

    f = t.capture(f_)
    yield f(t.x)
    StopError.k = 8.0
    yield f(t.x)


@trap()
def a_context_sets_and_restores(t: Any) -> Any:
    config = types.SimpleNamespace(rate=1.0)

    @contextlib.contextmanager
    def rate(value: float) -> Any:
        before, config.rate = config.rate, value
        try:
            yield
        finally:
            config.rate = before

    def scaled(x: Any) -> Any:
        with rate(3.0):
            inside = x * config.rate
        return inside + config.rate

    f = t.capture(scaled)
    yield f(t.x)
    config.rate = 5.0
    yield f(t.x)
    yield config.rate


@trap()
def an_error_that_is_suppressed_by_its_size(t: Any) -> Any:
    names = ["a", "b", "c"]

    def named(x: Any) -> Any:
        with contextlib.suppress(IndexError):
            return x * len(names[x.shape[0] - 1])
        return x * 100

    f = t.capture(named)
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))
    names.append("four")
    yield f(t.array(np.ones(4, "float32")))


@trap()
def a_group_of_errors(t: Any) -> Any:
    raised = [ValueError("one")]

    def grouped(x: Any) -> Any:
        k = 1.0
        try:
            raise ExceptionGroup("several", list(raised))
        except* ValueError as group:
            k += len(group.exceptions)
        except* TypeError as group:
            k += 10 * len(group.exceptions)
        return x * k

    f = t.capture(grouped)
    yield f(t.x)
    raised.append(TypeError("two"))
    yield f(t.x)


@trap()
def the_else_of_a_try(t: Any) -> Any:
    table = {"a": 2.0}

    def looked_up(x: Any) -> Any:
        try:
            k = table["b"]
        except KeyError:
            return x
        else:
            x = x * k
        finally:
            x = x + 1
        return x

    f = t.capture(looked_up)
    yield f(t.x)
    table["b"] = 3.0
    yield f(t.x)


@trap()
def an_error_with_a_cause(t: Any) -> Any:
    table: dict[str, float] = {}

    def failing(x: Any) -> Any:
        try:
            return x * table["k"]
        except KeyError as error:
            raise ValueError(f"no {error.args[0]}") from error

    def caught(x: Any) -> Any:
        try:
            return failing(x)
        except ValueError as error:
            return x * (5.0 if isinstance(error.__cause__, KeyError) else 6.0)

    f = t.capture(caught)
    yield f(t.x)
    table["k"] = 3.0
    yield f(t.x)


@trap()
def the_largest_by_a_key_of_objects(t: Any) -> Any:
    parts = [types.SimpleNamespace(rank=1, k=2.0), types.SimpleNamespace(rank=2, k=3.0)]
    f = t.capture(lambda x: x * max(parts, key=lambda part: part.rank).k)
    yield f(t.x)
    parts[0].rank = 9
    yield f(t.x)


@trap()
def a_text_of_a_size_with_a_width(t: Any) -> Any:
    table = {"    3": 2.0, "    4": 5.0}
    f = t.capture(lambda x: x * table[f"{x.shape[0]:>5}"])
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def a_text_of_a_dtype(t: Any) -> Any:
    f = t.capture(lambda x: x * (2 if f"{x.dtype}".endswith("32") else 3))
    yield f(t.x)
    yield f(t.array(np.ones(4, "float64")))


@trap()
def a_match_on_a_shape(t: Any) -> Any:
    def by_rank(x: Any) -> Any:
        match tuple(x.shape):
            case (3,):
                return x * 2
            case (n,):
                return x * n
            case (n, m):
                return x * (n + m)

    f = t.capture(by_rank)
    yield f(t.x)
    yield f(t.array(np.ones(5, "float32")))
    yield f(t.array(np.ones((2, 3), "float32")))


@trap()
def a_match_on_a_dict_with_a_rest(t: Any) -> Any:
    config: dict[str, Any] = {"kind": "scale", "k": 2.0}

    def by_kind(x: Any) -> Any:
        match config:
            case {"kind": "scale", "k": k, **rest}:
                return x * k + len(rest)
            case {"kind": _}:
                return x

    f = t.capture(by_kind)
    yield f(t.x)
    config["more"] = 1
    yield f(t.x)
    config["kind"] = "none"
    yield f(t.x)


@trap()
def a_match_with_a_guard(t: Any) -> Any:
    limits = {"low": 1.0}

    def guarded(x: Any, k: float) -> Any:
        match k:
            case float() as value if value > limits["low"]:
                return x * value
            case _:
                return x

    f = t.capture(guarded)
    yield f(t.x, 3.0)
    limits["low"] = 5.0
    yield f(t.x, 3.0)


@trap()
def a_record_is_made_of_a_global(t: Any) -> Any:
    defaults = {"k": 2.0}

    @dataclasses.dataclass
    class Config:
        k: float = dataclasses.field(default_factory=lambda: defaults["k"])
        twice: float = 0.0

        def __post_init__(self) -> None:
            self.twice = self.k * 2

    f = t.capture(lambda x: x * dataclasses.replace(Config(), k=Config().k + 1).twice)
    yield f(t.x)
    defaults["k"] = 7.0
    yield f(t.x)


@trap()
def a_record_as_a_dict(t: Any) -> Any:
    @dataclasses.dataclass(slots=True)
    class Config:
        k: float = 2.0
        b: float = 1.0

    config = Config()
    f = t.capture(lambda x: x * sum(dataclasses.asdict(config).values()))
    yield f(t.x)
    config.b = 7.0
    yield f(t.x)


@trap()
def a_replaced_named_tuple(t: Any) -> Any:
    class Pair(typing.NamedTuple):
        k: float
        b: float = 1.0

    holder = [Pair(2.0)]
    f = t.capture(lambda x: x * holder[0]._replace(b=3.0).k + holder[0].b)
    yield f(t.x)
    holder[0] = holder[0]._replace(k=5.0)
    yield f(t.x)


@trap()
def annotations_that_decide(t: Any) -> Any:
    def spec(k: int) -> None: ...

    spec.__annotations__ = {"k": int}
    f = t.capture(lambda x: x * (2.0 if typing.get_type_hints(spec)["k"] is int else 3.0))
    yield f(t.x)
    spec.__annotations__ = {"k": float}
    yield f(t.x)


@trap()
def a_registry_of_subclasses(t: Any) -> Any:
    class Base:
        kinds: typing.ClassVar[list[type]] = []
        k = 1.0

        def __init_subclass__(cls, **options: Any) -> None:
            Base.kinds.append(cls)

    class One(Base):
        k = 2.0

    f = t.capture(lambda x: x * sum(kind.k for kind in Base.kinds))
    yield f(t.x)

    class Two(Base):
        k = 5.0

    yield f(t.x)
    One.k = 10.0
    yield f(t.x)


@trap()
def subclasses_are_asked_for(t: Any) -> Any:
    class Base:
        k = 1.0

    class One(Base):
        k = 2.0

    f = t.capture(lambda x: x * len(Base.__subclasses__()) * One.k)
    yield f(t.x)

    class Two(Base):
        k = 5.0

    yield f(t.x)
    yield Two.k


@trap()
def a_class_with_items(t: Any) -> Any:
    class Table:
        rates: typing.ClassVar[dict[str, float]] = {"a": 2.0}

        def __class_getitem__(cls, key: str) -> float:
            return cls.rates[key]

    f = t.capture(lambda x: x * Table["a"])
    yield f(t.x)
    Table.rates["a"] = 6.0
    yield f(t.x)
