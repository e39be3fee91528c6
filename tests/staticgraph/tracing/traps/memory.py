"""Memory that others change: arrays of all kinds, buffers, mapped files."""

from __future__ import annotations

import array
import ctypes
import mmap
import tempfile
import threading
from typing import Any

import numpy as np

from .trap import trap


@trap()
def an_array_of_python(t: Any) -> Any:
    numbers = array.array("d", [1.0, 2.0])
    f = t.capture(lambda x: x * numbers[0])
    yield f(t.x)
    numbers[0] = 5.0
    yield f(t.x)


@trap()
def an_array_of_python_grows(t: Any) -> Any:
    numbers = array.array("d", [1.0, 2.0])

    def f(x: Any) -> Any:
        numbers.append(1.0)
        return x * 2

    g = t.capture(f)
    g(t.x)
    yield g(t.x), len(numbers)


@trap()
def a_number_of_ctypes(t: Any) -> Any:
    number = ctypes.c_double(2.0)
    f = t.capture(lambda x: x * number.value)
    yield f(t.x)
    number.value = 3.0
    yield f(t.x)


@trap()
def a_structure_of_ctypes(t: Any) -> Any:
    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_double), ("b", ctypes.c_double))

    pair = Pair(2.0, 3.0)
    f = t.capture(lambda x: x * pair.a)
    yield f(t.x)
    pair.a = 4.0
    yield f(t.x)


@trap()
def an_array_of_ctypes(t: Any) -> Any:
    numbers = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    f = t.capture(lambda x: x * numbers[0])
    yield f(t.x)
    numbers[0] = 4.0
    yield f(t.x)


@trap()
def a_mapped_file(t: Any) -> Any:
    with tempfile.TemporaryFile() as file:
        file.write(b"\x02\x03")
        file.flush()
        with mmap.mmap(file.fileno(), 2) as memory:
            f = t.capture(lambda x: x * memory[0])
            yield f(t.x)
            memory[0] = 7
            yield f(t.x)


@trap()
def a_mapped_array(t: Any) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        numbers = np.memmap(file.name, "float32", "w+", shape=(3,))
        numbers[:] = 2.0
        f = t.capture(lambda x: x * float(numbers[0]))
        yield f(t.x)
        numbers[0] = 7.0
        yield f(t.x)


@trap()
def a_file_behind_a_mapped_array(t: Any) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        np.memmap(file.name, "float32", "w+", shape=(3,))[:] = 2.0
        read = np.memmap(file.name, "float32", "r", shape=(3,))
        f = t.capture(lambda x: x * float(read[0]))
        yield f(t.x)
        np.memmap(file.name, "float32", "r+", shape=(3,))[0] = 9.0
        yield f(t.x)


@trap()
def a_masked_array(t: Any) -> Any:
    numbers = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    f = t.capture(lambda x: x * float(numbers.sum()))
    yield f(t.x)
    numbers.mask[1] = False
    yield f(t.x)


@trap()
def what_fills_a_masked_array(t: Any) -> Any:
    numbers = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    numbers.fill_value = 7.0
    f = t.capture(lambda x: x * float(numbers.filled()[1]))
    yield f(t.x)
    numbers.fill_value = 9.0
    yield f(t.x)


@trap()
def a_subclass_of_arrays(t: Any) -> Any:
    class Own(np.ndarray[Any, Any]):
        k = 2.0

    numbers: Any = np.ones(3).view(Own)
    f = t.capture(lambda x: x * numbers.k)
    yield f(t.x)
    numbers.k = 3.0
    yield f(t.x)


@trap()
def an_operator_of_a_subclass_of_arrays(t: Any) -> Any:
    class Own(np.ndarray[Any, Any]):
        def __float__(self) -> float:
            return k

    k = 2.0
    number: Any = np.array(1.0).view(Own)
    f = t.capture(lambda x: x * float(number))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_record_of_an_array(t: Any) -> Any:
    table: Any = np.rec.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i8")])
    f = t.capture(lambda x: x * float(table.a[0]))
    yield f(t.x)
    table.a[0] = 5.0
    yield f(t.x)


@trap()
def a_scalar_with_fields(t: Any) -> Any:
    table = np.zeros(2, [("k", "f4")])
    row = table[0]
    f = t.capture(lambda x: x * float(row["k"]))
    yield f(t.x)
    table["k"] = 4.0
    yield f(t.x)


@trap()
def a_flat_iterator(t: Any) -> Any:
    numbers = np.arange(4.0)
    flat = numbers.flat
    f = t.capture(lambda x: x * float(flat[1]))
    yield f(t.x)
    numbers[1] = 6.0
    yield f(t.x)


@trap()
def a_flat_iterator_goes_on(t: Any) -> Any:
    flat = np.arange(1.0, 5.0).flat
    f = t.capture(lambda x: x * float(next(flat)))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_iterator_over_an_array(t: Any) -> Any:
    rows = iter(np.arange(1.0, 5.0))
    f = t.capture(lambda x: x * float(next(rows)))
    yield f(t.x)
    yield f(t.x)


@trap()
def an_iterator_of_numpy(t: Any) -> Any:
    places = np.ndindex(2, 2)
    f = t.capture(lambda x: x * (1 + sum(next(places))))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_polynomial(t: Any) -> Any:
    one = np.polynomial.Polynomial([1.0, 2.0])
    f = t.capture(lambda x: x * float(one(2.0)))
    yield f(t.x)
    one.coef[0] = 5.0
    yield f(t.x)


@trap()
def a_polynomial_is_given_others(t: Any) -> Any:
    one = np.polynomial.Polynomial([1.0, 2.0])
    f = t.capture(lambda x: x * float(one(2.0)))
    yield f(t.x)
    one.coef = np.array([3.0, 4.0])
    yield f(t.x)


@trap()
def a_vectorized_function(t: Any) -> Any:
    k = 2.0
    one = np.vectorize(lambda a: a * k)
    f = t.capture(lambda x: x * float(one(3.0)))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_function_of_numpy_from_python(t: Any) -> Any:
    k = 2.0
    one = np.frompyfunc(lambda a: a * k, 1, 1)
    f = t.capture(lambda x: x * float(one(3.0)))
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def an_array_in_steps(t: Any) -> Any:
    numbers = np.arange(6.0)
    every = numbers[::2]
    f = t.capture(lambda x: x * float(every[1]))
    yield f(t.x)
    numbers[2] = 9.0
    yield f(t.x)


@trap()
def a_view_of_another_dtype(t: Any) -> Any:
    numbers = np.arange(6, dtype="int32")
    bits = numbers.view("uint8")
    f = t.capture(lambda x: x * int(bits[4]))
    yield f(t.x)
    numbers[1] = 77
    yield f(t.x)


@trap()
def the_shape_is_assigned(t: Any) -> Any:
    numbers = np.arange(6.0)
    f = t.capture(lambda x: x * len(numbers))
    yield f(t.x)
    numbers.shape = (2, 3)
    yield f(t.x)


@trap()
def whether_an_array_is_writeable(t: Any) -> Any:
    numbers = np.arange(6.0)
    f = t.capture(lambda x: x * (2.0 if numbers.flags.writeable else 1.0))
    yield f(t.x)
    numbers.flags.writeable = False
    yield f(t.x)


@trap()
def the_strides_of_an_array(t: Any) -> Any:
    numbers = np.ones((3, 3))
    f = t.capture(lambda x: x * numbers.strides[0])
    yield f(t.x)
    numbers.strides = (8, 24)
    yield f(t.x)


@trap()
def an_array_of_texts(t: Any) -> Any:
    names = np.array(["ab", "c"])
    f = t.capture(lambda x: x * len(str(names[0])))
    yield f(t.x)
    names[0] = "c"
    yield f(t.x)


@trap()
def an_array_of_dates(t: Any) -> Any:
    days = np.array(["2020-01-02"], "datetime64[D]")
    f = t.capture(lambda x: x * int(days.astype("int64")[0]))
    yield f(t.x)
    days[0] = np.datetime64("2021-01-02")
    yield f(t.x)


@trap()
def another_thread_writes(t: Any) -> Any:
    numbers = np.ones(3, "float32")
    f = t.capture(lambda x: x * float(numbers[0]))
    yield f(t.x)
    thread = threading.Thread(target=lambda: numbers.fill(4.0))
    thread.start()
    thread.join()
    yield f(t.x)


@trap()
def memory_that_two_arrays_share(t: Any) -> Any:
    memory = bytearray(24)
    one, other = np.frombuffer(memory), np.frombuffer(memory)
    f = t.capture(lambda x: x * float(one[0] + 1))
    yield f(t.x)
    other[0] = 3.0
    yield f(t.x)
