"""Complex numbers in what looks into programs: replay, debug, diff, parameters of modules."""

from __future__ import annotations

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
