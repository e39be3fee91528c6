"""Orthogonal weights, interpolation without aliasing, 3-d norm pooling: values of PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn import functional
from staticgraph.dynamic.nn.utils import parametrizations

INTERPOLATED: dict[str, list[float]] = {
    "size=(4, 3), mode='bilinear'": [
        -0.024996, 0.648233, 0.014829, -0.605788, -0.147937, 0.608109, 0.349149, -0.474772,
        -0.341703, 0.487082, 0.472971, -0.4945,
    ],
    "size=(2, 3), mode='bicubic'": [
        -0.340611, 0.173443, 0.333169, 0.375944, -0.080847, -0.372475,
    ],
    "size=(7, 2), mode='bicubic'": [
        0.623245, 0.015831, -0.087201, 0.630686, -0.677339, 0.587865, -0.531971, -0.083211,
        0.164226, -0.668127, 0.694335, -0.535718, 0.524198, 0.163653,
    ],
    "scale_factor=0.4, mode='bilinear'": [-0.077895, 0.345111, 0.020905, -0.23529],
    "size=(3, 2), mode='bilinear', align_corners=True": [
        0.101518, 0.302683, -0.090507, -0.187953, 0.316205, -0.356331,
    ],
    "scale_factor=(0.5, 0.7), mode='bicubic'": [
        -0.364849, 0.518678, 0.495844, -0.130941, -0.634207, -0.048537, 0.580795, 0.527247,
        -0.415798,
    ],
}  # fmt: skip
PARAMETRIZED: dict[tuple[int, int, str], list[float]] = {
    (3, 3, "matrix_exp"): [
        0.34442, 0.786204, -0.513087, -0.546953, 0.612235, 0.570974, 0.763032, 0.08398, 0.640882,
    ],
    (3, 3, "cayley"): [
        0.464274, 0.729368, -0.502465, -0.533858, 0.683127, 0.498331, 0.706714, 0.036882, 0.706537,
    ],
    (3, 2, "householder"): [0.0, 0.835701, 0.297305, -0.524352, 0.954782, 0.163276],
    (2, 3, "householder"): [0.0, 0.939045, 0.343795, -0.573903, 0.281542, -0.769006],
    (3, 2, "cayley"): [0.644457, 0.118005, 0.526048, 0.648623, 0.554931, -0.751906],
}  # fmt: skip


def _double(values: Any) -> Any:
    return torch.tensor(np.asarray(values, np.float64))


def _flat(x: Any) -> Any:
    return x.detach().numpy().reshape(-1)


@pytest.mark.parametrize("options", INTERPOLATED)
def test_interpolation_without_aliasing(options: str) -> None:
    x = _double(np.sin(np.arange(30.0)).reshape(1, 1, 6, 5)).requires_grad_()
    found = eval(f"interpolate(x, antialias=True, {options})", {
        "interpolate": functional.interpolate, "x": x,
    })  # fmt: skip
    np.testing.assert_allclose(_flat(found), INTERPOLATED[options], atol=2e-6)
    found.sum().backward()  # the weights of each element sum up to 1
    assert float(x.grad.sum()) == pytest.approx(found.numel())


def test_only_two_modes_are_without_aliasing() -> None:
    with pytest.raises(ValueError, match="Anti-alias option is restricted to bilinear and bicubic"):
        functional.interpolate(torch.ones(1, 1, 2, 2), (1, 1), antialias=True)


def test_norms_of_windows_of_three_axes() -> None:
    x = _double(np.cos(np.arange(24.0) * 0.3).reshape(1, 1, 2, 4, 3))
    expected = [1.952848, 1.627271, 1.405654, 1.644422, 2.259682, 2.437384]
    np.testing.assert_allclose(_flat(functional.lp_pool3d(x, 2.0, 2, 1)), expected, atol=1e-6)
    layer = torch.nn.LPPool3d(3.0, 2)
    np.testing.assert_allclose(_flat(layer(x.abs())), [1.484796, 1.656382], atol=1e-6)


def test_products_of_reflections() -> None:
    a = _double(np.sin(np.arange(6.0) ** 1.5).reshape(3, 2)).requires_grad_()
    tau = _double([0.5, 1.2]).requires_grad_()
    found = torch.linalg.householder_product(a, tau)
    expected = [0.5, -0.552704, -0.154036, -0.370273, -0.494679, 0.632753]
    np.testing.assert_allclose(_flat(found), expected, atol=1e-6)
    assert torch.autograd.gradcheck(torch.linalg.householder_product, (a, tau))
    with pytest.raises(RuntimeError, match=r"input\.shape\[-2\] must be greater than or equal"):
        torch.linalg.householder_product(a.mT, tau)
    with pytest.raises(RuntimeError, match=r"greater than or equal to tau\.shape\[-1\], got 2"):
        torch.linalg.householder_product(a, _double([0.5, 1.2, 1.0]))


def _layer(rows: int, columns: int) -> Any:
    layer = torch.nn.Linear(columns, rows, bias=False).double()
    weight = np.sin(np.arange(float(rows * columns)) ** 1.5).reshape(rows, columns)
    with torch.no_grad():
        layer.weight.copy_(_double(weight))
    return layer


@pytest.mark.parametrize("key", PARAMETRIZED)
def test_orthogonal_weights(key: tuple[int, int, str]) -> None:
    rows, columns, name = key
    layer = _layer(rows, columns)
    parametrizations.orthogonal(layer, orthogonal_map=name, use_trivialization=False)
    np.testing.assert_allclose(_flat(layer.weight), PARAMETRIZED[key], atol=1e-6)
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad.abs().sum() > 0


@pytest.mark.parametrize("name", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_training_starts_at_the_weight_and_stays_orthogonal(
    shape: tuple[int, int], name: str | None
) -> None:
    layer = parametrizations.orthogonal(_layer(*shape), orthogonal_map=name)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.02)
    losses = []
    for _ in range(4):
        w = layer.weight
        product = w @ w.mT if shape[0] < shape[1] else w.mT @ w
        np.testing.assert_allclose(product.detach(), np.eye(3), atol=1e-12)
        loss = ((w - 1) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    wanted = torch.linalg.qr(_double(np.cos(np.arange(16.0) ** 1.3).reshape(4, 4)))[0]
    wanted = wanted[: shape[0], : shape[1]] if shape[0] != shape[1] else torch.eye(3).double()
    layer.weight = wanted
    np.testing.assert_allclose(layer.weight.detach(), wanted, atol=1e-12)


def test_what_is_no_orthogonal_parametrization() -> None:
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(_layer(2, 2), orthogonal_map="qr")
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'bias'"):
        parametrizations.orthogonal(_layer(2, 2), "bias")
    with pytest.raises(ValueError, match="Got a tensor of 1 dimensions"):
        parametrizations.orthogonal(torch.nn.Linear(2, 2), "bias")
    layer = parametrizations.orthogonal(_layer(2, 2))
    with pytest.raises(ValueError, match=r"of shape torch.Size\(\[2, 2\]\). Got a tensor of shape"):
        layer.weight = torch.ones(3, 2).double()
    layer = parametrizations.orthogonal(_layer(2, 2), use_trivialization=False)
    with pytest.raises(NotImplementedError, match="not possible to assign to the matrix exponen"):
        layer.weight = torch.eye(2).double()
    weight = torch.nn.Module()
    weight.weight = torch.nn.Parameter(torch.eye(2).cdouble())
    with pytest.raises(ValueError, match="householder parametrization does not support complex"):
        parametrizations.orthogonal(weight, orthogonal_map="householder")
