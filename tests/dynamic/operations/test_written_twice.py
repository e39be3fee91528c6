"""Gradients of what is written to one place more than once, against PyTorch's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch

WEIGHTS = torch.tensor([1.0, 10.0, 100.0, 1000.0])
PLACES = torch.tensor([1, 1, 2])


def _assigned(v: Any) -> Any:
    y = torch.zeros(4)
    y[PLACES] = v
    return y


def _overwritten(v: Any) -> Any:
    return torch.zeros(4).scatter_(0, PLACES, v)


WRITES: dict[str, Callable[[Any], Any]] = {
    "y[i] = v": _assigned,
    "index_put": lambda v: torch.zeros(4).index_put((PLACES,), v),
    "put": lambda v: torch.zeros(4).put(PLACES, v),
    "scatter": lambda v: torch.zeros(4).scatter(0, PLACES, v),
    "scatter_": _overwritten,
    "index_copy": lambda v: torch.zeros(4).index_copy(0, PLACES, v),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_every_value_written_to_a_place_gets_its_gradient(write: Callable[[Any], Any]) -> None:
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = write(v)
    assert y.tolist() == [0.0, 2.0, 3.0, 0.0]
    (y * WEIGHTS).sum().backward()
    assert v.grad.tolist() == [10.0, 10.0, 100.0]
    (g,) = torch.autograd.grad((write(v**2) ** 2).sum(), v, create_graph=True)
    assert g.tolist() == [16.0, 32.0, 108.0]
    assert torch.autograd.grad(g.sum(), v)[0].tolist() == [40.0, 64.0, 108.0]


def test_what_was_there_gets_none() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    y[PLACES] = torch.tensor([1.0, 2.0, 3.0])
    (y * WEIGHTS).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0, 1000.0]


def test_one_value_for_several_columns() -> None:
    v = torch.ones(2, requires_grad=True)
    z = torch.zeros(3, 3)
    z[:, torch.tensor([1, 1])] = v
    (z * 2).sum().backward()
    assert v.grad.tolist() == [6.0, 6.0]
