"""Complex numbers in what looks into programs: replay, debug, diff, parameters of modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

AT = np.array([1 + 2j, 3 - 1j, 0.5j])


def test_what_is_not_finite_is_found_with_its_line() -> None:
    z = sg.placeholder("z", (None,), "complex128")
    run = sg.compile([z], sg.log(z) * 2, on_nonfinite="raise")
    np.testing.assert_allclose(run(AT), 2 * np.log(AT), rtol=1e-15)
    with pytest.raises(sg.NonFiniteError, match=r"log = complex128\[1\]: .* of 0\+0j .*test_look"):
        run(z=np.zeros(1, complex))


def test_a_debugged_call_warns_of_complex_infinities() -> None:
    z = sg.placeholder("z", (1,), "complex128")
    with pytest.warns(sg.NonFiniteWarning, match="log"):
        sg.compile([z], sg.log(z), debug=True)(np.zeros(1, complex))


def test_both_paradigms_are_compared() -> None:
    def power(z: Any) -> Any:
        return sg.sum(sg.real(sg.fft.fft(z) * sg.conj(sg.fft.fft(z))))

    found = sg.diff(power, AT)
    assert "nothing is farther apart than rounding explains" in str(found)
    assert "complex128[3]" in str(found)


def test_a_parameter_may_be_complex() -> None:
    weight = dynamic.nn.Parameter(dynamic.tensor(AT))
    (weight.abs() ** 2).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), 2 * AT)
    before = weight.detach().numpy().copy()
    dynamic.optim.SGD([weight], lr=0.1).step()
    np.testing.assert_allclose(weight.detach().numpy(), before - 0.2 * AT)


@pytest.mark.slow
def test_a_file_has_parts_alone(tmp_path: Path) -> None:
    x = sg.placeholder("x", (None,), "float64")
    path = tmp_path / "kernel.py"
    sg.compile([x], sg.abs(sg.exp(sg.complex(x, 2 * x)))).export(path, np.arange(3.0))
    command = [sys.executable, "-I", str(path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    z, weight = sg.placeholder("z", (2,), "complex64"), sg.variable(AT)
    for run, text in (
        (sg.compile([z], sg.abs(z)), r"placeholder is complex64\[2\] .*test_looked"),
        (sg.compile([x], sg.complex(x, x)), r"complex is complex128\["),
        (sg.compile([], sg.sum(sg.abs(weight))), r"variable is complex128\[3\]"),
    ):
        with pytest.raises(sg.OptionError, match=f"export: {text}"):
            run.export(path)


class _Unconjugated(dynamic.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (z,) = ctx.saved_tensors
        return 2 * z * g


class _OfOnePart(dynamic.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return dynamic.complex(x, x * x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.real


def test_gradients_are_checked_in_both_parts() -> None:
    z = dynamic.tensor(AT, requires_grad=True)
    x = dynamic.tensor(AT.real.copy(), requires_grad=True)
    gradcheck, gradgradcheck = dynamic.autograd.gradcheck, dynamic.autograd.gradgradcheck
    assert gradcheck(lambda z, x: z.exp() * z.conj() * x, (z, x))
    assert gradcheck(dynamic.fft.rfft, (x,))
    assert gradgradcheck(lambda z: z * z * z.conj(), (z,))
    for function, at in ((_Unconjugated.apply, z), (_OfOnePart.apply, x)):
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            gradcheck(function, (at,))
    assert z.detach().numpy().tolist() == AT.tolist()
