"""Errors on one side of a branch on a value: the call raises them, as the function does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.raised import error_of, raised
from staticgraph.compiler.core.user_text import UserText

X = np.array([1.0, 2.0])


class OwnError(Exception):
    """An error of two arguments."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text, number)


def checked(x: Any) -> Any:
    if x.sum() < 0:
        raise OwnError("negative", 3)
    if not x[0] < 10:
        raise AssertionError("large")  # assert is rewritten here
    return x * 2


def nested(x: Any) -> Any:
    if x.sum() < 0:
        if x[0] < -5:
            raise ValueError("very small")
        raise KeyError("small")
    if x[1] > 50:
        raise OverflowError
    return x.sum()


def guarded(x: Any) -> Any:
    """Its check comes before an index that is out of range."""
    place = sg.maximum(x[0], 0).astype("int64")
    if x[0] > 1:
        raise LookupError("beyond")
    return sg.take(x, place)


def told(x: Any) -> Any:
    if x.sum() < 0:
        sg.check(x[0] > -5, "too small, {}", x[0])
        raise ValueError("negative")
    return x


PROGRAMS = [checked, nested, guarded]
GIVEN = [X, -X, X * 20, X * -20, X * 30, np.array([0.0, 60.0])]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_an_error_is_raised_at_the_calls_on_whose_side_it_is(program: Any) -> None:
    fast = sg.function(program, debug=program is not checked)
    for x in GIVEN:
        try:
            expected = program(x)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                fast(x)
            assert found.value.args == error.args
            assert any("test_failing.py:" in note for note in found.value.__notes__)
        else:
            np.testing.assert_array_equal(fast(x), expected)


def test_what_comes_before_an_error_comes_before_it() -> None:
    fast = sg.function(told, debug=True)
    np.testing.assert_array_equal(fast(X), X)
    with pytest.raises(ValueError, match=r"^negative"):
        fast(-X)
    with pytest.raises(sg.CheckError, match=r"too small, -7\.0"):
        fast(X * -7)


def test_a_check_costs_no_branch() -> None:
    fast = sg.function(checked)
    fast(X)
    nodes = fast.captured(X)[0].trace.definition.nodes
    assert not any(node.op.name == "cond" for node in nodes)


def test_gradients_pass_an_error() -> None:
    slope = sg.grad(lambda x: (checked(x) ** 2).sum())
    np.testing.assert_allclose(slope(X), 8 * X)
    with pytest.raises(OwnError):
        slope(-X)


def test_an_error_is_an_attribute_where_its_arguments_say_all() -> None:
    class LocalError(RuntimeError):
        pass

    class OtherError(ValueError):
        def __init__(self, number: int) -> None:
            super().__init__(f"number {number}")

    for error in (ValueError("a", 2, None), KeyError(), LocalError("x"), OwnError("t", 1)):
        attribute = raised(error)
        assert attribute is not None
        again = error_of(attribute)
        assert type(again) is type(error)
        assert again.args == error.args
    unknown = ValueError("a")
    unknown.more = 3  # type: ignore[attr-defined]
    for error in (ValueError([1]), OtherError(3), unknown):
        assert raised(error) is None
    stranger = UserText("nowhere"), UserText("StrangeError"), (UserText("text"), 2)
    with pytest.raises(sg.GraphError, match=r"nowhere\.StrangeError: text, 2"):
        raise error_of(stranger)
