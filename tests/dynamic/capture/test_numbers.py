"""Python numbers whose values a captured function learns when it runs: `item`, `tolist`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg

AROUND = torch.tensor(3)
X = torch.tensor([1.5, -2.0, 4.0])


def _variance(x: Any) -> Any:
    mean = x.mean().item()
    return sum((one - mean) ** 2 for one in x.tolist()) / (len(x) - 1)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a factor": lambda x: x * x.sum().item(),
    "an index": lambda x: x[x.argmax().item()],
    "a number of the list": lambda x: x * x.tolist()[1],
    "a list": lambda x: x.reshape(1, -1).tolist(),
    "sums of numbers": _variance,
    "a number": lambda x: x.sum().item(),
    "whole numbers": lambda x: ((x > 0).sum().item() // 2, -(x > 0).sum().item() % 3),
    "a quotient of whole numbers": lambda x: (x > 0).sum().item() / 4,
    "a truth": lambda x: (x > 0).all().item(),
    "a branch": lambda x: x if abs(x.sum().item()) > 1 else -x,
    "a filled tensor": lambda x: torch.full((2,), x.sum().item()),
    "a filled tensor of a dtype": lambda x: torch.full((2,), x.sum().item(), dtype=torch.int32),
    "a filled tensor by a tensor": lambda x: torch.full((2,), x.sum()),
    "a tensor": lambda x: torch.tensor(x.sum().item()) + torch.tensor(x) + torch.tensor(x > 0),
    "a tensor of a dtype": lambda x: torch.tensor(x, dtype=torch.float64),
    "a bound": lambda x: x.clamp(max=x.mean().item()),
    "a scale": lambda x: torch.add(x, x, alpha=x.sum().item()) - torch.sub(x, x, alpha=1),
    "a scale in place": lambda x: (x * 1).add_(x, alpha=x.sum().item()),
    "a number of float16": lambda x: x * x.half().sum().item(),
    "a number of the surroundings": lambda x: x * AROUND.item(),
    "bits of the surroundings": lambda x: x * (AROUND & 1) + (AROUND << 1),
    "bits": lambda x: (x.long() & 6, x.long() | 1, x.long() ^ x.long(), ~x.long()),
    "shifts": lambda x: (
        torch.bitwise_left_shift(x.long(), 2),
        torch.bitwise_right_shift(x.long(), 1),
    ),
    "truths": lambda x: ((x > 0) & True, ~(x > 0)),
    "text beside it": lambda x: (x.sum().item(), "text", None, 3, True, 2.5),
    "a squeezed tensor": lambda x: (x * 2).unsqueeze_(0).t_().squeeze_(1) + x,
    "a transposed view": lambda x: x.reshape(1, -1).transpose_(0, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_each_call(name: str) -> None:
    program = PROGRAMS[name]
    captured = sg.function(program, debug=True)
    for x in (X, -X, X.double()):
        _same(program(x), captured(x))
        AROUND.add_(1)


def _same(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, list | tuple):
        assert len(left) == len(right)
        for pair in zip(left, right, strict=True):
            _same(*pair)
    elif isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left.numpy(), right.numpy())
    else:
        assert left == right


def test_a_number_has_no_gradient() -> None:
    def program(x: Any) -> Any:
        return (x * x.sum().item()).sum()

    for f in (program, sg.function(program, debug=True)):
        x = X.clone().requires_grad_()
        f(x).backward()
        assert x.grad.tolist() == [3.5, 3.5, 3.5]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x * (1 / x.sum().item()),
        lambda x: x * (1.5 // x.sum().item()),
        lambda x: x * (1.5 % x.sum().item()),
        lambda x: x * (1 // (x > 0).sum().item()),
        lambda x: x * (1 / (x > 0).sum().item()),
    ],
)
def test_a_quotient_of_nothing_is_pythons_error(program: Any) -> None:
    captured = sg.function(program, debug=True)
    with pytest.raises(ZeroDivisionError) as expected:
        program(X * 0)
    with pytest.raises(ZeroDivisionError) as found:
        captured(X * 0)
    assert str(found.value) == str(expected.value)


def test_a_number_of_many_elements_is_pytorchs_error() -> None:
    with pytest.raises(RuntimeError, match="a Tensor with 3 elements cannot be converted"):
        sg.function(lambda x: x.item(), debug=True)(X)


def test_what_is_drawn_before_an_error_is_drawn() -> None:
    def program(x: Any) -> Any:
        y = torch.rand(3)
        if x.sum() > 30:
            raise KeyError("too large")
        if x.sum() > 5:
            torch.rand(5)
            raise ValueError("large")
        return y * x + torch.rand(2).sum()

    seen = []
    for f in (program, sg.function(program, debug=True)):
        torch.manual_seed(1)
        for factor in (1, 2, 1, 20, 1):
            try:
                seen.append(f(X * factor).tolist())
            except (KeyError, ValueError) as error:
                seen.append(repr(error))
            seen.append(torch.rand(1).item())
    assert seen[:10] == seen[10:]
