"""`diff` of functions that change something: both from the same state, which stays the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.differences.steps import in_fork

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(6, 3)).astype("f4"), RNG.normal(size=(6, 2)).astype("f4")


class Training:
    """A layer with an optimizer that has a state, and what is counted."""

    def __init__(self) -> None:
        self.layer = torch.nn.Linear(3, 2)
        self.optimizer = torch.optim.Adam(self.layer.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.seen = 0
        self.losses: list[Any] = []

    def step(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        dropped = torch.nn.functional.dropout(self.layer(x), 0.2)
        loss = ((dropped - y) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.seen += 1
        self.losses.append(loss.item())
        return loss.detach()

    def state(self) -> str:
        parts = self.layer.state_dict(), self.optimizer.state_dict(), self.scheduler.state_dict()
        grads = [one.grad for one in self.layer.parameters()]
        return repr((parts, grads, self.seen, self.losses, torch.get_rng_state()))


def test_what_a_function_changes_is_a_result() -> None:
    total = torch.zeros(3, requires_grad=True)

    def adds(x: Any) -> Any:
        (total * x).sum().backward()
        with torch.no_grad():
            total.add_(1)
        return x

    found = sg.diff(adds, X, exact=True)
    assert found.agrees, str(found)
    assert [row.op for row in found.results] == [
        "output 0", "total after", "gradient of total after",
    ]  # fmt: skip
    assert total.grad is None
    assert not total.detach().numpy().any()


@pytest.mark.long
@pytest.mark.parametrize("exact", [True, False])
def test_a_training_step_is_compared_with_what_it_leaves(exact: bool) -> None:
    training = Training()
    before = training.state()
    found = sg.diff(training.step, X, Y, exact=exact)
    assert found.agrees, str(found)
    assert training.state() == before
    titles = [row.op for row in found.results]
    for name in (
        "output 0", "self.layer.weight after", "gradient of self.layer.weight after",
        "Adam['state'][0]['exp_avg'] after", "Adam['param_groups'][0]['lr'] after",
        "StepLR['last_epoch'] after", "self.seen after", "self.losses[0] after",
    ):  # fmt: skip
        assert name in titles, titles
    assert "gradient of power" in " ".join(row.title for row in found.values)
    line = Training.step.__code__.co_firstlineno + 5
    row = next(row for row in found.results if row.op == "self.layer.weight after")
    assert row.source.endswith(f"test_steps.py:{line}")
    if exact:
        assert all(row.equal for row in found.rows())


@pytest.mark.long
def test_parameters_that_are_read_after_a_step_have_their_values_then() -> None:
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def twice(x: Any, y: Any) -> Any:
        for _ in range(2):
            optimizer.zero_grad()
            loss = ((layer(x) - y) ** 2).sum()
            loss.backward()
            optimizer.step()
        return loss.detach()

    weight = layer.weight.detach().clone()
    found = sg.diff(twice, X, Y)
    assert found.agrees, str(found)
    assert torch.equal(layer.weight, weight)
    assert [row.op for row in found.values].count("matmul") == 4


@pytest.mark.long
def test_a_wrong_gradient_is_the_first_that_is_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, training = sg.compile, Training()

    def wrong(inputs: Any, outputs: Any, **options: Any) -> Any:
        listed = outputs if isinstance(outputs, list) else [outputs]
        made = [one * (1 + 1e-3) if str(one.type) == "float32[2, x.1]" else one for one in listed]
        return compiled(inputs, made if isinstance(outputs, list) else made[0], **options)

    monkeypatch.setattr("staticgraph.tracing.parts.compile", wrong)
    found = sg.diff(training.step, X, Y)
    assert not found.agrees
    assert found.divergence is not None
    far = [row.title for row in found.values if found.is_far(row)]
    assert "transpose, gradient of transpose" in far


@pytest.mark.long
def test_random_numbers_buffers_and_arguments() -> None:
    norm, count = torch.nn.BatchNorm1d(3), torch.zeros(3)

    def f(x: Any) -> Any:
        count.add_(1)
        x.mul_(2)
        return torch.nn.functional.dropout(norm(x))

    x = torch.tensor(X)
    found = sg.diff(f, x)
    assert found.agrees, str(found)
    assert {row.op for row in found.results} == {
        "output 0", "x after", "norm.running_mean after", "norm.running_var after",
        "norm.num_batches_tracked after", "count after",
    }  # fmt: skip
    np.testing.assert_array_equal(x.numpy(), X)
    assert (float(count.sum()), int(norm.num_batches_tracked)) == (0.0, 0)
    line = f"test_steps.py:{f.__code__.co_firstlineno + 1}: what its backward"
    with pytest.raises(sg.OptionError, match=line):
        sg.diff(f, x, gradient=True)


def test_what_a_fork_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnError(Exception):
        pass

    def fails(error: Exception) -> None:
        raise error

    with pytest.raises(ZeroDivisionError):
        in_fork(lambda: 1 // 0)
    with pytest.raises(
        sg.StaticGraphError, match="OwnError: what"
    ):  # no other process knows the class
        in_fork(lambda: fails(OwnError("what")))
    with pytest.raises(sg.OptionError, match="the process in which the function ran has ended"):
        in_fork(lambda: __import__("os")._exit(3))
    monkeypatch.delattr("os.fork")
    with pytest.raises(sg.OptionError, match="compared where there are forks"):
        in_fork(lambda: 1)
