"""What a kernel is called through: which arrays it takes, natively and in Python alike."""

from __future__ import annotations

import dataclasses
import gc
import sys
import threading
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.codegen.bytecode import Call, TableOperand
from staticgraph.compiler.codegen.encoding import program_words
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime import trampoline
from staticgraph.compiler.runtime.cache import common, loader

FLOAT32, INT64, BOOL = np.dtype("float32"), np.dtype("int64"), np.dtype("bool")

SUM_OF_ROWS = """
def unit_0(x: p_f32, y: p_i64, out: p_f32, rows: i64, columns: i64, status: i64):
    if status != 0:
        return status
    for i in range(rows):
        total = f32(0)
        for j in range(columns):
            total = total + x[i * columns + j]
        out[i] = total * f32(y[i])
    return 0
"""
STEPS = [Call(0, tuple(map(TableOperand, (0, 3, 5, 1, 2, 7))))]
INPUTS = (trampoline.Argument(0, 2, FLOAT32), trampoline.Argument(3, 1, INT64))
OUTPUTS = (trampoline.Argument(5, 1, FLOAT32),)

X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.array([10, 100])


class Subclass(np.ndarray):
    """An ndarray that may mean something else."""


@pytest.fixture(params=["native", "python"])
def sum_of_rows(request: Any) -> Any:
    """A kernel for float32[2, 3] and int64[2], called both ways."""
    code, _ = loader._units([parsed_function(SUM_OF_ROWS)], [SUM_OF_ROWS])
    program = np.array(program_words(STEPS, code.addresses))
    native, run, *_ = common.trampoline_code().addresses
    if request.param == "native":
        yield trampoline.native_trampoline(native, program, 8, INPUTS, OUTPUTS)
    else:
        yield trampoline.python_trampoline(run, program, 8, INPUTS, OUTPUTS)


def _table(status: int = 0) -> Any:
    return np.array([-1, 2, 3, -1, 2, -1, 2, status, 0, 0])


def test_it_makes_the_outputs(sum_of_rows: Any) -> None:
    (out,) = sum_of_rows(_table())(X, Y)
    assert type(out) is np.ndarray
    assert out.dtype is FLOAT32
    assert out.flags.owndata
    assert out.flags.writeable
    np.testing.assert_array_equal(out, np.float32([30, 1200]))
    (again,) = sum_of_rows(_table())(X, Y)
    assert not np.shares_memory(out, again)


def test_it_keeps_the_inputs_of_the_last_call_where_it_is_to(sum_of_rows: Any) -> None:
    kept, other = trampoline.Kept([None, None]), trampoline.Kept([None, None])
    x, y = X.copy(), Y.copy()
    before = sys.getrefcount(x)
    run = sum_of_rows(_table(), kept)
    for _ in range(3):
        run(x, y)
    assert kept.inputs[0] is x
    assert kept.inputs[1] is y
    assert sys.getrefcount(x) == before + 1
    sum_of_rows(_table(), other)(X, Y)
    assert other.stamp[0] > kept.stamp[0] > 0
    assert run(X, "y") == trampoline.REJECTED  # what is wrong with it is found with what was given
    assert kept.inputs[0] is X
    assert kept.stamp[0] > other.stamp[0]
    assert sys.getrefcount(x) == before
    assert run(X) == trampoline.REJECTED
    assert kept.inputs[1] == "y"


def test_it_returns_what_the_kernel_does(sum_of_rows: Any) -> None:
    assert sum_of_rows(_table(status=7))(X, Y) == 7
    assert sum_of_rows(_table(status=2**40))(X, Y) == 2**40


@pytest.fixture(params=["native", "python"])
def sum_into(request: Any) -> Any:
    """The same kernel for an output that is given."""
    code, _ = loader._units([parsed_function(SUM_OF_ROWS)], [SUM_OF_ROWS])
    program = np.array(program_words(STEPS, code.addresses))
    native, run, *_ = common.trampoline_code().addresses
    taken = (*INPUTS, dataclasses.replace(OUTPUTS[0], written=True))
    if request.param == "native":
        yield trampoline.native_trampoline(native, program, 8, taken, ())
    else:
        yield trampoline.python_trampoline(run, program, 8, taken, ())


@pytest.mark.parametrize(("start", "is_apart"), [(-2, True), (-1, False), (5, False), (6, True)])
def test_it_writes_where_no_input_is(sum_into: Any, start: int, is_apart: bool) -> None:
    memory = np.zeros(16, np.float32)
    x, out = memory[4:10].reshape(2, 3), memory[4 + start : 6 + start]
    x[...] = X
    if is_apart:
        assert sum_into(_table())(x, Y) == trampoline.REJECTED
        assert sum_into(_table())(x, Y, out) == []
        np.testing.assert_array_equal(out, np.float32([30, 1200]))
    else:
        assert sum_into(_table())(x, Y, out) == trampoline.REJECTED
        np.testing.assert_array_equal(x, X)


def _unaligned() -> Any:
    array = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    array[...] = X
    return array


FITTING = {
    "an explicit byte order": (X.astype(FLOAT32.newbyteorder("<")), Y),
    "metadata": (X.astype(np.dtype("float32", metadata={"unit": "m"})), Y),
    "another name of the dtype": (X, Y.astype(np.longlong)),
    "read-only": (np.broadcast_to(X, (2, 3)), Y),
    "a part in order": (np.concatenate([X, X])[2:], np.concatenate([Y, Y])[2:]),
}
UNFIT = {
    "a list": ([[0, 1, 2], [3, 4, 5]], Y),
    "None": (None, Y),
    "an int": (5, Y),
    "a scalar": (X[0, 0], Y),
    "a type": (np.ndarray, Y),
    "a subclass": (X.view(Subclass), Y),
    "a masked array": (np.ma.masked_array(X, X > 2), Y),
    "a wider dtype": (X.astype("float64"), Y),
    "another kind": (X.view("int32"), Y),
    "the kind of times": (X, Y.view("m8[s]")),
    "unsigned": (X, Y.view("uint64")),
    "objects": (X, Y.astype(object)),
    "swapped bytes": (X.astype(">f4"), Y),
    "columns first": (np.asfortranarray(X), Y),
    "steps": (X, np.repeat(Y, 2)[::2]),
    "unaligned": (_unaligned(), Y),
    "another shape": (X.T.copy(), Y),
    "a longer axis": (X, np.arange(3)),
    "an axis more": (X[None], Y),
    "an axis less": (X[0], Y),
    "no axis": (X, np.array(3)),
    "too few": (X,),
    "none": (),
    "too many": (X, Y, Y),
}


@pytest.mark.parametrize("arrays", FITTING.values(), ids=FITTING)
def test_it_takes_every_array_of_the_type(arrays: Any, sum_of_rows: Any) -> None:
    (out,) = sum_of_rows(_table())(*arrays)
    np.testing.assert_array_equal(out, np.float32([30, 1200]))


@pytest.mark.parametrize("arrays", UNFIT.values(), ids=UNFIT)
def test_it_refuses_what_does_not_fit(arrays: Any, sum_of_rows: Any) -> None:
    assert sum_of_rows(_table())(*arrays) == -1


def test_a_row_more_strides_than_it_needs_is_in_order(sum_of_rows: Any) -> None:
    table = _table()
    table[[1, 4, 6]] = 1
    row = np.arange(24, dtype="float32").reshape(4, 6)[::2, ::2][:1]
    assert sum_of_rows(table)(row, Y[:1]) == -1
    row = np.lib.stride_tricks.as_strided(X, (1, 3), (400, 4))
    (out,) = sum_of_rows(table)(row, Y[:1])
    np.testing.assert_array_equal(out, np.float32([30]))


def test_arrays_without_elements(sum_of_rows: Any) -> None:
    table = _table()
    table[[1, 4, 6]] = 0
    (out,) = sum_of_rows(table)(X[:0], Y[:0])
    assert out.shape == (0,)


@pytest.mark.slow
def test_it_keeps_no_reference(sum_of_rows: Any) -> None:
    table, x, y = _table(), X.copy(), Y.copy()
    wrong = y.astype("int32")
    failing = _table(status=3)
    held = [table, x, y, wrong, failing, np.ndarray]

    def call() -> None:
        for _ in range(100):
            sum_of_rows(table)(x, y)
            sum_of_rows(table)(x, wrong)
            sum_of_rows(failing)(x, y)

    call()
    gc.collect()
    before = [sys.getrefcount(one) for one in held]
    dtypes = sys.getrefcount(FLOAT32)
    tracemalloc.start()
    try:
        call()  # what Python keeps for new objects is kept once: up to 20 kB, as it happens
        kept, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            call()
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(one) for one in held] == before
    assert abs(sys.getrefcount(FLOAT32) - dtypes) < 10
    assert current - kept < 2_000
    (out,) = sum_of_rows(table)(x, y)
    gone = weakref.ref(out)
    del out
    assert gone() is None


def test_outputs_that_do_not_fit_into_memory_raise(sum_of_rows: Any) -> None:
    table = _table()
    table[6] = 2**60
    with pytest.raises((MemoryError, ValueError)):
        sum_of_rows(table)(X, Y)


def test_the_fields_are_where_they_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trampoline.fields_are_right()
    for name in ("data", "ndim", "shape", "descr", "flags", "kind", "itemsize"):
        offset = getattr(trampoline.FIELDS, name) + (1 if name == "kind" else 8)
        moved = dataclasses.replace(trampoline.FIELDS, **{name: offset})
        with monkeypatch.context() as patch:
            patch.setattr(trampoline, "FIELDS", moved)
            assert not trampoline.fields_are_right.__wrapped__(), name


def test_executables_do_without_the_native_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "fields_are_right", lambda: False)
    x, y = sg.placeholder("x", (None, 3)), sg.placeholder("y", (None,), "int64")
    function = sg.compile([x, y], [sg.exp(x), sg.take(x, y, axis=0)])
    both = function(X, np.array([1, 1, 0]))
    np.testing.assert_allclose(both[0], np.exp(X), rtol=1e-6)
    np.testing.assert_array_equal(both[1], X[[1, 1, 0]])
    with pytest.raises(sg.OutOfRangeError, match="index 5"):
        function(X, np.array([1, 5, 0]))


def test_executables_take_every_array_of_the_type() -> None:
    x = sg.placeholder("x", (None, 3))
    double = sg.compile([x], x * 2)
    for given in (
        X.astype("<f4"), X.astype(">f4"), X.view(Subclass), _unaligned(), np.asfortranarray(X),
        X.astype(FLOAT32.newbyteorder("<")), np.ma.masked_array(X, X < 0),
        X.astype(np.dtype("float32", metadata={"unit": "m"})), X.tolist(),
    ):  # fmt: skip
        result = double(given)
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, 2 * X)


def test_threads_share_an_executable() -> None:
    x = sg.placeholder("x", (None,), "float64")
    function = sg.compile([x], [sg.exp(x).sum(), x * 3])
    expected = {n: function(np.arange(n) / n)[1] for n in range(1, 9)}
    wrong = []

    def call(n: int) -> None:
        for _ in range(200):
            if not np.array_equal(function(np.arange(n) / n)[1], expected[n]):
                wrong.append(n)

    threads = [threading.Thread(target=call, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_a_tuple_where_one_that_is_a_number_is_inf_or_nan(
    native: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(loader, "fields_are_right", lambda: False)
    x = sg.placeholder("x", (None,), dtype)
    run = sg.compile([x], [sg.sum(x), -x])
    for values, kind in (
        ([1.0, 2.0], list),
        ([1.0, np.inf], tuple),
        ([np.inf, -np.inf], tuple),
        ([-np.inf, 0.0], tuple),
        ([np.finfo(dtype).max, 0.0], list),
        ([np.finfo(dtype).tiny / 2, 0.0], list),
    ):
        array = np.array(values, dtype)
        np.testing.assert_array_equal(run(array)[1], -array)
        found = run.runner.compiled("a test").idle[0].call(array)
        assert type(found) is kind
        np.testing.assert_array_equal(found[0], sum(values))
    before = sys.getrefcount(found)
    del found
    assert before == 2  # the list that it was is gone


def test_what_builtin_functions_point_to_outlives_its_module() -> None:
    made = weakref.ref(trampoline._method.make(0, trampoline.METH_FASTCALL))
    gc.collect()
    assert made() is not None  # although nothing of Python's has it
