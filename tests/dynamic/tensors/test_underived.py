"""What PyTorch has no derivative of raises in the reverse pass, in place too."""

from __future__ import annotations

import pytest

import dynamic as torch
import staticgraph as sg

ONES = torch.ones(2)


def divided(y):
    y //= ONES
    return y


CASES = {
    "floor_divide": (lambda y: y.floor_divide(2), "derivative for aten::floor_divide is"),
    "floor_divide_": (lambda y: y.floor_divide_(2), "derivative for aten::floor_divide_ is"),
    "//=": (divided, "derivative for aten::floor_divide_ is"),
    "heaviside": (lambda y: torch.heaviside(y, ONES), "derivative for aten::heaviside is"),
    "heaviside_": (lambda y: y.heaviside_(ONES), "derivative for aten::heaviside_ is"),
    "acosh_": (lambda y: y.acosh_(), "the derivative for 'inplace version of acosh' is"),
    "arcsinh_": (lambda y: y.arcsinh_(), "the derivative for 'inplace version of asinh' is"),
    "atanh_": (lambda y: torch.atanh_(y), "the derivative for 'inplace version of atanh' is"),
}


@pytest.mark.parametrize("name", CASES)
def test_they_raise_in_the_reverse_pass(name):
    function, said = CASES[name]
    x = torch.tensor([0.3, 0.4] if "tanh" in name else [1.3, 1.4], requires_grad=True)
    out = function(x * 1)
    assert out.requires_grad
    with pytest.raises((RuntimeError, NotImplementedError), match=f"{said} not implemented"):
        out.sum().backward()
    with torch.no_grad():
        assert not function(x * 1).requires_grad
    if name == "//=":
        return
    y = x * 1
    if name.endswith("_"):
        function(y[:2])
        with pytest.raises((RuntimeError, NotImplementedError), match=said):
            y.sum().backward()
    captured = sg.function(lambda x: function(x * 1))
    with torch.no_grad():
        assert torch.allclose(captured(x), function(x * 1))
    with pytest.raises((RuntimeError, NotImplementedError), match=rf"\.py:\d+: .*{said} not imp"):
        captured(x).sum().backward()
