"""Object code in memory without LLVM: it computes what LLVM's own loader has it compute."""

from __future__ import annotations

import ctypes
import struct
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from staticgraph.compiler.llvm.machine import emit_object, target_machine
from staticgraph.compiler.llvm.parsed import parse
from staticgraph.compiler.runtime.cache import objects, placing
from staticgraph.compiler.runtime.cache.store import Code

CODE = """
@count = global i64 40
@zeros = internal global [4 x i64] zeroinitializer
@table = internal constant [3 x i64] [i64 5, i64 6, i64 7]
declare double @fmod(double, double)
define internal i64 @third(i64 %i) noinline {
  %at = getelementptr [3 x i64], ptr @table, i64 0, i64 %i
  %one = load i64, ptr %at
  ret i64 %one
}
define i64 @counted(i64 %i) {
  %before = load i64, ptr @count
  %now = add i64 %before, 1
  store i64 %now, ptr @count
  %zero = getelementptr [4 x i64], ptr @zeros, i64 0, i64 %i
  store i64 %now, ptr %zero
  %again = load i64, ptr %zero
  %one = call i64 @third(i64 %i)
  %sum = add i64 %again, %one
  ret i64 %sum
}
define double @rest(double %x, double %y) {
  %rest = call double @fmod(double %x, double %y)
  ret double %rest
}
"""
NAMES = ("counted", "rest")
ON_LINUX = sys.platform == "linux" and "x86_64" in target_machine().triple


def _code() -> bytes:
    return emit_object(target_machine(), parse(CODE))


def _results(addresses: Any) -> list[float]:
    counted = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(addresses[0])
    rest = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 2)(addresses[1])
    return [counted(0), counted(2), counted(1), rest(7.5, 2.0), rest(-7.5, 2.0)]


def test_code_computes_the_same_as_where_llvm_links_it() -> None:
    code = _code()
    by_llvm = objects.linked(Code(NAMES, code), ["fmod"])
    expected = [41 + 5, 42 + 7, 43 + 6, 1.5, -1.5]
    assert _results(by_llvm.addresses) == expected
    found = placing.placed(code, NAMES)
    assert (found is not None) == ON_LINUX
    for _ in range(2 * ON_LINUX):
        found = placing.placed(code, NAMES)
        assert found is not None
        addresses, memory = found
        assert _results(addresses) == expected  # each has memory of its own
        del memory


def test_what_it_does_not_know_is_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    code = _code()
    assert placing.placed(b"\xcf\xfa\xed\xfe" + code[4:], NAMES) is None
    assert placing.placed(code[:18] + struct.pack("<H", 183) + code[20:], NAMES) is None
    monkeypatch.setattr(placing, "ADDRESS", 2)
    assert placing.placed(code, NAMES) is None
    linked = objects.load_object(Code(NAMES, code))
    assert _results(linked.addresses)[0] == 46
    monkeypatch.undo()
    refused = SimpleNamespace(mmap=lambda *given: placing.FAILED)
    monkeypatch.setattr(placing, "_system", lambda: refused)
    assert placing.placed(code, NAMES) is None


def test_damaged_code_is_an_error() -> None:
    code = _code()
    for size in range(64, len(code), 97):
        with pytest.raises(ValueError, match=r"damaged object code|object code without"):
            objects.load_object(Code(NAMES, code[:size]))
    flipped = bytearray(code)
    flipped[47] ^= 0x80  # of the place of the table of sections
    with pytest.raises(ValueError, match="damaged object code"):
        objects.load_object(Code(NAMES, bytes(flipped)))


def test_code_whose_sections_are_elsewhere_is_damaged() -> None:
    code = bytearray(_code())
    (at,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for header in range(at, at + count * size, size):
        if struct.unpack_from("<I", code, header + 4) == (placing.RELOCATIONS,):
            code[header + 31] ^= 0x80
    with pytest.raises(ValueError, match=r"damaged object code: .*int"):
        objects.load_object(Code(NAMES, bytes(code)))
