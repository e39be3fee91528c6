"""Advice of the lint of eager programs on parameters."""

from __future__ import annotations

from collections.abc import Callable

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


def _trained(layers: list[torch.nn.Module], updated: list[int]) -> None:
    x = torch.ones(8, 3)
    given = [one for i in updated for one in layers[i].parameters()]
    optimizer = torch.optim.Adam(given, lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        h = x
        for layer in layers:
            h = torch.tanh(layer(h))
        h.square().mean().backward()
        optimizer.step()


def test_a_layer_between_others_that_no_optimizer_has_is_told_of() -> None:
    layers: list[torch.nn.Module] = [torch.nn.Linear(3, 3) for _ in range(3)]
    lint.forget()
    with (
        torch.set_lint("warn"),
        pytest.warns(torch.LintWarning, match=r"shape \[3.* and are in no optimizer.*ModuleList"),
    ):
        _trained(layers, [0, 2])
    lint.forget()
    with torch.set_lint("error"):  # what is below or above all others may be meant
        _trained(layers, [2])
        _trained(layers, [0])
        _trained(layers, [0, 1, 2])
    lint.forget()


@pytest.mark.parametrize(
    ("wrapped", "text"),
    [
        (lambda: torch.tensor([50_000, 1], dtype=torch.int32) ** 2, "power: int32 overflow in 1"),
        (lambda: torch.tensor([50_000, 1], dtype=torch.int32) * 50_000, "multiply: int32 overflow"),
        (lambda: torch.tensor([3], dtype=torch.uint8) - 4, "first is 255 where -1 is meant"),
        (lambda: torch.tensor([2**62, 2**62]).sum(), "sum: int64 overflow in 1 of 1 elements"),
        (lambda: torch.tensor([[2**32]]) @ torch.tensor([[2**32]]), "matmul: int64 overflow"),
        (lambda: -torch.tensor([-128], dtype=torch.int8), "negative: int8 overflow"),
    ],
)
def test_integers_that_wrap_around_are_told_of(wrapped: Callable[[], object], text: str) -> None:
    lint.forget()
    wrapped()  # as it comes, nothing is said, as in PyTorch
    with torch.set_lint("warn"), pytest.warns(torch.LintWarning, match=text) as caught:
        wrapped()
    assert [one.filename for one in caught] == [__file__]
    lint.forget()


def test_integers_that_fit_are_not_told_of() -> None:
    with torch.set_lint("error"):
        small = torch.tensor([100, 27], dtype=torch.int8)
        small += 20  # overwritten: what it was made of is gone
        (torch.arange(5) * 3 - 7).cumsum(0)
        torch.tensor([2**62, -(2**62)]).sum()
        torch.arange(20, dtype=torch.int32).prod()
        2 ** torch.arange(63)
