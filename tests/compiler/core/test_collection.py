"""Pauses of the garbage collector, of several threads and in forked children."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core import collection


def test_pauses_end_with_the_last_one_and_leave_what_was() -> None:
    assert gc.isenabled()
    first, second = collection.paused(), collection.paused()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled() and collection.is_enabled()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    gc.disable()
    try:
        with collection.paused():
            assert not collection.is_enabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_forked_child_ends_the_pauses_of_its_parent() -> None:
    with collection.paused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.slow
def test_threads_trace_while_others_compile() -> None:
    errors: list[BaseException] = []

    def work(factor: float) -> None:
        def function(x: Any) -> Any:
            for _ in range(20):
                x = sg.tanh(x * factor)
            return x

        try:
            sg.function(function)(np.ones(3))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(1 + i / 64,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
