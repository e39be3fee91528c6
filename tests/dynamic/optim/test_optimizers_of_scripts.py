"""Optimizers as public scripts use and derive them: values are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.optim.optimizer import required

OF_PYTORCH = [
    [0.0, 0.06585321496083815],
    [0.3107449916945223, 0.5594445351639188],
    [1.0, 1.25],
    [1.42342195218448, 1.6734219520691653],
]
"""What PyTorch 2.13 makes of the weight below."""


def _trained(**options: Any) -> Any:
    start = torch.arange(8.0, dtype=torch.float64).reshape(4, 2) / 4
    words = torch.nn.Embedding.from_pretrained(start, freeze=False)
    optimizer = torch.optim.SparseAdam(words.parameters(), lr=0.1, betas=(0.8, 0.9), **options)
    for places in ([0, 1, 1], [1, 3], [0]):
        optimizer.zero_grad()
        loss = (words(torch.tensor(places)) ** 2).sum()
        (-loss if options else loss).backward()
        optimizer.step()
    return words.weight.detach().numpy()


@pytest.mark.parametrize("options", [{}, {"maximize": True}])
def test_rows_without_a_gradient_keep_their_values_and_averages(options: dict[str, bool]) -> None:
    np.testing.assert_allclose(_trained(**options), OF_PYTORCH, rtol=1e-14)


def test_a_number_has_no_rows() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    x.backward()
    with pytest.raises(RuntimeError, match="SparseAdam: a parameter without axes has no rows"):
        torch.optim.SparseAdam([x]).step()


def test_an_option_without_a_default_has_to_be_given() -> None:
    class Steps(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: Any = required) -> None:
            super().__init__(params, {"lr": lr})

    x = torch.ones(1, requires_grad=True)
    assert Steps([{"params": [x], "lr": 1.0}]).param_groups[0]["lr"] == 1.0
    text = "parameter group didn't specify a value of required optimization parameter lr"
    with pytest.raises(ValueError, match=text):
        Steps([x])
    assert repr(required) == "<required parameter>"


def test_an_optimizer_around_another_need_not_be_initialised() -> None:
    class Around(torch.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def step(self, closure: Any = None) -> None:
            self.inner.step()

    x = torch.ones(1, requires_grad=True)
    x.sum().backward()
    Around(torch.optim.SGD([x], lr=0.25)).step()
    assert x.tolist() == [0.75]
