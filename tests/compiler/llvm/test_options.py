"""Options of LLVM's: which kernels they are set for, and that they are as usual afterwards."""

from __future__ import annotations

import ast
import os
import re
import threading
from typing import Any

import llvmlite.binding as llvm
import pytest

from staticgraph.compiler.ir.parse import function_of
from staticgraph.compiler.ir.records import Function
from staticgraph.compiler.llvm import options
from staticgraph.compiler.llvm.machine import emit_assembly, kernel_machine, target_machine
from staticgraph.compiler.llvm.native import assembly, compile_native
from staticgraph.compiler.llvm.strides import strides
from staticgraph.compiler.llvm.trampoline import trampoline_object
from staticgraph.compiler.runtime.trampoline import FIELDS


def unit(body: str) -> Function:
    text = "def unit(a: p_f64, b: p_f64, n: i64, s: i64) -> i64:\n"
    lines = "\n".join(f"    {line}" for line in [*body.split("\n"), "return 0"])
    return function_of(ast.parse(text + lines).body[0])


ACROSS = "for i in range(n):\n    b[i] = a[i * s]"
ALONG = "for j in range(n):\n    for i in range(n):\n        b[i] = a[j * s + i * 3] * 2.0"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ACROSS, True),
        ("for i in range(n):\n    b[i] = a[n * (3 + i) + 1]", True),
        ("for i in range(n):\n    at = s * (2 * i)\n    b[i] = a[at]", True),
        ("for j in range(n):\n    for i in range(n):\n        b[j * n + i] = a[i * s]", True),
        (ALONG, False),
        ("for i in range(n):\n    b[i] = a[i] * a[i + s]", False),
        ("b[n * s] = a[s]", False),
    ],
)
def test_which_units_stride(body: str, expected: bool) -> None:
    assert strides(unit(body)) is expected


def loops_of_last_unit(text: str) -> str:
    """The assembly of the loops of the last unit, but for the numbers of units in its labels."""
    loops = re.findall(r"^unit_\d+:\n(.*?)^\.Lfunc_end", text, re.DOTALL | re.MULTILINE)[-1]
    return re.sub(r"(LBB|LCPI)\d+_", r"\1_", loops)


def test_a_unit_that_strides_adds_up_its_addresses() -> None:
    """Per element nothing is multiplied by the stride; every compiled unit leaves that as usual."""
    across, along = unit(ACROSS), unit(ALONG)
    alone = assembly([across])
    compile_native([along])
    assert assembly([across]) == alone
    beside = assembly([along, across])
    assert loops_of_last_unit(beside[1]) == loops_of_last_unit(alone[1])
    multiplied = emit_assembly(kernel_machine(), llvm.parse_assembly(alone[0]), strides=False)
    assert loops_of_last_unit(multiplied) != loops_of_last_unit(alone[1])


def test_options_are_set_as_long_as_anybody_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(llvm, "set_option", lambda _, option: given.append(option))
    with options.addresses(strides=False):
        assert given == ["-disable-lsr"]
        with options.addresses(strides=False):
            pass
        assert given == ["-disable-lsr"]
    assert given == ["-disable-lsr", "-disable-lsr=false"]
    with pytest.raises(KeyError), options.addresses(strides=False):
        raise KeyError
    assert given[2:] == ["-disable-lsr", "-disable-lsr=false"]
    with options.addresses(strides=True), options.addresses(strides=True):
        assert len(given) == 4
    monkeypatch.setattr(llvm, "llvm_version_info", (options.KNOWN.stop, 0, 0))
    with options.addresses(strides=False), options.without_stride_versions():
        assert len(given) == 4


@pytest.mark.parametrize("strides", [False, True])
def test_who_wants_an_option_otherwise_waits(
    strides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvm, "set_option", lambda *_: None)
    order: list[str] = []

    def other() -> None:
        with options.addresses(not strides):
            order.append("other")

    thread = threading.Thread(target=other)
    with options.addresses(strides):
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]


def test_code_that_kernels_share_is_the_same_beside_another_compilation() -> None:
    """The options are those of the process: what one thread sets, the others compile with."""
    alone = trampoline_object(FIELDS, target_machine())
    with options.addresses(strides=False), options.without_stride_versions():
        assert trampoline_object(FIELDS, target_machine()) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_forgets_who_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(llvm, "set_option", lambda _, option: given.append(option))
    with options.addresses(strides=False), options.without_stride_versions():
        held = len(given)
        child = os.fork()
        if not child:
            usual = {"-disable-lsr=false", "-enable-mem-access-versioning=true"}
            os._exit(set(given[held:]) != usual)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(given) == 2 * held
