"""Messages with values, of errors that a captured function raises."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import CaptureError

GOOD, BAD, WORSE = [0.5, 0.25, 0.125], [8.0, 0.25, 0.5], [0.25, 16.0, 0.5]


class OwnError(RuntimeError):
    """An error without a method of its own."""


class CountingError(ValueError):
    """An error that looks at its message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.length = len(message)


def _sum(x: Any) -> Any:
    total = x.sum()
    if total > 5:
        raise ValueError(f"the sum {total:.2f} of {x.shape[0]} is too large: {{{x.max()}}}")
    return x * 2


_made: dict[str, Any] = {}
_text = "def asserted(x):\n    assert x.sum() < 5, f'sum is {x.sum()}'\n    return x * 2"
exec(compile(_text, __file__, "exec"), _made)  # pytest rewrites assertions
_assertion = _made["asserted"]


def _several(x: Any) -> Any:
    if x[0] > 1:
        raise OwnError(f"first {x[0]:>10.3f}", 3)
    if x[1] > 1:
        raise TypeError(f"second {x[1]:g} after {x[0]:g}")
    return x + 1


def _message(f: Callable[[Any], Any], x: Any) -> Any:
    try:
        f(x)
    except (ValueError, TypeError, RuntimeError, AssertionError) as error:
        return type(error), error.args
    return None


@pytest.mark.parametrize("f", [_sum, _assertion, _several])
@pytest.mark.parametrize("array", [lambda x: np.array(x, "float32"), dynamic.tensor])
def test_messages_have_the_values_of_the_call(f: Any, array: Any) -> None:
    captured = sg.function(f, debug=True)
    for x in (GOOD, BAD, GOOD, WORSE):
        assert _message(captured, array(x)) == _message(f, array(x))
    assert len(captured.traces) == 1


def test_numbers_are_written_as_numbers() -> None:
    def f(x: Any, limit: float) -> Any:
        if x.sum().item() > limit:
            raise ValueError(f"{x.sum().item()} is above {limit} by {x[0] - limit:.3e}")
        return x

    captured = sg.function(f, debug=True)
    for x in (GOOD, BAD):
        for limit in (1.0, 2):
            expected = _message(lambda x: f(x, limit), dynamic.tensor(x))  # noqa: B023
            assert _message(lambda x: captured(x, limit), dynamic.tensor(x)) == expected  # noqa: B023


def test_a_message_on_the_tape_and_in_a_file(tmp_path: pathlib.Path) -> None:
    captured = sg.function(_sum)
    x = dynamic.tensor(GOOD, requires_grad=True)
    captured(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])
    bad = dynamic.tensor(BAD, requires_grad=True)
    assert _message(captured, bad) == _message(_sum, bad)
    executable = captured.executable(np.array(GOOD))
    executable.save(tmp_path / "f.sg")
    loaded = sg.load(tmp_path / "f.sg")
    with pytest.raises(ValueError, match=r"^the sum 8.75 of 3 is too large: \{8.0\}"):
        loaded(np.array(BAD))


def _caught(x: Any) -> Any:
    try:
        if x.sum() > 5:
            raise ValueError(f"{x.sum()}")
    except ValueError as error:
        return x * len(str(error))
    return x


def _padded(x: Any) -> Any:
    if x.sum() > 5:
        raise ValueError(f"{f'{x.sum()}':>30}")
    return x


def _counted(x: Any) -> Any:
    if x.sum() > 5:
        raise ValueError(len(f"{x.sum()}"))
    return x


def _looked_at(x: Any) -> Any:
    if x.sum() > 5:
        raise CountingError(f"{x.sum()}")
    return x


def _named(x: Any) -> Any:
    message = f"{x.sum()}"
    if x.sum() > 5:
        raise ValueError(message)
    return x


def _made_by_a_helper(x: Any) -> Any:
    def error(text: str) -> Exception:
        return TypeError(text) if "8" in text else ValueError(text)

    if x.sum() > 5:
        raise error(f"{x.sum()}")
    return x


def _of_an_array(x: Any) -> Any:
    if x.sum() > 5:
        raise ValueError(f"{x}")
    return x


def _always(x: Any) -> Any:
    raise ValueError(f"{x.sum()}")


def _again(x: Any) -> Any:
    try:
        return _sum(x)
    except ValueError as error:
        if "8" in str(error):
            raise
        return x


@pytest.mark.parametrize(
    "f",
    [
        _caught, _padded, _counted, _looked_at, _named, _made_by_a_helper, _of_an_array, _always,
        _again,
    ],
)  # fmt: skip
@pytest.mark.parametrize("array", [np.array, dynamic.tensor])
def test_texts_that_something_may_look_at_are_refused(f: Any, array: Any) -> None:
    with pytest.raises(CaptureError, match=r"test_messages.py:\d+: .*text|needs the values"):
        sg.function(f)(array(BAD))
