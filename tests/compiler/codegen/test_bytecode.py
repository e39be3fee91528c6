"""Programs of units: calls, loops along arrays, states that change places, branches."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler.codegen.bytecode import (
    Branch,
    Call,
    Instruction,
    Repeat,
    Set,
    TableOperand,
    While,
)
from staticgraph.compiler.codegen.encoding import program_words
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.runtime.cache import common, loader
from staticgraph.compiler.runtime.signals import words_of_a_call

UNITS = [
    """
def unit_0(old: p_f64, x: p_f64, new: p_f64, y: p_f64):
    new[0] = old[0] + x[0]
    y[0] = old[0] * f64(10)
    return 0
""",
    """
def unit_1(old: p_i64, new: p_i64, limit: i64):
    new[0] = old[0] * 2
    return select(new[0] > limit, new[0], 0)
""",
    """
def unit_2(value: p_i64, flag: p_u8, limit: i64):
    flag[0] = u8(value[0] < limit)
    return 0
""",
    """
def unit_3(value: p_i64, added: i64):
    value[0] = value[0] + added
    return 0
""",
]


def run(program: list[Instruction], table: Any) -> int:
    code, _ = loader._units([*map(parsed_function, UNITS)], UNITS)
    words = np.array(program_words(program, code.addresses), np.int64)
    _, address, *_ = common.trampoline_code().addresses
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3)(address)
    watch = words_of_a_call()
    return function(words.ctypes.data, table.ctypes.data, watch.ctypes.data)


def operands(*entries: int) -> tuple[TableOperand, ...]:
    return tuple(map(TableOperand, entries))


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_moves_along_arrays_and_swaps_states(count: int, reverse: bool) -> None:
    xs, ys = np.arange(1.0, count + 1), np.zeros(count)
    states = np.array([100.0]), np.array([np.nan])
    step = -8 if reverse else 8
    start = 8 * (count - 1) if reverse else 0
    # count, step, start, 0; first places; old, x, new, y
    first = [states[0].ctypes.data, xs.ctypes.data, states[1].ctypes.data, ys.ctypes.data]
    table = np.array([count, step, start, 0, *first, *[0] * 4])
    set_up = Set(((8, 4, 3), (9, 5, 2), (10, 6, 3), (11, 7, 2)))
    body = (Call(0, operands(8, 9, 10, 11)),)
    assert run([set_up, Repeat(0, ((9, 1), (11, 1)), ((8, 10),), body)], table) == 0
    order = xs[::-1] if reverse else xs
    carried = 100 + np.concatenate([[0.0], np.cumsum(order)])
    (final,) = (one for one in states if one.ctypes.data == table[8])
    assert final[0] == carried[-1]
    np.testing.assert_array_equal(ys, 10 * (carried[:-1][::-1] if reverse else carried[:-1]))


def test_a_status_ends_loops_inside_loops() -> None:
    one, two = np.array([1]), np.array([0])
    table = np.array([one.ctypes.data, two.ctypes.data, 3, 1000])
    inner = Repeat(2, (), ((0, 1),), (Call(1, operands(0, 1, 3)),))
    assert run([Repeat(2, (), (), (inner,))], table) == 0
    assert max(one[0], two[0]) == 2**9
    assert run([Repeat(2, (), (), (inner,)), Call(3, operands(0, 3))], table) == 1024


@pytest.mark.parametrize("limit", [0, 1, 2, 70])
def test_while_runs_as_long_as_its_test_says(limit: int) -> None:
    states, flag = (np.array([1]), np.array([0])), np.zeros(1, np.uint8)
    table = np.array([states[0].ctypes.data, states[1].ctypes.data, flag.ctypes.data, limit, 2**62])
    test = (Call(2, operands(0, 2, 3)),)
    assert run([While(2, ((0, 1),), test, (Call(1, operands(0, 1, 4)),))], table) == 0
    expected = 1
    while expected < limit:
        expected *= 2
    (final,) = (one for one in states if one.ctypes.data == table[0])
    assert final[0] == expected


@pytest.mark.parametrize("flag", [False, True])
def test_one_branch_runs(flag: bool) -> None:
    value, chosen = np.array([5]), np.array([flag])
    table = np.array([value.ctypes.data, chosen.ctypes.data, 0])
    add = [Call(3, (TableOperand(0), TableOperand(2, added))) for added in (10, 100, 1000)]
    assert run([Branch(1, (add[0], add[0]), (add[1],)), add[2]], table) == 0
    assert value[0] == 1005 + (20 if flag else 100)
