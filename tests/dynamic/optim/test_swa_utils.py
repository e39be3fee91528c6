"""Averages of weights: by their definitions, and as PyTorch 2.13 was seen to name and set them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.dynamic import nn, optim
from staticgraph.dynamic.optim import swa_utils

RATES: list[tuple[dict[str, Any], list[float]]] = [
    ({"anneal_epochs": 4}, [0.5, 0.4414213562373095, 0.3, 0.1585786437626905, 0.1, 0.1]),
    (
        {"anneal_epochs": 3, "anneal_strategy": "linear"},
        [0.5, 0.3666666666666667, 0.23333333333333334, 0.1, 0.1, 0.1],
    ),
    ({"anneal_epochs": 0}, [0.1] * 6),
]


def model() -> Any:
    dynamic.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).double()


def values(module: Any) -> list[Any]:
    return [np.array(one.detach().numpy()) for one in module.parameters()]


EMA: dict[str, tuple[dict[str, Any], float]] = {
    "avg_fn": ({"avg_fn": swa_utils.get_ema_avg_fn(0.8)}, 0.8),
    "multi_avg_fn": ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.8)}, 0.8),
}
MEAN: dict[str, dict[str, Any]] = {
    "default": {},
    "avg_fn": {"avg_fn": swa_utils.get_swa_avg_fn()},
    "multi_avg_fn": {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()},
}


def run(options: dict[str, Any], captured: bool = False) -> tuple[Any, Any, list[list[Any]]]:
    trained = model()
    averaged = swa_utils.AveragedModel(trained, **options)
    optimizer = optim.SGD(trained.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (trained(x) ** 3).sum()
        loss.backward()
        optimizer.step()
        averaged.update_parameters(trained)
        return loss

    called = sg.function(step, debug=True) if captured else step
    path = []
    for i in range(4):
        called(dynamic.tensor(np.random.default_rng(i).normal(size=(5, 2))))
        path.append(values(trained))
    return trained, averaged, path


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", MEAN)
def test_the_mean_of_all_steps(name: str, captured: bool) -> None:
    trained, averaged, path = run(MEAN[name], captured)
    for found, *expected in zip(values(averaged.module), *path, strict=True):
        np.testing.assert_allclose(found, np.mean(expected, axis=0), rtol=1e-12)
    assert averaged.n_averaged.item() == 4
    np.testing.assert_array_equal(
        averaged.module[1].running_mean.numpy(), trained[1].running_mean.numpy()
    )


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", EMA)
def test_an_exponential_average_begins_with_the_first(name: str, captured: bool) -> None:
    options, decay = EMA[name]
    _, averaged, path = run(options, captured)
    for found, first, *others in zip(values(averaged.module), *path, strict=True):
        expected = first
        for one in others:
            expected = decay * expected + (1 - decay) * one
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_buffers_are_averaged_if_asked_for() -> None:
    trained = model()
    averaged = swa_utils.AveragedModel(trained, use_buffers=True)
    means = []
    for i in range(3):
        trained(dynamic.tensor(np.random.default_rng(i).normal(size=(5, 2))))
        averaged.update_parameters(trained)
        means.append(np.array(trained[1].running_mean.numpy()))
    np.testing.assert_allclose(averaged.module[1].running_mean.numpy(), np.mean(means, axis=0))
    assert list(averaged.state_dict()) == [
        "n_averaged", "module.0.weight", "module.0.bias", "module.1.weight", "module.1.bias",
        "module.1.running_mean", "module.1.running_var", "module.1.num_batches_tracked",
    ]  # fmt: skip
    x = dynamic.ones(3, 2, dtype=dynamic.float64)
    np.testing.assert_array_equal(
        averaged.eval()(x).detach().numpy(), averaged.module(x).detach().numpy()
    )


def test_running_statistics_of_all_data() -> None:
    trained = model().eval()
    batches = [np.random.default_rng(i).normal(size=(5, 2)) for i in range(3)]
    swa_utils.update_bn([(dynamic.tensor(one), None) for one in batches], trained)
    inner = [trained[0](dynamic.tensor(one)).detach().numpy() for one in batches]
    norm = trained[1]
    np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([x.mean(0) for x in inner], 0))
    expected = np.mean([x.var(0, ddof=1) for x in inner], 0)
    np.testing.assert_allclose(norm.running_var.numpy(), expected)
    assert not trained.training and norm.momentum == 0.1
    swa_utils.update_bn([], nn.Linear(2, 2))


@pytest.mark.parametrize(("options", "expected"), RATES)
def test_rates_are_those_of_pytorch(options: dict[str, Any], expected: list[float]) -> None:
    p = dynamic.ones(1, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5)
    scheduler = swa_utils.SWALR(optimizer, 0.1, **options)
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(5):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert sorted(scheduler.state_dict()) == [
        "_anneal_strategy", "_get_lr_called_within_step", "_is_initial", "_last_lr", "_step_count",
        "anneal_epochs", "base_lrs", "last_epoch",
    ]  # fmt: skip


def test_what_cannot_be_is_refused() -> None:
    optimizer = optim.SGD([dynamic.ones(1, requires_grad=True)], lr=0.5)
    for options, message in [
        ({"swa_lr": 0.1, "anneal_strategy": "x"}, "anneal_strategy must be one of 'cos' or 'linea"),
        ({"swa_lr": 0.1, "anneal_epochs": -1}, "anneal_epochs must be equal or greater than 0, go"),
        ({"swa_lr": [0.1, 0.2]}, "swa_lr must have the same length as optimizer.param_groups"),
    ]:
        with pytest.raises(ValueError, match=message):
            swa_utils.SWALR(optimizer, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Invalid decay value 1.5 provided"):
        swa_utils.get_ema_avg_fn(1.5)
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be"):
        swa_utils.AveragedModel(
            model(), avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=lambda *given: None
        )
