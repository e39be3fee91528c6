"""What is captured itself: methods, generators, copies; what Python and NumPy do to values."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import copy
import functools
import gc
import math
import sys
import threading
import typing
from typing import Any

import numpy as np

from .trap import trap


@trap()
def a_captured_method_in_a_class(t: Any) -> Any:
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        @t.capture
        def scaled(self, x: Any) -> Any:
            return x * self.k

    one, other = Scaled(2.0), Scaled(3.0)
    yield one.scaled(t.x), other.scaled(t.x)
    one.k = 7.0
    yield one.scaled(t.x), other.scaled(t.x)


@trap()
def a_captured_method_is_overridden(t: Any) -> Any:
    class Scaled:
        def factor(self) -> float:
            return 2.0

        @t.capture
        def scaled(self, x: Any) -> Any:
            return x * self.factor()

    class More(Scaled):
        def factor(self) -> float:
            return super().factor() + 3

    yield Scaled().scaled(t.x), More().scaled(t.x)
    one = More()
    one.factor = lambda: 10.0  # type: ignore[method-assign]
    yield one.scaled(t.x)
    More.factor = lambda self: 20.0  # type: ignore[method-assign]
    yield More().scaled(t.x)


@trap()
def a_captured_method_of_short_lived_objects(t: Any) -> Any:
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        @t.capture
        def scaled(self, x: Any) -> Any:
            return x * self.k

    for k in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0):
        yield Scaled(k).scaled(t.x)
        gc.collect()


@trap()
def a_captured_class_method(t: Any) -> Any:
    class Scaled:
        k = 2.0

        @classmethod
        def scaled(cls, x: Any) -> Any:
            return x * cls.k

    class More(Scaled):
        k = 3.0

    f, g = t.capture(Scaled.scaled), t.capture(More.scaled)
    yield f(t.x), g(t.x)
    More.k = 8.0
    yield f(t.x), g(t.x)


@trap()
def a_captured_partial(t: Any) -> Any:
    table = {"b": 1.0}
    one = functools.partial(lambda x, k, b: x * k + b["b"], k=2.0, b=table)
    f = t.capture(one)
    yield f(t.x)
    table["b"] = 4.0
    yield f(t.x)
    one.keywords["k"] = 9.0
    yield f(t.x)


@trap()
def a_captured_object_that_is_called(t: Any) -> Any:
    class Scaled:
        k = 2.0

        def __call__(self, x: Any) -> Any:
            return x * self.k

    one = Scaled()
    f = t.capture(one)
    yield f(t.x)
    one.k = 3.0
    yield f(t.x)
    Scaled.__call__ = lambda self, x: x - self.k  # type: ignore[method-assign]
    yield f(t.x)


@trap()
def a_captured_generator(t: Any) -> Any:
    def rows(x: Any) -> Any:
        yield x * 2
        yield x * 3

    f = t.capture(rows)
    yield list(f(t.x))
    yield list(f(t.x))


@trap()
def a_captured_function_in_a_coroutine(t: Any) -> Any:
    state = contextvars.ContextVar("state", default=1.0)
    f = t.capture(lambda x: x * state.get())

    async def one(k: float) -> Any:
        state.set(k)
        await asyncio.sleep(0)
        return f(t.x)

    async def all_() -> Any:
        return await asyncio.gather(one(2.0), one(3.0), one(4.0))

    yield asyncio.run(all_())
    yield f(t.x)


@trap()
def a_captured_function_in_a_pool(t: Any) -> Any:
    local = threading.local()

    def scaled(x: Any) -> Any:
        return x * getattr(local, "k", 1.0)

    f = t.capture(scaled)

    def one(k: float) -> Any:
        local.k = k
        return f(t.x)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield list(pool.map(one, [2.0, 3.0, 4.0, 5.0]))
    yield f(t.x)


@trap()
def a_copied_captured_function(t: Any) -> Any:
    state = {"k": 2.0}

    def scaled(x: Any) -> Any:
        return x * state["k"]

    f = t.capture(scaled)
    yield f(t.x)
    g = copy.copy(f)
    state["k"] = 3.0
    yield g(t.x), f(t.x)


@trap()
def a_deeply_copied_captured_function(t: Any) -> Any:
    class Holder:
        def __init__(self) -> None:
            self.k = 2.0
            self.f = t.capture(lambda x: x * self.k)

    holder = Holder()
    yield holder.f(t.x)
    other = copy.deepcopy(holder)
    other.k = 5.0
    yield other.f(t.x), holder.f(t.x)
    holder.k = 7.0
    yield other.f(t.x), holder.f(t.x)


@trap()
def a_wrapper_around_a_captured_function(t: Any) -> Any:
    calls = []

    def counted(f: Any) -> Any:
        @functools.wraps(f)
        def wrapped(*args: Any) -> Any:
            calls.append(1)
            return f(*args)

        return wrapped

    f = counted(t.capture(lambda x: x * 2))
    yield f(t.x)
    yield f(t.x), len(calls)


@trap()
def a_wrapper_that_counts_within(t: Any) -> Any:
    def counted(f: Any) -> Any:
        def wrapped(x: Any) -> Any:
            wrapped.calls += 1  # type: ignore[attr-defined]
            return f(x)

        wrapped.calls = 0  # type: ignore[attr-defined]
        return wrapped

    helper = counted(lambda x: x * 2)
    f = t.capture(lambda x: helper(x))
    yield f(t.x)
    yield f(t.x), helper.calls


@trap()
def a_captured_function_gets_a_captured_function(t: Any) -> Any:
    state = {"k": 2.0}
    g = t.capture(lambda x: x * state["k"])
    f = t.capture(lambda h, x: h(x) + 1)
    yield f(g, t.x)
    state["k"] = 3.0
    yield f(g, t.x)
    yield f(lambda x: x, t.x)


@trap()
def a_stack_is_asked_for_the_caller(t: Any) -> Any:
    def scaled(x: Any) -> Any:
        name = sys._getframe(1).f_code.co_name
        return x * (2.0 if name == "inner" else 3.0)

    f = t.capture(lambda x: inner(x))

    def inner(x: Any) -> Any:
        return scaled(x)

    yield f(t.x)


@trap()
def mathematics_of_sizes(t: Any) -> Any:
    f = t.capture(lambda x: x * math.comb(x.shape[0], 2) + math.prod(x.shape) / math.sqrt(len(x)))
    yield f(t.x)
    yield f(t.array(np.ones(5, "float32")))


@trap()
def a_size_as_a_bit_field(t: Any) -> Any:
    f = t.capture(lambda x: x * (x.shape[0] & 1) + (x.shape[0] << 2) + x.shape[0].bit_length())
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def a_size_as_text_in_base_two(t: Any) -> Any:
    f = t.capture(lambda x: x * bin(x.shape[0]).count("1"))
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def an_index_of_a_size_in_a_list(t: Any) -> Any:
    rates = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    f = t.capture(lambda x: x * rates[x.shape[0]] + sum(rates[: x.shape[0]]))
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))
    rates[4] = 50.0
    yield f(t.array(np.ones(4, "float32")))


@trap()
def sizes_in_a_named_tuple(t: Any) -> Any:
    class Sizes(typing.NamedTuple):
        n: int

    f = t.capture(lambda x: x * Sizes(x.shape[0]).n + isinstance(Sizes(*x.shape).n, int))
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def a_set_of_sizes(t: Any) -> Any:
    f = t.capture(lambda x, y: x.sum() + y.sum() + len({x.shape[0], y.shape[0]}))
    yield f(t.x, t.x)
    yield f(t.x, t.array(np.ones(4, "float32")))


@trap()
def sizes_are_sorted(t: Any) -> Any:
    f = t.capture(lambda x, y: sorted([x, y], key=len)[0] * 2)
    yield f(t.x, t.array(np.ones(4, "float32")))
    yield f(t.array(np.ones(4, "float32")), t.x)


@trap()
def a_size_is_returned(t: Any) -> Any:
    f = t.capture(lambda x: (x.shape[0], x.shape, len(x) * 2, {"n": x.shape[0] / 2}))
    yield f(t.x)
    yield f(t.array(np.ones(5, "float32")))


@trap()
def a_slice_by_an_argument(t: Any) -> Any:
    f = t.capture(lambda x, n: x[n:] * 2)
    yield f(t.x, 1)
    yield f(t.x, 2)
    yield f(t.x, -1)
    yield f(t.x, 9)


@trap()
def a_slice_object_is_made_inside(t: Any) -> Any:
    f = t.capture(lambda x, n: x[slice(*slice(None, None, n).indices(len(x)))])
    yield f(t.x, 1)
    yield f(t.x, 2)


@trap()
def an_index_by_a_place_of_the_largest(t: Any) -> Any:
    f = t.capture(lambda x: x[x.argmax()] * 2)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_list_of_traced_by_a_traced_index(t: Any) -> Any:
    f = t.capture(lambda x: [x, x * 2, x * 3][x.argmax()])
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_dict_of_traced_by_a_traced_key(t: Any) -> Any:
    f = t.capture(lambda x: {True: x, False: -x}[bool(x.sum() > 0)])
    yield f(t.x)
    yield f(-t.x)


@trap()
def the_last_that_is_positive(t: Any) -> Any:
    def last(x: Any) -> Any:
        found = x[0] * 0
        for v in x:
            if v > 0:
                found = v
        return found

    f = t.capture(last)
    yield f(t.x)
    yield f(-t.x)


@trap()
def the_first_that_is_positive_by_next(t: Any) -> Any:
    f = t.capture(lambda x: next((v for v in x if v > 0), x[0]))
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_break_on_a_value(t: Any) -> Any:
    def summed(x: Any) -> Any:
        total = x[0] * 0
        for v in x:
            if v < 0:
                break
            total = total + v
        else:
            total = total * 10
        return total

    f = t.capture(summed)
    yield f(t.x)
    yield f(abs(t.x))


@trap()
def a_return_out_of_two_loops(t: Any) -> Any:
    def found(x: Any) -> Any:
        for a in x:
            for b in x:
                if a + b > 5:
                    return a - b
        return x[0] * 0

    f = t.capture(found)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_conditional_in_a_conditional(t: Any) -> Any:
    f = t.capture(
        lambda x: (x if x[0] > 0 else -x) if x.sum() > 0 else (x * 2 if x[1] > 0 else x * 3)
    )
    yield f(t.x)
    yield f(-t.x)
    yield f(t.array(np.array([-1.0, -1.0, 0.0], "float32")))


@trap()
def an_assignment_in_a_condition(t: Any) -> Any:
    def scaled(x: Any) -> Any:
        if (s := x.sum()) > 0:
            return x / s
        return x * s

    f = t.capture(scaled)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_local_that_differs_between_the_sides(t: Any) -> Any:
    def scaled(x: Any) -> Any:
        if x.sum() > 0:
            k = 2.0
        else:
            k = 3.0
            x = x + 1
        return x * k

    f = t.capture(scaled)
    yield f(t.x)
    yield f(-t.x)
