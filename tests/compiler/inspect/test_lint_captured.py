"""Lint of captured training steps: each warning once, at the user's line."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import nn

X, Y = torch.ones(6, 3), torch.zeros(6, 1)


class World:
    """Two layers and an optimizer."""

    def __init__(self) -> None:
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 1)
        self.opt = torch.optim.SGD([*self.first.parameters(), *self.second.parameters()], lr=0.1)
        self.scale = torch.ones(6, 1, dtype=torch.float64)

    def update(self, loss: Any) -> Any:
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def right(self, x: Any, y: Any) -> Any:
        return self.update(((self.second(torch.tanh(self.first(x))) - y) ** 2).mean())

    def forgotten(self, x: Any, y: Any) -> Any:
        h = torch.tanh(self.first(x))  # here
        return self.update(((self.second(h) - y) ** 2).mean())

    def detached(self, x: Any, y: Any) -> Any:
        h = torch.tanh(self.first(x)).detach()  # here
        return self.update(((self.second(h) - y) ** 2).mean())

    def constant(self, x: Any, y: Any) -> Any:
        h = self.first(torch.ones(2, 3))
        return self.update((self.second(h) ** 2).mean())  # here

    def widened(self, x: Any, y: Any) -> Any:
        return self.second(self.first(x)) * self.scale - y  # here

    def accumulated(self, x: Any, y: Any) -> Any:
        self.scale.add_(x[:, :1])
        return self.scale * 1

    def frozen(self, x: Any, y: Any) -> Any:
        return self.right(x, y)


def told(step: Callable[..., Any], lint: str) -> list[tuple[str, int]]:
    """The rules that warn in two calls, with lines counted from that with `# here`."""
    fast = sg.function(step, lint=lint)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fast(X, Y)
        fast(X, Y)
    lines, start = inspect.getsourcelines(step)
    here = next((start + i for i, line in enumerate(lines) if "# here" in line), 0)
    assert all(one.filename == __file__ for one in found)
    return [(str(one.message).rpartition("[")[2][:-1], one.lineno - here) for one in found]


@pytest.mark.parametrize(
    ("name", "lint", "rules"),
    [
        ("right", "warn", set()),
        ("frozen", "warn", set()),
        ("forgotten", "warn", {("not_in_optimizer", 0)}),
        ("forgotten", "certain", set()),
        ("detached", "warn", {("never_reached", 0)}),
        ("widened", "certain", {("float64_around", 0)}),
        ("accumulated", "certain", set()),
    ],
)
def test_what_is_said_of_a_step(name: str, lint: str, rules: set[Any]) -> None:
    world = World()
    world.first.requires_grad_(name != "frozen")
    if name in ("frozen", "forgotten"):
        world.opt.param_groups[0]["params"] = [*world.second.parameters()]
    found = told(getattr(world, name), lint)
    assert set(found) == rules
    if name == "forgotten" and rules:
        assert len(found) == 2  # of the weight and of the bias


def test_a_result_that_no_argument_reaches_is_told_of() -> None:
    fast = sg.function(World().constant, lint="warn")
    with pytest.warns(sg.LintWarning) as found:
        fast(X, Y)
    texts = sorted(str(one.message) for one in found)
    assert [text.rpartition("[")[2] for text in texts] == [
        "argument_not_read]", "argument_not_read]", "result_without_arguments]",
    ]  # fmt: skip
    assert "argument 'x' is not read by anything that the function gives or updates" in texts[0]
    assert "does not depend on the arguments: it is the same for every batch" in texts[2]
