"""Iterators, sets and slices that functions read, and where they are."""

from __future__ import annotations

import collections
import itertools
import os
import pathlib
import re
import tempfile
import types
from typing import Any

from .trap import trap


@trap()
def a_tee(t: Any) -> Any:
    one, other = itertools.tee([1.0, 2.0, 3.0])
    f = t.capture(lambda x: x * next(one))
    yield f(t.x)
    next(other)
    yield f(t.x)


@trap()
def an_exhausted_iterator(t: Any) -> Any:
    numbers = iter([2.0])
    f = t.capture(lambda x: x * next(numbers, 9.0))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_iterator_of_ones_own(t: Any) -> Any:
    class Own:
        def __init__(self) -> None:
            self.i = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> float:
            self.i += 1
            return float(self.i)

    numbers = Own()
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_generator_with_a_local(t: Any) -> Any:
    def counting() -> Any:
        k = 1.0
        while True:
            yield k
            k += 1

    numbers = counting()
    next(numbers)
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_local_of_a_generator(t: Any) -> Any:
    def counting() -> Any:
        k = 1.0
        while True:
            yield k
            k += 1

    numbers = counting()
    next(numbers)
    f = t.capture(lambda x: x * numbers.gi_frame.f_locals["k"])
    yield f(t.x)
    next(numbers)
    yield f(t.x)


@trap()
def a_map_over_a_list(t: Any) -> Any:
    numbers = map(float, ["1", "2", "3"])
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_zip_in_an_object(t: Any) -> Any:
    one = types.SimpleNamespace(pairs=zip([1.0, 2.0, 3.0], "abc", strict=True))
    f = t.capture(lambda x: x * next(one.pairs)[0])
    yield f(t.x)
    yield f(t.x)


@trap()
def a_view_of_keys(t: Any) -> Any:
    table = {"a": 1}
    keys = table.keys()
    f = t.capture(lambda x: x * len(keys))
    yield f(t.x)
    table["b"] = 2
    yield f(t.x)


@trap()
def a_frozen_set_of_objects(t: Any) -> Any:
    class Own:
        k = 2.0

    ones = frozenset([Own()])
    f = t.capture(lambda x: x * sum(one.k for one in ones))
    yield f(t.x)
    next(iter(ones)).k = 3.0
    yield f(t.x)


@trap()
def a_set_of_objects(t: Any) -> Any:
    class Own:
        k = 2.0

    ones = {Own()}
    f = t.capture(lambda x: x * sum(one.k for one in ones))
    yield f(t.x)
    next(iter(ones)).k = 3.0
    yield f(t.x)


@trap()
def objects_as_keys(t: Any) -> Any:
    class Own:
        k = 2.0

    ones = {Own(): 1}
    f = t.capture(lambda x: x * sum(one.k for one in ones))
    yield f(t.x)
    next(iter(ones)).k = 3.0
    yield f(t.x)


@trap()
def the_order_of_a_set_of_texts(t: Any) -> Any:
    ones = {1, 9}
    f = t.capture(lambda x: x * next(iter(ones)))
    yield f(t.x)
    ones.clear()
    ones |= {9, 17, 1}
    ones.discard(17)
    yield f(t.x)


@trap()
def the_length_a_deque_may_have(t: Any) -> Any:
    last = collections.deque([1.0, 2.0], maxlen=2)

    def f(x: Any) -> Any:
        return x * sum(last)

    g = t.capture(f)
    yield g(t.x)
    last.append(5.0)
    yield g(t.x)


@trap()
def a_range_is_rebound(t: Any) -> Any:
    numbers = range(3)
    f = t.capture(lambda x: x * sum(numbers))
    yield f(t.x)
    numbers = range(5)
    yield f(t.x)


@trap()
def a_slice_is_rebound(t: Any) -> Any:
    part, numbers = slice(0, 2), [1.0, 2.0, 3.0]
    f = t.capture(lambda x: x * sum(numbers[part]))
    yield f(t.x)
    part = slice(0, 3)
    yield f(t.x)


@trap()
def a_slice_of_objects(t: Any) -> Any:
    class Own:
        def __index__(self) -> int:
            return stop

    stop = 2
    part, numbers = slice(0, Own()), [1.0, 2.0, 3.0]
    f = t.capture(lambda x: x * sum(numbers[part]))
    yield f(t.x)
    stop = 3
    yield f(t.x)


@trap()
def a_path_is_changed(t: Any) -> Any:
    path = pathlib.PurePath("a")
    f = t.capture(lambda x: x * len(path.name))
    yield f(t.x)
    path = path / "bcd"
    yield f(t.x)


@trap()
def a_default_is_mutated(t: Any) -> Any:
    def scale(numbers: list[float] = [2.0]) -> float:  # noqa: B006 - what is tested
        return numbers[0]

    f = t.capture(lambda x: x * scale())
    yield f(t.x)
    scale.__defaults__[0][0] = 5.0  # type: ignore[index]
    yield f(t.x)


@trap()
def a_nonlocal_is_rebound_inside(t: Any) -> Any:
    def outer(x: Any) -> Any:
        k = 1.0

        def more() -> None:
            nonlocal k
            k += 1

        more()
        more()
        return x * k

    f = t.capture(outer)
    yield f(t.x)
    yield f(t.x)


@trap()
def a_pairwise_iterator(t: Any) -> Any:
    numbers = itertools.pairwise([1.0, 2.0, 3.0])
    f = t.capture(lambda x: x * sum(next(numbers)))
    yield f(t.x)
    yield f(t.x)


@trap()
def matches_of_a_pattern(t: Any) -> Any:
    found = re.finditer(r"\d", "2 3")
    f = t.capture(lambda x: x * float(next(found)[0]))
    yield f(t.x)
    yield f(t.x)


@trap()
def entries_of_a_folder(t: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a", "bb"):
            (pathlib.Path(folder) / name).touch()
        with os.scandir(folder) as entries:
            f = t.capture(lambda x: x * len(next(entries).name))
            yield sum(f(t.x).sum() for _ in range(2))


@trap()
def an_iterator_of_a_deque(t: Any) -> Any:
    numbers = iter(collections.deque([1.0, 2.0]))
    f = t.capture(lambda x: x * next(numbers))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_iterator_over_a_generator(t: Any) -> Any:
    numbers = enumerate(10.0 * i for i in range(3))
    f = t.capture(lambda x: x * sum(next(numbers)))
    yield f(t.x)
    yield f(t.x)


@trap()
def calls_until_a_value(t: Any) -> Any:
    numbers = [2.0, 3.0, 4.0]
    calls = iter(numbers.pop, 2.0)
    f = t.capture(lambda x: x * next(calls))
    yield f(t.x)
    yield f(t.x)
