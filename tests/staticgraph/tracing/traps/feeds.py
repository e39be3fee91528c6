"""Kinds of arguments and of what is closed over, from call to call."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import enum
import fractions
import pathlib
import re
import types
from typing import Any, NamedTuple

import numpy as np

from .trap import ARRAYS, TENSORS, trap


@trap("arrays")
def arrays_of_other_layouts(t: Any) -> Any:
    f = t.capture(lambda x: (x * 2).sum(axis=0))
    x = np.arange(12, dtype="float32").reshape(3, 4)
    yield f(x), f(np.asfortranarray(x)), f(x[::-1]), f(x[:, ::2]), f(x.T)
    yield f(np.broadcast_to(x[:1], (3, 4))), f(x[1:1])


@trap("arrays")
def an_array_of_other_bytes(t: Any) -> Any:
    f = t.capture(lambda x: x + 1)
    x = np.arange(3, dtype="float32")
    yield f(x).astype("float32"), f(x.astype(">f4")).astype("float32"), f(x)


@trap("arrays")
def an_array_that_may_not_be_written(t: Any) -> Any:
    f = t.capture(lambda x: x * 2)
    x = np.arange(3, dtype="float32")
    x.flags.writeable = False
    yield f(x)
    yield f(np.arange(3, dtype="float32"))


@trap("arrays")
def subclasses_of_arrays(t: Any) -> Any:
    class Named(np.ndarray):
        pass

    class Doubled(np.ndarray):
        def __mul__(self, other: Any) -> Any:
            return np.asarray(self) * other * 2

    f = t.capture(lambda x: x * 2)
    yield np.asarray(f(t.x.view(Named)))
    yield f(t.x)
    yield np.asarray(f(t.x.view(Doubled)))


@trap("arrays")
def a_masked_array(t: Any) -> Any:
    f = t.capture(lambda x: x.sum())
    yield f(t.x)
    yield float(f(np.ma.masked_array(t.x, [True, False, False])))


@trap("arrays")
def a_matrix(t: Any) -> Any:
    f = t.capture(lambda x: x * x)
    x = np.arange(4.0).reshape(2, 2)
    yield f(x)
    yield np.asarray(f(np.asmatrix(x)))


@trap("arrays")
def a_matrix_that_is_closed_over(t: Any) -> Any:
    m = np.asmatrix(np.arange(9.0).reshape(3, 3))
    f = t.capture(lambda x: np.asarray(m * m)[0] * x)
    yield f(t.x)
    m[0, 0] = 5.0
    yield f(t.x)


@trap("arrays")
def a_matrix_that_meets_the_argument(t: Any) -> Any:
    m = np.asmatrix(np.arange(9.0).reshape(3, 3))
    f = t.capture(lambda x: x * m)
    yield np.asarray(f(t.x))
    yield np.asarray(f(t.x * 2))


@trap(*ARRAYS)
def scalars_of_numpy(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k)
    yield f(t.x, np.float32(2)), f(t.x, np.float32(3))
    yield f(t.x, np.float64(2))
    yield f(t.x, np.int64(2)), f(t.x, np.bool_(True))


@trap()
def one_number_of_three_types(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k)
    yield f(t.x, 1), f(t.x, 1.0), f(t.x, True), f(t.x, 2), f(t.x, 0.5), f(t.x, False)


@trap(*TENSORS)
def whole_numbers_of_three_types(t: Any) -> Any:
    f = t.capture(lambda x, k: x * k)
    x = t.xp.tensor([1, 2, 3])
    yield f(x, 1), f(x, 1.0), f(x, True), f(x, 2), f(x, 0.5)


@trap()
def keywords_in_another_order(t: Any) -> Any:
    def f(x: Any, a: float = 1.0, **more: float) -> Any:
        total = x * a
        for k, one in enumerate(more.values()):
            total = total + (k + 1) * one
        return total

    g = t.capture(f)
    yield g(t.x, b=1.0, c=2.0), g(t.x, c=2.0, b=1.0)
    yield g(t.x, c=1.0, b=2.0), g(x=t.x, a=3.0), g(t.x, 3.0, d=1.0)


@trap()
def positions_and_keywords(t: Any) -> Any:
    g = t.capture(lambda x, y: x - 2 * y)
    y = t.x + 1
    yield g(t.x, y), g(x=t.x, y=y), g(y=t.x, x=y), g(t.x, y=y)


@trap()
def a_slice_as_an_argument(t: Any) -> Any:
    g = t.capture(lambda x, part: x[part] * 2)
    yield g(t.x, slice(0, 2)), g(t.x, slice(1, 3)), g(t.x, slice(None, None, 2)), g(t.x, ...)


@trap()
def a_slice_that_is_closed_over(t: Any) -> Any:
    part = slice(0, 2)
    g = t.capture(lambda x: x[part] * 2)
    yield g(t.x)
    part = slice(1, 3)
    yield g(t.x)


@trap()
def a_range_that_is_closed_over(t: Any) -> Any:
    steps = range(2)

    def f(x: Any) -> Any:
        for k in steps:
            x = x * (k + 1)
        return x

    g = t.capture(f)
    yield g(t.x)
    steps = range(1, 4)
    yield g(t.x)


@trap()
def a_nan_that_is_closed_over(t: Any) -> Any:
    limit = float("nan")
    g = t.capture(lambda x: x * 2 if limit != limit else x * limit)
    yield g(t.x), g(t.x)
    limit = float("inf")
    yield g(t.x)
    limit = 3.0
    yield g(t.x)


@trap()
def a_complex_number_that_is_closed_over(t: Any) -> Any:
    z = 1 + 2j
    g = t.capture(lambda x: x * z.imag + z.real)
    yield g(t.x)
    z = 1 - 2j
    yield g(t.x)


@trap()
def a_fraction_and_a_date(t: Any) -> Any:
    part, day = fractions.Fraction(1, 3), datetime.date(2020, 1, 1)
    g = t.capture(lambda x: x * float(part) + day.year)
    yield g(t.x)
    part = fractions.Fraction(2, 3)
    yield g(t.x)
    day = day.replace(year=2021)
    yield g(t.x)


@trap()
def a_path_and_a_pattern(t: Any) -> Any:
    path, pattern = pathlib.PurePath("a/b1"), re.compile(r"\d")
    g = t.capture(lambda x: x * len(path.parts) + len(pattern.findall(path.name)))
    yield g(t.x)
    path = path / "c22"
    yield g(t.x)
    pattern = re.compile(r"\d+")
    yield g(t.x)


@trap()
def bytes_that_may_change(t: Any) -> Any:
    kept, fixed = bytearray(b"\x01\x02"), b"\x03"
    g = t.capture(lambda x: x * kept[0] + fixed[0])
    yield g(t.x)
    kept[0] = 5
    yield g(t.x)
    fixed = b"\x07"
    yield g(t.x)


@trap()
def an_array_of_python(t: Any) -> Any:
    held = array.array("d", [1.0, 2.0])
    g = t.capture(lambda x: x * held[0] + held[1])
    yield g(t.x)
    held[0] = 5.0
    yield g(t.x)
    held.append(1.0)
    yield g(t.x)


@trap()
def a_default_that_a_lookup_makes(t: Any) -> Any:
    table: Any = collections.defaultdict(lambda: 2.0)
    g = t.capture(lambda x: x * table["a"])
    yield g(t.x)
    table["a"] = 3.0
    yield g(t.x), dict(table)


@trap()
def a_queue_that_turns(t: Any) -> Any:
    queue = collections.deque([1.0, 2.0, 3.0], maxlen=3)
    g = t.capture(lambda x: x * queue[0])
    yield g(t.x)
    queue.rotate(1)
    yield g(t.x)
    queue.append(7.0)
    yield g(t.x)


@trap()
def counts_that_are_updated(t: Any) -> Any:
    counts = collections.Counter("aab")
    g = t.capture(lambda x: x * counts["a"] + counts["c"])
    yield g(t.x)
    counts.update("c")
    yield g(t.x)
    counts.subtract("a")
    yield g(t.x)


@trap()
def a_list_and_a_dict_of_the_library(t: Any) -> Any:
    rates, table = collections.UserList([1.0, 2.0]), collections.UserDict(a=1.0)
    g = t.capture(lambda x: x * rates[0] + table["a"])
    yield g(t.x)
    rates[0] = 3.0
    yield g(t.x)
    table["a"] = 5.0
    yield g(t.x)


@trap()
def an_order_of_an_enum(t: Any) -> Any:
    class Kind(enum.Enum):
        SUM = 1
        MEAN = 2

    kind = Kind.SUM
    g = t.capture(lambda x: x.sum() if kind is Kind.SUM else x.mean())
    yield g(t.x)
    kind = Kind.MEAN
    yield g(t.x)


@trap()
def an_enum_as_an_argument(t: Any) -> Any:
    class Kind(enum.IntFlag):
        SQUARE = 1
        HALF = 2

    def f(x: Any, kind: Kind) -> Any:
        if Kind.SQUARE in kind:
            x = x * x
        return x / 2 if kind & Kind.HALF else x

    g = t.capture(f)
    yield g(t.x, Kind.SQUARE), g(t.x, Kind.HALF), g(t.x, Kind.SQUARE | Kind.HALF)


@trap()
def a_dataclass_with_a_list(t: Any) -> Any:
    @dataclasses.dataclass
    class Inner:
        rates: list[float] = dataclasses.field(default_factory=lambda: [1.0, 2.0])

    @dataclasses.dataclass
    class Outer:
        inner: Inner = dataclasses.field(default_factory=Inner)

    held = Outer()
    g = t.capture(lambda x: x * held.inner.rates[1])
    yield g(t.x)
    held.inner.rates[1] = 5.0
    yield g(t.x)
    held.inner = Inner([7.0, 8.0])
    yield g(t.x)


@trap()
def a_frozen_dataclass_that_is_forced(t: Any) -> Any:
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float

    config = Config(2.0)
    g = t.capture(lambda x: x * config.rate)
    yield g(t.x)
    object.__setattr__(config, "rate", 3.0)
    yield g(t.x)


@trap()
def a_dataclass_as_an_argument(t: Any) -> Any:
    @dataclasses.dataclass
    class Config:
        rate: float
        name: str = "a"

    def f(x: Any, config: Config) -> Any:
        return x * config.rate if config.name == "a" else x / config.rate

    g, config = t.capture(f), Config(2.0)
    yield g(t.x, config), g(t.x, Config(3.0)), g(t.x, Config(2.0, "b"))
    config.rate = 5.0
    yield g(t.x, config)


class Pair(NamedTuple):
    """A list within a tuple."""

    rates: list[float]
    shift: float


@trap()
def a_named_tuple_with_a_list(t: Any) -> Any:
    pair = Pair([1.0, 2.0], 1.0)
    g = t.capture(lambda x: x * pair.rates[0] + pair.shift)
    yield g(t.x)
    pair.rates[0] = 4.0
    yield g(t.x)
    pair = pair._replace(shift=9.0)
    yield g(t.x)


@trap()
def a_namespace_in_a_namespace(t: Any) -> Any:
    config = types.SimpleNamespace(model=types.SimpleNamespace(rate=1.0))
    g = t.capture(lambda x: x * config.model.rate)
    yield g(t.x)
    config.model.rate = 2.0
    yield g(t.x)
    config.model = types.SimpleNamespace(rate=4.0)
    yield g(t.x)


@trap()
def a_view_of_a_table_that_changes(t: Any) -> Any:
    table = {"a": 1.0}
    proxy, items = types.MappingProxyType(table), table.items()
    g = t.capture(lambda x: x * proxy["a"] + sum(one for _, one in items))
    yield g(t.x)
    table["a"] = 3.0
    yield g(t.x)
    table["b"] = 1.0
    yield g(t.x)
