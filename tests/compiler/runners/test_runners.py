"""The three runners of executables: none is a kind of another, and copies are run as they are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.runners.background import BackgroundRunner
from staticgraph.compiler.runners.compiled import CompiledRunner
from staticgraph.compiler.runners.debug import DebugRunner
from staticgraph.compiler.runtime import threads, workspace

KINDS = {
    CompiledRunner: {},
    BackgroundRunner: {"background": True},
    DebugRunner: {"debug": True},
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_runner_inherits(kind: type) -> None:
    assert kind.__mro__ == (kind, object)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_a_copy_is_run_as_the_original_is(
    kind: type, again: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")  # from which it would be ready at once
    w = sg.variable(np.full(3, 2.0), "w")
    x = sg.placeholder("x", (3,), "float64")
    original = sg.compile([x], x * w, updates={w: w + 1.0}, **KINDS[kind])
    assert original.wait(60)
    original(np.ones(3))
    made = again(original)
    assert repr(made) == repr(original)
    assert made.runner.mode == original.runner.mode
    assert made.wait(60)
    for _ in range(2):
        made(np.ones(3))
    assert_allclose(made(np.ones(3)), 5.0)
    assert_allclose(w.value, 3.0)
    settled = DebugRunner if kind is DebugRunner else CompiledRunner
    assert type(made.runner) is type(original.runner) is settled


def test_what_a_blas_cannot_be_kept_from_is_limited_for_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[int] = []

    @contextmanager
    def limit(count: int) -> Iterator[None]:
        limits.append(count)
        yield

    monkeypatch.setattr(threads, "hold_products", lambda: False)
    monkeypatch.setattr(workspace, "limit_threads", limit)
    x = sg.placeholder("x", (None, None), "float64")
    product = sg.compile([x], x @ sg.transpose(x), threads=1)
    large = np.ones((400, 800))[:, ::2]
    for count, call in enumerate(
        (
            lambda: product(np.ones((2, 3))),  # sets up
            lambda: product(np.ones((2, 3))),
            lambda: product(np.ones((2, 3)), out=np.empty((2, 2))),
            lambda: product(large),  # by a kernel of its own, which is not set up
            lambda: product(large, out=np.empty((400, 400))),
        ),
        1,
    ):
        before = len(limits)
        call()
        assert len(limits) > before, count
    assert set(limits) == {1}
    free = sg.compile([x], x @ sg.transpose(x))
    free(np.ones((2, 3)))
    assert set(limits) == {1}


@pytest.mark.parametrize("number", [0.5, np.float64(0.5), np.float32(0.5), True, 2])
def test_numbers_are_fed_beside_arrays_of_any_size(number: object) -> None:
    x, scale = sg.placeholder("x", (None,), "float32"), sg.placeholder("scale", (), "float32")
    f = sg.compile([x, scale], x * scale)
    given = np.float64(number)  # type: ignore[arg-type]
    for size in (3, 5, 3, 0, 5):
        array = np.arange(size, dtype="float32")
        if isinstance(number, np.float64):
            with pytest.raises(sg.DTypeError, match="feed 'scale': float64"):
                f(array, number)
            number = np.array(0.5, "float32")
        for strided in (array, np.repeat(array, 2)[::2]):
            result = f(strided, number)
            assert result.dtype == np.float32
            assert result.tolist() == (array * given).tolist()
    with pytest.raises(sg.FeedError, match="1e\\+40 is out of bounds for float32"):
        f(np.ones(3, "float32"), 1e40)
    assert np.isnan(f(np.ones(1, "float32"), float("nan")))
