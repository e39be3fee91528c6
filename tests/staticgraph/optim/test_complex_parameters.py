"""Complex parameters of both paradigms' optimizers: pairs of real numbers, as PyTorch has them."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg

START = np.array([[1 + 1j, 2.0], [0.3 - 1j, 0.1j]])
TARGET = np.array([[1 - 2j, 0.5], [2j, 3.0]])
OPTIONS: dict[str, dict[str, object]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
    "Adadelta": {"lr": 1.0, "weight_decay": 0.1},
    "Adagrad": {"lr": 0.1, "initial_accumulator_value": 0.5},
    "ASGD": {"lr": 0.1, "t0": 2},
    "NAdam": {"lr": 0.1},
    "RAdam": {"lr": 0.1},
    "RMSprop": {"lr": 0.01, "momentum": 0.9, "centered": True},
    "Rprop": {"lr": 0.1},
    "Lion": {"lr": 0.1, "weight_decay": 0.1},
    "LBFGS": {"lr": 0.3, "max_iter": 3},
}


def _loss(z):
    return sg.sum(sg.abs(z - TARGET) ** 2) + 0.01 * sg.sum(sg.abs(z) ** 4)


def _eager(name, parameter, complex_of):
    optimizer = getattr(torch.optim, name)([parameter], **OPTIONS[name])

    def closure():
        optimizer.zero_grad()
        loss = _loss(complex_of(parameter))
        loss.backward()
        return loss

    return optimizer, lambda: float(optimizer.step(closure))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_they_are_pairs_of_real_numbers_and_runs_change_paradigm(name):
    pairs = torch.tensor(START.copy().view(np.float64).reshape(2, 2, 2), requires_grad=True)
    _, step_pairs = _eager(name, pairs, torch.view_as_complex)
    z = torch.tensor(START.copy(), requires_grad=True)
    optimizer, step = _eager(name, z, lambda z: z)
    w = sg.variable(START.copy())
    compiled = getattr(sg.optim, name)(**OPTIONS[name])
    call = sg.compile([], _loss(w), updates=compiled.minimize(_loss(w)))
    for i in range(5):
        if i == 3:
            compiled.load_state_dict(optimizer.state_dict())
        expected = step_pairs()
        np.testing.assert_allclose([step(), float(call())], expected, rtol=1e-12)
    ends = pairs.detach().numpy().view(np.complex128)[..., 0]
    np.testing.assert_allclose(z.detach().numpy(), ends, rtol=1e-12)
    np.testing.assert_allclose(w.value, ends, rtol=1e-12)


def test_parameters_that_lie_with_gaps_are_changed_where_they_are():
    z = torch.tensor(START.copy()).T.requires_grad_()
    optimizer, step = _eager("Adam", z, lambda z: z.T)
    other = torch.tensor(START.copy(), requires_grad=True)
    _, step_other = _eager("Adam", other, lambda z: z)
    assert [step(), step()] == [step_other(), step_other()]
    np.testing.assert_array_equal(z.T.detach().numpy(), other.detach().numpy())
    assert optimizer.state[z]["exp_avg"].dtype is torch.complex128


def test_the_norm_of_complex_gradients_is_that_of_both_parts():
    w = sg.variable(np.array([3 + 4j]))
    step = sg.optim.SGD(lr=1.0, clip_norm=1.0).minimize(sg.sum(sg.abs(w) ** 2))
    sg.compile([], [], updates=step)()
    np.testing.assert_allclose(w.value, (3 + 4j) * 0.8, rtol=1e-6)


def test_adafactor_whose_means_are_of_rows_takes_none():
    w = sg.variable(START.copy(), name="w")
    with pytest.raises(sg.GraphError, match="Adafactor does not take complex parameters"):
        sg.optim.Adafactor().minimize(_loss(w))
    with pytest.raises(RuntimeError, match="Adafactor does not support complex parameters"):
        torch.optim.Adafactor([torch.tensor(START, requires_grad=True)])
