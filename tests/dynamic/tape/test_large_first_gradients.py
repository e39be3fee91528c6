"""The first gradient of a large leaf that is one number everywhere: written when it has to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch

MANY = 70_000


def large(value: float) -> Any:
    return torch.full((MANY,), value, dtype=torch.float64, requires_grad=True)


def test_it_is_added_to_what_comes_next() -> None:
    x, y = large(2.0), large(3.0)
    (x * y + y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(MANY, 3.0))
    np.testing.assert_array_equal(y.grad.numpy(), np.full(MANY, 3.0))
    (x * y + y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.full(MANY, 6.0))


@pytest.mark.parametrize("uses", [1, 2, 3])
def test_it_has_memory_of_its_own(uses: int) -> None:
    x, y = large(2.0), large(3.0)
    total = y + x
    for _ in range(uses - 1):
        total = total + x
    total.sum().backward()
    x.grad.mul_(5.0)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(MANY, 5.0 * uses))
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(MANY))


def test_it_is_there_when_a_hook_looks() -> None:
    x, y = large(2.0), large(3.0)
    inner = x * 2.0
    seen = []
    inner.register_hook(lambda g: seen.append(y.grad[0].item()))
    (inner + y).sum().backward()
    assert seen == [1.0]


def test_it_is_there_when_a_function_of_a_user_looks() -> None:
    seen = []

    class Looking(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(y.grad[0].item())
            return g * 2.0

    x, y = large(2.0), large(3.0)
    (Looking.apply(x) + y).sum().backward()
    assert seen == [1.0]


def test_it_is_there_after_an_error() -> None:
    x, y = large(2.0), large(3.0)
    made = torch.exp(x)
    total = (made + y).sum()
    made.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.ones(MANY))
