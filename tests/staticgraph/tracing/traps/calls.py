"""What functions call: methods, generators, caches, decorators, other captured functions."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from typing import Any

from .trap import trap

SCALE = 2.0


@trap()
def a_generator(t: Any) -> Any:
    scales = [1.0, 2.0]

    def powers(x: Any) -> Any:
        for one in scales:
            yield x * one

    f = t.capture(lambda x: sum(powers(x)))
    yield f(t.x)
    scales.append(3.0)
    yield f(t.x)


@trap()
def a_generator_that_goes_on(t: Any) -> Any:
    numbers = (float(one) for one in range(1, 10))
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_iterator_that_goes_on(t: Any) -> Any:
    numbers = iter([1.0, 2.0, 3.0])
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_count(t: Any) -> Any:
    numbers = itertools.count(1)
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def recursion(t: Any) -> Any:
    depth = 3

    def f(x: Any, n: int = 0) -> Any:
        return x if n >= depth else f(x * 2, n + 1)

    g = t.capture(lambda x: f(x))
    yield g(t.x)
    depth = 1
    yield g(t.x)


@trap()
def a_helper_with_a_cache(t: Any) -> Any:
    @functools.lru_cache
    def scale() -> float:
        return 2.0

    f = t.capture(lambda x: x * scale())
    yield f(t.x)
    yield f(t.x)


@trap()
def a_cache_of_what_is_traced(t: Any) -> Any:
    f = t.capture(lambda x: double(x) + double(x))

    @functools.lru_cache
    def double(x: Any) -> Any:
        return x * 2

    if t.name != "arrays":
        yield f(t.x)
        yield f(t.x * 2)


@trap()
def a_decorated_helper(t: Any) -> Any:
    k = 2.0

    def scaled(f: Any) -> Any:
        @functools.wraps(f)
        def wrapper(x: Any) -> Any:
            return f(x) * k

        return wrapper

    @scaled
    def helper(x: Any) -> Any:
        return x + 1

    f = t.capture(lambda x: helper(x))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def functions_in_a_list(t: Any) -> Any:
    k = 2.0
    steps = [lambda x: x * k]
    f = t.capture(lambda x: steps[0](x))
    yield f(t.x)
    k = 3.0
    yield f(t.x)
    steps[0] = lambda x: -x
    yield f(t.x)


@trap()
def functions_in_a_dict(t: Any) -> Any:
    steps = {"a": lambda x: x + 1, "b": lambda x: x - 1}
    name = "a"
    f = t.capture(lambda x: steps[name](x))
    yield f(t.x)
    name = "b"
    yield f(t.x)
    steps["b"] = lambda x: x * 0
    yield f(t.x)


@trap()
def by_map(t: Any) -> Any:
    k = 2.0
    f = t.capture(lambda x: list(map(lambda one: one * k, [x, x])))  # noqa: C417
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def by_reduce(t: Any) -> Any:
    scales = [2.0, 3.0]
    f = t.capture(lambda x: functools.reduce(operator.mul, scales, x))
    yield f(t.x)
    scales.append(2.0)
    yield f(t.x)


@trap()
def by_operator_attrgetter(t: Any) -> Any:
    class Config:
        rate = 2.0

    config, get = Config(), operator.attrgetter("rate")
    f = t.capture(lambda x: x * get(config))
    yield f(t.x)
    config.rate = 3.0
    yield f(t.x)


@trap()
def static_and_class_methods(t: Any) -> Any:
    class Model:
        k = 2.0

        @staticmethod
        def plus(x: Any) -> Any:
            return x + SCALE

        @classmethod
        def times(cls, x: Any) -> Any:
            return x * cls.k

    f = t.capture(lambda x: Model.times(Model.plus(x)))
    globals()["SCALE"] = 2.0
    yield f(t.x)
    Model.k = 3.0
    yield f(t.x)
    globals()["SCALE"] = 5.0
    yield f(t.x)


@trap()
def a_single_dispatch(t: Any) -> Any:
    k = 2.0

    @functools.singledispatch
    def scale(one: Any, x: Any) -> Any:
        return x

    @scale.register
    def _(one: str, x: Any) -> Any:
        return x * k

    f = t.capture(lambda x: scale("a", x))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_context_manager(t: Any) -> Any:
    k = 2.0

    @contextlib.contextmanager
    def scaling() -> Any:
        yield k

    def f(x: Any) -> Any:
        with scaling() as one:
            return x * one

    g = t.capture(f)
    yield g(t.x)
    k = 3.0
    yield g(t.x)


@trap()
def the_code_of_a_helper_is_replaced(t: Any) -> Any:
    def helper(x: Any) -> Any:
        return x + 1

    f = t.capture(lambda x: helper(x))
    yield f(t.x)
    helper.__code__ = (lambda x: x - 1).__code__
    yield f(t.x)


@trap()
def the_code_of_the_function_is_replaced(t: Any) -> Any:
    def f(x: Any) -> Any:
        return x + 1

    g = t.capture(f)
    yield g(t.x)
    f.__code__ = (lambda x: x - 1).__code__
    yield g(t.x)


@trap()
def code_that_is_evaluated(t: Any) -> Any:
    names = {"k": 2.0}
    f = t.capture(lambda x: x * eval("k + 1", names))
    yield f(t.x)
    names["k"] = 3.0
    yield f(t.x)


@trap()
def a_captured_function_within_another(t: Any) -> Any:
    k = 2.0
    inner = t.capture(lambda x: x * k)
    f = t.capture(lambda x: inner(x) + 1)
    yield f(t.x)
    k = 3.0
    yield f(t.x)
    yield inner(t.x)


@trap()
def an_object_made_inside(t: Any) -> Any:
    class Scale:
        def __init__(self) -> None:
            self.k = SCALE

        def __call__(self, x: Any) -> Any:
            return x * self.k

    globals()["SCALE"] = 2.0
    f = t.capture(lambda x: Scale()(x))
    yield f(t.x)
    globals()["SCALE"] = 3.0
    yield f(t.x)


@trap()
def a_comprehension(t: Any) -> Any:
    k = 2.0
    f = t.capture(lambda x: sum([x * one * k for one in (1.0, 2.0)]))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_function_made_inside(t: Any) -> Any:
    k = 2.0

    def f(x: Any) -> Any:
        def inner(y: Any, n: float = k) -> Any:
            return y * n + k

        return inner(x)

    g = t.capture(f)
    yield g(t.x)
    k = 3.0
    yield g(t.x)


@trap()
def list_built_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        parts = []
        for one in range(3):
            parts.append(x * one)
        table = {"sum": sum(parts)}
        table["last"] = parts.pop()
        return table

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def an_object_that_changes_itself_inside(t: Any) -> Any:
    class Stack:
        def __init__(self) -> None:
            self.depth = 0

        def push(self, x: Any) -> Any:
            self.depth += 1
            return x * self.depth

    def f(x: Any) -> Any:
        stack = Stack()
        return stack.push(stack.push(x))

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def a_method_chosen_by_name(t: Any) -> Any:
    class Model:
        k = 2.0

        def step_a(self, x: Any) -> Any:
            return x * self.k

    model, name = Model(), "a"
    f = t.capture(lambda x: getattr(model, f"step_{name}")(x))
    yield f(t.x)
    model.k = 5.0
    yield f(t.x)
