"""In-place steps that threads share: what NumPy gives, bit by bit, whatever lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic as torch

SIZE = (1 << 17) + 7


@pytest.fixture
def numbers() -> Any:
    return np.random.default_rng(0).standard_normal((3, SIZE))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_multiples_are_added_in_place(numbers: Any, kind: str) -> None:
    a, b, c = numbers.astype(kind)
    x = torch.tensor(a)
    assert x.add_(torch.tensor(b), alpha=0.3) is x and x._version == 1
    assert_array_equal(x.numpy(), a + b * np.asarray(0.3, kind))
    assert_array_equal(torch.tensor(a).sub_(torch.tensor(b), alpha=3).numpy(), a - 3 * b)
    product = torch.tensor(a).addcmul_(torch.tensor(b), torch.tensor(c), value=0.3)
    assert_array_equal(product.numpy(), a + (b * c) * np.asarray(0.3, kind))
    for count in (1, 3):
        torch.set_num_threads(count)
        assert_array_equal(torch.tensor(a).add_(torch.tensor(b), alpha=0.3).numpy(), x.numpy())


def test_multiples_of_what_lies_in_the_same_memory(numbers: Any) -> None:
    x = torch.tensor(numbers[0])
    x.add_(x, alpha=0.5)
    assert_array_equal(x.numpy(), numbers[0] + numbers[0] * 0.5)
    memory = torch.tensor(numbers[:2].reshape(-1))
    before = memory.numpy().copy()
    memory[3 : SIZE + 3].add_(memory[:SIZE], alpha=2.0)
    assert_array_equal(memory.numpy()[3 : SIZE + 3], before[3 : SIZE + 3] + 2 * before[:SIZE])
    turned = torch.tensor(numbers.T.copy()).t()
    turned.add_(torch.tensor(numbers), alpha=2.0)
    assert_array_equal(turned.numpy(), numbers + 2 * numbers)


def test_multiples_are_recorded_where_a_gradient_flows(numbers: Any) -> None:
    y = torch.tensor(numbers[0], requires_grad=True)
    total = torch.tensor(numbers[1]).add_(y, alpha=3.0)
    total.backward(torch.tensor(numbers[2]))
    assert_array_equal(y.grad.numpy(), 3 * numbers[2])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        y.add_(total.detach(), alpha=3.0)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_numbers_are_put_where_a_mask_holds(numbers: Any, kind: str) -> None:
    a = numbers.astype(kind)
    a[0, :5] = [np.nan, -0.0, np.inf, 5e-324, -np.nan]
    mask = numbers[::-1] > 0.2
    for value in (0, -0.0, 7.1, -3):
        x, y = torch.tensor(a), torch.tensor(a.T.copy()).t()
        x[torch.tensor(mask)] = value
        y[torch.tensor(mask)] = value
        expected = np.where(mask, np.asarray(value, kind), a)
        for found in (x.numpy(), np.ascontiguousarray(y.numpy())):
            assert_array_equal(found.view("u1"), expected.view("u1"))
        assert x._version == 1
