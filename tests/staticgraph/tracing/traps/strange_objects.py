"""What people keep in weak references, generators, contexts, records and registries."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import string
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .trap import trap


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A frozen record."""

    rate: float = 2.0
    steps: tuple[int, ...] = (1, 2)


class State(NamedTuple):
    """A record that is replaced."""

    rate: float
    table: Any


@trap()
def a_weak_dict(t: Any) -> Any:
    class Owner:
        pass

    owner = Owner()
    rates: Any = weakref.WeakKeyDictionary({owner: 2.0})
    f = t.capture(lambda x: x * rates.get(owner, 1.0))
    yield f(t.x)
    rates[owner] = 5.0
    yield f(t.x)


@trap()
def a_weak_set_and_its_members(t: Any) -> Any:
    class Owner:
        def __init__(self, rate: float) -> None:
            self.rate = rate

    one, two = Owner(2.0), Owner(3.0)
    alive: Any = weakref.WeakSet([one, two])
    f = t.capture(lambda x: x * sum(sorted(each.rate for each in alive)))
    yield f(t.x)
    two.rate = 7.0
    yield f(t.x)
    alive.discard(two)
    yield f(t.x)


@trap()
def a_weak_method(t: Any) -> Any:
    class Owner:
        rate = 2.0

        def scaled(self, x: Any) -> Any:
            return x * self.rate

    owner = Owner()
    method = weakref.WeakMethod(owner.scaled)
    f = t.capture(lambda x: x if method() is None else method()(x))
    yield f(t.x)
    owner.rate = 4.0
    yield f(t.x)
    del owner
    yield f(t.x)


@trap()
def a_generator_of_ones_own(t: Any) -> Any:
    rates = [2.0, 3.0]

    def each() -> Iterator[float]:
        yield from rates

    def f(x: Any) -> Any:
        for rate in each():
            x = x * rate
        return x

    g = t.capture(f)
    yield g(t.x)
    rates.append(0.5)
    yield g(t.x)


@trap()
def a_generator_that_goes_on(t: Any) -> Any:
    rates = iter([2.0, 3.0, 4.0])
    f = t.capture(lambda x: x * next(rates))
    yield f(t.x)
    yield f(t.x)
    yield f(t.x)


@trap()
def a_cycle_that_goes_on(t: Any) -> Any:
    signs = itertools.cycle([1.0, -1.0])
    f = t.capture(lambda x: x * next(signs))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_generator_with_send(t: Any) -> Any:
    def totals() -> Any:
        total = 0.0
        while True:
            total += yield total

    def f(x: Any) -> Any:
        running = totals()
        next(running)
        return x * running.send(2.0) + running.send(3.0)

    yield t.capture(f)(t.x)


@trap()
def a_context_manager_of_ones_own(t: Any) -> Any:
    settings = {"rate": 1.0}

    @contextlib.contextmanager
    def at(rate: float) -> Iterator[None]:
        before, settings["rate"] = settings["rate"], rate
        try:
            yield
        finally:
            settings["rate"] = before

    def f(x: Any) -> Any:
        with at(3.0):
            y = x * settings["rate"]
        return y + settings["rate"]

    g = t.capture(f)
    yield g(t.x), settings["rate"]
    with at(5.0):
        yield g(t.x)
    yield g(t.x), settings["rate"]


@trap()
def a_context_manager_around_calls(t: Any) -> Any:
    class Scaled:
        stack: ClassVar[list[float]] = [1.0]

        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __enter__(self) -> None:
            self.stack.append(self.rate)

        def __exit__(self, *error: object) -> None:
            self.stack.pop()

    f = t.capture(lambda x: x * Scaled.stack[-1])
    yield f(t.x)
    with Scaled(2.0), Scaled(4.0):
        yield f(t.x)
    yield f(t.x)


@trap()
def an_error_and_what_is_done_then(t: Any) -> Any:
    table = {"a": 2.0}

    def f(x: Any, key: str = "a") -> Any:
        try:
            rate = table[key]
        except KeyError as error:
            rate = float(len(error.args[0]))
        else:
            rate += 1
        finally:
            x = x + 1
        return x * rate

    g = t.capture(lambda x: f(x, "a") + f(x, "bb"))
    yield g(t.x)
    del table["a"]
    yield g(t.x)
    table["bb"] = 5.0
    yield g(t.x)


@trap()
def a_retry(t: Any) -> Any:
    limit = [2]

    def f(x: Any) -> Any:
        tries = 0
        while True:
            try:
                tries += 1
                if tries < limit[0]:
                    raise ValueError(tries)
                return x * tries
            except ValueError:
                continue

    g = t.capture(f)
    yield g(t.x)
    limit[0] = 4
    yield g(t.x)


@trap()
def a_registry_by_a_decorator(t: Any) -> Any:
    registry: dict[str, Callable[[Any], Any]] = {}

    def register(name: str) -> Any:
        def keep(f: Any) -> Any:
            registry[name] = f
            return f

        return keep

    @register("double")
    def double(x: Any) -> Any:
        return x * 2

    f = t.capture(lambda x: functools.reduce(lambda v, k: registry[k](v), sorted(registry), x))
    yield f(t.x)

    @register("add")
    def add(x: Any) -> Any:
        return x + 10

    yield f(t.x)
    registry["double"] = add
    yield f(t.x)


@trap()
def a_function_with_attributes(t: Any) -> Any:
    def scaled(x: Any) -> Any:
        return x * scaled.rate  # type: ignore[attr-defined]

    scaled.rate = 2.0  # type: ignore[attr-defined]
    f = t.capture(scaled)
    yield f(t.x)
    scaled.rate = 3.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def defaults_that_are_changed(t: Any) -> Any:
    def scaled(x: Any, rates: list[float] = [2.0], *, shift: float = 1.0) -> Any:  # noqa: B006
        return x * rates[0] + shift

    f = t.capture(lambda x: scaled(x))
    yield f(t.x)
    scaled.__defaults__[0][0] = 4.0  # type: ignore[index]
    yield f(t.x)
    scaled.__kwdefaults__["shift"] = 0.0
    yield f(t.x)


@trap()
def a_template(t: Any) -> Any:
    names = {"key": "rate"}
    table = {"rate": 2.0, "more": 3.0}
    f = t.capture(lambda x: x * table[string.Template("$key").substitute(names)])
    yield f(t.x)
    names["key"] = "more"
    yield f(t.x)


@trap()
def getters_of_operator(t: Any) -> Any:
    held = types.SimpleNamespace(a=types.SimpleNamespace(rate=2.0), table={"k": 3.0})
    rate, item = operator.attrgetter("a.rate"), operator.itemgetter("k")
    f = t.capture(lambda x: x * rate(held) + item(held.table))
    yield f(t.x)
    held.a.rate = 5.0
    yield f(t.x)
    held.table = {"k": -1.0}
    yield f(t.x)


@trap()
def a_record_is_replaced(t: Any) -> Any:
    held = {"state": State(2.0, np.ones(3, "float32"))}
    f = t.capture(lambda x: x * held["state"].rate + t.array(held["state"].table))
    yield f(t.x)
    held["state"] = held["state"]._replace(rate=3.0)
    yield f(t.x)
    held["state"].table[1] = 5.0
    yield f(t.x)


@trap()
def a_frozen_record_is_replaced(t: Any) -> Any:
    held = [Frozen()]
    f = t.capture(lambda x: x * held[0].rate + math.prod(held[0].steps))
    yield f(t.x)
    held[0] = dataclasses.replace(held[0], steps=(3, 4))
    yield f(t.x)
    object.__setattr__(held[0], "rate", 9.0)
    yield f(t.x)
