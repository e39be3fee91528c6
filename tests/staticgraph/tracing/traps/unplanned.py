"""Traps that nobody planned for."""

from __future__ import annotations

import abc
import asyncio
import bisect
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import inspect
import itertools
import operator
import os
import random
import sys
import threading
import types
import warnings
import weakref
from typing import Any

import numpy as np

from .trap import trap

BIG = np.ones((3, 200))
SCALES: dict[str, Any] = {"a": np.full((3, 200), 2.0)}


# ---- arrays around that are large
@trap("arrays", "jax")
def a_large_array_of_a_global_is_written(t: Any) -> Any:
    f = t.capture(lambda x: x * BIG[:, 0])
    for k in (1.0, 2.0, 3.0):
        BIG[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_decides(t: Any) -> Any:
    table = np.ones((3, 200))
    f = t.capture(lambda x: x * 2 if table[0, 0] > 1 else x * 3)
    for k in (1.0, 2.0, 3.0):
        table[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_by_two_names(t: Any) -> Any:
    a = np.ones((3, 200))
    held = {"a": a, "b": a}
    f = t.capture(lambda x: x * held["a"][:, 0] + held["b"][:, 1])
    yield f(t.x)
    held["b"] = a * 5
    yield f(t.x)
    a[:] = 7.0
    yield f(t.x)
    held["a"] = held["b"]
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_and_a_view_of_it(t: Any) -> Any:
    a = np.ones((3, 200))
    view = a[:, 1:]
    f = t.capture(lambda x: x * a[:, 1] + view[:, 0])
    for k in (1.0, 2.0):
        view[:] = k
        yield f(t.x)


@trap("arrays", "jax")
def a_large_array_gets_another_dtype(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float64")}
    f = t.capture(lambda x: x * held["w"][:, 0])
    yield f(t.x)
    held["w"] = np.ones((3, 200), "float32")
    yield f(t.x)
    held["w"] = np.ones((3, 200), "int64")
    yield f(t.x)
    held["w"] = np.ones((3, 200), "float64").tolist()
    try:
        f(t.x)
    except TypeError:
        yield "lists have no such index"


@trap("arrays", "jax")
def a_large_array_becomes_a_masked_one(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float32")}
    f = t.capture(lambda x: x * held["w"].sum(axis=1))
    yield f(t.x)
    held["w"] = np.ma.array(held["w"], mask=np.arange(600).reshape(3, 200) % 2 == 0)
    yield np.asarray(f(t.x))


@trap("arrays", "jax")
def a_large_array_is_asked_for_its_class(t: Any) -> Any:
    held = {"w": np.ones((3, 200), "float32")}
    f = t.capture(lambda x: x * held["w"][:, 0] if type(held["w"]) is np.ndarray else x)
    yield f(t.x)
    held["w"] = np.matrix(held["w"]) * 2
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_is_in_a_list_that_is_sorted(t: Any) -> Any:
    arrays = [np.full((3, 200), k) for k in (3.0, 1.0, 2.0)]
    f = t.capture(lambda x: x * sorted(arrays, key=lambda one: one[0, 0])[0][:, 0])
    yield f(t.x)
    arrays[0][:] = 0.5
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_keeps_a_cached_sum(t: Any) -> Any:
    class Held:
        def __init__(self) -> None:
            self.w = np.ones((3, 200))

        @functools.cached_property
        def total(self) -> Any:
            return self.w.sum()

    held = Held()
    f = t.capture(lambda x: x * held.w[:, 0] + float(held.total))
    yield f(t.x)
    held.w[:] = 2.0
    yield f(t.x)
    yield float(held.total)


@trap("arrays", "jax")
def a_large_array_by_its_identity(t: Any) -> Any:
    w = np.ones((3, 200))
    held, known = {"w": w}, {id(w): 5.0}
    f = t.capture(lambda x: x * known.get(id(held["w"]), 1.0) * held["w"][:, 0])
    yield f(t.x)
    held["w"] = w * 2
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_with_an_error_that_is_caught(t: Any) -> Any:
    w = np.ones((3, 200))

    def f(x: Any) -> Any:
        try:
            k = w.item(0)
        except Exception:
            k = 100.0
        return x * k

    g = t.capture(f)
    yield g(t.x)
    w[:] = 2.0
    yield g(t.x)


@trap("arrays", "jax")
def a_large_array_is_deleted_and_made_again(t: Any) -> Any:
    held: dict[str, Any] = {"w": np.ones((3, 200))}
    f = t.capture(lambda x: x * held["w"][:, 0])
    yield f(t.x)
    held.clear()
    held["w"] = np.full((3, 200), 3.0)
    yield f(t.x)


@trap("arrays", "jax")
def a_large_array_that_a_helper_fills(t: Any) -> Any:
    w = np.ones((3, 200))

    def helper(x: Any) -> Any:
        w.fill(4.0)
        return x * w[:, 0]

    f = t.capture(helper)
    yield f(t.x)
    yield float(w[0, 0])


@trap("arrays", "jax")
def large_indices_outside(t: Any) -> Any:
    index = np.zeros(300, "int64")
    f = t.capture(lambda x: x[index][:4])
    yield f(t.x)
    index[:4] = [2, 1, 0, 1]
    yield f(t.x)
    index[:4] = -1
    yield f(t.x)


@trap("arrays", "jax")
def a_large_mask_outside(t: Any) -> Any:
    mask = np.zeros((3, 500), bool)
    f = t.capture(lambda x: t.xp.where(mask[:, 0], x, -x))
    yield f(t.x)
    mask[1] = True
    yield f(t.x)


@trap("arrays", "jax")
def slices_of_a_large_array_with_negative_steps(t: Any) -> Any:
    w = np.arange(600.0).reshape(3, 200)
    f = t.capture(lambda x: x * w[::-1, ::-7][:, 3] + w[..., -2:-9:-3][:, 1])
    yield f(t.x)
    w *= 2
    yield f(t.x)


@trap("arrays", "jax")
def a_method_of_an_object_with_large_weights(t: Any) -> Any:
    @dataclasses.dataclass
    class Layer:
        w: Any
        rate: float = 1.0

        def __call__(self, x: Any) -> Any:
            return x * self.w[:, 0] * self.rate

    layer = Layer(np.ones((3, 200)))
    f = t.capture(layer)
    yield f(t.x)
    layer.w[:] = 3.0
    yield f(t.x)
    layer.w = layer.w + 1
    yield f(t.x)
    layer.rate = 2.0
    yield f(t.x)


# ---- language
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
def a_loop_of_asyncio(t: Any) -> Any:
    rates = [2.0]

    async def rate() -> float:
        await asyncio.sleep(0)
        return rates[0]

    async def both(f: Any) -> Any:
        return [f(t.x) * await rate(), f(t.x)]

    f = t.capture(lambda x: x * rates[0])
    yield asyncio.run(both(f))
    rates[0] = 5.0
    yield asyncio.run(both(f))


@trap()
def a_context_variable_set_in_another_context(t: Any) -> Any:
    rate: Any = contextvars.ContextVar("rate", default=2.0)
    f = t.capture(lambda x: x * rate.get())
    yield f(t.x)
    other = contextvars.copy_context()
    other.run(rate.set, 7.0)
    yield other.run(f, t.x)
    yield f(t.x)


@trap()
def a_default_of_a_context_variable(t: Any) -> Any:
    rate: Any = contextvars.ContextVar("rate")
    token = rate.set(3.0)
    f = t.capture(lambda x: x * rate.get(2.0))
    yield f(t.x)
    rate.reset(token)
    yield f(t.x)


@trap()
def a_walrus_in_a_condition_of_the_outside(t: Any) -> Any:
    numbers = [3.0]
    f = t.capture(lambda x: x * k if (k := numbers[-1]) > 2 else x - k)
    yield f(t.x)
    numbers.append(1.0)
    yield f(t.x)


@trap()
def a_nonlocal_in_a_class_body(t: Any) -> Any:
    k = 2.0

    def f(x: Any) -> Any:
        class Scaled:
            rate = k * 2

        return x * Scaled.rate

    g = t.capture(f)
    yield g(t.x)
    k = 5.0
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
def init_subclass_registers(t: Any) -> Any:
    class Base:
        known: list[Any] = []  # noqa: RUF012

        def __init_subclass__(cls, **more: Any) -> None:
            Base.known.append(cls)

    f = t.capture(lambda x: x * (1 + len(Base.known)))
    yield f(t.x)

    class Other(Base):
        pass

    yield f(t.x)
    yield Other.__name__


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
def a_property_with_a_setter_that_clamps(t: Any) -> Any:
    class Config:
        limit = 3.0
        _rate = 1.0

        @property
        def rate(self) -> float:
            return self._rate

        @rate.setter
        def rate(self, value: float) -> None:
            self._rate = min(value, self.limit)

    config = Config()
    f = t.capture(lambda x: x * config.rate)
    for rate, limit in ((2.0, 3.0), (9.0, 3.0), (9.0, 20.0)):
        Config.limit = limit
        config.rate = rate
        yield f(t.x)


@trap()
def getattr_delegates(t: Any) -> Any:
    class Proxy:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    inner = types.SimpleNamespace(rate=2.0)
    proxy = Proxy(Proxy(inner))
    f = t.capture(lambda x: x * proxy.rate)
    yield f(t.x)
    inner.rate = 3.0
    yield f(t.x)
    proxy.rate = 4.0  # type: ignore[attr-defined]
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
def a_bound_method_of_a_changed_object(t: Any) -> Any:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def by(self, x: Any) -> Any:
            return x * self.k

    one, other = Scale(2.0), Scale(3.0)
    held = {"f": one.by}
    f = t.capture(lambda x: held["f"](x))
    yield f(t.x)
    one.k = 4.0
    yield f(t.x)
    held["f"] = other.by
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


FACTOR = [1.0]


@trap()
def a_generator_as_a_context_manager_that_changes(t: Any) -> Any:
    state = {"k": 2.0}

    @contextlib.contextmanager
    def scaled(k: float) -> Any:
        before = state["k"]
        state["k"] = k
        try:
            yield
        finally:
            state["k"] = before

    def f(x: Any) -> Any:
        with scaled(5.0):
            y = x * state["k"]
        return y + state["k"]

    g = t.capture(f)
    yield g(t.x)
    state["k"] = 3.0
    yield g(t.x)
    yield state["k"]


@trap()
def a_callback_of_a_weak_reference(t: Any) -> Any:
    class Config:
        rate = 2.0

    config: Any = Config()
    died: list[float] = []
    reference = weakref.ref(config, lambda _: died.append(1.0))
    f = t.capture(lambda x: x * (reference().rate if reference() else 9.0) + len(died))
    yield f(t.x)
    del config
    yield f(t.x)


@trap()
def a_cache_with_a_key_of_a_size(t: Any) -> Any:
    rates = [2.0]

    @functools.cache
    def rate(n: int) -> float:
        return n * rates[0]

    f = t.capture(lambda x: x * rate(x.shape[0]))
    yield f(t.x)
    rates[0] = 5.0
    yield f(t.x)
    rate.cache_clear()
    yield f(t.x)


@trap()
def a_dict_is_ordered_anew(t: Any) -> Any:
    table = {"a": 2.0, "b": 3.0}
    f = t.capture(lambda x: x * next(iter(table.values())))
    yield f(t.x)
    table["a"] = table.pop("a")
    yield f(t.x)
    table |= {"b": 7.0}
    yield f(t.x)


@trap()
def two_dicts_are_merged(t: Any) -> Any:
    first, second = {"k": 2.0}, {"j": 3.0}
    f = t.capture(lambda x: x * (first | second)["k"])
    yield f(t.x)
    second["k"] = 5.0
    yield f(t.x)


@trap()
def a_set_by_its_differences(t: Any) -> Any:
    one, other = {1, 2, 3}, {3}
    f = t.capture(lambda x: x * sum(one - other))
    yield f(t.x)
    other.add(1)
    yield f(t.x)


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


@trap()
def sorted_by_an_attribute(t: Any) -> Any:
    ones = [types.SimpleNamespace(rank=k, rate=float(k)) for k in (3, 1, 2)]
    f = t.capture(lambda x: x * min(ones, key=operator.attrgetter("rank")).rate)
    yield f(t.x)
    ones[0].rank = 0
    yield f(t.x)


@trap()
def a_key_function_is_replaced(t: Any) -> Any:
    ranks = {"key": lambda k: k}
    numbers = [3.0, 1.0, 2.0]
    f = t.capture(lambda x: x * sorted(numbers, key=ranks["key"])[0])
    yield f(t.x)
    ranks["key"] = lambda k: -k
    yield f(t.x)


@trap()
def traced_values_are_sorted(t: Any) -> Any:
    f = t.capture(lambda x: x * sorted([x[0], x[1], x[2]])[0])
    yield f(t.x)
    yield f(-t.x)
    yield f(t.x * 0)


@trap()
def the_largest_traced_value_by_a_key(t: Any) -> Any:
    f = t.capture(lambda x: max([x[0], x[1], x[2]], key=lambda k: -k) * x)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_default_list_collects_over_calls(t: Any) -> Any:
    def f(x: Any, kept: Any = []) -> Any:  # noqa: B006
        kept += [1.0]
        return x * len(kept)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def a_default_dict_makes_a_key(t: Any) -> Any:
    table: Any = collections.defaultdict(lambda: 3.0)
    f = t.capture(lambda x: x * table["k"])
    yield f(t.x)
    yield len(table)
    table["k"] = 5.0
    yield f(t.x)


@trap()
def a_module_is_patched(t: Any) -> Any:
    before = operator.neg
    f = t.capture(lambda x: operator.neg(x))
    try:
        yield f(t.x)
        operator.neg = lambda x: x * 3  # type: ignore[assignment]
        yield f(t.x)
    finally:
        operator.neg = before


@trap()
def a_variable_of_the_environment_is_unset(t: Any) -> Any:
    os.environ["TRAP_K"] = "2"
    f = t.capture(lambda x: x * float(os.environ.get("TRAP_K") or 7.0))
    try:
        yield f(t.x)
        os.environ["TRAP_K"] = ""
        yield f(t.x)
        del os.environ["TRAP_K"]
        yield f(t.x)
    finally:
        os.environ.pop("TRAP_K", None)


@trap()
def warnings_become_errors(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            warnings.warn("careful", stacklevel=1)
        except UserWarning:
            return x * 5
        return x * 2

    g = t.capture(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield g(t.x)
        warnings.simplefilter("error")
        yield g(t.x)


@trap()
def a_local_of_a_thread_in_a_class(t: Any) -> Any:
    class Local(threading.local):
        rate = 2.0

        def __init__(self) -> None:
            self.k = 1.0

    local = Local()
    f = t.capture(lambda x: x * local.rate * local.k)
    yield f(t.x)
    local.k = 3.0
    yield f(t.x)
    Local.rate = 5.0
    yield f(t.x)
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(f(t.x)))
    other.start()
    other.join()
    yield found[0]


@trap()
def a_seed_that_an_argument_gives(t: Any) -> Any:
    f = t.capture(lambda x, seed: x * random.Random(seed).random())
    yield f(t.x, seed=1)
    yield f(t.x, seed=2)
    yield f(t.x, seed=1)


@trap()
def a_generator_of_numpy_is_copied(t: Any) -> Any:
    numbers = np.random.default_rng(0)
    f = t.capture(lambda x: x * copy.deepcopy(numbers).random())
    yield f(t.x)
    numbers.random()
    yield f(t.x)


@trap()
def a_scalar_of_no_axes_is_written(t: Any) -> Any:
    k = np.array(2.0)
    f = t.capture(lambda x: x * float(k) + k.item())
    yield f(t.x)
    k[...] = 3.0
    yield f(t.x)
    k -= 1
    yield f(t.x)


@trap()
def a_structured_array_by_a_field(t: Any) -> Any:
    rows = np.zeros(3, [("a", "f4"), ("b", "f8", (2,))])
    f = t.capture(lambda x: x * float(rows["b"][1, 1] + rows[0]["a"] + 1))
    yield f(t.x)
    rows["b"][1] = 2.0
    yield f(t.x)
    rows[0] = (5.0, 1.0)
    yield f(t.x)


@trap()
def a_view_of_a_view_is_written_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        z = y[1:]
        z[0:1] += 5
        z[1:][0:1] *= 2
        return y

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x * 2)


@trap("tensors", "torch")
def a_view_of_a_view_of_the_outside_is_written(t: Any) -> Any:
    buffer = t.array(np.zeros((2, 3), "float32"))
    row = buffer[1][1:]

    def f(x: Any) -> Any:
        row.add_(x[:2])
        return buffer * 1

    g = t.capture(f)
    for _ in range(3):
        yield g(t.x)
    yield buffer


@trap()
def slices_with_negative_steps(t: Any) -> Any:
    step = [2]

    def f(x: Any) -> Any:
        y = t.xp.flip(x, (0,)) if t.name in ("torch", "tensors") else x[::-1]
        return y[:: step[0]] * 2

    g = t.capture(f)
    yield g(t.x)
    step[0] = 1
    yield g(t.x)


@trap()
def a_slice_object_that_is_kept(t: Any) -> Any:
    held = {"rows": slice(0, 2)}
    f = t.capture(lambda x: x[held["rows"]] * 2)
    yield f(t.x)
    held["rows"] = slice(1, 3)
    yield f(t.x)


@trap("tensors", "torch")
def a_hook_changes_a_buffer(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", t.array(np.zeros(1, "float32")))

        def forward(self, x: Any) -> Any:
            return x * (self.calls + 1)

    net = Net()
    net.register_forward_hook(lambda module, given, out: module.calls.add_(1))
    f = t.capture(net)
    for _ in range(3):
        yield f(t.x)
    yield net.calls


@trap("tensors", "torch")
def a_hook_before_exchanges_a_buffer(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", t.array(np.ones(1, "float32")))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    def doubled(module: Any, given: Any) -> None:
        module.scale = module.scale * 2

    net = Net()
    net.register_forward_pre_hook(doubled)
    f = t.capture(net)
    for _ in range(3):
        yield f(t.x)
    yield net.scale


@trap("tensors", "torch")
def the_groups_of_an_optimizer_change(t: Any) -> Any:
    w = t.array(np.ones(3, "float32")).requires_grad_()
    v = t.array(np.ones(3, "float32")).requires_grad_()
    optimizer = t.xp.optim.SGD([{"params": [w]}, {"params": [v], "lr": 0.5}], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x + v).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    g = t.capture(step)
    yield g(t.x)
    optimizer.param_groups[1]["lr"] = 0.0
    yield g(t.x)
    optimizer.param_groups[0]["weight_decay"] = 0.5
    yield g(t.x)
    optimizer.param_groups.pop()
    yield g(t.x)
    yield w.detach(), v.detach()


@trap("tensors", "torch")
def a_scope_of_autocast_that_is_left(t: Any) -> Any:
    w = t.array(np.ones((3, 3), "float32"))

    def f(x: Any) -> Any:
        with t.xp.autocast("cpu", dtype=t.xp.float16):
            y = x @ w
        return y.float() + (x @ w)

    g = t.capture(f)
    yield g(t.x)
    w += 1
    yield g(t.x)


@trap("tensors", "torch")
def a_subclass_of_tensors(t: Any) -> Any:
    class Scaled(t.xp.Tensor):  # type: ignore[misc,name-defined]
        def doubled(self) -> Any:
            return self * 2

    def f(x: Any) -> Any:
        return x.doubled() if isinstance(x, Scaled) else x * 3

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x.as_subclass(Scaled)) * 1


@trap("tensors", "torch")
def inference_mode_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        with t.xp.inference_mode():
            return x * 2

    x = t.x.requires_grad_()
    g = t.capture(f)
    yield g(x).requires_grad
    yield g(x)


@trap("tensors", "torch")
def no_grad_as_a_decorator(t: Any) -> Any:
    @t.xp.no_grad()
    def scaled(x: Any) -> Any:
        return x * 2

    def f(x: Any) -> Any:
        return (scaled(x) * x).sum()

    x = t.x.requires_grad_()
    g = t.capture(f)
    g(x).backward()
    yield x.grad


@trap("tensors", "torch")
def set_grad_enabled_by_a_flag(t: Any) -> Any:
    flags = [True]

    def f(x: Any) -> Any:
        with t.xp.set_grad_enabled(flags[0]):
            y = x * 2
        return (y * x).sum()

    g = t.capture(f)
    for flag in (True, False, True):
        flags[0] = flag
        x = t.x.requires_grad_()
        g(x).backward()
        yield x.grad


@trap("tensors", "torch")
def the_default_dtype_set_and_left_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        t.xp.set_default_dtype(t.xp.float64)
        y = t.xp.zeros(3) + 1
        t.xp.set_default_dtype(t.xp.float32)
        return x * y

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)
    yield str(t.xp.get_default_dtype())


@trap("tensors", "torch")
def a_state_dict_is_kept_over_a_step(t: Any) -> Any:
    layer = t.nn.Linear(3, 1)
    layer.weight.data.fill_(1.0)
    layer.bias.data.fill_(0.0)
    kept = layer.state_dict()
    f = t.capture(lambda x: layer(x) + kept["weight"].sum())
    yield f(t.x).detach()
    layer.weight.data.fill_(2.0)
    yield f(t.x).detach()
    kept["weight"] = kept["weight"] * 5
    yield f(t.x).detach()


@trap("tensors", "torch")
def numpy_of_an_outside_tensor(t: Any) -> Any:
    w = t.array(np.ones(3, "float32"))
    memory = w.numpy()
    f = t.capture(lambda x: x * w + float(memory[0]))
    yield f(t.x)
    memory[0] = 5.0
    yield f(t.x)
    w.fill_(2.0)
    yield f(t.x)


@trap("tensors", "torch")
def a_tensor_of_a_large_array(t: Any) -> Any:
    table = np.ones((3, 400), "float32")
    f = t.capture(lambda x: x * t.xp.from_numpy(table)[:, 0])
    for k in (1.0, 2.0, 3.0):
        table[:] = k
        yield f(t.x)


@trap("tensors", "torch")
def a_list_of_parameters_changes_places(t: Any) -> Any:
    ones = [t.array(np.full(3, k, "float32")) for k in (1.0, 2.0, 3.0)]
    f = t.capture(lambda x: x * ones[0] + ones[-1])
    yield f(t.x)
    ones.reverse()
    yield f(t.x)
    ones.sort(key=lambda one: -float(one[0]))
    yield f(t.x)


@trap("tensors", "torch")
def a_parameter_among_defaults(t: Any) -> Any:
    w = t.array(np.ones(3, "float32"))

    def f(x: Any, scale: Any = w, *, shift: Any = w) -> Any:
        return x * scale + shift

    g = t.capture(f)
    yield g(t.x)
    w.fill_(3.0)
    yield g(t.x)
    f.__defaults__ = (w * 2,)
    yield g(t.x)
    f.__kwdefaults__["shift"] = w * 0
    yield g(t.x)


@trap()
def a_wrapper_keeps_the_last_result(t: Any) -> Any:
    last: dict[str, Any] = {}

    def remembering(f: Any) -> Any:
        @functools.wraps(f)
        def called(x: Any) -> Any:
            y = f(x)
            last["y"] = y
            return y

        return called

    f = t.capture(remembering(lambda x: x * 2))
    yield f(t.x)
    yield last["y"]


@trap()
def a_frozen_set_of_flags(t: Any) -> Any:
    class Flag(enum.Flag):
        A = enum.auto()
        B = enum.auto()

    held = {"flags": Flag.A}
    f = t.capture(lambda x: x * (2.0 if Flag.B in held["flags"] else 3.0))
    yield f(t.x)
    held["flags"] |= Flag.B
    yield f(t.x)


@trap()
def an_abstract_property_is_filled(t: Any) -> Any:
    class Base(abc.ABC):
        @property
        @abc.abstractmethod
        def rate(self) -> float: ...

    class Own(Base):
        k = 2.0

        @property
        def rate(self) -> float:
            return super().k if hasattr(super(), "k") else self.k  # type: ignore[misc]

    own = Own()
    f = t.capture(lambda x: x * own.rate)
    yield f(t.x)
    Base.k = 5.0  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_bisection_of_a_list(t: Any) -> Any:
    limits = [1.0, 2.0, 3.0]
    f = t.capture(lambda x: x * bisect.bisect(limits, 2.5))
    yield f(t.x)
    limits[1] = 2.7
    yield f(t.x)


@trap()
def a_chain_of_attributes_by_reduce(t: Any) -> Any:
    root = types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(c=2.0)))
    path = ["a", "b", "c"]
    f = t.capture(lambda x: x * functools.reduce(getattr, path, root))
    yield f(t.x)
    root.a.b.c = 3.0
    yield f(t.x)
    root.a = types.SimpleNamespace(b=types.SimpleNamespace(c=9.0))
    yield f(t.x)


@trap()
def groups_of_a_list(t: Any) -> Any:
    numbers = [1, 1, 2]
    f = t.capture(lambda x: x * len([*itertools.groupby(numbers)]))
    yield f(t.x)
    numbers[1] = 3
    yield f(t.x)


@trap()
def the_source_line_is_asked(t: Any) -> Any:
    f = t.capture(lambda x: x * (1.0 if inspect.isfunction(held["f"]) else 2.0))
    held: dict[str, Any] = {"f": len}
    yield f(t.x)
    held["f"] = lambda: 1
    yield f(t.x)


@trap()
def a_size_of_an_object(t: Any) -> Any:
    numbers = [1.0]
    f = t.capture(lambda x: x * (sys.getsizeof(numbers) > 200))
    yield f(t.x)
    numbers.extend([0.0] * 100)
    yield f(t.x)


@trap()
def a_bool_of_an_object(t: Any) -> Any:
    class Maybe:
        def __init__(self) -> None:
            self.items: list[float] = []

        def __len__(self) -> int:
            return len(self.items)

    maybe = Maybe()
    f = t.capture(lambda x: x * 5 if maybe else x)
    yield f(t.x)
    maybe.items.append(1.0)
    yield f(t.x)
    Maybe.__bool__ = lambda self: False  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def a_container_of_ones_own_contains(t: Any) -> Any:
    class Even:
        limit = 10

        def __contains__(self, k: int) -> bool:
            return k % 2 == 0 and k < self.limit

    even = Even()
    f = t.capture(lambda x: x * 5 if 4 in even else x)
    yield f(t.x)
    even.limit = 2
    yield f(t.x)


@trap()
def an_enum_with_missing(t: Any) -> Any:
    class Kind(enum.Enum):
        A = 1
        B = 2

        @classmethod
        def _missing_(cls, value: object) -> Any:
            return cls[DEFAULT[0]]

    f = t.capture(lambda x: x * Kind(7).value)
    yield f(t.x)
    DEFAULT[0] = "B"
    try:
        yield f(t.x)
    finally:
        DEFAULT[0] = "A"


DEFAULT = ["A"]


@trap()
def a_partial_method_of_a_placeholder(t: Any) -> Any:
    power = functools.partial(pow, exp=2)
    held = {"f": power}
    f = t.capture(lambda x: x * held["f"](3))
    yield f(t.x)
    power.keywords["exp"] = 3
    yield f(t.x)
    held["f"] = functools.partial(pow, exp=1)
    yield f(t.x)


@trap()
def an_equality_of_a_class_is_exchanged(t: Any) -> Any:
    class Key:
        def __init__(self, k: int) -> None:
            self.k = k

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.k == other.k

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            return f"Key({self.k})"

    one, other = Key(1), Key(2)
    f = t.capture(lambda x: x * 5 if one == other else x)
    yield f(t.x)
    Key.__eq__ = lambda self, other: True  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_text_of_a_class_is_exchanged(t: Any) -> Any:
    class Name:
        def __repr__(self) -> str:
            return "a"

    name, rates = Name(), {"a": 2.0, "b": 3.0}
    f = t.capture(lambda x: x * rates[f"{name!r}"])
    yield f(t.x)
    Name.__repr__ = lambda self: "b"  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_hash_of_a_class_is_exchanged(t: Any) -> Any:
    class Key:
        def __hash__(self) -> int:
            return 1

    key = Key()
    f = t.capture(lambda x: x * hash(key))
    yield f(t.x)
    Key.__hash__ = lambda self: 7  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def how_attributes_are_set_is_exchanged(t: Any) -> Any:
    class Config:
        def __setattr__(self, name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

    def f(x: Any) -> Any:
        config = Config()
        config.rate = 2.0
        return x * config.rate

    g = t.capture(f)
    yield g(t.x)
    Config.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 3)  # type: ignore[method-assign,assignment]
    yield g(t.x)


@trap()
def a_class_learns_to_answer_for_all(t: Any) -> Any:
    class Config:
        rate = 2.0

    config: Any = Config()
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)

    def answered(self: Any, name: str) -> Any:
        return 7.0 if name == "rate" else object.__getattribute__(self, name)

    Config.__getattribute__ = answered  # type: ignore[method-assign,assignment]
    yield f(t.x)


@trap()
def a_class_gets_a_descriptor_over_an_attribute(t: Any) -> Any:
    class Config:
        def __init__(self) -> None:
            self.rate = 2.0

    config = Config()
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)
    Config.rate = property(lambda self: 5.0)  # type: ignore[assignment,misc]
    yield f(t.x)


@trap()
def a_descriptor_learns_to_be_one_of_data(t: Any) -> Any:
    class Field:
        def __get__(self, one: Any, owner: Any = None) -> float:
            return 5.0

    class Config:
        rate = Field()

    config = Config()
    vars(config)["rate"] = 2.0
    f = t.capture(lambda x: x * config.rate)
    yield f(t.x)
    Field.__set__ = lambda self, one, value: None  # type: ignore[attr-defined]
    yield f(t.x)


@trap()
def an_operator_appears(t: Any) -> Any:
    class Scale:
        k = 2.0

        def __rmul__(self, x: Any) -> Any:
            return x * self.k

        __array_ufunc__ = None

    class Other(Scale):
        pass

    one = Other()
    f = t.capture(lambda x: 3.0 * one * x)
    yield f(t.x)
    Other.__rmul__ = lambda self, x: x * 7  # type: ignore[method-assign]
    yield f(t.x)
