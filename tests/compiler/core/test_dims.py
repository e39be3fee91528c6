"""Arithmetic of unknown sizes: what a size evaluates to is what its parts evaluate to, combined."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size, unknown
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.ir.sizes import size_expression
from staticgraph.compiler.ir.text import expression

N, M, K = unknown("n"), unknown("m"), unknown("k")
ATOMS = [next(iter(dim.atoms())) for dim in (N, M, K)]


@st.composite
def sizes(draw: st.DrawFn, depth: int = 3) -> Size:
    if not depth or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([N, M, K]) | st.integers(-4, 7))
    left, right = draw(sizes(depth - 1)), draw(sizes(depth - 1))
    function = draw(st.sampled_from(["+", "-", "*", "max", "min", "//"]))
    if function == "//":
        return dims.floor_divide(left, draw(st.integers(1, 5)))
    return COMBINE[function](left, right)


COMBINE = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "max": dims.maximum,
    "min": dims.minimum,
}
EXPECTED = COMBINE | {"max": max, "min": min}
values = st.tuples(*[st.integers(0, 9)] * 3).map(lambda v: dict(zip(ATOMS, v, strict=True)))


@pytest.mark.slow
@settings(deadline=None)
@given(sizes(), sizes(), st.sampled_from(sorted(COMBINE)), values)
def test_evaluation_commutes_with_arithmetic(a: Size, b: Size, function: str, at: dict) -> None:
    combined = dims.evaluate(COMBINE[function](a, b), at)
    assert combined == EXPECTED[function](dims.evaluate(a, at), dims.evaluate(b, at))


@pytest.mark.slow
@settings(deadline=None)
@given(sizes(), sizes(), values)
def test_evaluation_commutes_with_floor_division(a: Size, b: Size, at: dict) -> None:
    divisor = dims.evaluate(b, at)
    if divisor:
        assert dims.evaluate(dims.floor_divide(a, b), at) == dims.evaluate(a, at) // divisor


@pytest.mark.slow
@settings(deadline=None)
@given(sizes(), values)
def test_source_and_substitution_agree_with_evaluation(size: Size, at: dict) -> None:
    expected = dims.evaluate(size, at)
    names = {atom: atom.label for atom in ATOMS}
    assert (
        eval(expression(size_expression(size, names)), {atom.label: at[atom] for atom in ATOMS})
        == expected
    )
    assert dims.substitute(size, at) == expected
    assert dims.atoms([size]) <= set(ATOMS)
    assert not dims.is_nonnegative(size) or expected >= 0


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(sizes(), sizes(), sizes())
def test_the_normal_form_does_not_depend_on_the_order(a: Size, b: Size, c: Size) -> None:
    assert a + b + c == c + (b + a)
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert dims.maximum(a, b) == dims.maximum(b, a)
    assert dims.maximum(a, b) + dims.minimum(a, b) == a + b
    assert hash(a + b) == hash(b + a)


def test_anonymous_unknowns_are_told_apart_inside_opaque_sizes() -> None:
    a, b = unknown(), unknown()
    left, right = dims.maximum(a, 3), dims.maximum(b, 3)
    assert isinstance(a - b, Dim)
    assert isinstance(left - right, Dim)
    assert left + right == right + left
    assert left * right - right * left == 0
    assert unknown("batch") == unknown("batch")
    assert unknown("3").terms != unknown("4").terms


def test_sizes_cancel_to_ints() -> None:
    assert (N + 2) - N == 2
    assert isinstance(N * 0, int)
    assert dims.floor_divide(N * M, N) == M
    assert dims.floor_divide(6 * N, 4) == N + dims.floor_divide(2 * N, 4)
    assert dims.floor_divide(N + 4, 2) == dims.floor_divide(N, 2) + 2
    assert dims.floor_divide(0, N) == 0
    assert dims.maximum(0, N) == N
    assert dims.minimum(0, N) == 0
    assert dims.product([2, N, 3]) == 6 * N
    assert 7 - N == -(N - 7)
    assert N // 1 == N
    assert dims.evaluate(7 // N, {ATOMS[0]: 2}) == 3


def test_numpy_integers_are_sizes() -> None:
    assert np.int64(2) * N == N * np.int64(2) == 2 * N
    assert N + np.int32(1) == N + 1
    assert str(np.int64(1) + N) == "n + 1"


def test_text_is_readable() -> None:
    assert str(2 * N * M - K + 1) == "2*m*n - k + 1"
    assert str(dims.maximum(N, 3)) == "max(0, n - 3) + 3"
    assert str(dims.floor_divide(N, 2)) == "((n) // (2))"
    assert str(unknown()) == "?"


def test_as_unknown_names_a_size_that_is_nothing_else() -> None:
    assert dims.as_unknown(N) == ATOMS[0]
    for other in (3, 2 * N, N + 1, N * M, dims.maximum(N, 3)):
        assert dims.as_unknown(other) is None


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (bool, "the size n is unknown until run time: it has no truth value"),
        (range, "the size n is unknown until run time: it cannot be used as an int"),
        (lambda n: n < 3, "the size n is unknown until run time: it cannot be ordered"),
        (lambda n: n <= 3, "the size n is unknown until run time: it cannot be ordered"),
        (lambda n: n // 0, "the size n is divided by 0"),
        (lambda n: n / 2, "it cannot be divided but with // by 2"),
        (lambda n: n / n, "it cannot be divided but with // by n"),
        (abs, "it cannot be made positive"),
        (round, "it cannot be rounded"),
        ("{:.2f}".format, "it cannot be made a text by '.2f'"),
        (lambda n: dims.evaluate(n, {}), "the size n has no value"),
    ],
)
def test_unknown_sizes_refuse(use: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        use(N)


@pytest.mark.parametrize("other", [1.5, np.float32(2), 1j, np.ones(2), None])
def test_sizes_combine_with_integers_only(other: Any) -> None:
    number = isinstance(other, float | complex | np.generic | np.ndarray)
    error, text = (OptionError, "it cannot be") if number else (TypeError, "unsupported|must be")
    for combine in (
        operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
        operator.pow,
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            combine(N, other)
        with pytest.raises(error, match=text):
            combine(other, N)
    assert other != N
    assert isinstance(N, Dim)


def test_numpy_leaves_integer_arithmetic_to_sizes() -> None:
    assert str(np.int64(2) * N + np.int32(1)) == "2*n + 1"
    assert str(np.add(N, 1)) == "n + 1"
    assert str(np.prod((N, 3))) == "3*n"
    assert np.equal(N, N)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (np.sqrt, r"np\.sqrt cannot compute with it: .*sg\.constant.* sg\.sqrt can be taken"),
        (lambda n: np.add(n, 1, out=np.empty(1)), r"np\.add cannot compute with it"),
        (lambda n: np.ones(3) * n, r"given to np\.multiply with an array: declare"),
        (math.sqrt, r"cannot be used as a float: as a number of a graph it is sg\.constant"),
        (np.float32, r"cannot be used as a float"),
        (lambda n: np.float32(2) * n, r"cannot be multiplied by 2\.0"),
    ],
)
def test_what_numpy_cannot_compute_says_what_to_write(use: Any, told: str) -> None:
    with pytest.raises(OptionError, match=told):
        use(N)
