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
from compiler.emit import native

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: sg.exp(x),
    "sin": lambda x: sg.sin(x * 1e4),
    "rounding": lambda x: [sg.round(x), sg.floor(x), sg.ceil(x), sg.trunc(x), x % 0.7, x // 0.7],
    "softmax and its gradient": lambda x: [y := sg.softmax(x, -1), sg.grad((y * y).sum(), x)],
    "across rows": lambda x: sg.tanh(x.T) * 2,
    "power": lambda x: (x * x) ** 0.3,
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these are processors of this kind")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "haswell"])
def test_values(cpu: str, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if cpu == "haswell" and not llvm.get_host_cpu_features().get("avx2"):
        pytest.skip("code for that processor does not run here")
    x = sg.placeholder("x", (None, None), dtype)
    result = FUNCTIONS[name](x)
    outputs = result if isinstance(result, list) else [result]
    value = np.random.default_rng(0).standard_normal((9, 37)).astype(dtype)
    wanted = sg.compile([x], outputs)(value)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, opt=2, codemodel="jitdefault", jit=True
    )
    monkeypatch.setenv("STATICGRAPH_CACHE", "0")
    monkeypatch.setattr(native, "target_machine", lambda: machine)
    for found, expected in zip(sg.compile([x], outputs)(value), wanted, strict=True):
        # vectors of another length add in another order: terms up to 1, of which some cancel
        eps = np.finfo(dtype).eps
        assert_allclose(found, expected, rtol=32 * eps, atol=eps)
