"""Functions that are defined when loops are vectors: each once for a machine, whoever calls it."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.parse import parsed_function
from compiler.llvm import native
from tests.processors import machine_for

UNIT = """def unit(a: p_f64, b: p_f64, n: i64) -> i64:
    for i in range(n):
        b[i] = sin(a[i]) * f64({factor})
"""


def test_a_function_is_compiled_once_for_each_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = [machine_for("x86_64", cpu) for cpu in ("skylake", "x86-64-v2")]
    made: list[Any] = []
    optimise = native.optimise

    def seen(module: Any, machine: Any) -> None:
        made.append(module.name)
        optimise(module, machine)

    monkeypatch.setattr(native, "optimise", seen)
    first: dict[Any, bytes] = {}
    for machine in machines:
        monkeypatch.setattr(native, "kernel_machine", lambda machine=machine: machine)
        counts = []
        for factor in (2.0, 3.0, 2.0):
            made.clear()
            code = native.compile_native([parsed_function(UNIT.format(factor=factor))])
            assert first.setdefault((machine, factor), code) == code
            counts.append(len(made))
        assert counts[0] > 1
        assert counts[1:] == [1, 1]
    assert len(set(first.values())) == 4
