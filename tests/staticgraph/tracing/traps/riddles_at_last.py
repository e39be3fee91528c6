"""What is captured itself: methods, generators, copies; what Python and NumPy do to values."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np

from .trap import trap


@trap()
def fields_that_no_argument_has(t: Any) -> Any:
    @dataclasses.dataclass
    class State:
        x: Any
        k: dataclasses.InitVar[float] = 2.0
        twice: Any = dataclasses.field(init=False)

        def __post_init__(self, k: float) -> None:
            self.twice = self.x * k

    f = t.capture(lambda s: dataclasses.replace(s, x=s.x + 1, k=3.0).twice)
    yield f(State(t.x))
    yield f(State(t.x * 2))


@trap()
def a_record_that_inherits(t: Any) -> Any:
    @dataclasses.dataclass
    class Base:
        x: Any

        def scaled(self) -> Any:
            return self.x * 2

    @dataclasses.dataclass
    class More(Base):
        k: float = 3.0

        def scaled(self) -> Any:
            return super().scaled() * self.k

    f = t.capture(lambda s: s.scaled())
    yield f(Base(t.x)), f(More(t.x)), f(More(t.x, 5.0))


@trap()
def a_sum_that_is_added_to(t: Any) -> Any:
    def added(x: Any) -> Any:
        s = x.sum()
        s += 1
        s *= 2
        return s

    f = t.capture(added)
    yield f(t.x)
    yield f(t.array(np.array([1, 2])))


@trap()
def small_numbers_overflow_in_place(t: Any) -> Any:
    def added(x: Any) -> Any:
        y = x + 0
        y += 100
        y *= 2
        return y

    f = t.capture(added)
    yield f(t.array(np.array([100, 50], "uint8")))
    yield f(t.array(np.array([100, 50], "int16")))


@trap()
def the_element_before_the_first(t: Any) -> Any:
    def last(x: Any) -> Any:
        try:
            return x[-4] * 2
        except IndexError:
            return x[0] * 3

    f = t.capture(last)
    yield f(t.x)
    yield f(t.array(np.arange(4, dtype="float32")))


@trap()
def pieces_until_one_is_empty(t: Any) -> Any:
    def pieces(x: Any) -> Any:
        total, i = x.sum() * 0, 0
        while len(piece := x[i : i + 2]) > 0:
            total = total + piece.sum() * i
            i += 2
        return total

    f = t.capture(pieces)
    yield f(t.x)
    yield f(t.array(np.ones(7, "float32")))


@trap()
def batches_by_islice(t: Any) -> Any:
    def batched(x: Any) -> Any:
        rows = iter(x)
        found = []
        while batch := list(itertools.islice(rows, 2)):
            found.append(sum(batch[1:], batch[0]))
        return found[-1]

    f = t.capture(batched)
    yield f(t.x)
    yield f(t.array(np.arange(4, dtype="float32")))


@trap()
def pairs_of_neighbours(t: Any) -> Any:
    f = t.capture(lambda x: sum(b - a for a, b in itertools.pairwise(x)))
    yield f(t.x)
    yield f(t.array(np.arange(5, dtype="float32")))


@trap()
def a_masked_sum_of_bools(t: Any) -> Any:
    f = t.capture(lambda x: ((x > 0).sum(), (x > 0) | (x < -1), (x > 0) & True, ~(x > 0)))
    yield f(t.x)


@trap()
def sizes_by_numpy_integers(t: Any) -> Any:
    ends = [np.int32(1), np.uint8(2)]
    f = t.capture(lambda x: (x[ends[0]], x[ends[0] : ends[1]], x[-ends[0] :]))
    yield f(t.x)
    ends[0] = np.int32(0)
    yield f(t.x)


@trap()
def a_bool_as_a_bound(t: Any) -> Any:
    flags = [True]
    f = t.capture(lambda x: x[flags[0] :] * 2)
    yield f(t.x)
    flags[0] = False
    yield f(t.x)
