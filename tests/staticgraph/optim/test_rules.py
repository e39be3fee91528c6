"""Every optimizer, compiled: against PyTorch's recorded paths, and step by step against eager."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from tests.data.optim_cases import OPTIMIZERS, STEPS, loss, parameters, points, ridge_regression
from tests.paths import TESTS

RECORDED = np.load(TESTS / "data" / "optim_trajectories.npz")
FACTS = json.loads(str(RECORDED["facts"]))["optimizers"]
FIRST_ORDER = [i for i, (name, _) in enumerate(OPTIMIZERS) if name != "LBFGS"]
LION: list[dict[str, Any]] = [
    {"lr": 0.01}, {"lr": 0.01, "betas": (0.7, 0.9), "weight_decay": 0.3},
    {"lr": 0.001, "maximize": True, "weight_decay": 0.1},
]  # fmt: skip
CASES: list[tuple[str, dict[str, Any]]] = [
    *(OPTIMIZERS[i] for i in FIRST_ORDER), *(("Lion", options) for options in LION)
]  # fmt: skip
INTERPRETED = 10
"""Steps of which all that is kept is compared, in all cases, op by op; compiled are fewer cases."""
COMPILED = sorted({name: i for i, (name, _) in enumerate(CASES)}.values())
"""The last case of each optimizer, which mostly has the most options."""
NARROW = [i for i in COMPILED if CASES[i][0] in ("SGD", "AdamW", "NAdam", "Adagrad", "Adafactor")]
FLAGS = {"foreach", "capturable", "differentiable", "fused"}


@dataclass
class Path:
    """What a run left: the parameters after STEPS, and what was saved after the first steps."""

    rows: list[Any] = field(default_factory=list)
    saved: list[dict[str, Any]] = field(default_factory=list)


def flat(values: Any) -> Any:
    return np.concatenate([np.asarray(one).reshape(-1) for one in values])


@functools.cache
def paths(dtype: str, compiled: bool) -> dict[int, Path]:
    """The paths of the cases, all of them steps of one function."""
    x, y = (sg.constant(one) for one in points(dtype))
    made, losses, updates = [], [], {}
    wanted = {"float64": COMPILED, "float32": NARROW}[dtype] if compiled else range(len(CASES))
    for i in wanted:
        name, options = CASES[i]
        variables = [sg.variable(one) for one in parameters(dtype)]
        optimizer = getattr(sg.optim, name)(**options)
        losses.append(ridge_regression(sg, x, y, *variables, 0.0))
        updates |= optimizer.minimize(losses[-1], variables)
        made.append((i, variables, optimizer, Path()))
    step = sg.compile([], losses, updates=updates, lint="off", debug=not compiled)
    for count in range(1, (max(STEPS) if compiled else INTERPRETED) + 1):
        step()
        for _, variables, optimizer, path in made:
            if count in STEPS:
                path.rows.append(flat(one.value for one in variables))
            if count <= INTERPRETED:
                path.saved.append(optimizer.state_dict())
    return {i: path for i, _, _, path in made}


def eager(name: str, options: dict[str, Any], dtype: str) -> Path:
    leaves = [dynamic.tensor(one, requires_grad=True) for one in parameters(dtype)]
    optimizer, path = getattr(dynamic.optim, name)(leaves, **options), Path()
    for count in range(1, INTERPRETED + 1):
        optimizer.zero_grad()
        loss(dynamic, *leaves, 0.0).backward()
        optimizer.step()
        if count in STEPS:
            path.rows.append(flat(leaf.detach().numpy() for leaf in leaves))
        saved = optimizer.state_dict()
        for key, state in saved["state"].items():
            state = {kind: np.array(value.numpy()) for kind, value in state.items()}
            saved["state"] = {**saved["state"], key: state}
        path.saved.append({**saved, "param_groups": [dict(saved["param_groups"][0])]})
    return path


def follow(rows: Any, i: int, dtype: str, bound: float) -> None:
    found = np.array(rows)
    expected = RECORDED[dtype][FIRST_ORDER[i]][: len(found)]
    assert found.dtype == dtype
    error = np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)
    assert error.max() < bound


@pytest.mark.slow
@pytest.mark.parametrize("i", range(len(FIRST_ORDER)))
def test_the_first_steps_follow_pytorch(i: int) -> None:
    follow(paths("float64", compiled=False)[i].rows, i, "float64", 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("i", "dtype"), [*((i, "float64") for i in COMPILED[:-1]), *((i, "float32") for i in NARROW)]
)
def test_100_compiled_steps_follow_pytorch(i: int, dtype: str) -> None:
    bound = {"float64": 1e-13, "float32": 1e-5}[dtype]
    follow(paths(dtype, compiled=True)[i].rows, i, dtype, bound)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("i", "compiled"), [*((i, False) for i in range(len(CASES))), *((i, True) for i in COMPILED)]
)
def test_each_step_and_all_that_is_kept_is_the_eager_one(i: int, compiled: bool) -> None:
    path, other = paths("float64", compiled)[i], eager(*CASES[i], "float64")
    for found, expected in zip(path.rows, other.rows, strict=False):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    for mine, theirs in zip(path.saved, other.saved, strict=True):
        assert mine["state"].keys() == theirs["state"].keys()
        for key, state in theirs["state"].items():
            assert mine["state"][key].keys() == state.keys()
            for kind, expected in state.items():
                found = mine["state"][key][kind]
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                # the numbers that are kept in float32 may round the other way
                bound = 1e-12 if found.dtype == np.float64 else 1e-7
                np.testing.assert_allclose(found, expected, rtol=bound, atol=1e-14)
        (group,), (expected,) = mine["param_groups"], theirs["param_groups"]
        assert group == {key: expected[key] for key in expected if key not in FLAGS}


@pytest.mark.parametrize("i", NARROW)
def test_what_is_saved_has_the_names_of_pytorch(i: int) -> None:
    facts, saved = FACTS[FIRST_ORDER[i]], paths("float32", compiled=True)[i].saved[-1]
    state = {str(key): one for key, one in saved["state"].items()}
    assert {key: set(one) for key, one in state.items()} == {
        key: set(one) for key, one in facts["state"].items()
    }
    for key, described in facts["state"].items():
        for kind, (dtype, shape) in described.items():
            assert f"torch.{state[key][kind].dtype}" == dtype
            assert list(state[key][kind].shape) == shape
    (options,) = json.loads(json.dumps(saved["param_groups"]))
    (expected,) = facts["groups"]
    assert {key: options[key] for key in options if key != "params"} == {
        key: value for key, value in expected.items() if key not in FLAGS
    }


@pytest.mark.parametrize("options", LION)
def test_lion_is_that_of_the_paper(options: dict[str, Any]) -> None:
    """Chen et al. 2023, algorithm 2, line by line."""
    (first, second), decay = options.get("betas", (0.9, 0.99)), options.get("weight_decay", 0.0)
    x, y = points("float64")
    weight, bias, rate = parameters("float64")
    means = [np.zeros_like(one) for one in (weight, bias, rate)]
    rows = []
    for count in range(1, INTERPRETED + 1):
        decline = np.exp(-rate * rate)
        hidden = np.tanh(x @ weight.T + bias)
        upstream = 2 * (hidden * decline - y) / y.size
        inner = upstream * decline * (1 - hidden**2)
        found = [inner.T @ x, inner.sum(0), (upstream * hidden).sum() * decline * -2 * rate]
        found = [-one if options.get("maximize") else one for one in found]
        after = []
        for p, g, m in zip((weight, bias, rate), found, means, strict=True):
            u = np.sign(first * m + (1 - first) * g)
            after.append(p - options["lr"] * (u + decay * p))
        means = [second * m + (1 - second) * g for m, g in zip(means, found, strict=True)]
        weight, bias, rate = after
        if count in STEPS:
            rows.append(flat(after))
    path = paths("float64", compiled=False)[len(FIRST_ORDER) + LION.index(options)]
    np.testing.assert_allclose(path.rows[: len(rows)], rows, rtol=1e-12, atol=1e-14)


def adafactor(
    p: Any, gradients: list[Any], eps: tuple[float, float], d: float, lr: float, decay: float
) -> Any:
    """Shazeer, Stern 2018, algorithm 4 with the relative steps of section 8, for a matrix."""
    rows, columns = np.zeros(p.shape[0]), np.zeros(p.shape[1])
    for t, g in enumerate(gradients, 1):
        beta = 1 - t**decay
        rho = min(lr, 1 / np.sqrt(t))
        alpha = max(eps[1], np.sqrt(np.mean(p * p))) * rho
        rows = beta * rows + (1 - beta) * np.sum(g * g, axis=1)
        columns = beta * columns + (1 - beta) * np.sum(g * g, axis=0)
        u = g / np.sqrt(np.outer(rows, columns) / rows.sum())
        p = p - alpha * u / max(1, np.sqrt(np.mean(u * u)) / d)
    return p


def test_adafactor_is_that_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    start, gradients = rng.normal(size=(5, 3)), list(rng.normal(size=(6, 5, 3)))
    g, w = sg.placeholder("g", (5, 3), "float64"), sg.variable(start)
    optimizer = sg.optim.Adafactor(lr=0.3, d=1.5, eps=(1e-30, 1e-3), beta2_decay=-0.7)
    step = sg.compile([g], w.sum(), updates=optimizer.update({w: g}))
    for one in gradients:
        step(one)
    expected = adafactor(start, gradients, (1e-30, 1e-3), 1.5, 0.3, -0.7)
    np.testing.assert_allclose(w.value, expected, rtol=1e-12)
