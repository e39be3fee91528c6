"""What is captured itself: methods, generators, copies; what Python and NumPy do to values."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from .trap import TENSORS, trap


@trap()
def a_text_that_differs_between_the_sides(t: Any) -> Any:
    rates = {"up": 2.0, "down": 3.0}

    def scaled(x: Any) -> Any:
        kind = "up" if x.sum() > 0 else "down"
        return x * rates[kind]

    f = t.capture(scaled)
    yield f(t.x)
    yield f(-t.x)
    rates["down"] = 9.0
    yield f(-t.x)


@trap()
def a_count_of_iterations_that_differs(t: Any) -> Any:
    def doubled(x: Any) -> Any:
        n = 0
        for _ in range(4):
            if x.sum() > 10:
                break
            x = x * 2
            n += 1
        return x, n

    f = t.capture(doubled)
    yield f(t.x)
    yield f(t.x * 10)


@trap()
def a_branch_with_an_error_on_one_side(t: Any) -> Any:
    def checked(x: Any) -> Any:
        if x.sum() > 0:
            return x * 2
        raise ValueError("not positive")

    f = t.capture(checked)
    yield f(t.x)
    try:
        yield f(-t.x)
    except ValueError as error:
        yield type(error).__name__, str(error)


@trap()
def an_error_that_is_caught_by_its_value(t: Any) -> Any:
    def checked(x: Any) -> Any:
        try:
            if x.sum() > 0:
                raise ValueError
            return x * 2
        except ValueError:
            return x * 3

    f = t.capture(checked)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_finally_after_a_branch(t: Any) -> Any:
    def checked(x: Any) -> Any:
        k = 1.0
        try:
            if x.sum() > 0:
                return x * 2
        finally:
            k = 2.0
        return x * k

    f = t.capture(checked)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_while_with_a_budget(t: Any) -> Any:
    def halved(x: Any) -> Any:
        n = 0
        while abs(x).sum() > 1 and n < 8:
            x = x / 2
            n = n + 1
        return x

    f = t.capture(halved)
    yield f(t.x)
    yield f(t.x * 10)


@trap()
def a_fold_by_reduce_with_a_branch(t: Any) -> Any:
    f = t.capture(lambda x: functools.reduce(lambda a, b: a if a > b else b, x))
    yield f(t.x)
    yield f(-t.x)


@trap()
def an_and_of_values_that_is_returned(t: Any) -> Any:
    f = t.capture(lambda x: (x[0] and x[1]) + (x[1] or x[2]))
    yield f(t.x)
    yield f(t.x * 0)


@trap()
def a_not_of_a_value(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if not x.sum() else x * 3)
    yield f(t.x)
    yield f(t.x * 0)


@trap()
def a_value_in_a_range(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if 0 < x.sum() < 3 else x * 3)
    yield f(t.x)
    yield f(t.x * 10)
    yield f(-t.x)


@trap()
def sorted_by_a_value_of_each(t: Any) -> Any:
    f = t.capture(lambda x, y: sorted([x, y], key=lambda v: v.sum())[0] * 2)
    yield f(t.x, -t.x)
    yield f(-t.x, t.x)


@trap()
def a_list_sorted_in_place_by_value(t: Any) -> Any:
    def ordered(x: Any) -> Any:
        parts = list(x)
        parts.sort(reverse=True)
        return parts[0] - parts[-1]

    f = t.capture(ordered)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_place_in_a_list_by_value(t: Any) -> Any:
    f = t.capture(lambda x: x * [3.0, -2.0].index(x[1]) if x[1] in [3.0, -2.0] else x)
    yield f(t.x)
    yield f(-t.x)


@trap()
def a_counter_of_values(t: Any) -> Any:
    f = t.capture(lambda x: x * len(collections.Counter(x.tolist())))
    yield f(t.x)
    yield f(t.x * 0)


@trap()
def a_set_of_values(t: Any) -> Any:
    f = t.capture(lambda x: x * len(set(x)))
    yield f(t.x)
    yield f(t.x * 0)


@trap()
def values_as_keys_of_a_cache(t: Any) -> Any:
    @functools.cache
    def squared(v: Any) -> Any:
        return v * v

    f = t.capture(lambda x: squared(x) + squared(x))
    yield f(t.x) if t.name == "tensors" else t.x
    yield f(t.x * 2) if t.name == "tensors" else t.x


@trap()
def elements_are_exchanged(t: Any) -> Any:
    def exchanged(x: Any) -> Any:
        a, b, *c = x
        a, b = b, a
        return a - b + sum(c)

    f = t.capture(exchanged)
    yield f(t.x)
    yield f(-t.x)


@trap()
def whole_numbers_beyond_their_dtype(t: Any) -> Any:
    f = t.capture(lambda x: (x + 1, x * 2, x // 2, x % 7, -x))
    yield f(t.array(np.array([2**31 - 1, -(2**31)], "int32")))
    yield f(t.array(np.array([255, 0], "uint8")))


@trap()
def shifts_and_bits(t: Any) -> Any:
    f = t.capture(lambda x: (x << 1, x >> 1, x & 3, x | 8, x ^ 5, ~x))
    yield f(t.array(np.array([5, -7, 100], "int32")))
    yield f(t.array(np.array([5, 7, 200], "uint8")))


@trap()
def powers_of_all_kinds(t: Any) -> Any:
    f = t.capture(lambda x: (x**2, x**0, x**0.5, 2**x, 2.0**x))
    yield f(t.array(np.array([1.0, 4.0, 9.0], "float32")))
    yield f(t.array(np.array([1, 4, 9], "int32")))


@trap()
def negative_powers_of_whole_numbers(t: Any) -> Any:
    f = t.capture(lambda x: x ** (-1))
    yield t.x
    yield f(t.array(np.array([1, 2, 4], "int32")))


@trap()
def rounding_of_values(t: Any) -> Any:
    f = t.capture(lambda x: (t.xp.round(x), t.xp.floor(x), t.xp.trunc(x), abs(x), -x, +x))
    yield f(t.array(np.array([0.5, 1.5, -2.5, -0.0, np.nan, np.inf], "float32")))


@trap()
def comparisons_with_nan(t: Any) -> Any:
    f = t.capture(lambda x: (x > 0, x != x, x == x, t.xp.maximum(x, -x), x.max(), x.argmax()))
    yield f(t.array(np.array([1.0, np.nan, -np.inf], "float32")))


@trap()
def an_empty_reduction(t: Any) -> Any:
    f = t.capture(lambda x: (x.sum(), x.prod()))
    yield f(t.x[:0])


@trap()
def a_maximum_of_nothing(t: Any) -> Any:
    f = t.capture(lambda x: x.max())
    yield f(t.x)
    try:
        yield f(t.x[:0])
    except Exception as error:
        yield type(error).__name__ in (
            "ValueError",
            "IndexError",
            "RuntimeError",
            "ShapeError",
            "AutogradError",
            "SizeError",
        )


@trap()
def an_error_of_shapes_is_caught(t: Any) -> Any:
    def forgiving(x: Any, y: Any) -> Any:
        try:
            return x + y
        except (ValueError, RuntimeError, TypeError):
            return x * 100

    f = t.capture(forgiving)
    yield f(t.x, t.x)
    yield f(t.x, t.array(np.ones(4, "float32")))


@trap()
def an_index_error_is_caught(t: Any) -> Any:
    def forgiving(x: Any) -> Any:
        try:
            return x[3] * 2
        except IndexError:
            return x[0] * 100

    f = t.capture(forgiving)
    yield f(t.x)
    yield f(t.array(np.ones(4, "float32")))


@trap()
def elements_until_an_index_error(t: Any) -> Any:
    def summed(x: Any) -> Any:
        i, total = 0, 0.0
        while True:
            try:
                total = total + x[i]
            except IndexError:
                return total
            i += 1

    f = t.capture(summed)
    yield f(t.x)
    yield f(t.array(np.ones(5, "float32")))


@trap()
def an_attribute_that_values_do_not_have(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if hasattr(x, "to_pandas") else x * 3)
    yield f(t.x)


@trap()
def a_result_of_another_type_by_a_flag(t: Any) -> Any:
    flags = {"both": False}
    f = t.capture(lambda x: (x, x * 2) if flags["both"] else x)
    yield f(t.x)
    flags["both"] = True
    yield f(t.x)


@trap()
def a_result_in_a_record(t: Any) -> Any:
    @dataclasses.dataclass
    class Result:
        y: Any
        name: str = "y"

    f = t.capture(lambda x: Result(x * 2))
    found = f(t.x)
    yield type(found).__name__, found.y, found.name
    found = f(t.x * 2)
    yield found.y


@trap()
def a_result_of_ordered_kinds(t: Any) -> Any:
    f = t.capture(lambda x: collections.OrderedDict(b=x, a=[x * 2, (None, "t", 3)]))
    found = f(t.x)
    yield type(found).__name__, list(found), found["b"], found["a"]


@trap()
def arguments_in_a_record(t: Any) -> Any:
    Batch = collections.namedtuple("Batch", "x k")
    f = t.capture(lambda batch: batch.x * batch.k)
    yield f(Batch(t.x, 2.0))
    yield f(Batch(t.x, 3.0))
    yield f(Batch(k=4.0, x=t.x))


@trap()
def an_object_with_arrays_as_an_argument(t: Any) -> Any:
    class Batch:
        def __init__(self, x: Any, k: float) -> None:
            self.x, self.k = x, k

    f = t.capture(lambda batch: batch.x * batch.k)
    batch = Batch(t.x, 2.0)
    yield f(batch)
    batch.x = batch.x * 2
    yield f(batch)
    batch.k = 5.0
    yield f(batch)
    yield f(Batch(t.x, 1.0))


@trap()
def values_in_an_object_that_is_made_inside(t: Any) -> Any:
    class State:
        def __init__(self, x: Any) -> None:
            self.x, self.n = x, 0

        def step(self) -> State:
            self.x = self.x * 2
            self.n += 1
            return self

    f = t.capture(lambda x: (s := State(x).step().step()).x + s.n)
    yield f(t.x)
    yield f(t.x * 2)


@trap()
def the_name_of_a_parameter_and_a_keyword(t: Any) -> Any:
    def named(x: Any, /, **options: Any) -> Any:
        return x * len(options) + options.get("x", 0.0)

    f = t.capture(named)
    yield f(t.x, x=2.0)
    yield f(t.x, y=2.0, z=1)


@trap()
def arguments_by_inspection(t: Any) -> Any:
    def helper(x: Any, k: float = 2.0) -> Any:
        return x * k

    f = t.capture(lambda x: helper(x) * len(inspect.signature(helper).parameters))
    yield f(t.x)
    helper.__defaults__ = (5.0,)
    yield f(t.x)


@trap()
def code_objects_that_are_compared(t: Any) -> Any:
    state = {"f": lambda x: x * 2}
    f = t.capture(lambda x: state["f"](x) * state["f"].__code__.co_argcount)
    yield f(t.x)
    state["f"] = lambda x, k=3.0: x * k
    yield f(t.x)


@trap()
def a_module_that_is_reloaded(t: Any) -> Any:
    module = types.ModuleType("riddles_module")
    exec("k = 2.0\ndef g(x): return x * k", module.__dict__)
    sys.modules["riddles_module"] = module

    def scaled(x: Any) -> Any:
        import riddles_module  # type: ignore[import-not-found]

        return riddles_module.g(x)

    f = t.capture(scaled)
    yield f(t.x)
    exec("k = 5.0\ndef g(x): return x * k + 1", module.__dict__)
    yield f(t.x)
    del sys.modules["riddles_module"]


@trap(*TENSORS)
def a_buffer_that_is_a_state_of_two_functions(t: Any) -> Any:
    state = t.array(np.zeros(3, "float32"))

    def push(x: Any) -> Any:
        state.mul_(0.5).add_(x)
        return state.sum()

    f, g = t.capture(push), t.capture(lambda x: state * x)
    yield f(t.x), g(t.x)
    yield f(t.x), g(t.x)
    yield state
