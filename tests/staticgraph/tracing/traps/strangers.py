"""Programs of people who know nothing of captures: state in all kinds of places of Python."""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import os
import pathlib
import threading
import types
from typing import Any

from .trap import trap


class Kind(enum.Enum):
    """An enum whose values are looked up."""

    LOW = 1.0
    HIGH = 3.0

    @property
    def rate(self) -> float:
        """A property."""
        return self.value * SCALES["kind"]


class Level(enum.IntFlag):
    """Flags."""

    A = 1
    B = 2


SCALES = {"kind": 2.0}
CONTEXT: contextvars.ContextVar[float] = contextvars.ContextVar("CONTEXT", default=1.0)


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A frozen record."""

    rate: float = 2.0
    steps: tuple[int, ...] = (1, 2)


@trap()
def a_property_of_an_enum(t: Any) -> Any:
    held = types.SimpleNamespace(kind=Kind.LOW)
    f = t.capture(lambda x: x * held.kind.rate)
    yield f(t.x)
    held.kind = Kind.HIGH
    yield f(t.x)
    SCALES["kind"] = 5.0
    yield f(t.x)
    SCALES["kind"] = 2.0
    yield f(t.x)


@trap()
def a_flag_in_flags(t: Any) -> Any:
    held = [Level.A]
    f = t.capture(lambda x: x * 2 if Level.B in held[0] else x)
    yield f(t.x)
    held[0] |= Level.B
    yield f(t.x)


@trap()
def a_match_on_a_class(t: Any) -> Any:
    held: dict[str, Any] = {"what": Frozen()}

    def f(x: Any) -> Any:
        match held["what"]:
            case Frozen(rate=r, steps=(1, *rest)):
                return x * r + len(rest)
            case {"rate": float(r), **more}:
                return x * r - len(more)
            case [first, *_] if first > 1:
                return x + first
            case Kind.HIGH:
                return x * 100
            case _:
                return x * 0

    g = t.capture(f)
    for one in (Frozen(), Frozen(3.0), Frozen(2.0, (1,)), {"rate": 0.5, "a": 1}, [4, 5], [0],
                Kind.HIGH, None, Frozen()):  # fmt: skip
        held["what"] = one
        yield g(t.x)


@trap()
def a_walrus_in_a_comprehension(t: Any) -> Any:
    rates = [1.0, 2.0, 3.0]

    def f(x: Any) -> Any:
        if (n := len(rates)) > 2:
            return x * sum(last := r for r in rates) + last + n
        return x * n

    g = t.capture(f)
    yield g(t.x)
    rates[-1] = 5.0
    yield g(t.x)
    rates.pop()
    yield g(t.x)


@trap()
def a_partial_whose_keywords_change(t: Any) -> Any:
    def scaled(x: Any, rate: float = 1.0, shift: float = 0.0) -> Any:
        return x * rate + shift

    part = functools.partial(scaled, rate=2.0)
    f = t.capture(lambda x: part(x))
    yield f(t.x)
    part.keywords["rate"] = 4.0
    yield f(t.x)
    part.keywords["shift"] = 1.0
    yield f(t.x)


@trap()
def a_cache_of_a_method(t: Any) -> Any:
    class Model:
        rate = 2.0

        @functools.lru_cache(maxsize=None)  # noqa: B019, UP033
        def scale(self, k: int) -> float:
            return self.rate * k

    model = Model()
    f = t.capture(lambda x: x * model.scale(3))
    yield f(t.x)
    Model.rate = 5.0
    yield f(t.x)
    Model.scale.cache_clear()
    yield f(t.x)


@trap()
def a_cached_property(t: Any) -> Any:
    class Model:
        base = 2.0

        @functools.cached_property
        def rate(self) -> float:
            return self.base * 2

    model = Model()
    f = t.capture(lambda x: x * model.rate)
    yield f(t.x)
    model.base = 9.0
    yield f(t.x)
    del model.rate
    yield f(t.x)


@trap()
def a_getattr_that_counts_nothing(t: Any) -> Any:
    class Lazy:
        def __init__(self) -> None:
            self.known = {"rate": 2.0}

        def __getattr__(self, name: str) -> Any:
            try:
                return self.__dict__["known"][name]
            except KeyError:
                raise AttributeError(name) from None

    lazy = Lazy()
    f = t.capture(lambda x: x * lazy.rate + (lazy.shift if hasattr(lazy, "shift") else 0))
    yield f(t.x)
    lazy.known["rate"] = 3.0
    yield f(t.x)
    lazy.known["shift"] = 1.0
    yield f(t.x)
    lazy.rate = 7.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_getattribute(t: Any) -> Any:
    class Doubles:
        factor = 2.0

        def __init__(self) -> None:
            self.rate = 1.5

        def __getattribute__(self, name: str) -> Any:
            found = object.__getattribute__(self, name)
            return found * type(self).factor if name == "rate" else found

    one = Doubles()
    f = t.capture(lambda x: x * one.rate)
    yield f(t.x)
    one.rate = 4.0
    yield f(t.x)
    Doubles.factor = 10.0
    yield f(t.x)


@trap()
def a_descriptor_of_ones_own(t: Any) -> Any:
    class Unit:
        scale = 1.0

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = "_" + name

        def __get__(self, one: Any, owner: type | None = None) -> Any:
            return getattr(one, self.name) * self.scale

        def __set__(self, one: Any, value: float) -> None:
            setattr(one, self.name, value)

    class Model:
        rate = Unit()

    model = Model()
    model.rate = 2.0
    f = t.capture(lambda x: x * model.rate)
    yield f(t.x)
    model.rate = 3.0
    yield f(t.x)
    Unit.scale = 10.0
    yield f(t.x)


@trap()
def a_class_property_by_a_metaclass(t: Any) -> Any:
    class Meta(type):
        factor = 3.0

        @property
        def rate(cls) -> float:
            return cls.base * Meta.factor  # type: ignore[attr-defined, no-any-return]

    class Model(metaclass=Meta):
        base = 1.0

    f = t.capture(lambda x: x * Model.rate)
    yield f(t.x)
    Model.base = 2.0
    yield f(t.x)
    Meta.factor = 5.0
    yield f(t.x)


@trap()
def a_context_variable_is_set_and_reset(t: Any) -> Any:
    f = t.capture(lambda x: x * CONTEXT.get())
    yield f(t.x)
    token = CONTEXT.set(4.0)
    yield f(t.x)
    CONTEXT.reset(token)
    yield f(t.x)
    yield contextvars.copy_context().run(lambda: (CONTEXT.set(7.0), f(t.x))[1])
    yield f(t.x)


@trap()
def a_local_of_a_thread(t: Any) -> Any:
    local = threading.local()
    local.rate = 2.0
    f = t.capture(lambda x: x * getattr(local, "rate", 10.0))
    yield f(t.x)
    local.rate = 3.0
    yield f(t.x)
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(f(t.x)))
    other.start()
    other.join()
    yield found[0]
    del local.rate
    yield f(t.x)


@trap()
def the_environment(t: Any) -> Any:
    name = "STRANGERS_RATE"
    os.environ.pop(name, None)
    f = t.capture(lambda x: x * float(os.environ.get(name, "2")))
    g = t.capture(lambda x: x if name in os.environ else -x)
    yield f(t.x), g(t.x)
    os.environ[name] = "5"
    yield f(t.x), g(t.x)
    del os.environ[name]
    yield f(t.x), g(t.x)


@trap()
def a_date_around(t: Any) -> Any:
    held = {"day": datetime.date(2024, 2, 29)}
    f = t.capture(lambda x: x * held["day"].day + held["day"].weekday())
    yield f(t.x)
    held["day"] += datetime.timedelta(days=1)
    yield f(t.x)


@trap()
def a_duration_by_division(t: Any) -> Any:
    held = [datetime.timedelta(hours=3)]
    f = t.capture(lambda x: x * (held[0] / datetime.timedelta(minutes=90)))
    yield f(t.x)
    held[0] *= 2
    yield f(t.x)


@trap()
def decimals_and_their_context(t: Any) -> Any:
    third = [decimal.Decimal(1)]
    f = t.capture(lambda x: x * float(third[0] / 3))
    with decimal.localcontext() as context:
        context.prec = 2
        yield f(t.x)
        context.prec = 5
        yield f(t.x)
    third[0] = decimal.Decimal(2)
    yield f(t.x)


@trap()
def a_fraction(t: Any) -> Any:
    held = types.SimpleNamespace(rate=fractions.Fraction(1, 2))
    f = t.capture(lambda x: x * float(held.rate) + held.rate.denominator)
    yield f(t.x)
    held.rate += fractions.Fraction(1, 3)
    yield f(t.x)


@trap()
def a_path_that_is_asked(t: Any) -> Any:
    held = [pathlib.PurePosixPath("a/b.txt")]
    f = t.capture(lambda x: x * len(held[0].suffix) + len(held[0].parts))
    yield f(t.x)
    held[0] = held[0].with_suffix(".x") / "c"
    yield f(t.x)


@trap()
def a_file_that_exists(t: Any) -> Any:
    path = pathlib.Path("/no/such/file")
    f = t.capture(lambda x: x * 2 if path.exists() else x)
    yield f(t.x)


@trap()
def a_counter_of_things(t: Any) -> Any:
    counts = collections.Counter("abca")
    f = t.capture(lambda x: x * counts["a"] + counts["z"] + counts.most_common(1)[0][1])
    yield f(t.x)
    counts.update("zaz")
    yield f(t.x)


@trap()
def a_default_dict(t: Any) -> Any:
    table: Any = collections.defaultdict(lambda: 4.0, rate=2.0)
    f = t.capture(lambda x: x * table.get("rate", 1.0) + table.get("shift", 0.5))
    yield f(t.x)
    table["shift"] = 3.0
    yield f(t.x)


@trap()
def a_chain_of_maps(t: Any) -> Any:
    first: dict[str, float] = {}
    chain = collections.ChainMap(first, {"rate": 2.0})
    f = t.capture(lambda x: x * chain["rate"])
    yield f(t.x)
    first["rate"] = 3.0
    yield f(t.x)
    chain.maps.insert(0, {"rate": 9.0})
    yield f(t.x)
