"""Object code that several threads make at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from llvmlite.binding import ffi

from staticgraph.compiler.llvm.machine import (
    _emissions,
    _NoEmissions,
    emit_object,
    kernel_machine,
    target_machine,
)
from staticgraph.compiler.llvm.parsed import parse

LOOP = """
define i64 @sum_{0}(ptr %a, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %total = phi i64 [{0}, %entry], [%more, %loop]
  %at = getelementptr i64, ptr %a, i64 %i
  %one = load i64, ptr %at
  %more = add i64 %total, %one
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %end
end:
  ret i64 %more
}}
"""


def _object(number: int) -> bytes:
    return emit_object(target_machine(), parse("".join(LOOP.format(number + i) for i in range(9))))


def test_what_threads_make_at_once_is_what_one_makes() -> None:
    alone = [_object(10 * i) for i in range(16)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_object, range(0, 160, 10))) == alone
    assert not _emissions.threads


def test_what_cannot_be_emitted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ffi.lib._lib, "LLVMPY_TargetMachineEmitToMemory", lambda *given: None)
    with pytest.raises(RuntimeError, match="LLVM made no object code"):
        _object(0)
    assert not _emissions.threads


def test_a_fork_waits_for_the_object_code_of_other_threads() -> None:
    taken, begun = threading.Event(), threading.Event()

    def fork() -> None:
        begun.set()
        with _NoEmissions(_emissions):
            taken.set()

    forks = threading.Thread(target=fork)
    with _emissions:
        forks.start()
        assert begun.wait(10)
        assert not taken.wait(0.05)
        with _NoEmissions(_emissions):  # the same thread, as in the handler of a signal
            pass
    assert taken.wait(10)
    forks.join()


def test_each_thread_compiles_kernels_for_a_machine_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(kernel_machine).result()
        assert pool.submit(kernel_machine).result() is other
    assert kernel_machine() is kernel_machine() is not other
