"""What a call reads is told by words of memory where it can be, and by comparisons elsewhere."""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.runtime import unchanged
from staticgraph.dynamic import nn
from staticgraph.tracing.functions import Function
from staticgraph.tracing.guards import Read
from staticgraph.tracing.words import OFTEN, Versions, with_words

X = np.ones(2)
IN_PLACE = pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # NumPy's from 2.5


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


def _has_words(read: Read) -> bool:
    """Whether words could tell it: from Python 3.13 on not that an object has its attributes."""
    return type(read.owner) is not dict or unchanged.has_version(read.owner)


def test_all_that_a_training_step_reads_is_told_by_words() -> None:
    model = nn.Sequential(
        nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 3), nn.Dropout(), nn.Linear(3, 1)
    )
    optimizer = dynamic.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    captured = sg.function(step, debug=True)
    captured(dynamic.ones(1, 2))
    reads = captured.explain().guards
    assert len(reads) > 70
    words, *rest = with_words(reads, Versions())
    assert words.kind == "words"
    assert [one.kind for one in rest if _has_words(one)] == []
    assert len(rest) < (30 if sys.version_info < (3, 13) else 60)  # modules' attributes: see above


@pytest.mark.parametrize("right", [True, False])
def test_a_change_is_seen_by_words_and_without_them(
    right: bool, again: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "fields_are_right", lambda: right)
    config = types.SimpleNamespace(rate=2.0, rates=[1.0, 2.0], table={"a": 1.0})
    f = sg.function(
        lambda x: x * config.rate * config.rates[1] * config.table["a"] * (len(config.table) + 1),
        debug=True,
    )
    for _ in range(3):
        np.testing.assert_array_equal(f(X), 8 * X)
    assert again == []
    config.rate = 3.0
    np.testing.assert_array_equal(f(X), 12 * X)
    config.rates[1] = 3.0
    np.testing.assert_array_equal(f(X), 18 * X)
    config.table["b"] = 0.0
    np.testing.assert_array_equal(f(X), 27 * X)
    vars(config)["rate"] = 1.0
    np.testing.assert_array_equal(f(X), 9 * X)
    assert len(again) == 4


def test_a_dict_that_changes_beside_what_is_read_is_compared_after_a_few_times(
    again: list[int],
) -> None:
    state = types.SimpleNamespace(rate=2.0, steps=0)
    f = sg.function(lambda x: x * state.rate, debug=True)
    for state.steps in range(20):
        np.testing.assert_array_equal(f(X), 2 * X)
    assert len(again) == OFTEN + 1
    state.rate = 3.0
    np.testing.assert_array_equal(f(X), 3 * X)


def test_what_words_are_of_is_kept() -> None:
    held = types.SimpleNamespace(rate=2.0)
    f = sg.function(lambda x: x * held.rate, debug=True)
    f(X)
    (around, _), = f.explain().traces  # fmt: skip
    words = with_words(around.guards.reads, Versions())[0]
    assert {id(one) for one in around.guards.reads} >= {id(one) for one in words.owner}
    assert any(one.owner is vars(held) for one in words.owner)


def test_slots_defaults_code_and_the_dict_of_an_object_are_told_by_words(again: list[int]) -> None:
    class Slotted:
        __slots__ = ("rate",)

    class Plain:
        rate = 1.0

    def scaled(x: Any, rate: float = 2.0) -> Any:
        return x * rate * held.rate * plain.rate

    def other(x: Any, rate: float = 2.0) -> Any:
        return x - rate * held.rate * plain.rate

    held, plain = Slotted(), Plain()
    held.rate, plain.rate = 3.0, 5.0
    f = sg.function(lambda x: scaled(x), debug=True)
    expected = lambda: scaled(X)  # noqa: E731
    np.testing.assert_array_equal(f(X), expected())
    (around, _), = f.explain().traces  # fmt: skip
    rest = with_words(around.guards.reads, Versions())[1:]
    assert {one.kind for one in rest if _has_words(one)} <= {"order"}
    for change in (
        lambda: setattr(held, "rate", 7.0),
        lambda: setattr(scaled, "__defaults__", (11.0,)),
        lambda: setattr(scaled, "__code__", other.__code__),
        lambda: setattr(plain, "__dict__", {"rate": 13.0}),
        lambda: None,
    ):
        change()
        np.testing.assert_array_equal(f(X), expected())
        np.testing.assert_array_equal(f(X), expected())
    assert len(again) == 4


@IN_PLACE
def test_changes_of_small_arrays_and_of_enums_are_seen(again: list[int]) -> None:
    held = {"a": np.arange(6.0)}
    array = held["a"]
    bytes_ = np.arange(13, dtype="int8")

    class Mode(enum.Enum):
        RATE = 2.0

    def f(x: Any) -> Any:
        read = held["a"].reshape(-1)[0] * held["a"].ndim + len(held["a"]) + bytes_[12]
        return x * read * Mode.RATE.value

    captured = sg.function(f, debug=True)
    changes: list[Callable[[], object]] = [
        lambda: array.__setitem__(0, 5.0),
        lambda: setattr(array, "shape", (3, 2)),
        lambda: setattr(array, "shape", (2, 3)),
        lambda: bytes_.__setitem__(12, 1),
        lambda: setattr(Mode.RATE, "_value_", 3.0),
        lambda: array.resize((9, 9), refcheck=False),
        lambda: array.resize((2,), refcheck=False),
        lambda: held.update(a=np.ones(2)),
    ]
    for change in changes:
        for _ in range(2):
            captured(X)
        count = len(again)
        captured(X)
        assert len(again) == count
        change()
        np.testing.assert_array_equal(captured(X), f(X))


@IN_PLACE
def test_changes_of_large_arrays_are_seen_without_looking_for_them_in_python(
    again: list[int],
) -> None:
    array = np.arange(3000.0)
    array[7] = np.nan
    captured = sg.function(lambda x: x * float(array.reshape(-1)[2999]) + array.ndim, debug=True)
    changes: list[Callable[[], object]] = [
        lambda: array.__setitem__(2999, 5.0),
        lambda: array.__setitem__(7, -np.nan),
        lambda: setattr(array, "shape", (3000, 1)),
        lambda: setattr(array, "dtype", np.int64),
        lambda: array.resize((6000, 1), refcheck=False),
        lambda: array.resize((3000, 1), refcheck=False),
    ]
    for change in changes:
        for _ in range(2):
            captured(X)
        *_, (around, _) = captured.explain().traces
        kinds = {one.kind for one in with_words(around.guards.reads, Versions())}
        assert "copied" in kinds
        assert "memory" not in kinds
        count = len(again)
        captured(X)
        assert len(again) == count
        change()
        expected = X * array.reshape(-1)[2999] + array.ndim
        np.testing.assert_array_equal(captured(X), expected)
        assert len(again) == count + 1


@IN_PLACE
def test_only_elements_that_nothing_can_change_are_not_compared(again: list[int]) -> None:
    lasting = np.arange(3000.0).tobytes()
    owning = np.arange(3000.0)
    view = owning[:]
    owning.flags.writeable = False
    arrays = {
        True: [np.frombuffer(lasting), np.frombuffer(memoryview(lasting)).reshape(3, -1)[1:]],
        False: [owning, np.frombuffer(memoryview(bytearray(lasting)).toreadonly())],
    }
    for is_lasting, given in arrays.items():
        for array in given:
            captured = sg.function(lambda x, array=array: x * float(array.max()), debug=True)
            np.testing.assert_array_equal(captured(X), X * 2999)
            captured(X)
            *_, (around, _) = captured.explain().traces
            kinds = {one.kind for one in with_words(around.guards.reads, Versions())}
            assert ("copied" not in kinds, "memory" in kinds) == (is_lasting, False)
            told = "is compared at each call" in str(captured.explain())
            assert told != is_lasting
    changed = sg.function(lambda x: x * float(owning.max()), debug=True)
    changed(X)
    view[0] = 5000.0
    np.testing.assert_array_equal(changed(X), X * 5000)
    replaced = np.frombuffer(lasting)
    moved = sg.function(lambda x: x * float(replaced.max()), debug=True)
    moved(X)
    count = len(again)
    moved(X)
    assert len(again) == count
    replaced.__setstate__((1, (3000,), np.dtype(float), False, np.zeros(3000).tobytes()))
    np.testing.assert_array_equal(moved(X), X * 0)


def test_few_words_tell_an_enum() -> None:
    class Mode(enum.Enum):
        RATE = 2.0

    captured = sg.function(lambda x: x * Mode.RATE.value, debug=True)
    captured(X)
    reads = captured.explain().guards
    assert len(reads) > 20
    assert sum(map(_has_words, with_words(reads, Versions()))) < 6
