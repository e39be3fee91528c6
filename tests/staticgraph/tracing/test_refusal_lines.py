"""The lines that refusals of captured functions name."""

from __future__ import annotations

import itertools
import os
import re
import resource
import string
import sys
import threading
import weakref
import zlib
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.distributed


def _grow(x: Any, seen: list[int]) -> Any:
    seen.append(1)
    return x * len(seen)


def _tracer(frame: Any, event: str, arg: Any) -> Any:
    return _tracer


def test_the_line_is_found_under_a_debugger_too() -> None:
    line = _grow.__code__.co_firstlineno + 1
    before = sys.gettrace()
    sys.settrace(_tracer)
    try:
        with pytest.raises(sg.EffectError, match=rf"{re.escape(__file__)}:{line}"):
            sg.function(_grow)(np.ones(3), [])
        assert sys.gettrace() is _tracer
    finally:
        sys.settrace(before)


def test_what_has_too_many_parts_is_not_handed_to_a_library() -> None:
    formatter = string.Formatter()
    formatter.parts = [string.Template("$k") for _ in range(500)]  # type: ignore[attr-defined]

    def made(x: Any) -> Any:
        return x * len(formatter.format("{}", 1))

    line = made.__code__.co_firstlineno
    what = rf":{line + 1}: .*hands formatter.* to code of a library, which has more than 400 parts"
    with pytest.raises(sg.CaptureError, match=what):
        sg.function(made)(np.ones(3))


def test_what_another_language_keeps_is_not_asked() -> None:
    compressor = zlib.compressobj()

    def made(x: Any) -> Any:
        return x * len(compressor.compress(b"a"))

    line = made.__code__.co_firstlineno + 1
    what = rf":{line}: .*calls compress of compressor, a Compress, whose state nothing tells"
    with pytest.raises(sg.CaptureError, match=what):
        sg.function(made)(np.ones(3))


def test_what_is_set_for_the_process_is_left_as_it_was() -> None:
    before = np.getbufsize()

    def made(x: Any) -> Any:
        np.setbufsize(2 * before)
        return x * 2

    what = r"changes what numpy\.getbufsize\(\) says \(8192 before, 16384 now\)"
    try:
        with pytest.raises(sg.EffectError, match=what):
            sg.function(made)(np.ones(3))
    finally:
        np.setbufsize(before)


def test_a_function_of_the_library_alone_fails_at_the_line_that_calls_it() -> None:
    with pytest.raises(sg.GraphError, match="all_reduce of a batch") as caught:
        sg.vmap(sg.distributed.sum)(np.ones((3, 2)))
    assert any(f"at {__file__}:" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: os.access(__file__, os.R_OK), "posix.access"),
        (lambda: resource.getrlimit(resource.RLIMIT_CORE), "resource.getrlimit"),
        (lambda: threading.Thread(target=len).start(), "thread.start_(new|joinable)_thread"),
        (lambda: sys.setprofile(None), "sys.setprofile"),
    ],
)
def test_functions_of_the_system_are_not_called(call: Any, name: str) -> None:
    line = call.__code__.co_firstlineno
    what = rf":{line}: .*calls {name} when it is traced, and not at each call: do it outside"
    with pytest.raises(sg.EffectError, match=what):
        sg.function(lambda x: x if call() is None else x * 2)(np.ones(3))


def test_an_iterator_that_tells_no_place_is_not_read_each_time_it_is_found() -> None:
    numbers = itertools.pairwise([1.0, 2.0, 3.0])
    late: Future[Any] = Future()
    late.set_result(lambda x: x * sum(next(numbers)))
    for f in (lambda x: x * sum(next(numbers)), lambda x: late.result()(x)):
        captured = sg.function(f)
        for _ in range(2):
            what = r"test_refusal_lines.py:\d+: has numbers, a pairwise, which does not tell where"
            with pytest.raises(sg.CaptureError, match=what):
                captured(np.ones(3))
    assert next(numbers) == (1.0, 2.0)


def test_a_finalizer_that_is_registered_inside_is_refused() -> None:
    class Own: ...

    found: list[int] = []

    def f(x: Any) -> Any:
        weakref.finalize(Own(), found.append, 1)
        return x

    with pytest.raises(sg.EffectError, match=r"lines\.py:\d+: registers what is called when"):
        sg.function(f)(np.ones(2))
    assert found == []
