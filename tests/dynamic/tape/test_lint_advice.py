"""Advice of the lint of eager programs on parameters."""

from __future__ import annotations

import pytest

import dynamic as torch
from staticgraph.dynamic.tape import lint


def test_parameters_that_no_gradient_reaches_are_told_of() -> None:
    x, first, last = torch.ones(8, 3), torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    lint.forget()
    with (
        torch.set_lint("warn"),
        pytest.warns(torch.LintWarning, match=r"reaches .* \[4, 3\] and \[4\] of this") as caught,
    ):
        optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            last(torch.tanh(first(x)).detach()).square().mean().backward()
            optimizer.step()
    assert [one.filename for one in caught] == [__file__]
    lint.forget()
