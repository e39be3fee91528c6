"""Functions made of NumPy's loops give NumPy's bits, and leave what is not theirs to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler.core.op import all_ops
from staticgraph.compiler.llvm.loop_words import NUMBER, SCALAR, VECTOR
from staticgraph.compiler.reference import direct
from staticgraph.compiler.runtime.loop_traces import Kind, program_of
from staticgraph.compiler.runtime.loops import (
    loops_are_there,
    loops_function,
    slots_are_right,
    ufunc_loop,
)

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
OTHER = object()
ONES = np.ones(9000, np.float32)


def other(*operands: object, **options: object) -> object:
    return OTHER


def made(function: Callable[..., Any], *kinds: Kind, columns: int = 0) -> Callable[..., Any]:
    program = program_of(function, kinds, columns)
    assert program is not None
    found = loops_function(program, other)
    assert found is not None
    return found


def same(found: Any, expected: Any) -> bool:
    expected = np.asarray(expected)
    kinds = found.dtype == expected.dtype and found.shape == expected.shape
    return kinds and found.tobytes() == expected.tobytes()


def mapping() -> list[Any]:
    """The elementwise ops of floats that have a gradient, and no options."""
    return [op for op in all_ops() if op.elementwise and op.bind is None and op.vjp]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_every_op_that_is_noted_gives_numpys_bits(dtype: Any) -> None:
    generator = np.random.default_rng(0)
    assert loops_are_there()
    noted = 0
    for op in mapping():
        kinds = [Kind(dtype)] * len(op.vjp)
        if op.name == "where":
            kinds[0] = Kind(np.dtype(bool))
        program = program_of(op.evaluate, kinds)
        function = None if program is None else loops_function(program, other)
        if function is None:
            continue
        noted += 1
        for shape in ((1,), (7,), (3, 11), (2, 3, 64), (1031,)):
            arrays = [generator.uniform(-0.9, 0.9, shape).astype(one.dtype) for one in kinds]
            found = function(*arrays)
            with np.errstate(all="ignore"):
                assert found is OTHER or same(found, op.evaluate(*arrays)), op.name
    assert noted > 50


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("spread", [0.5, 9.0])
def test_rows_have_numpys_bits(dtype: Any, spread: float) -> None:
    generator = np.random.default_rng(0)
    last = {
        "softmax": lambda x: direct.softmax(x, axis=x.ndim - 1),
        "log_softmax": lambda x: direct.log_softmax(x, axis=x.ndim - 1),
    }
    for columns in (2, 3, 10, 33):
        for name, function in last.items():
            fast = made(function, Kind(dtype), columns=columns)
            for rows in ((2,), (7,), (3, 5)):
                x = generator.normal(0, spread, (*rows, columns)).astype(dtype)
                assert same(fast(x), function(x)), name
        norm = lambda x, w, b: direct.layer_norm(x, w, b, axes=1, eps=1e-5)  # noqa: E731
        fast = made(norm, Kind(dtype), Kind(dtype, VECTOR), Kind(dtype, VECTOR), columns=columns)
        x = generator.normal(0, spread, (6, columns)).astype(dtype)
        w, b = generator.normal(size=(2, columns)).astype(dtype)
        assert same(fast(x, w, b), norm(x, w, b))
        assert fast(x[:1], w, b) is OTHER  # of one row NumPy computes another product
        assert fast(x[:, :1], w, b) is OTHER


def test_numbers_and_rows_are_broadcast() -> None:
    add = made(np.add, Kind(F32), Kind(F32))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    row, one = np.array([1, 2, 3, 4], np.float32), np.array([[7]], np.float32)
    for left, right in ((x, row), (row, x), (x, one), (one, x), (x, x), (one, one)):
        assert same(add(left, right), left + right)
    assert add(x, x[:, 0].copy()) is OTHER  # a column
    assert add(x, row[:3]) is OTHER
    scaled = made(np.multiply, Kind(F32), Kind(F32, NUMBER))
    assert same(scaled(x, 2.5), x * np.float32(2.5))
    assert same(scaled(x, 3), x * np.float32(3))
    for number in (True, 1 << 30, 1e300, float("nan"), 10**30, None, "3"):
        assert scaled(x, number) is OTHER


def test_an_element_may_be_repeated() -> None:
    def both(x: Any, y: Any) -> Any:
        return np.multiply(x, np.exp(y)), np.subtract(y, x)

    fast = made(both, Kind(F32), Kind(F32))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    one = np.broadcast_to(np.float32(0.3), (3, 4))
    for pair in ((x, one), (one, x), (one, one)):
        for found, expected in zip(fast(*pair), both(*pair), strict=True):
            assert same(found, np.ascontiguousarray(expected))
    add = made(np.add, Kind(F32), Kind(F32))
    for other in (one[0], one[:, :1].T[:, :3].T[:1], np.broadcast_to(np.float32(2), (4,))):
        assert same(add(x, other), x + other)
        assert same(add(other, x), x + other)
    assert fast(x, np.broadcast_to(x[0], (3, 4))) is OTHER
    assert fast(x, one[:2]) is OTHER
    total = made(lambda a: a.ravel().dot(ONES[: a.size]), Kind(F32))
    assert total(one) is OTHER  # which NumPy copies first
    assert same(total(x), np.float32(66))


def test_what_is_not_for_it_goes_to_the_other_function() -> None:
    exp = made(np.exp, Kind(F32))
    x = np.ones((4, 6), np.float32)
    read_only = x[:]
    read_only.flags.writeable = False
    assert same(exp(read_only), np.exp(x))
    for array in (
        x.astype(np.float64), x.astype(">f4"), x[::2], x.T, x[:0], np.float32(1), 1.0, [1.0], None,
        np.array(1, np.float32), np.ones(9000, np.float32), x.view(np.recarray),
        np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float32),
    ):  # fmt: skip
        assert exp(array) is OTHER
    assert exp() is OTHER
    assert exp(x, x) is OTHER
    assert exp(x, out=None) is OTHER
    assert exp(np.array([1000], np.float32)) is OTHER  # of which NumPy warns
    assert same(exp(x), np.exp(x))


def test_a_number_may_decide_for_which_the_function_is_then() -> None:
    def power(x: Any, exponent: Any) -> Any:
        return np.square(x) if exponent.item() == 2 else np.power(x, exponent)

    assert program_of(power, [Kind(F64), Kind(F64, SCALAR)]) is None
    square = made(power, Kind(F64), Kind(F64, SCALAR, 2.0))
    below = made(power, Kind(F64), Kind(F64, SCALAR, -2.0))
    x = np.array([1.5, -3.0])
    assert same(square(x, np.array(2.0)), x * x)
    assert square(x, np.array(3.0)) is OTHER
    assert same(below(x, np.array(-2.0)), np.power(x, -2.0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: (x, x + x),
        lambda x: x + x.size,
        lambda x: x + x.shape[0],
        lambda x: x + np.sort(x),
        lambda x: x + x.sum(),
        lambda x: x * float(x.view(np.ndarray).ravel()[0]),
        lambda x: np.exp(x) if x.any() else x + x,
        lambda x: np.add(x, np.asarray(x).copy()),
        lambda x: x + np.ones(x.shape, x.dtype),
        lambda x: np.frexp(x),
        lambda x: x.astype(np.float64),
        lambda x: x[0] + x,
        lambda x: np.add.reduce(x, 0) + x,
        lambda x: x + 1j,
    ],
)
def test_what_is_not_noted_has_no_program(function: Any) -> None:
    assert program_of(function, [Kind(F32)]) is None


def test_several_results_and_loops_in_place() -> None:
    def both(x: Any, y: Any) -> Any:
        first = np.multiply(x, y)
        np.add(first, x, first)
        second = np.empty_like(x)
        np.negative(first, second)
        return [np.where(np.less(x, y), first, second), np.subtract(1, second, second)]

    fast = made(both, Kind(F32), Kind(F32))
    x, y = np.random.default_rng(1).normal(size=(2, 5, 3)).astype(np.float32)
    before = x.copy()
    for found, expected in zip(fast(x, y), both(x, y), strict=True):
        assert same(found, expected)
    assert same(x, before)


def test_a_long_program_has_no_function() -> None:
    def long(x: Any) -> Any:
        parts = [x + i for i in range(60)]
        for part in parts[1:]:
            x = x + part
        return x

    program = program_of(long, [Kind(F32)])
    assert program is None  # its values could not be compared


def test_a_ufunc_has_loops_by_their_dtypes() -> None:
    assert ufunc_loop(np.add, (F32, F32, F32)) != ufunc_loop(np.add, (F64, F64, F64))
    assert ufunc_loop(np.add, (F32, F64, F64)) is None


def test_the_slots_of_a_class_are_where_they_are_read() -> None:
    class Held:
        __slots__ = ("_array", "_cell", "_home", "_maker", "_note")

    class Behind(Held):
        __slots__ = ("first",)

    assert slots_are_right(Held)
    assert slots_are_right(Behind)
