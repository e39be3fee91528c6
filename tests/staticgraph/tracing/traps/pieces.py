"""Parts of NumPy's arrays around a function: elements, rows, masks, and arrays that it returns."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, NamedTuple

import numpy as np

from .trap import TENSORS, trap


def _table(size: int = 400) -> Any:
    return np.arange(float(size), dtype="float32")


@trap()
def an_element_as_a_number(t: Any) -> Any:
    table = _table()
    f = t.capture(lambda x: x * float(table[3]))
    yield f(t.x)
    table[3] = 10.0
    yield f(t.x)
    table[4] = 20.0
    yield f(t.x)


@trap()
def an_element_decides(t: Any) -> Any:
    table = _table()

    def f(x: Any) -> Any:
        if table[3] > 2.0:
            return x * 2
        return x * 3

    g = t.capture(f)
    yield g(t.x)
    table[3] = 1.0
    yield g(t.x)
    table[3] = np.nan
    yield g(t.x)


@trap()
def an_element_of_a_row(t: Any) -> Any:
    table = _table().reshape(20, 20)

    def f(x: Any) -> Any:
        row = table[2]
        return x * int(row[1] + row[-1])

    g = t.capture(f)
    yield g(t.x)
    table[2, -1] = 7.0
    yield g(t.x)
    table[1:3] = 1.0
    yield g(t.x)


@trap()
def an_element_through_another_view(t: Any) -> Any:
    table = _table()
    view = table[::2]
    f = t.capture(lambda x: x * float(view[1]) + float(table[5]))
    yield f(t.x)
    table[2] = 50.0
    yield f(t.x)
    view[:] = 4.0
    yield f(t.x)


@trap()
def an_element_and_another_array(t: Any) -> Any:
    held = {"table": _table()}
    f = t.capture(lambda x: x * float(held["table"][3]))
    yield f(t.x)
    held["table"] = held["table"] * 2
    yield f(t.x)
    held["table"][3] = -1.0
    yield f(t.x)
    held["table"] = held["table"][1:]
    yield f(t.x)
    held["table"] = held["table"].astype("int64")
    yield f(t.x)


@trap()
def an_element_by_an_index_that_changes(t: Any) -> Any:
    table, at = _table(), types.SimpleNamespace(i=3)
    f = t.capture(lambda x: x * float(table[at.i]))
    yield f(t.x)
    at.i = 5
    yield f(t.x)
    table[5] = 2.5
    yield f(t.x)


@trap()
def a_sign_of_zero_in_an_element(t: Any) -> Any:
    table = np.zeros(400)
    f = t.capture(lambda x: x * (1.0 if str(float(table[3])) == "0.0" else -1.0))
    yield f(t.x)
    table[3] = -0.0
    yield f(t.x)


@trap()
def a_flag_in_a_mask(t: Any) -> Any:
    mask = np.zeros(2000, bool)
    f = t.capture(lambda x: x * 2 if mask[7] else x * 3)
    yield f(t.x)
    mask[7] = True
    yield f(t.x)
    mask[8] = True
    yield f(t.x)


@trap()
def elements_are_unpacked(t: Any) -> Any:
    table = _table()

    def f(x: Any) -> Any:
        a, b, *_ = table[4:8]
        return x * float(a) - float(b)

    g = t.capture(f)
    yield g(t.x)
    table[5] = 0.0
    yield g(t.x)


@trap()
def an_element_as_an_index(t: Any) -> Any:
    places = np.arange(400)
    f = t.capture(lambda x: x[int(places[1])] * 2)
    yield f(t.x)
    places[1] = 2
    yield f(t.x)


@trap()
def an_element_in_a_while(t: Any) -> Any:
    table = _table()

    def f(x: Any) -> Any:
        i = 0
        while table[i] < 3.0:
            x, i = x + 1, i + 1
        return x

    g = t.capture(f)
    yield g(t.x)
    table[1] = 9.0
    yield g(t.x)


@trap()
def more_elements_than_a_few(t: Any) -> Any:
    table = _table()
    f = t.capture(lambda x: x * sum(float(one) for one in table[:100]))
    yield f(t.x)
    table[99] = 0.0
    yield f(t.x)


@trap()
def an_element_and_its_array(t: Any) -> Any:
    table = _table()
    f = t.capture(lambda x: (x + t.array(table[:3])) * float(table[0]))
    yield f(t.x)
    table[0] = 2.0
    yield f(t.x)
    table[1] = 5.0
    yield f(t.x)


@trap(*TENSORS)
def elementwise_numpy_before_a_tensor(t: Any) -> Any:
    table = _table()
    f = t.capture(lambda x: x + t.xp.from_numpy((table[:3] - 1.0) / 2))
    yield f(t.x)
    table[0] = 11.0
    yield f(t.x)


@trap(*TENSORS)
def a_mask_of_numpy_before_a_tensor(t: Any) -> Any:
    table = _table()
    f = t.capture(lambda x: x * t.xp.from_numpy((table[:3] > 0.5).astype("float32")))
    yield f(t.x)
    table[0] = 11.0
    yield f(t.x)


@trap(*TENSORS)
def numpy_promotes_before_a_tensor(t: Any) -> Any:
    table, scale = _table(), np.float64(2.0)
    f = t.capture(lambda x: x + t.xp.from_numpy(table[:3] * scale + np.arange(3)))
    yield f(t.x)
    table[0] = 11.0
    yield f(t.x)


@trap(*TENSORS)
def integers_of_numpy_before_a_tensor(t: Any) -> Any:
    counts = np.arange(400, dtype="int32")
    f = t.capture(lambda x: x + t.xp.from_numpy(counts[1:4] // 2 - counts[:3] % 3))
    yield f(t.x)
    counts[:4] = -5
    yield f(t.x)


@trap(*TENSORS)
def an_array_in_place_of_numpy(t: Any) -> Any:
    table = _table()

    def f(x: Any) -> Any:
        own = table[:3] * 2
        own += 1
        return x + t.xp.from_numpy(own)

    g = t.capture(f)
    yield g(t.x)
    table[1] = -3.0
    yield g(t.x), float(table[1])


@trap()
def an_array_that_is_returned(t: Any) -> Any:
    small, large = np.zeros(3), _table()
    f = t.capture(lambda x: (x * 2, small, large))
    found = f(t.x)
    if t.name in ("arrays", "tensors", "torch"):
        found[1][0] = 5.0
        found[2][0] = 7.0
    yield found[0], float(small[0]), float(large[0])
    yield [np.asarray(one) for one in f(t.x)[1:]]


@trap(*TENSORS)
def the_class_of_what_is_returned(t: Any) -> Any:
    small = np.ones(2)
    f = t.capture(lambda x: (x, small, small[0], np.float32(2), [np.arange(2)], 3))
    yield [type(one).__name__ for one in f(t.x)[1:4]]
    yield type(f(t.x)[4][0]).__name__


@trap()
def an_array_in_what_is_returned(t: Any) -> Any:
    small = {"a": np.zeros(2)}
    f = t.capture(lambda x: {"x": x + 1, "kept": small["a"]})
    kept = f(t.x)["kept"]
    yield np.asarray(kept)
    small["a"][0] = 3.0
    yield np.asarray(kept), np.asarray(f(t.x)["kept"])
    small["a"] = np.ones(2)
    yield np.asarray(f(t.x)["kept"])


@trap("arrays")
def one_side_returns_an_array(t: Any) -> Any:
    default = np.zeros(3, "float32")
    f = t.capture(lambda x: x if np.sum(x) > 0 else default)
    found = f(-t.x)
    found[0] = 4.0
    yield np.asarray(default), f(t.x), f(-t.x)


class Pair(NamedTuple):
    """Two arrays."""

    first: Any
    second: Any


@dataclasses.dataclass
class Pieces:
    """The same as an object."""

    first: Any
    second: Any


@trap()
def an_element_in_a_named_tuple(t: Any) -> Any:
    held = types.SimpleNamespace(pair=Pair(_table(), _table()))
    f = t.capture(lambda x: x * float(held.pair.first[1]) + float(held.pair.second[2]))
    yield f(t.x)
    held.pair.second[2] = 9.0
    yield f(t.x)
    held.pair = Pair(held.pair.second, held.pair.first)
    yield f(t.x)


@trap()
def an_element_in_a_dataclass(t: Any) -> Any:
    held = Pieces(_table(), np.ones(1000, "float32"))
    f = t.capture(lambda x: x * float(held.first[1]) + t.array(held.second[:3]))
    yield f(t.x)
    held.second[1] = 9.0
    yield f(t.x)
    held.first[1] = 3.0
    yield f(t.x)
