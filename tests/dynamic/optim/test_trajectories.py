"""Optimizers against PyTorch: 100 steps of each option, as `tests/data` recorded them."""

import functools
import json

import numpy as np
import pytest

import dynamic
from tests.combinations import some
from tests.data.optim_cases import OPTIMIZERS, loss, trajectory
from tests.paths import TESTS

RECORDED = np.load(TESTS / "data" / "optim_trajectories.npz")
FACTS = json.loads(str(RECORDED["facts"]))["optimizers"]
CASES = [
    pytest.param(i, id=f"{name}-{'-'.join(map(str, options.values()))}")
    for i, (name, options) in enumerate(OPTIMIZERS)
]
FIRST_ORDER = [case for case in CASES if OPTIMIZERS[case.values[0]][0] != "LBFGS"]
QUASI_NEWTON = [case for case in CASES if OPTIMIZERS[case.values[0]][0] == "LBFGS"]


@functools.cache
def run(i, dtype):
    """The path of a case, and its optimizer after it."""
    return trajectory(dynamic, *OPTIMIZERS[i], dtype)


def error(i, dtype):
    """The largest error of a coordinate after each recorded step, relative to the largest one."""
    expected = RECORDED[dtype][i]
    path, _ = run(i, dtype)
    assert path.dtype == dtype
    return np.abs(path - expected).max(axis=1) / np.abs(expected).max(axis=1)


def value(flat):
    """The loss that the quasi-Newton methods make small, in float64."""
    weight, bias, rate = np.split(flat.astype("float64"), (12, 15))
    leaves = (dynamic.tensor(one) for one in (weight.reshape(3, 4), bias, rate[0]))
    return loss(dynamic, *leaves, 0.02).item()


@pytest.mark.slow
@pytest.mark.parametrize("i", FIRST_ORDER)
def test_float64_follows_pytorch_to_rounding(i):
    assert error(i, "float64").max() < 1e-13


@pytest.mark.slow
@pytest.mark.parametrize("i", some(FIRST_ORDER, 16))
def test_float32_follows_pytorch_to_rounding(i):
    assert error(i, "float32").max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("i", QUASI_NEWTON)
def test_lbfgs_in_float64_follows_pytorch(i):
    assert error(i, "float64").max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("i", QUASI_NEWTON)
def test_lbfgs_in_float32_ends_as_low_as_pytorch(i):
    # Which way it takes is decided by rounding, which differs from processor to processor. Where
    # it ends, a gradient may be left of 1e-3, and the ridge of 0.02 bends the loss by 0.04.
    path, _ = run(i, "float32")
    reached, expected = (value(one[-1]) for one in (path, RECORDED["float32"][i]))
    assert abs(reached - expected) < 1e-3**2 / (2 * 0.04)


@pytest.mark.slow
@pytest.mark.parametrize("i", CASES)
def test_options_and_state_are_those_of_pytorch(i):
    _, optimizer = run(i, "float32")
    assert repr(optimizer) == FACTS[i]["repr"]
    saved = optimizer.state_dict()
    options = [{k: v for k, v in group.items() if k != "params"} for group in saved["param_groups"]]
    assert json.loads(json.dumps(options)) == FACTS[i]["groups"]
    assert {str(index): set(one) for index, one in saved["state"].items()} == {
        index: set(one) for index, one in FACTS[i]["state"].items()
    }
    for index, state in FACTS[i]["state"].items():
        for key, described in state.items():
            value = saved["state"][int(index)][key]
            if described and key != "t":  # the step of LBFGS is a number here
                assert [str(value.dtype), list(value.shape)] == described
