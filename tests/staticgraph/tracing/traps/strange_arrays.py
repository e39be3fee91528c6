"""Arrays of NumPy's around functions that are seldom ones, and memory that others write."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np

from .trap import trap

FORMS = ("arrays", "tensors", "torch")


@trap(*FORMS)
def fields_of_a_structured_array(t: Any) -> Any:
    table = np.zeros(300, [("rate", "f4"), ("count", "i8")])
    f = t.capture(lambda x: x * float(table["rate"][0]) + int(table[1]["count"]))
    yield f(t.x)
    table["rate"] = 2.0
    yield f(t.x)
    table[1] = (5.0, 7)
    yield f(t.x)


@trap(*FORMS)
def a_masked_array(t: Any) -> Any:
    table = np.ma.masked_array(np.arange(3.0), [False, True, False])
    f = t.capture(lambda x: x * float(table.sum()))
    yield f(t.x)
    table[0] = np.ma.masked
    yield f(t.x)
    table.mask[0] = False
    yield f(t.x)


@trap(*FORMS)
def a_record_array(t: Any) -> Any:
    table = np.rec.array([(1.0, 2), (3.0, 4)], dtype=[("a", "f8"), ("b", "i8")])
    f = t.capture(lambda x: x * float(table.a[1]) + int(table.b.sum()))
    yield f(t.x)
    table.b[0] = 10
    yield f(t.x)


@trap(*FORMS)
def an_array_of_objects(t: Any) -> Any:
    table = np.array([2.0, [3.0], "ab"], dtype=object)
    f = t.capture(lambda x: x * table[0] + table[1][0] + len(table[2]))
    yield f(t.x)
    table[0] = 4.0
    yield f(t.x)
    table[1].append(1.0)
    table[1][0] = 9.0
    yield f(t.x)


@trap(*FORMS)
def an_array_of_texts(t: Any) -> Any:
    table = np.array(["a", "bcd"])
    f = t.capture(lambda x: x * len(table[1]))
    yield f(t.x)
    table[1] = "q"
    yield f(t.x)


@trap(*FORMS)
def an_array_of_dates(t: Any) -> Any:
    days = np.array(["2024-01-01", "2024-01-05"], "datetime64[D]")
    f = t.capture(lambda x: x * int((days[1] - days[0]).astype(int)))
    yield f(t.x)
    days[0] -= np.timedelta64(2, "D")
    yield f(t.x)


@trap(*FORMS)
def an_array_without_axes(t: Any) -> Any:
    rate = np.array(2.0)
    f = t.capture(lambda x: x * float(rate) + (1.0 if rate > 2 else 0.0))
    yield f(t.x)
    rate[...] = 3.0
    yield f(t.x)
    rate += 1
    yield f(t.x)


@trap(*FORMS)
def a_view_that_lies_backwards(t: Any) -> Any:
    base = np.arange(600, dtype="float32")
    table = base[::-2]
    f = t.capture(lambda x: x * float(table[0]) + t.array(table[:3].copy()))
    yield f(t.x)
    base[-1] = 2.0
    yield f(t.x)
    base[-3] = 50.0
    yield f(t.x)


@trap(*FORMS)
def a_view_by_strides(t: Any) -> Any:
    base = np.arange(500, dtype="float32")
    windows = np.lib.stride_tricks.sliding_window_view(base, 3)
    f = t.capture(lambda x: x + t.array(windows[1].copy()) * float(windows[2, 0]))
    yield f(t.x)
    base[2] = 9.0
    yield f(t.x)


@trap(*FORMS)
def a_broadcast_view(t: Any) -> Any:
    rate = np.array([2.0], "float32")
    table = np.broadcast_to(rate, (400, 3))
    f = t.capture(lambda x: x * float(table[7, 1]))
    yield f(t.x)
    rate[0] = 5.0
    yield f(t.x)


@trap(*FORMS)
def a_read_only_view_of_what_is_written(t: Any) -> Any:
    base = np.arange(500, dtype="float32")
    table = base.view()
    table.flags.writeable = False
    f = t.capture(lambda x: x * float(table[1]) + t.array(table[:3].copy()))
    yield f(t.x)
    base[:3] = 4.0
    yield f(t.x)


@trap(*FORMS)
def memory_of_a_bytearray(t: Any) -> Any:
    memory = bytearray(np.arange(500, dtype="float32").tobytes())
    table = np.frombuffer(memory, "float32")
    f = t.capture(lambda x: x * float(table[1]) + t.array(table[:3].copy()))
    yield f(t.x)
    memory[4:8] = np.float32(7).tobytes()
    yield f(t.x)


@trap(*FORMS)
def memory_of_ctypes(t: Any) -> Any:
    numbers = (ctypes.c_double * 300)(*range(300))
    table = np.ctypeslib.as_array(numbers)
    f = t.capture(lambda x: x * float(table[1]) + numbers[2])
    yield f(t.x)
    numbers[1] = 5.0
    yield f(t.x)
    table[2] = 9.0
    yield f(t.x)


@trap(*FORMS)
def an_array_of_python(t: Any) -> Any:
    numbers = array.array("d", range(300))
    f = t.capture(lambda x: x * numbers[1] + len(numbers))
    yield f(t.x)
    numbers[1] = 4.0
    yield f(t.x)
    numbers.append(1.0)
    yield f(t.x)


@trap(*FORMS)
def an_array_that_changes_its_shape(t: Any) -> Any:
    table = np.arange(600, dtype="float32")
    f = t.capture(lambda x: x * len(table) + float(table.reshape(-1)[4]))
    yield f(t.x)
    table.resize((300, 2), refcheck=False)
    yield f(t.x)


@trap(*FORMS)
def an_array_that_is_swapped_for_a_list(t: Any) -> Any:
    held = {"table": np.arange(500.0)}
    f = t.capture(lambda x: x * float(held["table"][2]))
    yield f(t.x)
    held["table"] = [1.0, 2.0, 7.0]  # type: ignore[assignment]
    yield f(t.x)
    held["table"] = np.arange(500.0) * 3
    yield f(t.x)


@trap(*FORMS)
def two_names_of_one_array(t: Any) -> Any:
    table = np.arange(500, dtype="float32")
    held = {"a": table, "b": table}
    f = t.capture(lambda x: x + t.array(held["a"][:3].copy()) * float(held["b"][1]))
    yield f(t.x)
    held["b"][1] = 5.0
    yield f(t.x)
    held["b"] = table.copy()
    held["b"][1] = 2.0
    yield f(t.x)


@trap(*FORMS)
def statistics_of_a_table(t: Any) -> Any:
    table = np.arange(500, dtype="float32")

    def f(x: Any) -> Any:
        mean, deviation = float(table.mean()), float(table.std())
        return (x - mean) / deviation if np.isfinite(table).all() else x

    g = t.capture(f)
    yield g(t.x)
    table[:] = table[::-1] * 2
    yield g(t.x)
    table[3] = np.inf
    yield g(t.x)


@trap(*FORMS)
def places_of_a_mask(t: Any) -> Any:
    mask = np.zeros(500, bool)
    mask[[0, 2]] = True
    f = t.capture(lambda x: x[[int(i) for i in np.flatnonzero(mask)]] * int(mask.sum()))
    yield f(t.x)
    mask[1] = True
    yield f(t.x)


@trap(*FORMS)
def a_lookup_by_search(t: Any) -> Any:
    edges = np.arange(500, dtype="float32")
    f = t.capture(lambda x: x * int(np.searchsorted(edges, 2.5)))
    yield f(t.x)
    edges[:2] = -1.0
    edges[2] = 2.7
    yield f(t.x)


@trap(*FORMS)
def printing_options_and_errors(t: Any) -> Any:
    zero = np.zeros(1)

    def f(x: Any) -> Any:
        try:
            with np.errstate(divide="raise"):
                rate = float((1.0 / zero)[0])
        except FloatingPointError:
            rate = 3.0
        return x * rate

    g = t.capture(f)
    yield g(t.x)
    zero[0] = 2.0
    yield g(t.x)
