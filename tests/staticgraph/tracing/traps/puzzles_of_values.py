"""Programs of what Python has for state: dispatch, patterns, generators, protocols."""

from __future__ import annotations

import itertools
import operator
import threading
import types
import weakref
from typing import Any
from unittest import mock

from .trap import trap


@trap()
def a_module_with_getattr(t: Any) -> Any:
    module = types.ModuleType("puzzles_module")
    values = {"rate": 2.0}
    module.__getattr__ = lambda name: values[name]  # type: ignore[method-assign]
    f = t.capture(lambda x: x * module.rate)
    yield f(t.x)
    values["rate"] = 3.0
    yield f(t.x)
    module.rate = 9.0
    yield f(t.x)


@trap()
def a_table_with_missing(t: Any) -> Any:
    class Table(dict[str, float]):
        default = 2.0

        def __missing__(self, key: str) -> float:
            return self.default

    table = Table()
    f = t.capture(lambda x: x * table["a"])
    yield f(t.x)
    table.default = 4.0
    yield f(t.x)
    table["a"] = 9.0
    yield f(t.x)


@trap()
def a_format_of_ones_own(t: Any) -> Any:
    class Name:
        digits = 1

        def __format__(self, spec: str) -> str:
            return "a" * self.digits + spec

    name = Name()
    table = {"a!": 2.0, "aa!": 3.0}
    f = t.capture(lambda x: x * table[f"{name:!}"])
    yield f(t.x)
    name.digits = 2
    yield f(t.x)


@trap()
def an_object_as_a_bound_of_a_slice(t: Any) -> Any:
    class Place:
        def __init__(self) -> None:
            self.k = 1

        def __index__(self) -> int:
            return self.k

    place = Place()
    f = t.capture(lambda x: x[place:] * 2)
    yield f(t.x)
    place.k = 2
    yield f(t.x)


@trap()
def an_object_on_the_right_of_an_operator(t: Any) -> Any:
    class Scaled:
        __array_ufunc__ = None
        k = 2.0

        def __rmul__(self, x: Any) -> Any:
            return x + self.k

    scaled = Scaled()
    f = t.capture(lambda x: x * scaled)
    yield f(t.x)
    scaled.k = 8.0
    yield f(t.x)


@trap()
def an_object_as_a_float(t: Any) -> Any:
    class Rate:
        k = 2.0

        def __float__(self) -> float:
            return self.k

    rate = Rate()
    f = t.capture(lambda x: x * float(rate))
    yield f(t.x)
    rate.k = 8.0
    yield f(t.x)


@trap()
def a_mapping_of_ones_own_in_stars(t: Any) -> Any:
    class Options:
        def __init__(self) -> None:
            self.table = {"k": 2.0}

        def keys(self) -> Any:
            return self.table.keys()

        def __getitem__(self, key: str) -> float:
            return self.table[key]

    def scaled(x: Any, k: float = 1.0, b: float = 0.0) -> Any:
        return x * k + b

    options = Options()
    f = t.capture(lambda x: scaled(x, **options))
    yield f(t.x)
    options.table["b"] = 5.0
    yield f(t.x)


@trap()
def products_and_groups_of_lists(t: Any) -> Any:
    numbers = [1.0, 1.0, 2.0]

    def grouped(x: Any) -> Any:
        for k, group in itertools.groupby(numbers):
            x = x * k + len(list(group))
        for a, b in itertools.product(numbers[:2], repeat=2):
            x = x + a * b
        return x

    f = t.capture(grouped)
    yield f(t.x)
    numbers[1] = 2.0
    yield f(t.x)


@trap()
def accumulated_and_compressed(t: Any) -> Any:
    flags = [True, False, True]
    f = t.capture(lambda x: sum(itertools.compress(itertools.accumulate([x, x * 2, x * 3]), flags)))
    yield f(t.x)
    flags[1] = True
    yield f(t.x)


@trap()
def lists_that_no_longer_fit(t: Any) -> Any:
    numbers, names = [1.0, 2.0], ["a", "b"]

    def zipped(x: Any) -> Any:
        try:
            return sum(x * k * len(n) for k, n in zip(numbers, names, strict=True))
        except ValueError:
            return x * 100

    f = t.capture(zipped)
    yield f(t.x)
    names.append("c")
    yield f(t.x)


@trap()
def an_object_that_counts_its_end(t: Any) -> Any:
    ended: list[float] = []

    class Scratch:
        def __del__(self) -> None:
            ended.append(1.0)

    def scratched(x: Any) -> Any:
        scratch = Scratch()
        del scratch
        return x * len(ended)

    f = t.capture(scratched)
    yield f(t.x)
    yield f(t.x)


@trap()
def what_is_done_when_an_object_ends(t: Any) -> Any:
    ended: list[float] = []

    class Scratch: ...

    def scratched(x: Any) -> Any:
        scratch = Scratch()
        weakref.finalize(scratch, ended.append, 1.0)
        del scratch
        return x * len(ended)

    f = t.capture(scratched)
    yield f(t.x)
    yield f(t.x)


@trap()
def a_coroutine_that_is_driven_by_hand(t: Any) -> Any:
    state = {"k": 2.0}

    async def scaled(x: Any) -> Any:
        return x * state["k"]

    def driven(x: Any) -> Any:
        one = scaled(x)
        try:
            one.send(None)
        except StopIteration as stop:
            return stop.value

    f = t.capture(driven)
    yield f(t.x)
    state["k"] = 5.0
    yield f(t.x)


@trap()
def an_awaitable_of_ones_own(t: Any) -> Any:
    class Ready:
        k = 2.0

        def __await__(self) -> Any:
            yield self.k
            return self.k + 1

    ready = Ready()

    async def scaled(x: Any) -> Any:
        return x * await ready

    def driven(x: Any) -> Any:
        one = scaled(x)
        first = one.send(None)
        try:
            one.send(None)
        except StopIteration as stop:
            return stop.value + first

    f = t.capture(driven)
    yield f(t.x)
    ready.k = 5.0
    yield f(t.x)


@trap()
def a_lock_around(t: Any) -> Any:
    lock, state = threading.Lock(), {"k": 2.0}

    def locked(x: Any) -> Any:
        with lock:
            return x * state["k"]

    f = t.capture(locked)
    yield f(t.x)
    state["k"] = 3.0
    yield f(t.x)
    yield lock.locked()


@trap()
def whether_a_lock_is_taken(t: Any) -> Any:
    lock = threading.Lock()
    f = t.capture(lambda x: x * (2.0 if lock.locked() else 3.0))
    yield f(t.x)
    lock.acquire()
    yield f(t.x)


@trap()
def an_event_that_is_set(t: Any) -> Any:
    event = threading.Event()
    f = t.capture(lambda x: x * (2.0 if event.is_set() else 3.0))
    yield f(t.x)
    event.set()
    yield f(t.x)


@trap()
def a_patched_object(t: Any) -> Any:
    config = types.SimpleNamespace(rate=2.0, scale=lambda x: x * 2)
    f = t.capture(lambda x: config.scale(x) * config.rate)
    yield f(t.x)
    with mock.patch.object(config, "rate", 5.0), mock.patch.object(config, "scale", lambda x: x):
        yield f(t.x)
    yield f(t.x)


@trap()
def a_patched_dict(t: Any) -> Any:
    config = {"rate": 2.0}
    f = t.capture(lambda x: x * config.get("rate", 1.0) * config.get("more", 1.0))
    yield f(t.x)
    with mock.patch.dict(config, {"more": 5.0}):
        yield f(t.x)
    with mock.patch.dict(config, {}, clear=True):
        yield f(t.x)
    yield f(t.x)


@trap()
def callers_and_getters_of_operator(t: Any) -> Any:
    class Table:
        def __init__(self) -> None:
            self.rows = [1.0, 2.0, 3.0]

        def row(self, i: int, scale: float = 1.0) -> float:
            return self.rows[i] * scale

    table = Table()
    call, get = operator.methodcaller("row", 1, scale=2.0), operator.attrgetter("rows")
    f = t.capture(lambda x: x * call(table) + operator.itemgetter(0, 2)(get(table))[1])
    yield f(t.x)
    table.rows[1] = 7.0
    yield f(t.x)
    table.rows = [1.0, 1.0, 9.0]
    yield f(t.x)


@trap()
def an_operator_that_sets_an_item(t: Any) -> Any:
    seen: dict[str, float] = {"k": 1.0}

    def counted(x: Any) -> Any:
        operator.setitem(seen, "k", seen["k"] + 1)
        return x * seen["k"]

    f = t.capture(counted)
    yield f(t.x)
    yield f(t.x)
    yield seen


@trap()
def a_list_is_extended_by_an_operator(t: Any) -> Any:
    seen: list[float] = [1.0]

    def counted(x: Any) -> Any:
        operator.iadd(seen, [2.0])
        return x * len(seen)

    f = t.capture(counted)
    yield f(t.x)
    yield f(t.x)
    yield seen


@trap()
def a_table_is_updated_by_vars(t: Any) -> Any:
    config = types.SimpleNamespace(k=1.0)

    def counted(x: Any) -> Any:
        vars(config).update(k=config.k + 1)
        return x * config.k

    f = t.capture(counted)
    yield f(t.x)
    yield f(t.x)
    yield config.k


@trap()
def locals_in_a_text(t: Any) -> Any:
    table = {"k=2": 3.0, "k=4": 5.0}
    ks = [2]

    def named(x: Any) -> Any:
        k = ks[0]
        return x * table["k={k}".format(**locals())]

    f = t.capture(named)
    yield f(t.x)
    ks[0] = 4
    yield f(t.x)


@trap()
def a_dict_joined_in_place(t: Any) -> Any:
    config = {"k": 2.0}
    f = t.capture(lambda x: x * ({"k": 1.0, "b": 3.0} | config)["b"] * sum(config.values()))
    yield f(t.x)
    config |= {"b": 5.0}
    yield f(t.x)


@trap()
def a_default_that_is_set_once(t: Any) -> Any:
    config: dict[str, float] = {}
    f = t.capture(lambda x: x * config.setdefault("k", 2.0))
    yield f(t.x)
    yield config
    config["k"] = 5.0
    yield f(t.x)


@trap()
def an_item_is_popped_and_put_back(t: Any) -> Any:
    stack = [1.0, 2.0]

    def popped(x: Any) -> Any:
        k = stack.pop()
        stack.append(k)
        return x * k

    f = t.capture(popped)
    yield f(t.x)
    stack.append(5.0)
    yield f(t.x)
    yield stack


@trap()
def a_list_turns_in_each_call(t: Any) -> Any:
    ring = [1.0, 2.0, 3.0]

    def turned(x: Any) -> Any:
        ring.append(ring.pop(0))
        return x * ring[0]

    f = t.capture(turned)
    yield f(t.x)
    yield f(t.x)
    yield ring
