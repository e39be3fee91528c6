"""Functions that are defined when loops are vectors: each once for a machine, whoever calls it."""

from __future__ import annotations

from typing import Any

import pytest

from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.llvm import native
from tests.processors import machine_for

UNIT = """def unit(a: p_f64, b: p_f64, n: i64) -> i64:
    for i in range({count}):
        b[i] = sin(a[i]) * f64({factor})
    return 0
"""


def test_a_function_is_compiled_once_for_each_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = [machine_for("x86_64", cpu) for cpu in ("skylake", "haswell")]
    made: list[Any] = []
    optimise = native.optimise

    def seen(module: Any, machine: Any) -> None:
        made.append(module.name)
        optimise(module, machine)

    monkeypatch.setattr(native, "optimise", seen)
    first: dict[Any, bytes] = {}
    units = [("1", 2.0), ("4", 2.0), ("4", 3.0), ("4", 2.0), ("1", 2.0)]  # of numbers, of vectors
    for machine in machines:
        monkeypatch.setattr(native, "kernel_machine", lambda machine=machine: machine)
        counts = []
        for count, factor in units:
            made.clear()
            text = UNIT.format(count=count, factor=factor)
            code = native.compile_native([parsed_function(text)])
            assert first.setdefault((machine, count, factor), code) == code
            counts.append(len(made))
        assert min(counts[:2]) > 1
        assert counts[2:] == [1, 1, 1]
    assert len(set(first.values())) == 6
