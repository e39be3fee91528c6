"""Defaults, static arguments, and which arguments a call has."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from .trap import trap


@trap()
def a_mutable_default(t: Any) -> Any:
    def f(x: Any, scales: Any = [2.0]) -> Any:  # noqa: B006
        return x * scales[0]

    g = t.capture(f)
    yield g(t.x)
    f.__defaults__[0][0] = 3.0  # type: ignore[index]
    yield g(t.x)


@trap()
def a_default_that_is_an_array(t: Any) -> Any:
    w = np.ones(3, "float32")

    def f(x: Any, w: Any = w) -> Any:
        return x * t.array(w)

    g = t.capture(f)
    yield g(t.x)
    w += 1
    yield g(t.x)


@trap()
def defaults_are_replaced(t: Any) -> Any:
    def f(x: Any, k: float = 2.0) -> Any:
        return x * k

    g = t.capture(f)
    yield g(t.x)
    f.__defaults__ = (3.0,)
    yield g(t.x)


@trap()
def defaults_by_keyword_are_replaced(t: Any) -> Any:
    def f(x: Any, *, k: float = 2.0) -> Any:
        return x * k

    g = t.capture(f)
    yield g(t.x)
    f.__kwdefaults__["k"] = 3.0
    yield g(t.x)


@trap()
def a_default_that_collects(t: Any) -> Any:
    def f(x: Any, seen: Any = []) -> Any:  # noqa: B006
        seen.append(1)
        return x * len(seen)

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def none_or_an_array(t: Any) -> Any:
    f = t.capture(lambda x, mask=None: x if mask is None else x * mask)
    yield f(t.x)
    yield f(t.x, t.x)
    yield f(t.x, None)


@trap("arrays", "tensors", "torch")
def a_string_by_keyword(t: Any) -> Any:
    f = t.capture(lambda x, mode="a": x if mode == "a" else -x)
    yield f(t.x, mode="a")
    yield f(t.x, mode="b")
    yield f(t.x, mode="a")


@trap("arrays", "tensors", "torch")
def true_and_one_by_keyword(t: Any) -> Any:
    f = t.capture(lambda x, k=0: -x if k is True else x * k)
    yield f(t.x, k=1)
    yield f(t.x, k=True)


@trap()
def an_int_by_position_that_counts(t: Any) -> Any:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 2
        return x

    g = t.capture(f)
    yield g(t.x, 2)
    yield g(t.x, 3)


@trap()
def an_int_by_position_that_decides(t: Any) -> Any:
    f = t.capture(lambda x, n: x * 2 if n == 2 else x)
    yield f(t.x, 2)
    yield f(t.x, 3)


@trap()
def a_flag_by_position(t: Any) -> Any:
    f = t.capture(lambda x, flag: -x if flag else x)
    yield f(t.x, True)
    yield f(t.x, False)


@trap()
def a_number_is_asked_for_its_type(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k if isinstance(k, float) else x)
    yield f(t.x, 2.0)
    yield f(t.x, 2)


@trap()
def a_list_of_another_length(t: Any) -> Any:
    f = t.capture(lambda xs: sum(xs[1:], xs[0]) * len(xs))
    yield f([t.x])
    yield f([t.x, t.x])


@trap()
def a_dict_with_other_keys(t: Any) -> Any:
    f = t.capture(lambda parts: parts["a"] if "b" not in parts else parts["b"] * 2)
    yield f({"a": t.x})
    yield f({"a": t.x, "b": t.x})


@trap()
def a_dict_in_another_order(t: Any) -> Any:
    def f(parts: Any) -> Any:
        result = 0
        for one in parts.values():
            result = result * 2 + one
        return result

    g = t.capture(f)
    yield g({"a": t.x, "b": t.x * 2})
    yield g({"b": t.x * 2, "a": t.x})


@trap("arrays", "tensors", "torch")
def an_object_as_an_argument_changes(t: Any) -> Any:
    class Config:
        k = 2.0

    config = Config()
    f = t.capture(lambda x, config: x * config.k)
    yield f(t.x, config)
    config.k = 3.0
    yield f(t.x, config)


@trap("arrays", "tensors", "torch")
def a_function_as_an_argument(t: Any) -> Any:
    k = 2.0
    f = t.capture(lambda x, step: step(x))
    step = lambda x: x * k  # noqa: E731
    yield f(t.x, step)
    k = 3.0
    yield f(t.x, step)


@trap("arrays", "tensors", "torch")
def an_object_that_equals_another(t: Any) -> Any:
    class Same:
        def __init__(self, k: float) -> None:
            self.k = k

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Same)

        def __hash__(self) -> int:
            return 1

    f = t.capture(lambda x, one: x * one.k)
    yield f(t.x, Same(2.0))
    yield f(t.x, Same(3.0))


@trap()
def the_same_array_twice(t: Any) -> Any:
    f = t.capture(lambda x, y: x if x is y else x + y)
    x, y = t.x, t.x
    yield f(x, y)
    yield f(x, x)


@trap()
def a_list_that_the_function_changes(t: Any) -> Any:
    def f(xs: Any) -> Any:
        xs.append(xs[0] * 2)
        return xs[-1]

    g, xs = t.capture(f), [t.x]
    yield g(xs)
    yield len(xs)


@trap()
def a_dict_that_the_function_changes(t: Any) -> Any:
    def f(parts: Any) -> Any:
        parts["y"] = parts["x"] * 2
        return parts["y"]

    g, parts = t.capture(f), {"x": t.x}
    yield g(parts)
    yield sorted(parts)


@trap()
def an_array_of_another_dtype(t: Any) -> Any:
    f = t.capture(lambda x: x / 2)
    yield f(t.x)
    yield f(t.array(np.arange(3, dtype="int32")))


@trap()
def an_array_of_another_rank(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.ndim == 1 else x.sum())
    yield f(t.x)
    yield f(t.array(np.ones((2, 2), "float32")))


@trap()
def an_empty_array(t: Any) -> Any:
    f = t.capture(lambda x: x.sum() * 2)
    yield f(t.x)
    yield f(t.array(np.zeros(0, "float32")))


@trap()
def sizes_that_broadcast(t: Any) -> Any:
    f = t.capture(lambda x, y: x + y)
    yield f(t.x, t.x)
    yield f(t.x, t.array(np.ones(1, "float32")))


@trap()
def a_partial(t: Any) -> Any:
    f = t.capture(functools.partial(lambda k, x: x * k, 2.0))
    yield f(t.x)


@trap()
def a_partial_whose_keywords_change(t: Any) -> Any:
    part = functools.partial(lambda x, k: x * k, k=2.0)
    f = t.capture(lambda x: part(x))
    yield f(t.x)
    part.keywords["k"] = 3.0
    yield f(t.x)


@trap("arrays", "tensors", "torch")
def a_namespace_as_an_argument(t: Any) -> Any:
    f = t.capture(lambda x, one: x * one.k)
    one = types.SimpleNamespace(k=2.0)
    yield f(t.x, one)
    one.k = 3.0
    yield f(t.x, one)
