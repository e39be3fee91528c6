"""Subclasses of Tensor with attributes whose names the machinery once had."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

NAMES = (
    "apply", "arrays", "call", "captured", "constant", "keeps", "perform", "settings", "standing",
    "traced",
)  # fmt: skip


class Own(dynamic.Tensor):
    """A tensor with a user's attributes."""


@pytest.mark.parametrize("name", NAMES)
def test_a_subclass_has_names_of_its_own(name: str) -> None:
    assert not hasattr(dynamic.Tensor, name)
    values = np.array([0.5, 1.0], "float32")
    x: Any = Own(values).requires_grad_()
    setattr(x, name, "mine")
    (dynamic.tanh(x) * x).sum().backward()
    y = dynamic.tensor(values).requires_grad_()
    (dynamic.tanh(y) * y).sum().backward()
    np.testing.assert_array_equal(x.grad, y.grad)
    compiled = sg.function(lambda t: (dynamic.tanh(t) * t).sum())
    np.testing.assert_allclose(compiled(x.detach()).item(), (np.tanh(values) * values).sum(), 1e-6)
    assert getattr(x, name) == "mine"
