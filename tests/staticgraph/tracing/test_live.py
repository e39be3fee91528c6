"""Arrays around functions of arrays: each call reads them, without a look at what they hold."""

from __future__ import annotations

import gc
import selectors
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import CaptureError, EffectError, ShapeError
from staticgraph.tracing.functions import KEPT, Function
from staticgraph.tracing.live import OFTEN

X = np.arange(3.0)
TABLE = np.arange(300.0)


def _contents(f: Any) -> list[Any]:
    """The reads of what arrays hold."""
    return [one for one in f.explain().guards if one.kind in ("bytes", "memory")]


def _large(value: float) -> np.ndarray:
    return np.full((3, 100), value)


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by each call of a function for which something has changed."""
    calls: list[int] = []
    run_again = Function._again

    def counted(self: Function, *args: object) -> Any:
        calls.append(1)
        return run_again(self, *args)

    monkeypatch.setattr(Function, "_again", counted)
    return calls


def _reading() -> Iterator[tuple[np.ndarray, Callable[[Any], Any]]]:
    """Arrays, and functions that read them in another kind of place each."""
    yield TABLE, lambda x: x + TABLE[:3]
    a, b, c, d, e = (np.arange(300.0) + i for i in range(5))
    yield a, lambda x: x + a[:3] * 2
    table = {"weights": b}
    yield b, lambda x: x + table["weights"][:3]
    many = [c, *([0.0] * 20)]
    yield c, lambda x: x + many[0][:3]
    held = SimpleNamespace(weights=[d])
    yield d, lambda x: x + held.weights[0][:3]
    named = {str(i): i for i in range(20)} | {"weights": e}  # type: ignore[dict-item]
    yield e, lambda x: x + named["weights"][:3]  # type: ignore[index]


@pytest.mark.parametrize("place", range(6))
def test_what_is_written_to_an_array_is_read_by_the_next_call(place: int, again: list[int]) -> None:
    array, f = [*_reading()][place]
    captured = sg.function(f, debug=True)
    for value in (1.0, 2.0, np.nan, -0.0, 3.0):
        array[:2] = value
        np.testing.assert_array_equal(captured(X), f(X))
    assert again == []
    assert _contents(captured) == []
    assert len(captured.traces) == 1
    assert str(captured.explain()).count("is an operand: each call reads what it holds") == 1


def test_the_places_have_their_arrays_again_even_if_the_trace_fails() -> None:
    weights = {"a": _large(1.0), "b": _large(2.0)}
    a, b = weights.values()

    def f(x: Any) -> Any:
        if x.shape[0] == 4:
            raise ValueError("four")
        return x @ weights["a"] + weights["b"][0]

    captured = sg.function(f, debug=True)
    captured(X)
    assert weights["a"] is a
    with pytest.raises(ValueError, match="four"):
        captured(np.ones(4))
    assert weights["a"] is a
    assert weights["b"] is b
    np.testing.assert_array_equal(captured(X), f(X))


def test_another_array_in_the_place_is_taken_without_another_trace(again: list[int]) -> None:
    state = {"w": _large(1.0), "same": _large(2.0), "other": 0.0}
    state["twin"] = state["same"]
    captured = sg.function(lambda x: x @ state["w"] + (state["same"] * state["twin"])[0])
    for step in range(4):
        state["w"] = state["w"] + step
        expected = X @ state["w"] + 4.0
        np.testing.assert_allclose(captured(X), expected)
        np.testing.assert_allclose(captured(X), expected)
    assert (len(captured.traces), captured.explain().retraces) == (1, ())
    state["same"] = _large(3.0)  # it was the same as its twin
    np.testing.assert_allclose(captured(X), X @ state["w"] + 6.0)
    state["same"] = state["w"]
    np.testing.assert_allclose(captured(X), X @ state["w"] + (state["w"] * 2.0)[0])
    state["w"] = np.full((3, 100), 1, "float32")
    np.testing.assert_allclose(captured(X), X @ state["w"] + (state["same"] * 2.0)[0])


def test_another_array_in_a_list_is_taken_too() -> None:
    few, many = [_large(1.0), None], [_large(2.0), *([None] * 20)]
    captured = sg.function(lambda x: x @ few[0] + x @ many[0], debug=True)
    for _ in range(4):
        np.testing.assert_allclose(captured(X), X @ few[0] + X @ many[0])
        few[0], many[0] = few[0] + 1.0, many[0] * 2.0
    assert len(captured.traces) == 1


def test_an_array_that_changes_again_and_again_is_an_operand_whatever_is_computed_with_it() -> None:
    held = {"w": np.arange(600).reshape(3, 200)}
    captured = sg.function(lambda x: x @ np.exp(held["w"] * -0.01), debug=True)
    for _ in range(OFTEN + 6):
        np.testing.assert_allclose(captured(X), X @ np.exp(held["w"] * -0.01))
        held["w"] = held["w"] + 1
    assert captured.explain().retraced == OFTEN
    assert [str(one) for one in captured.traces][-1].count("int64[3, 200]") == 1


@pytest.mark.parametrize("f", [lambda x, w: x * float(w[0, 0]), lambda x, w: x @ np.exp(w)])
def test_what_has_to_be_a_constant_is_traced_once_per_change(f: Any) -> None:
    held, rate = {"w": _large(1.0)}, 1.0
    captured = sg.function(lambda x: f(x, held["w"]) * rate, debug=True)
    for step in range(4):
        np.testing.assert_allclose(captured(X), f(X, held["w"]) * rate)
        assert len(captured.traces) == step + 1
        rate += 1.0


def test_arrays_of_before_are_not_kept_for_the_sake_of_an_explanation() -> None:
    held = {"w": ((np.zeros(500),),)}
    captured = sg.function(lambda x: x + held["w"][0][0][:3], debug=True, lint="off")
    arrays = []
    for step in range(3 * KEPT):
        arrays.append(weakref.ref(held["w"][0][0]))
        captured(X)
        held["w"] = ((np.full(500, float(step)),),)
    del step
    gc.collect()
    explained = captured.explain()
    assert sum(one() is not None for one in arrays) <= KEPT + 1
    assert (explained.retraced, len(explained.retraces)) == (3 * KEPT - 1, KEPT)
    assert f"traced again {3 * KEPT - 1} times\n  the last {KEPT}:\n" in str(explained)


def test_an_array_that_changes_its_shape_is_traced_again() -> None:
    array = np.arange(300.0)
    captured = sg.function(lambda x: x + array.reshape(-1)[:3] + array.ndim, debug=True)
    for change in (
        lambda: None,
        lambda: array.resize((150, 4), refcheck=False),
        lambda: array.resize((3,), refcheck=False),
        lambda: array.__setitem__(0, 5.0),
    ):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(captured(X), X + array.reshape(-1)[:3] + array.ndim)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: x * float(w[0, 1]),
        lambda x, w: x * len(str(w.tolist()[0])),
        lambda x, w: x * np.asarray(w)[0, 1],
        lambda x, w: x + np.sort(w, axis=None)[-3:],
        lambda x, w: x + sum(w.flat[:2]),
        lambda x, w: x * sg.sum(w),
        lambda x, w: x * np.exp(w)[0, :3],
        lambda x, w: (x @ (w * 2.0))[:3],
        lambda x, w: x * (1.0 if w is w.base else 2.0) * w[0, 1],
    ],
)
def test_what_needs_the_elements_or_would_be_computed_each_time_compares_them(f: Any) -> None:
    array = _large(0.5)
    held = {"w": array}
    captured = sg.function(lambda x: f(x, held["w"]), debug=True)
    for value in (0.5, 1.5, 2.5):
        array[0, 1] = value
        for _ in range(2):
            np.testing.assert_allclose(captured(X), f(X, array))
    assert len(_contents(captured)) > 0


def test_an_array_that_is_found_late_or_where_nothing_else_can_be_put_is_compared() -> None:
    array = _large(0.5)
    late: Future[Any] = Future()
    late.set_result(lambda x: x * array[0, 1])
    held = {"w": array}
    pair = ((array,),)
    found = sg.function(lambda x: late.result()(x) * held["w"][0, 0], debug=True)
    fixed = sg.function(lambda x: x * pair[0][0][0, 1] * held["w"][0, 0], debug=True)
    for value in (0.5, 1.5, 2.5):
        array[:] = value
        np.testing.assert_array_equal(found(X), X * value * value)
        np.testing.assert_array_equal(fixed(X), X * value * value)
    assert len(_contents(found)) > 0
    assert len(_contents(fixed)) > 0


class _Waiting(threading.Thread):
    def run(self) -> None:
        done.wait()


done = threading.Event()


@pytest.mark.parametrize(
    ("thread", "compared"),
    [
        (lambda: threading.Thread(target=done.wait), True),
        (lambda: threading.Thread(target=lambda: done.wait()), True),
        (_Waiting, True),
        (lambda: threading.Timer(60.0, done.wait), True),
        (lambda: threading.Thread(target=selectors.DefaultSelector().select, args=(2.0,)), False),
    ],
)
def test_where_other_threads_may_look_arrays_are_compared(
    thread: Callable[[], threading.Thread], compared: bool
) -> None:
    array = _large(0.5)
    captured = sg.function(lambda x: x * array[0, 1], debug=True)
    done.clear()
    other = thread()
    other.daemon = True
    other.start()
    try:
        np.testing.assert_array_equal(captured(X), X * 0.5)
        array[:] = 2.0
        np.testing.assert_array_equal(captured(X), X * 2)
        assert bool(_contents(captured)) is compared
    finally:
        done.set()
        if isinstance(other, threading.Timer):
            other.cancel()
        if compared:
            other.join()


def test_threads_that_kernels_use_are_no_others() -> None:
    a = np.ones((1200, 1200))
    sg.function(lambda x: sg.exp(x) * 2 + x, threads=2)(a)  # the pool has its threads from here on
    array = _large(0.5)
    captured = sg.function(lambda x: x * array[0, 1], debug=True)
    captured(X)
    assert _contents(captured) == []


def test_what_is_returned_may_be_the_array_itself_or_a_view_of_it() -> None:
    array = _large(0.5)
    both = sg.function(lambda x: (array, array[1:], x + array[0, :3]), debug=True)
    for _ in range(3):
        whole, part, _ = both(X)
        assert whole is array
        assert part.base is array


def test_writing_to_it_is_refused_and_a_wrong_argument_is_told() -> None:
    array = _large(0.5)

    def write(x: Any) -> Any:
        array[0] = 1.0
        return x + array[0, :3]

    with pytest.raises(EffectError, match=r"test_live.py:\d+: changes array"):
        sg.function(write)(X)
    assert array[0, 0] == 0.5

    def add(x: Any) -> Any:
        y = array
        y += x[0]
        return y

    with pytest.raises(CaptureError, match=r"test_live.py:\d+: .*y \+= x"):
        sg.function(add)(X)
    captured = sg.function(lambda x: x @ array)
    captured(X)
    with pytest.raises(ShapeError, match="matmul"):
        captured(np.ones(4))
    array[:] = 2.0
    np.testing.assert_array_equal(captured(X), X @ array)


def test_fields_of_an_argument_are_not_set() -> None:
    def f(x: Any) -> Any:
        x.shape = (3, 1)
        return x

    with pytest.raises(CaptureError, match=r"test_live.py:\d+: .*sets .shape of a traced array"):
        sg.function(f)(X)


def _of_tensors() -> Iterator[tuple[np.ndarray, Callable[[Any], Any]]]:
    """Arrays, and functions of tensors that read them in several ways."""
    a, b, c, d, e = (np.arange(900.0).reshape(3, 300) + i for i in range(5))
    yield a, lambda x: x @ dynamic.from_numpy(a)
    yield b, lambda x: x @ dynamic.tensor(b) + dynamic.as_tensor(b[0])
    yield c, lambda x: x @ c
    yield d, lambda x, w=d: x @ dynamic.as_tensor(w)[:, 1:]

    def catching(x: Any) -> Any:
        try:
            return x @ dynamic.from_numpy(e).T.reshape(3, 300)
        except ValueError:
            return x

    yield e, catching


@pytest.mark.parametrize("case", range(5))
def test_functions_of_tensors_read_arrays_at_each_call(case: int, again: list[int]) -> None:
    array, f = [*_of_tensors()][case]
    captured, x = sg.function(f, debug=True), dynamic.tensor(X)
    for value in (1.0, 2.0, np.nan, 3.0):
        array[:2] = value
        np.testing.assert_allclose(captured(x).numpy(), f(x).numpy())
    assert again == []
    assert _contents(captured) == []
    assert len(captured.traces) == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: x * float(w[0, 1]),
        lambda x, w: x @ dynamic.tensor(np.exp(w)),
        lambda x, w: x * w.sum(),
        lambda x, w: x @ dynamic.tensor(w * 2.0),
    ],
)
def test_functions_of_tensors_compare_arrays_of_which_they_need_the_elements(f: Any) -> None:
    array = _large(0.5)
    held = {"w": array}
    captured, x = sg.function(lambda x: f(x, held["w"]), debug=True), dynamic.tensor(X)
    for value in (0.5, 1.5):
        array[0, 1] = value
        np.testing.assert_allclose(captured(x).numpy(), f(x, array).numpy())
    assert len(_contents(captured)) > 0


def test_a_tensor_on_the_memory_of_an_array_is_not_written() -> None:
    array, small = _large(0.5), np.ones(3)

    def write(x: Any, w: Any) -> Any:
        y = dynamic.from_numpy(w)
        y[0] = x[0]
        return y * 1

    for own in (array, small):
        with pytest.raises(CaptureError, match=r"test_live.py:\d+: .*copies it"):
            sg.function(lambda x, own=own: write(x, own))(dynamic.tensor(X))
    assert array[0, 0] == 0.5


def _constants() -> Iterator[tuple[Any, Callable[[Any], Any], Callable[[Any], None]]]:
    """Holders of an array that is exchanged, functions that read it, and what exchanges it."""
    w = _large(0.5)

    class Class:
        table = w

    class Slots:
        __slots__ = ("table",)

    slots = Slots()
    slots.table = w
    yield Class, lambda x: x @ Class.table, lambda new: setattr(Class, "table", new)
    yield slots, lambda x: x @ slots.table, lambda new: setattr(slots, "table", new)

    def default(x: Any, table: Any = w) -> Any:
        return x @ table

    yield default, default, lambda new: setattr(default, "__defaults__", (new,))
    pair = [(w, 2.0)]
    yield pair, lambda x: x @ pair[0][0] * pair[0][1], lambda new: pair.__setitem__(0, (new, 2.0))


@pytest.mark.parametrize("case", range(4))
def test_arrays_of_classes_slots_defaults_and_tuples_are_exchanged(case: int) -> None:
    _, f, exchange = [*_constants()][case]
    captured = sg.function(f, debug=True)
    for value in (0.5, 1.0, 2.0):
        exchange(_large(value))
        np.testing.assert_allclose(captured(X), f(X))
    assert _contents(captured) == []
    assert (len(captured.traces), captured.explain().retraced) == (1, 0)


def test_functions_that_are_composed_or_differentiated_read_it() -> None:
    array = _large(0.5)
    inner = sg.function(lambda x: x @ array)
    outer = sg.function(lambda x: sg.sum(inner(x) * array[0]))
    gradient = sg.grad(lambda x: sg.sum(x @ array))
    for value in (0.5, 2.0, 3.0):
        array[:] = value
        np.testing.assert_allclose(outer(X), np.sum(X @ array * value))
        np.testing.assert_allclose(gradient(X), array.sum(axis=1))
    assert _contents(outer) == []


def test_a_loop_over_an_array_around_of_which_the_gradient_needs_nothing_else() -> None:
    array = _large(0.5)

    def last(x: Any, rows: Any) -> Any:
        return sg.sum(sg.scan(lambda carry, row: (carry * row[:3], carry), x, rows)[0])

    gradient = sg.grad(lambda x: last(x, array))
    for value in (0.5, 2.0):
        array[:] = value
        np.testing.assert_allclose(gradient(X), np.full(3, value**3))
