"""What functions read that captured functions hand to steps of their graphs, and do not call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

TYPE = sg.TensorType((3,), "float64")
X = np.array([1.0, 2.0, 3.0])
calls: list[int] = []


def host(x: Any) -> Any:
    calls.append(1)
    return np.sin(x)


def timed(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(x: Any) -> Any:
        calls.append(1)
        return f(x)

    return wrapper


def noted(noted_in: list[int], x: Any) -> Any:
    noted_in.append(1)
    return np.sin(x)


class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0
        self.scale = 1.0

    def __call__(self, x: Any) -> Any:
        self.count += 1
        calls.append(1)
        return np.sin(x)


counter = Counter()
wrapped = timed(np.sin)
partial = functools.partial(noted, calls)


def _declared_inside(x: Any) -> Any:
    @sg.op(result=lambda x: x)
    def inner(x: Any) -> Any:
        calls.append(1)
        return np.sin(x)

    return inner(x)


@pytest.mark.parametrize(
    "f",
    (
        lambda x: sg.host_call(host, TYPE, x),
        lambda x: sg.host_call(lambda x: host(x), TYPE, x),
        lambda x: sg.host_call(wrapped, TYPE, x),
        lambda x: sg.host_call(timed(np.sin), TYPE, x),
        lambda x: sg.host_call(partial, TYPE, x),
        lambda x: sg.host_call(counter, TYPE, x),
        lambda x: sg.host_call(counter.__call__, TYPE, x),
        _declared_inside,
    ),
)  # fmt: skip
def test_a_host_function_may_count_its_calls(f: Callable[..., Any]) -> None:
    captured = sg.function(f)
    before = len(calls)
    for _ in range(5):
        np.testing.assert_allclose(captured(X), np.sin(X))
    assert len(calls) == before + 5
    assert len(captured.explain().retraces) == 0


def test_a_host_function_may_count_in_what_is_closed_over() -> None:
    own: list[int] = []

    @sg.function
    def captured(x: Any) -> Any:
        def inner(x: Any) -> Any:
            own.append(1)
            return np.sin(x)

        return sg.host_call(inner, TYPE, x)

    for _ in range(3):
        captured(X)
    assert len(own) == 3
    assert len(captured.explain().retraces) == 0


@pytest.mark.parametrize("first", (True, False))
def test_what_the_trace_calls_as_well_is_compared(first: bool) -> None:
    rates = [2.0]

    def scaled(x: Any) -> Any:
        return x * rates[0]

    @sg.function
    def captured(x: Any) -> Any:
        if first:
            return scaled(x) + sg.host_call(scaled, TYPE, x)
        called = sg.host_call(scaled, TYPE, x)
        return called + scaled(x)

    np.testing.assert_allclose(captured(X), 4 * X)
    rates[0] = 3.0
    np.testing.assert_allclose(captured(X), 6 * X)


def test_a_sibling_of_what_is_handed_over_is_compared() -> None:
    rates = [2.0]

    def made(k: float) -> Callable[..., Any]:
        return lambda x: x * rates[0] * k

    one, other = made(1.0), made(10.0)

    @sg.function
    def captured(x: Any) -> Any:
        called = sg.host_call(one, TYPE, x)
        return called + other(x)

    np.testing.assert_allclose(captured(X), 22 * X)
    rates[0] = 3.0
    np.testing.assert_allclose(captured(X), 33 * X)


def test_attributes_that_the_trace_reads_of_it_are_compared() -> None:
    made = Counter()
    captured = sg.function(lambda x: sg.host_call(made, TYPE, x) * made.scale)
    np.testing.assert_allclose(captured(X), np.sin(X))
    made.scale = 2.0
    np.testing.assert_allclose(captured(X), 2 * np.sin(X))
    assert made.count == 2
    assert len(captured.explain().retraces) == 1


def test_another_function_by_its_name_is_called() -> None:
    table = {"f": np.sin}
    captured = sg.function(lambda x: sg.host_call(table["f"], TYPE, x))
    np.testing.assert_allclose(captured(X), np.sin(X))
    table["f"] = np.cos
    np.testing.assert_allclose(captured(X), np.cos(X))


def test_threads_may_count_while_another_traces() -> None:
    traced = sg.function(lambda x: sg.host_call(host, TYPE, x))
    traced(X)
    begin, end = threading.Lock(), threading.Lock()

    def other() -> None:
        with begin:
            traced(X)
        end.release()

    def meanwhile(x: Any) -> Any:
        y = sg.host_call(host, TYPE, x)
        begin.release()
        end.acquire()
        return y

    before = len(calls)
    begin.acquire(), end.acquire()
    thread = threading.Thread(target=other)
    thread.start()
    np.testing.assert_allclose(sg.function(meanwhile)(X), np.sin(X))
    thread.join()
    assert len(calls) > before


def test_effects_before_it_is_handed_over_are_refused() -> None:
    kept, table = Counter(), {"rate": 1.0}

    def appends(x: Any) -> Any:
        calls.append(1)
        return sg.host_call(host, TYPE, x)

    def deletes(x: Any) -> Any:
        del kept.scale
        return sg.host_call(kept, TYPE, x)

    def pops(x: Any) -> Any:
        table.pop("rate")
        return sg.host_call(host, TYPE, x)

    for f, changed in ((appends, "global calls"), (deletes, "scale"), (pops, "table")):
        with pytest.raises(sg.EffectError, match=f"changes .*{changed}"):
            sg.function(f)(X)
