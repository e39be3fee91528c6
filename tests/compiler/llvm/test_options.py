"""Options of LLVM's: which kernels they are set for, and that they are as usual afterwards."""

from __future__ import annotations

import ast
import re
from typing import Any

import llvmlite.binding as llvm
import pytest

from staticgraph.compiler.ir.parse import function_of
from staticgraph.compiler.ir.records import Function
from staticgraph.compiler.llvm import options
from staticgraph.compiler.llvm.machine import kernel_machine
from staticgraph.compiler.llvm.native import assembly, compile_native


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
    assert options.strides(unit(body)) is expected


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
    with options.addresses_as_written([along]):
        multiplied = str(kernel_machine().emit_assembly(llvm.parse_assembly(alone[0])))
    assert loops_of_last_unit(multiplied) != loops_of_last_unit(alone[1])


def test_options_are_set_while_a_kernel_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(llvm, "set_option", lambda _, option: given.append(option))
    with options.addresses_as_written([unit(ALONG)]):
        assert given == ["-disable-lsr"]
    assert given == ["-disable-lsr", "-disable-lsr=false"]
    with pytest.raises(KeyError), options.addresses_as_written([unit(ALONG)]):
        raise KeyError
    assert given[2:] == ["-disable-lsr", "-disable-lsr=false"]
    with options.addresses_as_written([unit(ALONG), unit(ACROSS)]):
        assert len(given) == 4
    monkeypatch.setattr(llvm, "llvm_version_info", (options.KNOWN.stop, 0, 0))
    with options.addresses_as_written([unit(ALONG)]), options.without_stride_versions():
        assert len(given) == 4
