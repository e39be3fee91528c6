"""Sizes, which a trace leaves unknown, decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .trap import trap


def _sizes(t: Any, f: Any, *sizes: int) -> Any:
    g = t.capture(f)
    for size in sizes or (3, 5, 1, 3):
        yield g(t.array(np.arange(size, dtype="float32")))


@trap()
def larger_than_a_number(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] > 3 else x)


@trap()
def equal_to_a_number(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] == 3 else x)


@trap()
def other_than_a_number(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] != 3 else x)


@trap()
def a_loop(t: Any) -> Any:
    def f(x: Any) -> Any:
        total = x * 0
        for i in range(x.shape[0]):
            total = total + x[i]
        return total

    yield from _sizes(t, f)


@trap()
def a_loop_over_the_length(t: Any) -> Any:
    yield from _sizes(t, lambda x: sum([x[i] * i for i in range(len(x))]))


@trap()
def a_key_of_a_dict(t: Any) -> Any:
    table = {3: 2.0, 5: 3.0, 1: 4.0}
    yield from _sizes(t, lambda x: x * table[x.shape[0]])


@trap()
def a_key_that_may_be_missing(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * {3: 2.0}.get(x.shape[0], 10.0))


@trap()
def among_numbers(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] in (3, 4) else x)


@trap()
def in_a_set(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] in {3, 4} else x)


@trap()
def a_key_of_a_cache(t: Any) -> Any:
    cache: dict[Any, Any] = {3: 2.0}
    yield from _sizes(t, lambda x: x * cache.setdefault(x.shape[0], 7.0), 3, 3)


@trap()
def hash_(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * hash(x.shape[0]))


@trap()
def hash_of_a_shape(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * {(3,): 2.0}.get(tuple(x.shape), 5.0))


@trap()
def int_(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * int(x.shape[0]))


@trap()
def float_(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * float(x.shape[0]))


@trap()
def math_(t: Any) -> Any:
    yield from _sizes(t, lambda x: x / math.sqrt(x.shape[0]))


@trap()
def a_float_times_it(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * (2.0 * x.shape[0]))


@trap()
def half_of_it_rounded(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * round(x.shape[0] / 2), 3, 5)


@trap()
def its_square(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * x.shape[0] ** 2)


@trap()
def an_array_times_it(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * float((np.ones(2) * x.shape[0]).sum()))


@trap()
def a_remainder_as_a_factor(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * (x.shape[0] % 3), 4, 5)


@trap()
def a_formatted_text(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * len(f"{x.shape[0]:.1f}"), 3, 12)


@trap()
def as_a_factor(t: Any) -> Any:
    yield from _sizes(t, lambda x: x.sum() / x.shape[0] + x * x.shape[0])


@trap()
def a_text(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * len(f"{x.shape[0]}"), 3, 12)


@trap()
def a_text_as_a_key(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * {"3": 2.0}.get(str(x.shape[0]), 5.0))


@trap()
def a_text_of_a_shape(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * {"(3,)": 2.0}.get(str(tuple(x.shape)), 5.0))


@trap()
def the_truth(t: Any) -> Any:
    yield from _sizes(t, lambda x: x.sum() if x.shape[0] else x.sum() + 5, 3, 0)


@trap()
def max_of_sizes(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * max(x.shape[0], 4))


@trap()
def a_remainder(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if x.shape[0] % 2 else x, 3, 4)


@trap()
def half(t: Any) -> Any:
    yield from _sizes(t, lambda x: x[: x.shape[0] // 2], 4, 6, 5)


@trap()
def a_power(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 ** x.shape[0])


@trap()
def a_list_repeated(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * sum([2.0] * x.shape[0]))


@trap()
def recursion(t: Any) -> Any:
    def total(x: Any) -> Any:
        if x.shape[0] == 1:
            return x[0]
        half = x.shape[0] // 2
        return total(x[:half]) + total(x[half:])

    yield from _sizes(t, total, 4, 6, 1)


@trap()
def reshaped(t: Any) -> Any:
    yield from _sizes(t, lambda x: x.reshape(2, x.shape[0] // 2).sum(), 4, 6)


@trap()
def compared_with_each_other(t: Any) -> Any:
    f = t.capture(lambda x, y: x + y if x.shape == y.shape else x)
    yield f(t.x, t.x)
    yield f(t.x, t.array(np.ones(5, "float32")))


@trap()
def compared_as_a_list(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if list(x.shape) == [3] else x)


@trap()
def handed_to_a_helper(t: Any) -> Any:
    def helper(x: Any, n: int) -> Any:
        return x * 2 if n >= 4 else x

    yield from _sizes(t, lambda x: helper(x, x.shape[0]))


@trap()
def isinstance_of_int(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if isinstance(x.shape[0], int) else x)


@trap()
def type_is_int(t: Any) -> Any:
    yield from _sizes(t, lambda x: x * 2 if type(x.shape[0]) is int else x)


@trap()
def a_size_closed_over(t: Any) -> Any:
    n = 3
    f = t.capture(lambda x: x[:n])
    yield f(t.array(np.arange(6, dtype="float32")))
    n = 4
    yield f(t.array(np.arange(6, dtype="float32")))


@trap()
def an_order_that_is_swallowed(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * 2 if x.shape[0] > 3 else x
        except Exception:
            return x * 100

    yield from _sizes(t, f)


@trap("arrays")
def an_array_of_that_size(t: Any) -> Any:
    yield from _sizes(t, lambda x: x + np.arange(x.shape[0], dtype="float32"))


@trap("tensors", "torch")
def a_tensor_of_that_size(t: Any) -> Any:
    yield from _sizes(t, lambda x: x + t.xp.arange(x.shape[0], dtype=t.xp.float32))


@trap()
def a_slice_that_depends_on_it(t: Any) -> Any:
    yield from _sizes(t, lambda x: x[1:] if x.shape[0] > 1 else x)
