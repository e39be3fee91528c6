"""Containers that go in and come out, what is changed in place, and loops that end by an error."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import inspect
import itertools
import operator
import types
from typing import Any

import numpy as np

from .trap import ARRAYS, TENSORS, trap


@trap()
def a_class_of_dicts_as_an_argument(t: Any) -> Any:
    Ordered = collections.OrderedDict
    f = t.capture(lambda d: d["a"] * (2.0 if isinstance(d, Ordered) else 3.0))
    yield f({"a": t.x})
    yield f(Ordered(a=t.x))
    yield f(collections.defaultdict(float, a=t.x))


@trap()
def an_ordered_dict_is_moved(t: Any) -> Any:
    def moved(d: Any) -> Any:
        d = copy.copy(d)
        d.move_to_end("a")
        return next(iter(d.values())) * 2

    f = t.capture(moved)
    yield f(collections.OrderedDict(a=t.x, b=t.x * 2))
    yield f(collections.OrderedDict(b=t.x * 3, a=t.x))


@trap()
def what_a_default_dict_makes(t: Any) -> Any:
    def made(d: Any) -> Any:
        d = copy.copy(d)
        return d["a"] + d["missing"]

    f = t.capture(made)
    yield f(collections.defaultdict(lambda: 2.0, a=t.x))
    yield f(collections.defaultdict(lambda: 5.0, a=t.x))


@trap()
def a_counter_as_an_argument(t: Any) -> Any:
    f = t.capture(lambda x, counts: x * counts["none"] + x * counts.total())
    yield f(t.x, collections.Counter(a=2))
    yield f(t.x, collections.Counter(a=2, b=3))


@trap()
def a_class_of_lists_with_a_name(t: Any) -> Any:
    class Rows(list[Any]):
        scale = 1.0

    f = t.capture(lambda rows: rows[0] * rows.scale)
    rows = Rows([t.x])
    yield f(rows)
    rows.scale = 3.0
    yield f(rows)


@trap()
def a_class_of_dicts_with_a_method(t: Any) -> Any:
    class Batch(dict[str, Any]):
        def __getattr__(self, name: str) -> Any:
            return self[name]

    f = t.capture(lambda batch: batch.x * 2)
    yield f(Batch(x=t.x))
    yield f(Batch(x=t.x * 2))


@trap()
def a_class_of_dicts_that_is_made_otherwise(t: Any) -> Any:
    class Batch(dict[str, Any]):
        def __init__(self, scale: float, **rest: Any) -> None:
            super().__init__(**rest)
            self.scale = scale

    f = t.capture(lambda batch: batch["x"] * batch.scale)
    yield f(Batch(2.0, x=t.x))
    yield f(Batch(5.0, x=t.x))


@trap()
def a_class_of_tuples_with_a_property(t: Any) -> Any:
    class Pair(tuple[Any, ...]):
        __slots__ = ()

        @property
        def both(self) -> Any:
            return self[0] + self[1]

    f = t.capture(lambda pair: pair.both)
    yield f(Pair((t.x, t.x)))
    yield f(Pair((t.x, t.x * 5)))


@trap()
def results_in_a_default_dict(t: Any) -> Any:
    def grouped(x: Any) -> Any:
        found = collections.defaultdict(list)
        for i, v in enumerate((x, x * 2, x * 3)):
            found[i % 2].append(v)
        return found

    f = t.capture(grouped)
    found = f(t.x)
    yield type(found).__name__, found[0], found[1]
    yield type(f(t.x * 2)).__name__, len(found[9])


@trap()
def results_in_a_class_of_lists(t: Any) -> Any:
    class Rows(list[Any]): ...

    f = t.capture(lambda x: Rows([x, x * 2]))
    found = f(t.x)
    yield type(found) is Rows, list(found)


@trap()
def results_in_a_list_with_a_name(t: Any) -> Any:
    class Rows(list[Any]): ...

    def named(x: Any) -> Any:
        rows = Rows([x])
        rows.name = "rows"  # type: ignore[attr-defined]
        return rows

    f = t.capture(named)
    yield f(t.x).name


@trap()
def keys_that_equal_each_other(t: Any) -> Any:
    f = t.capture(lambda d: next(v * (2.0 if isinstance(k, bool) else 3.0) for k, v in d.items()))
    yield f({1: t.x})
    yield f({True: t.x})
    yield f({1.0: t.x})


@trap()
def one_list_at_two_places(t: Any) -> Any:
    f = t.capture(lambda a, b: a[0] * (2.0 if a is b else 3.0))
    rows = [t.x]
    yield f(rows, rows)
    yield f(rows, [t.x])


@trap()
def a_number_that_is_added_to(t: Any) -> Any:
    def added(x: Any, k: Any) -> Any:
        k += 1.5
        return x * k

    f = t.capture(added)
    yield f(t.x, 2)
    yield f(t.x, 2.0)
    yield f(t.x, True)


@trap()
def precision_that_is_added(t: Any) -> Any:
    def added(x: Any, y: Any) -> Any:
        z = x * 1
        z += y
        return z

    f = t.capture(added)
    yield f(t.x, t.array(np.ones(3, "float64")))
    yield f(t.x, t.array(np.ones(3, "int64")))
    yield f(t.array(np.ones(3, "float64")), t.x)


@trap()
def fractions_that_are_added_to_whole_numbers(t: Any) -> Any:
    def added(x: Any) -> Any:
        y = x * 2
        y += 0.5
        return y

    f = t.capture(added)
    yield f(t.x)
    try:
        yield f(t.array(np.array([1, 2])))
    except (TypeError, RuntimeError) as error:
        yield isinstance(error, TypeError | RuntimeError)


@trap()
def a_quotient_of_whole_numbers_in_place(t: Any) -> Any:
    def divided(x: Any) -> Any:
        y = x * 2
        y /= 2
        return y

    f = t.capture(divided)
    yield f(t.x)
    try:
        yield f(t.array(np.array([1, 2])))
    except (TypeError, RuntimeError) as error:
        yield isinstance(error, TypeError | RuntimeError)


@trap()
def a_row_that_grows_in_place(t: Any) -> Any:
    def added(x: Any, y: Any) -> Any:
        z = x * 1
        z += y
        return z

    f = t.capture(added)
    yield f(t.x, t.x)
    try:
        yield f(t.x, t.array(np.ones((2, 3), "float32")))
    except (ValueError, RuntimeError) as error:
        yield isinstance(error, ValueError | RuntimeError)
    try:
        yield f(t.x[:1], t.x)
    except (ValueError, RuntimeError) as error:
        yield isinstance(error, ValueError | RuntimeError)


@trap()
def elements_until_the_end(t: Any) -> Any:
    def summed(x: Any) -> Any:
        total = x[0] * 0
        with contextlib.suppress(IndexError):
            for i in itertools.count():
                total = total + x[i] * i
        return total

    f = t.capture(summed)
    yield f(t.x)
    yield f(t.array(np.ones(5, "float32")))
    yield f(t.array(np.ones(1, "float32")))


@trap()
def rows_until_the_end(t: Any) -> Any:
    def summed(x: Any) -> Any:
        i, rows = 0, []
        while True:
            try:
                rows.append(x[i, 0] + x[-1 - i, 1])
            except IndexError:
                return sum(rows[1:], rows[0])
            i += 1

    f = t.capture(summed)
    yield f(t.array(np.arange(6, dtype="float32").reshape(3, 2)))
    yield f(t.array(np.arange(8, dtype="float32").reshape(4, 2)))


@trap(*TENSORS)
def numbers_that_are_bools(t: Any) -> Any:
    f = t.capture(lambda x: ((x > 0) + (x < -1), (x > 0) * (x < 2), (x > 0) * True, (x > 0) + 1))
    yield f(t.x)


@trap(*TENSORS)
def an_error_of_nothing_is_caught(t: Any) -> Any:
    def largest(x: Any) -> Any:
        try:
            return x.max()
        except IndexError:
            return x.sum() + 1
        except RuntimeError:
            return x.sum() + 2

    f = t.capture(largest)
    yield f(t.x)
    yield f(t.x[:0])


@trap(*TENSORS)
def an_error_of_shapes_by_its_class(t: Any) -> Any:
    def forgiving(x: Any, y: Any) -> Any:
        try:
            return x + y
        except IndexError:
            return x * 50
        except RuntimeError:
            return x * 100

    f = t.capture(forgiving)
    yield f(t.x, t.x)
    yield f(t.x, t.array(np.ones(4, "float32")))


@trap(*TENSORS)
def negative_powers_of_whole_tensors(t: Any) -> Any:
    def power(x: Any, k: int) -> Any:
        try:
            return x**k
        except RuntimeError:
            return x * 100

    f = t.capture(functools.partial(power, k=-1))
    yield f(t.x)
    yield f(t.array(np.array([1, 2])))


@trap("arrays")
def negative_powers_of_whole_arrays(t: Any) -> Any:
    def power(x: Any) -> Any:
        try:
            return x ** (-1)
        except ValueError:
            return x * 100

    f = t.capture(power)
    yield f(t.x)
    yield f(np.array([1, 2]))


@trap("arrays")
def powers_by_an_array(t: Any) -> Any:
    f = t.capture(lambda x, k: x**k)
    yield f(t.x, np.array([1, 2, 3]))
    yield f(np.array([1, 2, 3]), np.array([1, 2, 3]))
    try:
        yield f(np.array([1, 2, 3]), np.array([-1, 2, 3]))
    except ValueError as error:
        yield "integer powers" in str(error)


@trap()
def where_a_coroutine_is(t: Any) -> Any:
    async def one() -> None:
        await wait()

    @types.coroutine
    def wait() -> Any:
        yield

    running = one()
    f = t.capture(lambda x: x * len(inspect.getcoroutinestate(running)))
    yield f(t.x)
    running.send(None)
    yield f(t.x)
    running.close()
    yield f(t.x)


@trap()
def what_a_generator_delegates_to(t: Any) -> Any:
    inner = (i for i in range(3))

    def outer() -> Any:
        yield from inner

    numbers = outer()
    f = t.capture(lambda x: x * (2.0 if numbers.gi_yieldfrom is None else 3.0))
    yield f(t.x)
    next(numbers)
    yield f(t.x)


@trap(*ARRAYS)
def places_of_an_object(t: Any) -> Any:
    class Window:
        def __init__(self, start: int) -> None:
            self.start = start

        def __index__(self) -> int:
            return self.start

    window = Window(1)
    f = t.capture(lambda x: (x[window], x[window:], x[: operator.index(window)]))
    yield f(t.x)
    window.start = 2
    yield f(t.x)


@trap()
def where_a_generator_is_in_its_loop(t: Any) -> Any:
    def counting() -> Any:
        yield from range(5)

    numbers = counting()
    f = t.capture(
        lambda x: x * (2.0 if inspect.getgeneratorstate(numbers) == "GEN_CREATED" else 3.0)
    )
    yield f(t.x)
    next(numbers)
    yield f(t.x)


@trap("arrays")
def strings_and_objects_as_arguments(t: Any) -> Any:
    f = t.capture(lambda x, names: x * len([n for n in names if n == "a"]))
    yield f(t.x, np.array(["a", "b", "a"]))
    yield f(t.x, np.array(["a", "b", "b"]))


@trap("arrays")
def times_as_arguments(t: Any) -> Any:
    f = t.capture(lambda x, d: x * d.astype("int64"))
    yield f(t.x, np.array([1, 2, 3], "timedelta64[s]"))
    yield f(t.x, np.array([1, 2, 4], "timedelta64[s]"))
