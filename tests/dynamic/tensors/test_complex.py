"""Complex tensors: values, texts and messages recorded from PyTorch 2.13."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.core.errors import AutogradError, SizeError

Z = torch.tensor([1 + 2j, -0.5j, 3.0])


def _moved() -> Any:
    """A view in float32 of what has become float64."""
    base = torch.zeros(3)
    view = base[:2]
    base.data = torch.zeros(3, dtype=torch.float64)
    return view


SHOWN: dict[str, Callable[[], object]] = {
    "tensor([1.+2.j, 3.+0.j])": lambda: torch.tensor([1 + 2j, 3]),
    "tensor(1.+2.j)": lambda: torch.tensor(1 + 2j),
    "tensor([ 1.5000+2.0000e+00j, -3.0000+0.0000e+00j,  0.0000+1.0000e-03j])": lambda: torch.tensor(
        [1.5 + 2j, -3, 0.001j]
    ),
    "tensor([nan+0.0000j, inf+0.0000j,  0.-0.0000j, -1.-0.5000j])": lambda: torch.tensor(
        [complex("nan"), complex("inf"), complex(0, -0.0), -1 - 0.5j]
    ),
    "tensor([1.+1.j, 1.+1.j], dtype=torch.complex128)": lambda: torch.ones(2).double() + 1j,
    "tensor([1.+1.j, 1.+1.j])": lambda: torch.ones(2, dtype=torch.bool) + 1j,
    "tensor([1.-2.0000j, -0.+0.5000j, 3.-0.0000j])": lambda: Z.conj(),
    "tensor([0.5403+0.8415j, 0.5403+0.8415j])": lambda: torch.polar(torch.ones(2), torch.ones(2)),
    "tensor([0.4472+0.8944j, -0.0000-1.0000j, 1.0000+0.0000j])": lambda: Z.sgn(),
    "tensor([2.2361, 0.5000, 3.0000])": lambda: Z.abs(),
    "tensor([ 1.1071, -1.5708,  0.0000])": lambda: Z.angle(),
    "tensor(4.0833)": lambda: Z.var(),
    "tensor(3.7749)": lambda: Z.norm(),
    "tensor(14.2500+0.j)": lambda: torch.vdot(Z, Z),
    "tensor([[1.-2.0000j],\n        [-0.+0.5000j],\n        [3.-0.0000j]])": lambda: Z[None].mH,
    "torch.complex64": lambda: (Z + torch.tensor(1.0).double()).dtype,
    "torch.complex128": lambda: (Z + torch.ones(3).double()).dtype,
    "(True, False, torch.complex64, torch.float32)": lambda: (
        Z.is_complex(), Z.is_floating_point(), torch.float32.to_complex(),
        torch.complex64.to_real(),
    ),
    "'torch.ComplexFloatTensor'": lambda: Z.type(),
}  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_values_are_shown_as_by_pytorch(text: str) -> None:
    assert repr(SHOWN[text]()) == text


REFUSED: dict[str, Callable[[], Any]] = {
    "real scalar outputs but got torch.complex64": lambda: (
        Z.clone().requires_grad_()[0] * 2
    ).backward(),
    "imag is not implemented for tensors with non-complex dtypes": lambda: torch.ones(2).imag,
    "view_as_real is only supported for complex tensors": lambda: torch.view_as_real(torch.ones(2)),
    "Tensor must have a last dimension of size 2": lambda: torch.view_as_complex(torch.ones(3)),
    "Tensor must have a last dimension with stride 1": lambda: torch.view_as_complex(
        torch.ones(2, 3).mT
    ),
    "Expected object of scalar type Float but got scalar type Double for second": lambda: (
        torch.complex(torch.ones(2), torch.ones(2).double())
    ),
    "Expected both inputs to be Half, Float or Double tensors but got Int and Int": lambda: (
        torch.complex(torch.ones(2).int(), torch.ones(2).int())
    ),
    "Expected both inputs to be Half, Float or Double tensors but got Double and Long": lambda: (
        torch.polar(torch.ones(2).double(), torch.arange(2))
    ),
    "value cannot be converted to type float without overflow": lambda: torch.zeros(2).fill_(1j),
    "result type ComplexFloat can't be cast to the desired output type Float": lambda: torch.zeros(
        3
    ).add_(Z),
    "tensor.H is only supported on matrices": lambda: Z.H,
    "Adafactor does not support complex parameters": lambda: torch.optim.Adafactor(
        [Z.clone().requires_grad_()]
    ),
    "a view in float32 of a tensor in float64": lambda: _moved().copy_(
        torch.ones(2, requires_grad=True)
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_messages_are_pytorchs(text: str) -> None:
    with pytest.raises((AutogradError, SizeError), match=text):
        REFUSED[text]()


def test_parts_share_memory() -> None:
    z = Z.clone()
    z.real[0] = 7
    z.imag = torch.zeros(3)
    torch.view_as_real(z)[2, 1] = 4
    assert z.tolist() == [7, 0, 3 + 4j]


def _real_part_scaled(z: Any) -> Any:
    w = z.clone()
    w.real.mul_(3)
    w.imag[0] = 5.0
    return (w * w.conj()).real.sum()


def _transposed_parts(z: Any) -> Any:
    w = z.clone()
    torch.view_as_real(w).transpose(0, 1).add_(1)
    return (w * w).real.sum()


def _expanded_part(z: Any) -> Any:
    w = z.clone()
    rows = w.real.expand(2, 3)
    w.mul_(2)
    return (rows * torch.tensor([[1.0], [3.0]])).sum()


def _base_then_part(z: Any) -> Any:
    w = z.clone()
    imag = w.imag[1:]
    w.mul_(z)
    return (imag**2).sum()


@pytest.mark.parametrize(
    "program", [_real_part_scaled, _transposed_parts, _expanded_part, _base_then_part]
)
def test_parts_that_were_overwritten_are_differentiated_twice(program: Callable[..., Any]) -> None:
    z = torch.tensor([1 + 2j, -0.5j, 3.0], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(program, z)
    assert torch.autograd.gradgradcheck(program, z)


def _complex_view_scaled(x: Any) -> Any:
    y = x.clone()
    torch.view_as_complex(y)[0].mul_(2 + 1j)
    return (y**3).sum()


def _real_base_then_complex_view(x: Any) -> Any:
    y = x.clone()
    z = torch.view_as_complex(y)
    y.mul_(x)
    return (z * z).real.sum()


@pytest.mark.parametrize("program", [_complex_view_scaled, _real_base_then_complex_view])
def test_complex_views_of_parts_are_differentiated_twice(program: Callable[..., Any]) -> None:
    x = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(program, x)
    assert torch.autograd.gradgradcheck(program, x)


def test_descent_follows_the_gradient() -> None:
    z = torch.tensor([1 + 1j, 2.0], requires_grad=True)
    step = torch.optim.SGD([z], lr=0.1, momentum=0.5)
    for _ in range(100):
        step.zero_grad()
        ((z - 1j).abs() ** 2).sum().backward()
        step.step()
    np.testing.assert_allclose(z.detach().numpy(), [1j, 1j], atol=1e-6)
