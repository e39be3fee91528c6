"""The interpreter: what it checks, and that its errors name the node and the user's line."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.core.errors import (
    FeedError,
    GraphError,
    OptionError,
    OutOfRangeError,
    ShapeError,
)
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from tests.trace import placeholder


def _here() -> str:
    return f"{__file__}:{inspect.currentframe().f_back.f_lineno}"


def test_any_expression_may_be_fed_and_is_not_evaluated_then() -> None:
    x = placeholder((2,), "float64")
    middle = ops.log(x)
    assert_array_equal(interpret([middle * 2], {middle: np.array([1.0, 2.0])})[0], [2, 4])
    assert_array_equal(interpret([x], {x: np.ones(2)})[0], np.ones(2))


def test_sizes_come_from_the_fed_shapes() -> None:
    n = unknown("n")
    x = placeholder((n, 2), "float64")
    flat = x.reshape(-1)
    assert flat.shape == (2 * n,)
    ramp = flat + ops.astype(Expression(ops.iota, (), {"size": 2 * n}), "float64")
    for size in (0, 1, 3):
        (value,) = interpret([ramp], {x: np.zeros((size, 2))})
        assert_array_equal(value, np.arange(2 * size))
    assert interpret([x.mean()], {x: np.ones((4, 2))}) == [1.0]
    assert interpret([x.sum() * n], {x: np.ones((4, 2))}) == [32.0]


def test_floating_point_exceptions_are_values_not_warnings() -> None:
    x = placeholder((3,), "float64")
    (value,) = interpret([1 / x], {x: np.array([0.0, -0.0, 1.0])})
    assert_array_equal(value, [np.inf, -np.inf, 1])


@pytest.mark.parametrize(
    ("fed", "message"),
    [
        (
            np.zeros(3, "float32"),
            r"'x': float64\[n, 2\]> \(.*\.py:\d+\) is fed float32",
        ),
        (np.zeros(3), r"'x': float64\[n, 2\]> .* is fed float64\[3\]"),
        (np.zeros((3, 4)), r"is fed an array of shape \(3, 4\): axis 1 is 4, not 2 = 2"),
    ],
)
def test_a_wrong_feed_is_named(fed: Any, message: str) -> None:
    x = placeholder((unknown("n"), 2), "float64", "x")
    with pytest.raises(FeedError, match=message):
        interpret([x + 1], {x: fed})


def test_sizes_of_one_name_agree() -> None:
    n = unknown("n")
    x, y = placeholder((n,), "float64", "x"), placeholder((n + 1,), "float64", "y")
    outputs = [x.sum() + y.sum()]
    assert interpret(outputs, {x: np.ones(2), y: np.ones(3)}) == [5.0]
    with pytest.raises(FeedError, match=r"'y': .* axis 0 is 2, not n \+ 1 = 3"):
        interpret(outputs, {x: np.ones(2), y: np.ones(2)})


def test_a_leaf_that_is_not_fed_is_named() -> None:
    x = placeholder((2,), "float64", "x")
    with pytest.raises(FeedError, match=r"<placeholder 'x': float64\[2\]> \(.*\) is not fed"):
        interpret([x * 2], {})
    free = Expression(ops.iota, (), {"size": unknown("rows")})
    with pytest.raises(OptionError, match=r"the size rows has no value"):
        interpret([free], {})


@pytest.mark.parametrize("sizes", [(2, 3), (3, 1), (1, 3)])
def test_unknown_sizes_that_meet_must_be_equal(sizes: tuple[int, int]) -> None:
    # an unknown size never broadcasts, even where NumPy would
    x, y = (placeholder((unknown(name),), "float64") for name in "ab")
    line, z = _here(), x + y
    with pytest.raises(ShapeError) as caught:
        interpret([z], {x: np.ones(sizes[0]), y: np.ones(sizes[1])})
    assert str(caught.value) == (
        f"<add: float64[a]> ({line}) of float64[a], float64[b]: "
        f"a = {sizes[0]} and b = {sizes[1]} differ"
    )


def test_an_error_of_an_op_names_the_node_and_the_line() -> None:
    x, i = placeholder((3,), "float64"), placeholder((2,), "int64")
    line, picked = _here(), x[i]
    with pytest.raises(OutOfRangeError) as caught:
        interpret([picked], {x: np.ones(3), i: np.array([0, 3])})
    assert str(caught.value) == (
        f"take: index 3 is out of range for an axis of size 3, in <take: float64[2]> ({line})"
    )


def test_an_error_of_numpy_gets_a_note() -> None:
    x = placeholder((2,))
    raises = dataclasses.replace(ops.exp, evaluate=lambda x: np.reshape(x, (3,)))
    line, value = _here(), x._apply(raises, (x,), {})
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        interpret([value], {x: np.ones(2)})
    assert caught.value.__notes__ == [f"in <exp: float64[2]> ({line})"]


@pytest.mark.parametrize(
    "wrong", [lambda x: x.astype("float32"), lambda x: x[:1], lambda x: x[None]]
)
def test_a_value_of_another_type_than_inferred_is_named(wrong: Any) -> None:
    op = Op(name="wrong", infer_type=lambda x: x, evaluate=wrong)
    x = placeholder((2,), "float64")
    with pytest.raises(GraphError, match=r"<wrong: float64\[2\]> \(.*\) evaluates to .*, inferred"):
        interpret([op(x)], {x: np.ones(2)})
