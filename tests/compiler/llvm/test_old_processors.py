"""Kernels for processors without FMA, gathering loads or rounding: slow, and the same values."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.testing import assert_allclose

import staticgraph as sg
from staticgraph.compiler.ir.parse import parsed_function
from staticgraph.compiler.llvm import native
from staticgraph.compiler.llvm.c_library import C_LIBRARY
from staticgraph.compiler.runtime.cache import objects
from tests.combinations import some
from tests.processors import machine_for

pytestmark = pytest.mark.slow

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: sg.exp(x),
    "sin": lambda x: sg.sin(x * 1e4),
    "rounding": lambda x: [sg.round(x), sg.floor(x), sg.ceil(x), sg.trunc(x), x % 0.7, x // 0.7],
    "softmax and its gradient": lambda x: [y := sg.softmax(x, -1), sg.grad((y * y).sum(), x)],
    "across rows": lambda x: sg.tanh(x.T) * 2,
    "power": lambda x: (x * x) ** 0.3,
}


# the processors that a machine of this kind stands for, if it has the feature; the first: always
KINDS: dict[str, list[tuple[str, str]]] = {
    "x86_64": [("x86-64", "sse2"), ("x86-64-v2", "sse4.2"), ("haswell", "avx2")],
    "aarch64": [("generic", "neon")],
}
HERE = KINDS[{"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())]
RUNNABLE = [cpu for cpu, feature in HERE if llvm.get_host_cpu_features().get(feature)]


def test_the_oldest_processor_of_this_kind_is_tried() -> None:
    assert RUNNABLE[:1] == [HERE[0][0]]


@pytest.mark.parametrize("dtype", some(["float32", "float64"], 1))
@pytest.mark.parametrize("name", some(FUNCTIONS, 3))
@pytest.mark.parametrize("cpu", RUNNABLE)
def test_values(cpu: str, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = sg.placeholder("x", (None, None), dtype)
    result = FUNCTIONS[name](x)
    outputs = result if isinstance(result, list) else [result]
    value = np.random.default_rng(0).standard_normal((9, 37)).astype(dtype)
    wanted = sg.compile([x], outputs)(value)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, opt=2, codemodel="jitdefault", jit=True
    )
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    monkeypatch.setattr(native, "kernel_machine", lambda: machine)
    for found, expected in zip(sg.compile([x], outputs)(value), wanted, strict=True):
        # vectors of another length add in another order: terms up to 1, of which some cancel
        eps = np.finfo(dtype).eps
        assert_allclose(found, expected, rtol=32 * eps, atol=eps)


UNIT = """def unit(a: p_f64, b: p_f64, n: i64) -> i64:
    for i in range(n):
        b[i] = floor(sin(a[i])) + rint(exp(a[i])) + remainder(a[i], f64(0.7)) + trunc(a[i])
"""


@pytest.mark.parametrize(
    ("kind", "cpu"), [(kind, cpu) for kind, cpus in KINDS.items() for cpu, _ in cpus]
)
def test_code_for_any_processor_needs_nothing_unknown(
    kind: str, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled here for processors that this machine may not be."""
    monkeypatch.setattr(native, "kernel_machine", lambda: machine_for(kind, cpu))
    defined, needed = objects.symbols_of(native.compile_native([parsed_function(UNIT)]))
    assert defined == {native.step_symbol(0)}
    assert needed <= C_LIBRARY
    assert ("fma" in needed) is (cpu in ("x86-64", "x86-64-v2"))
