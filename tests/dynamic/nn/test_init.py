"""Initial values: distributions and bounds, by statistics of large samples; and `nn.utils`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.nn import init

GENERATOR = np.random.default_rng(5)


def _is_uniform(tensor: Any, bound: float) -> bool:
    values = tensor.detach().numpy().reshape(-1).astype(np.float64)
    inside = bool(np.abs(values).max() <= bound * (1 + 1e-6))
    return inside and stats.kstest(values, stats.uniform(-bound, 2 * bound).cdf).pvalue > 1e-4


def _is_normal(tensor: Any, mean: float, std: float) -> bool:
    values = tensor.detach().numpy().reshape(-1).astype(np.float64)
    return bool(stats.kstest(values, stats.norm(mean, std).cdf).pvalue > 1e-4)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(11)


def test_plain_fills() -> None:
    x = torch.empty(40, 50)
    assert _is_uniform(init.uniform_(x, -0.3, 0.3), 0.3)
    assert _is_normal(init.normal_(x, 1.0, 2.0, generator=GENERATOR), 1.0, 2.0)
    assert init.constant_(x, 3.0) is x
    assert (x == 3).all()
    assert (init.ones_(x) == 1).all()
    assert (init.zeros_(x) == 0).all()
    assert np.array_equal(init.eye_(torch.empty(3, 4)).numpy(), np.eye(3, 4))


def test_fills_record_nothing_and_count_as_changes() -> None:
    parameter = nn.Parameter(torch.zeros(2, 2))
    version = parameter._version
    init.normal_(parameter)
    assert parameter.is_leaf
    assert parameter.requires_grad
    assert parameter._version > version


@pytest.mark.parametrize(
    ("low", "high", "mean", "std"),
    [(-2.0, 2.0, 0.0, 1.0), (0.0, 1.0, 2.0, 0.5), (-0.1, 0.2, 0.0, 1.0), (3.0, 9.0, 0.0, 1.0)],
)
def test_truncated_normal(low: float, high: float, mean: float, std: float) -> None:
    x = init.trunc_normal_(torch.empty(4000, dtype=torch.float64), mean, std, low, high).numpy()
    exact = stats.truncnorm((low - mean) / std, (high - mean) / std, mean, std)
    assert low <= x.min() <= x.max() <= high
    assert stats.kstest(x, exact.cdf).pvalue > 1e-4


def test_glorot_and_he() -> None:
    x = torch.empty(60, 20, 3)  # fan_in 60, fan_out 180
    assert _is_uniform(init.xavier_uniform_(x, 2.0), 2 * math.sqrt(6 / 240))
    assert _is_normal(init.xavier_normal_(x), 0, math.sqrt(2 / 240))
    assert _is_uniform(init.kaiming_uniform_(x, a=1.0), math.sqrt(3 / 60))
    assert _is_normal(
        init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"), 0, math.sqrt(2 / 180)
    )
    assert init.fans(x) == (60, 180)


@pytest.mark.parametrize("shape", [(5, 8), (8, 5), (4, 3, 2), (6, 6)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    x = init.orthogonal_(torch.empty(*shape, dtype=torch.float64), gain=2.0).numpy()
    matrix = x.reshape(shape[0], -1)
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-14)


def test_orthogonal_of_nothing_is_a_no_op() -> None:
    assert init.orthogonal_(torch.empty(0, 3)).numel() == 0


def test_layers_begin_with_pytorchs_distributions() -> None:
    linear = nn.Linear(64, 400)
    assert _is_uniform(linear.weight, 1 / 8)
    assert _is_uniform(linear.bias, 1 / 8)
    bilinear = nn.Bilinear(16, 20, 30)
    assert _is_uniform(bilinear.weight, 1 / 4)
    embedding = nn.Embedding(100, 40, padding_idx=3)
    assert embedding.weight[3].abs().sum().item() == 0
    assert _is_normal(embedding.weight[4:], 0, 1)
    lstm = nn.LSTM(30, 25, 2)
    assert all(_is_uniform(parameter, 1 / 5) for parameter in lstm.parameters())
    assert [len(group) for group in lstm.all_weights] == [4, 4]
    lstm.flatten_parameters()
    assert _is_uniform(nn.GRUCell(30, 25).weight_hh, 1 / 5)
    attention = nn.MultiheadAttention(32, 4, add_bias_kv=True)
    assert _is_uniform(attention.in_proj_weight, math.sqrt(6 / (4 * 32)))
    assert _is_uniform(attention.out_proj.weight, 1 / math.sqrt(32))
    assert attention.in_proj_bias.abs().sum().item() == 0
    assert attention.out_proj.bias.abs().sum().item() == 0
    assert nn.PReLU(2).weight.tolist() == [0.25, 0.25]
    norm = nn.LayerNorm(3)
    init.normal_(norm.weight)
    init.normal_(norm.bias)
    norm.reset_parameters()
    assert norm.weight.tolist() == [1.0, 1.0, 1.0]
    assert norm.bias.tolist() == [0.0, 0.0, 0.0]
    rms = nn.RMSNorm(2)
    init.normal_(rms.weight)
    rms.reset_parameters()
    assert rms.weight.tolist() == [1.0, 1.0]


def _with_gradients(*gradients: Any) -> list[Any]:
    parameters = []
    for gradient in gradients:
        parameter = nn.Parameter(torch.zeros(len(gradient), dtype=torch.float64))
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        parameters.append(parameter)
    return [*parameters, nn.Parameter(torch.zeros(1))]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, math.inf])
def test_clip_grad_norm(order: float) -> None:
    parameters = _with_gradients([3.0, -4.0], [12.0])
    norm = float(np.linalg.norm([3.0, -4.0, 12.0], order))
    total = nn.utils.clip_grad_norm_(parameters, 2.0, order)
    assert total.item() == pytest.approx(norm, rel=1e-15)
    factor = 2.0 / (norm + 1e-6)
    np.testing.assert_allclose(parameters[0].grad.numpy(), [3 * factor, -4 * factor], rtol=1e-15)
    np.testing.assert_allclose(parameters[1].grad.numpy(), [12 * factor], rtol=1e-15)
    assert parameters[0].grad._version == 1
    assert nn.utils.clip_grad_norm_(parameters[1], 1e9).item() == parameters[1].grad.item()
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_clip_grad_value() -> None:
    parameters = _with_gradients([3.0, -4.0, 0.5])
    nn.utils.clip_grad_value_(parameters, 1.0)
    assert parameters[0].grad.tolist() == [1.0, -1.0, 0.5]
    nn.utils.clip_grad_value_(parameters[0], 0.25)
    assert parameters[0].grad.tolist() == [0.25, -0.25, 0.25]


def test_parameters_as_a_vector() -> None:
    model = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (9,)
    vector.sum().backward()
    assert model.weight.grad.tolist() == [[1.0, 1.0]] * 3
    values = torch.arange(9.0)
    nn.utils.vector_to_parameters(values, model.parameters())
    assert model.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert model.bias.tolist() == [6.0, 7.0, 8.0]
    assert model.weight.requires_grad
