"""`compile(checks="int")`: what wraps or has no value is told, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.traversal import ancestors
from tests.combinations import some

FORMS: dict[str, dict[str, Any]] = {"compiled": {}, "debug": {"debug": True}}
X = sg.placeholder("x", (None,), "int32")
Y = sg.placeholder("y", (None,), "int64")
B = sg.placeholder("b", (None,), "uint8")
Z = sg.placeholder("z", (None,))
N = sg.placeholder("n", (), "int64")
M, L = 2**31 - 1, 2**63 - 1


def compiled(output: Any, **options: Any) -> sg.Executable:
    inputs = [one for one in (X, Y, B, Z, N) if one.serial in _needed(output)]
    return sg.compile(inputs, output, checks="int", lint="off", **options)


def _needed(output: Any) -> set[int]:
    return {node.serial for node in ancestors([output])}


def table(c: Any) -> Any:
    return sg.scan(lambda c, v: (c * v, c), np.int64(1), c)[0]


WRONG = [
    (X + 1, [1, M], r"add: int32 overflow in 1 of its elements, .* 2147483647 and 1\b"),
    (X - 5, [-M, 3], r"subtract: int32 overflow in 1 .* -2147483647 and 5\b"),
    (X * X, [50000, -50000, 3], "multiply: int32 overflow in 2 of its elements"),
    (sg.square(X), [50000], "square: int32 overflow"),
    (B + 1, [255, 1], r"add: uint8 overflow in 1 .* 255 and 1\b"),
    (B - 1, [0, 1], "subtract: uint8 overflow in 1"),
    (Y * 3, [L // 2], r"multiply: int64 overflow in 1 .* 4611686018427387903 and 3\b"),
    (Y + Y, [L // 2 + 1], "add: int64 overflow"),
    (sg.sum(Y), [L, 1], r"sum: int64 overflow in 1 of its elements\b"),
    (sg.prod(Y), [2**40, 2**40], "prod: int64 overflow"),
    (Y @ Y, [2**32, 5], "matmul: int64 overflow"),
    (-Y, [-L - 1], "negative: int64 overflow"),
    (sg.abs(Y), [-L - 1], "abs: int64 overflow"),
    (6 // Y, [0, 3, 0], r"floor_divide: division by 0 in 2 of its elements, .* 12 and 0\b"),
    (6 % Y, [0, 3], "remainder: division by 0 in 1"),
    (Z.astype("int32"), [3e9, 1], r"astype: does not fit int32 in 1 .* 3e\+09\b"),
    (Z.astype("int64"), [np.nan], "astype: does not fit int64"),
    (Y.astype("int8"), [300, 3], r"astype: does not fit int8 in 1 .* 300\b"),
    (table(Y), [10] * 20, r"multiply: int64 overflow in 1 .* 1(0{18}) and 10 \(iteration 18\)"),
    (X // -1, [-M - 1], r"floor_divide: int32 overflow in 1 .* -2147483648 and -1\b"),
    (X // X, [0], "floor_divide: division by 0 in 1"),
    (X**X, [10], r"power: int32 overflow in 1 .* 10 and 10\b"),
    (Y**5, [2**13], "power: int64 overflow in 1"),
    (X @ X, [46341], "matmul: int32 overflow in 1"),
    (sg.cumsum(Y), [L, 1, 1], "cumsum: int64 overflow in"),
    (
        sg.while_loop(lambda c: (c < 2**40) & (c > 0), lambda c: c * 2**30, N),
        2**35,
        r"multiply: int64 overflow in 1 .* 34359738368 and 1073741824\b",
    ),
    (sg.cond(N > 0, lambda c: c + L, lambda c: c - 1, N), 5, "add: int64 overflow in 1 .* 5 and"),
]
RIGHT = [
    (X + 1, [1, M - 1]), (X - 5, [-M + 4]), (X * X, [46340, -46340]), (B + 1, [254]),
    (X - X, [0, 3, -M - 1]),
    (B - 1, [1]), (Y * 3, [L // 3, -(L // 3)]), (Y + Y, [L // 2]), (sg.sum(Y), [L, -1]),
    (sg.prod(Y), [2**31, 2**31]), (Y @ Y, [2**31, 5]), (-Y, [-L]), (6 // Y, [1, -3]),
    (Z.astype("int32"), [-2147483648.0, 2147483520.0]), (Z.astype("int64"), [-(2.0**63)]),
    (Z.astype("int8"), [-128.9, 127.9]), (Y.astype("int8"), [-128, 127]), (table(Y), [10] * 17),
    (sg.cond(N > 0, lambda c: c + L, lambda c: c - 1, N), -5), (Y + 1, []),
    (sg.while_loop(lambda c: c < 2**60, lambda c: c * 2, N), 3),
]  # fmt: skip


def _fed(output: Any, value: Any) -> Any:
    (leaf,) = [one for one in (X, Y, B, Z, N) if one.serial in _needed(output)]
    return np.array(value, leaf.dtype)


@pytest.mark.slow
@pytest.mark.parametrize("form", some(FORMS, 1))
@pytest.mark.parametrize(("output", "value", "says"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told(output: Any, value: Any, says: str, form: str) -> None:
    with pytest.raises(sg.CheckError, match=f"check: {says}.*test_integer_checks.py"):
        compiled(output, **FORMS[form])(_fed(output, value))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("output", "value"), RIGHT, ids=range(len(RIGHT)))
def test_what_is_right_is_as_it_was(output: Any, value: Any, form: str) -> None:
    fed = _fed(output, value)
    plain = sg.compile([leaf for leaf in (X, Y, B, Z, N) if leaf.serial in _needed(output)], output)
    np.testing.assert_array_equal(compiled(output, **FORMS[form])(fed), plain(fed))


def test_nothing_is_updated_and_functions_check_too() -> None:
    count = sg.variable(np.int32(M - 1), "count")
    step = sg.compile([], count * 1, updates={count: count + 1}, checks="int")
    step()
    with pytest.raises(sg.CheckError, match="add: int32 overflow"):
        step()
    assert count.value == M
    f = sg.function(lambda x: x * x, checks="int")
    with pytest.raises(sg.CheckError, match="multiply: int64 overflow"):
        f(np.array([2**40]))
    with pytest.raises(sg.OptionError, match="compile: checks is 'int' or None, not True"):
        sg.compile([X], X, checks=True)  # type: ignore[arg-type]
