"""Sizes that a function needs as numbers are known in its traces; the others stay unknown."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.tracing import tracing


def _by_type(x: Any, size: int) -> Any:
    return x * (2 if type(size) is int else 3)


def _in_heads(x: Any, heads: int = 2) -> Any:
    if x.shape[-1] % heads != 0:
        raise ValueError(f"{x.shape[-1]} is no multiple of {heads}")
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


CODES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "power": (lambda x: x * x.shape[-1] ** 0.5, "[x.0, x.1, 4]"),
    "reciprocal": (lambda x: x * (1 / x.shape[-1] ** 0.5), "[x.0, x.1, 4]"),
    "sqrt": (lambda x: x / math.sqrt(x.shape[-1]), "[x.0, x.1, 4]"),
    "float": (lambda x: x / float(x.shape[-1]), "[x.0, x.1, 4]"),
    "np.sqrt": (lambda x: x / np.sqrt(x.shape[-1]), "[x.0, x.1, 4]"),
    "np.zeros": (lambda x: x + np.zeros(x.shape[-1]), "[x.0, x.1, 4]"),
    "if": (lambda x: x * 2 if x.shape[-1] > 3 else x, "[x.0, x.1, 4]"),
    "hash": (lambda x: x * {4: 2}.get(x.shape[-1], 1), "[x.0, x.1, 4]"),
    "range": (lambda x: sum(x[:, i] for i in range(x.shape[1])), "[x.0, 3, x.2]"),
    "unstack": (lambda x: sg.unstack(x, axis=1)[2], "[x.0, 3, x.2]"),
    "elements": (lambda x: sum(one.sum() for one in x[0]), "[x.0, 3, x.2]"),
    "of two": (lambda x: x / (x.shape[1] * x.shape[2]) ** 0.5, "[x.0, 3, 4]"),
    "one after the other": (
        lambda x: x[:, : int(x.shape[1])] / math.sqrt(x.shape[-1]), "[x.0, 3, 4]"
    ),
    "heads": (
        lambda x: x.reshape(x.shape[0], x.shape[1], 2, x.shape[2] // 2) / math.sqrt(x.shape[2]),
        "[x.0, x.1, 4]",
    ),
    "checked": (_in_heads, "[x.0, x.1, 4]"),
    "type": (lambda x: _by_type(x, x.shape[2]), "[x.0, x.1, 4]"),
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_the_batch_may_change_where_another_size_is_needed(name: str) -> None:
    f, shape = CODES[name]
    captured = sg.function(f, debug=True)
    for batch in (2, 5, 7):
        x = np.arange(batch * 12.0).reshape(batch, 3, 4)
        np.testing.assert_allclose(captured(x), f(x))
    assert [str(one.inputs[0].type) for one in captured.traces] == [f"float64{shape}"]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.view(x.size(0), 3, 2, x.size(2) // 2) / math.sqrt(x.size(2)),
        lambda x: x / dynamic.tensor(x.shape[-1]),
    ],
)
def test_so_it_may_on_tensors(f: Callable[[Any], Any]) -> None:
    captured = sg.function(f, debug=True)
    for batch in (2, 5):
        x = dynamic.arange(batch * 12.0).reshape(batch, 3, 4)
        np.testing.assert_allclose(captured(x).numpy(), f(x).numpy())
    assert len(captured.traces) == 1


def test_so_it_may_in_modules() -> None:
    class Heads(dynamic.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.project, self.heads = dynamic.nn.Linear(4, 4), 2

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            h = self.project(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
            return h @ h.transpose(-2, -1) / math.sqrt(d // self.heads)

    module = Heads()
    captured = sg.function(module, debug=True)
    for batch, steps in ((2, 3), (5, 6)):
        x = dynamic.ones(batch, steps, 4)
        np.testing.assert_allclose(captured(x).tolist(), module(x).tolist(), rtol=1e-6)
    assert len(captured.traces) == 1


def _scaled(given: dict[str, Any], y: Any) -> Any:
    return given["x"] @ y / given["x"].shape[1] ** 0.5


def test_sizes_in_containers_are_found_and_their_mates_are_checked() -> None:
    captured = sg.function(_scaled, debug=True)
    for batch, size in ((2, 4), (5, 4), (4, 4), (5, 9)):
        given = {"x": np.ones((batch, size))}, np.ones(size)
        np.testing.assert_allclose(captured(*given), _scaled(*given))
    assert len(captured.traces) == 2
    with pytest.raises(sg.ShapeError, match="matmul"):
        captured({"x": np.ones((2, 4))}, np.ones(5))


def test_sizes_that_are_needed_together_may_do_as_equal() -> None:
    def f(x: Any, y: Any) -> Any:
        return x + y[: int(x.shape[0] - y.shape[0])].sum()

    captured = sg.function(f, debug=True)
    for size in (2, 3, 5):
        x = np.ones(size)
        np.testing.assert_array_equal(captured(x, x), x)
    assert len(captured.traces) == 1


def test_what_is_said_of_sizes_that_are_equal_needs_none() -> None:
    def f(x: Any, y: Any) -> Any:
        if x.shape[0] != y.shape[0]:
            raise ValueError(f"{x.shape[0]} rows and {y.shape[0]}")
        return x.sum() + y.sum()

    captured = sg.function(f, debug=True)
    for size in (2, 3, 5):
        assert captured(np.ones(size), np.ones(size)) == 2 * size
    assert len(captured.traces) == 1
    with pytest.raises(ValueError, match="2 rows and 3"):
        captured(np.ones(2), np.ones(3))


def test_declared_sizes_stay_as_they_are_declared() -> None:
    def f(x: Any) -> Any:
        return x / math.sqrt(x.shape[2])

    captured = sg.function(f, shapes={"x": ("n", None, 4)}, debug=True)
    for batch in (2, 5):
        captured(np.ones((batch, 3, 4)))
    assert [str(one.inputs[0].type) for one in captured.traces] == ["float64[n, x.1, 4]"]
    refused = sg.function(f, shapes={"x": (None, None, "d")}, debug=True)
    with pytest.raises(sg.OptionError, match="the size d is unknown until run time"):
        refused(np.ones((2, 3, 4)))


def test_what_is_needed_is_found_once_for_all_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    made = tracing.trace

    def counted(*given: Any) -> Any:
        tried.append(given[3][0].type)
        return made(*given)

    monkeypatch.setattr(tracing, "trace", counted)
    rate = 2.0
    captured = sg.function(
        lambda x: rate * x[:, : int(x.shape[1])] / math.sqrt(x.shape[2]), debug=True
    )
    captured(np.ones((2, 3, 4)))
    assert len(tried) == 3  # of unknown sizes, one known, both known
    captured(np.ones((2, 3, 4), np.float32))
    captured(np.ones((2, 5, 6)))
    rate = 3.0
    np.testing.assert_array_equal(captured(np.ones((2, 3, 4))), np.full((2, 3, 4), 1.5))
    assert len(tried) == 6
    plain = sg.function(lambda x: x + 1, debug=True)
    plain(np.ones((2, 3)))
    assert len(tried) == 7


def _matched(n: Any) -> float:
    match n:
        case bool() | float():
            return 5.0
        case int():
            return 1.0
        case _:
            return 2.0


@functools.singledispatch
def _dispatched(n: object) -> float:
    return 2.0


@_dispatched.register
def _(n: int) -> float:
    return 1.0


def _with_bits(n: Any) -> float:
    try:
        return float(n.bit_length())
    except AttributeError:
        return -1.0


AS_INTS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "isinstance": (lambda shape: 1 if isinstance(shape[0], int) else 2, False),
    "integral": (lambda shape: 1 if isinstance(shape[0], numbers.Integral) else 2, False),
    "no float": (lambda shape: 1 if isinstance(shape[0], float) else 2, False),
    "class": (lambda shape: 1 if shape[0].__class__ is int else 2, False),
    "match": (lambda shape: _matched(shape[0] + 1), False),
    "dispatch": (lambda shape: _dispatched(shape[0]), False),
    "type": (lambda shape: 1 if type(shape[0]) is int else 2, True),
    "type in a helper": (lambda shape: _type_of(shape[0]), True),
    "types of all": (lambda shape: 1 if set(map(type, shape)) == {int} else 2, True),
    "type of each": (lambda shape: len([n for n in shape if type(n) is int]), True),
    "attribute": (lambda shape: 1 if hasattr(shape[0], "to_bytes") else 2, True),
    "caught": (lambda shape: _with_bits(shape[0]), True),
}


def _type_of(n: Any) -> int:
    return {int: 1}.get(type(n), 2)


@pytest.mark.parametrize("name", AS_INTS)
def test_sizes_are_ints_to_who_asks(name: str) -> None:
    """In functions that have no array among their names, too."""
    asked, is_known = AS_INTS[name]
    f = lambda x: x * asked(x.shape)  # noqa: E731
    captured = sg.function(f)
    for shape in ((4, 5), (3, 6)):
        x = np.ones(shape)
        np.testing.assert_array_equal(captured(x), f(x))
    assert (len(captured.traces) == 2) is is_known
