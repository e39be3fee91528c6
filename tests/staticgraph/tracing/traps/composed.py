"""Functions that are made of others, and results that are trees."""

from __future__ import annotations

import functools
import operator
from typing import Any

from .trap import trap


@trap()
def a_partial_in_a_partial(t: Any) -> Any:
    rates = {"k": 2.0}
    scaled = functools.partial(lambda x, k, table: x * k * table["k"], k=3.0)
    g = t.capture(functools.partial(scaled, table=rates))
    yield g(t.x)
    rates["k"] = 5.0
    yield g(t.x)


@trap()
def a_composed_function(t: Any) -> Any:
    parts = [operator.neg, lambda x: x * 2]

    def f(x: Any) -> Any:
        return functools.reduce(lambda value, part: part(value), parts, x)

    g = t.capture(f)
    yield g(t.x)
    parts.append(lambda x: x + 1)
    yield g(t.x)
    parts[0] = operator.abs
    yield g(t.x)


@trap()
def a_wrapper_with_a_switch(t: Any) -> Any:
    def switched(f: Any) -> Any:
        @functools.wraps(f)
        def wrapper(x: Any) -> Any:
            return f(x) if wrapper.on else x  # type: ignore[attr-defined]

        wrapper.on = True  # type: ignore[attr-defined]
        return wrapper

    f = switched(lambda x: x * 2)
    g = t.capture(f)
    yield g(t.x)
    f.on = False
    yield g(t.x)


@trap()
def a_function_that_calls_back(t: Any) -> Any:
    def even(x: Any, n: int) -> Any:
        return x if n == 0 else odd(x * factor[0], n - 1)

    def odd(x: Any, n: int) -> Any:
        return -x if n == 0 else even(x + 1, n - 1)

    factor = [2.0]
    g = t.capture(lambda x: even(x, 3))
    yield g(t.x)
    factor[0] = 3.0
    yield g(t.x)


@trap()
def a_name_that_is_bound_later(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * late
        except NameError:
            return x

    g = t.capture(f)
    yield g(t.x)
    late = 3.0
    yield g(t.x)
    del late
    yield g(t.x)


@trap()
def a_generator_of_pairs(t: Any) -> Any:
    weights = {"a": 1.0, "b": 2.0}

    def pairs() -> Any:
        yield from ((key, weights[key]) for key in sorted(weights))

    g = t.capture(lambda x: sum((x * one for _, one in pairs()), x * 0))
    yield g(t.x)
    weights["c"] = 4.0
    yield g(t.x)
    weights["a"] = 0.0
    yield g(t.x)


@trap()
def arguments_that_are_counted(t: Any) -> Any:
    g = t.capture(lambda *xs: sum(xs[1:], xs[0]) * len(xs))
    yield g(t.x), g(t.x, t.x + 1), g(t.x, t.x, t.x), g(t.x)


@trap()
def nothing_is_returned(t: Any) -> Any:
    flag = [True]
    g = t.capture(lambda x: (x * 2, None) if flag[0] else None)
    yield g(t.x)
    flag[0] = False
    yield g(t.x)


@trap()
def a_tree_of_results(t: Any) -> Any:
    depth = [1]

    def f(x: Any) -> Any:
        found: Any = {"x": x}
        for k in range(depth[0]):
            found = {"inner": [found, x * k], "k": k}
        return found

    g = t.capture(f)
    yield g(t.x)
    depth[0] = 2
    yield g(t.x)
