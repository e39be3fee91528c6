"""Every module of `dynamic.nn` in a training step that is captured: eager and compiled alike."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn
from tests.combinations import some
from tests.dynamic.capture.modules import CASES, Case

STEPS = 3
ABSTRACT = {"Module", "ModuleDict", "ParameterDict", "ParameterList"}
"""What is no layer, or stands in the model of `ModuleList`."""

EAGER = {"FractionalMaxPool2d", "FractionalMaxPool3d"}
"""What is drawn by values, which a graph has none of."""


class Model(nn.Module):
    """A layer that learns what the module gets, and the module."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.scale = nn.Parameter(dynamic.rand(case.shape) + 0.5)
        self.module = case.make()
        self.double()
        self.output = case.output

    def forward(self, x: Any, *others: Any) -> Any:
        return self.output(self.module(x * self.scale, *others))


class Training:
    """A model, its optimizer, and a step of it."""

    def __init__(self, case: Case) -> None:
        dynamic.manual_seed(0)
        self.model = Model(case)
        self.optimizer = dynamic.optim.AdamW(self.model.parameters(), lr=0.01)

    def step(self, x: Any, *others: Any) -> Any:
        self.optimizer.zero_grad()
        found = self.model(x, *others)
        # of each element another multiple: what is normalised has a gradient too
        weights = dynamic.cos(dynamic.arange(found.numel(), dtype=dynamic.float64))
        loss = (found * found).mean() + (found * weights.reshape(found.shape)).sum()
        loss.backward()
        self.optimizer.step()
        return loss

    def state(self) -> dict[str, Any]:
        state = {name: value.numpy() for name, value in self.model.state_dict().items()}
        moments = self.optimizer.state_dict()["state"]
        return state | {
            f"{number}.{kind}": value.numpy()
            for number, kept in moments.items()
            for kind, value in kept.items()
        }


def trained(case: Case, step: Any, training: Training) -> list[float]:
    rng = np.random.default_rng(0)
    losses = []
    dynamic.manual_seed(1)
    for _ in range(STEPS):
        x = rng.normal(size=case.shape)
        given = [dynamic.tensor(one) for one in (x, *case.others(rng))]
        losses.append(float(step(*given).item()))
    return losses


def agree(name: str, **options: Any) -> None:
    case = CASES[name]
    eager, captured = Training(case), Training(case)
    expected = trained(case, eager.step, eager)
    found = trained(case, sg.function(captured.step, **options), captured)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    mine, theirs = captured.state(), eager.state()
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        assert mine[key].dtype == value.dtype
        np.testing.assert_allclose(mine[key], value, rtol=1e-9, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", some(CASES, 70))
def test_a_captured_training_step_is_the_eager_one(name: str) -> None:
    agree(name, debug=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Dropout", "BatchNorm2d", "LSTM", "TransformerEncoderLayer"])
def test_compiled_it_is_so_too(name: str) -> None:
    agree(name)


@pytest.mark.slow
def test_the_loss_of_sequences_is_captured_for_all_lengths() -> None:
    loss = nn.CTCLoss()
    captured = sg.function(lambda x, y, ends, most: loss(x.log_softmax(-1), y, ends, most))
    rng = np.random.default_rng(0)
    for steps, count in ((6, 2), (9, 3)):
        x = dynamic.tensor(rng.normal(size=(steps, count, 4)), requires_grad=True)
        y = dynamic.tensor(rng.integers(1, 4, (count, 3)))
        ends, most = dynamic.tensor([steps] * count), dynamic.tensor([3] * (count - 1) + [2])
        expected = loss(x.log_softmax(-1), y, ends, most)
        (slope,) = dynamic.autograd.grad(expected, x)
        found = captured(x, y, ends, most)
        np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-12)
        np.testing.assert_allclose(
            dynamic.autograd.grad(found, x)[0].numpy(), slope.numpy(), rtol=1e-10, atol=1e-13
        )
    assert str(captured.explain()).splitlines()[0].endswith("1 trace")


def test_every_module_is_trained() -> None:
    classes = {
        name
        for name in nn.__all__
        if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    }
    assert classes - ABSTRACT - EAGER - {"CTCLoss"} <= CASES.keys()
