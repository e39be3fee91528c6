"""Estimators of scikit-learn: its own checks, searches in processes, networks of users."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import dynamic
import staticgraph as sg
from dynamic import nn
from staticgraph.sklearn import NetworkClassifier, NetworkRegressor

WITH_ARRAY_API = "check_array_api_input"  # is left out unless SCIPY_ARRAY_API is set


def digits(count: int = 600) -> tuple[Any, Any]:
    x, y = load_digits(return_X_y=True)
    return x[:count] / 16, y[:count]


def two_layers(x: Any, outputs: int, rng: Any) -> Any:
    w = sg.variable(rng.normal(0, 0.1, (x.shape[1], 16)), name="w")
    v = sg.variable(rng.normal(0, 0.3, (16, outputs)), name="v")
    return sg.tanh(x @ w) @ v + sg.variable(np.zeros(outputs), name="b")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [NetworkRegressor, NetworkClassifier])
def test_scikit_learns_checks_pass_of_what_was_pickled(kind: Any) -> None:
    fitted = kind().fit(np.eye(4), [0, 1, 0, 1])
    for found in check_estimator(pickle.loads(pickle.dumps(fitted)), on_skip=None, on_fail=None):
        passed = found["status"] == "passed" or found["check_name"] == WITH_ARRAY_API
        assert passed, (found["check_name"], found["exception"])


@pytest.mark.long
def test_a_search_in_processes() -> None:
    x, y = digits(300)
    pipeline = make_pipeline(StandardScaler(), NetworkClassifier(random_state=0, max_iter=10))
    choices = {"networkclassifier__alpha": [0.0, 300.0]}
    found = GridSearchCV(pipeline, choices, n_jobs=2, cv=2).fit(x, y)
    assert found.best_params_ == {"networkclassifier__alpha": 0.0}
    alone = GridSearchCV(pipeline, choices, cv=2).fit(x, y)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    assert found.best_score_ > 0.8


def test_a_network_of_a_user_is_copied_with_its_estimator() -> None:
    x, y = digits()
    model = NetworkClassifier(two_layers, max_iter=15, random_state=0).fit(x, y)
    expected = model.predict_proba(x)
    assert model.score(x, y) > 0.95
    np.testing.assert_allclose(expected.sum(1), 1, rtol=1e-12)
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model).fit(x, y)):
        np.testing.assert_array_equal(made.predict_proba(x), expected)
    assert model.n_iter_ == len(model.loss_curve_) == 15
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_a_module_is_left_alone_and_a_trained_one_given_back() -> None:
    x, y = digits()
    module = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 32), nn.Linear(32, 10))
    module[2].requires_grad_(False)
    before = [one.detach().numpy().copy() for one in module.parameters()]
    momentum = sg.optim.SGD(lr=0.1, momentum=0.9)
    model = NetworkClassifier(module, optimizer=momentum, max_iter=15, random_state=0).fit(x, y)
    assert model.score(x, y) > 0.95
    for one, value in zip(module.parameters(), before, strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), value)
    np.testing.assert_array_equal(model.module_[2].weight.detach().numpy(), before[2])
    rows = dynamic.tensor(x.astype("float32"))
    eager = model.module_(rows).softmax(-1).detach().numpy()
    np.testing.assert_allclose(model.predict_proba(x), eager, atol=1e-5)
    again = clone(model).fit(x, y)  # the optimizer starts anew too
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))


def test_tied_weights_stay_tied() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Linear(3, 1))
    module[2].weight = module[0].weight
    x = np.random.default_rng(0).normal(size=(50, 3))
    model = NetworkRegressor(module, max_iter=3).fit(x, x[:, 0])
    assert model.module_[2].weight is model.module_[0].weight
    eager = model.module_(dynamic.tensor(x.astype("float32"))).detach().numpy()[:, 0]
    np.testing.assert_allclose(model.predict(x), eager, atol=1e-5)


def test_early_stopping_keeps_the_weights_of_the_least_loss() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))
    y = x[:, 0] + rng.normal(size=40)
    model = NetworkRegressor(
        early_stopping=True, validation_fraction=0.5, n_iter_no_change=5, tol=0.0, alpha=0.0,
        random_state=1,
    ).fit(x, y)  # fmt: skip
    assert model.n_iter_ < 200
    held = np.random.RandomState(1)
    for n, m in ((5, 32), (32, 1)):
        held.uniform(size=(n, m))  # what the weights take of the stream
    rows = held.permutation(40)[:20]
    error = np.mean((model.predict(x[rows]) - y[rows]) ** 2)
    assert error == pytest.approx(min(model.loss_curve_), rel=1e-12)
    assert np.argmin(model.loss_curve_) == model.n_iter_ - 6


def test_variables_that_a_function_shares_belong_to_the_fitted() -> None:
    w = sg.variable(np.zeros((2, 1)), name="w")
    x = np.random.default_rng(0).normal(size=(30, 2))
    first = NetworkRegressor(lambda x, outputs, rng: x @ w, alpha=0).fit(x, x @ [1.0, 2.0])
    expected = first.predict(x)
    NetworkRegressor(lambda x, outputs, rng: x @ w, alpha=0).fit(x, x @ [-1.0, 0.0])
    np.testing.assert_array_equal(first.predict(x), expected)


@pytest.mark.slow
def test_a_weight_is_how_often_a_row_counts() -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(30, 3)), rng.integers(0, 4, 30)
    y = x[:, 0] - x[:, 1]
    for kind, target in ((NetworkRegressor, y), (NetworkClassifier, np.where(y > 0, "a", "b"))):
        options = {"hidden": (4,), "max_iter": 30, "alpha": 1.0, "random_state": 0}
        weighted = kind(batch_size=30, **options).fit(x, target, sample_weight=weight)
        rows = np.repeat(np.arange(30), weight)
        repeated = kind(batch_size=len(rows), **options).fit(x[rows], target[rows])
        assert len(rows) > 30
        found, expected = (
            model.predict_proba(x) if kind is NetworkClassifier else model.predict(x)
            for model in (weighted, repeated)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
        left_out = kind(batch_size=7, **options).fit(x[weight > 0], target[weight > 0])
        zeros = kind(batch_size=7, **options).fit(x, target, sample_weight=1.0 * (weight > 0))
        np.testing.assert_array_equal(zeros.predict(x), left_out.predict(x))


def test_large_weights_do_not_overflow() -> None:
    x = np.eye(4)
    options = {"hidden": (3,), "max_iter": 2, "alpha": 0.0, "random_state": 0}
    large = NetworkRegressor(**options).fit(x, np.arange(4.0), sample_weight=[1e308] * 4)
    plain = NetworkRegressor(**options).fit(x, np.arange(4.0))
    np.testing.assert_array_equal(large.predict(x), plain.predict(x))


def test_weights_that_cannot_be_are_refused() -> None:
    with pytest.raises(sg.OptionError, match=r"sample_weight is a number from 0, not -1.0"):
        NetworkRegressor().fit(np.eye(4), np.arange(4.0), sample_weight=[1, 1, -1, 1])
    with pytest.raises(ValueError, match="zero"):
        NetworkRegressor().fit(np.eye(4), np.arange(4.0), sample_weight=np.zeros(4))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch_size": 0}, "batch_size is an int from 1, not 0"),
        ({"max_iter": 1.5}, "max_iter is an int from 1, not 1.5"),
        ({"early_stopping": True, "validation_fraction": 1.0}, "no row of 4 is left to train"),
        ({"network": lambda x, outputs, rng: x}, r"takes the shape \(x.0, 1\)"),
        ({"network": lambda x, outputs, rng: None}, r"the network returns None, where"),
        ({"network": 3}, "the network is a function or a module: 3"),
        ({"network": nn.Flatten()}, "the module has no parameters: Flatten"),
        ({"network": nn.Sequential(nn.Linear(4, 1), nn.Dropout(0.5))}, "dropout: a graph would"),
        ({"hidden": 5}, "hidden is a tuple of widths from 1, not 5"),
        ({"hidden": (4, -4)}, r"hidden is a tuple of widths from 1, not \(4, -4\)"),
        ({"n_iter_no_change": True}, "n_iter_no_change is an int from 1, not True"),
        ({"alpha": -1.0}, "alpha is a number from 0, not -1.0"),
        ({"tol": "a"}, "tol is a number from 0, not 'a'"),
        ({"validation_fraction": np.nan}, "validation_fraction is a number from 0, not nan"),
        ({"optimizer": "adam"}, "the optimizer is one of sg.optim, not 'adam'"),
        ({"network": lambda x, outputs, rng: sg.sum(x, axis=1)}, "there are no parameters"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        NetworkRegressor(**options).fit(np.eye(4), np.arange(4.0))


def test_a_classifier_without_a_network_is_refused() -> None:
    with pytest.raises(sg.OutputError, match=r"returns None, where it takes the shape \(x.0, 2\)"):
        NetworkClassifier(lambda x, outputs, rng: None).fit(np.eye(4), [0, 1, 0, 1])


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for name in ("staticgraph.sklearn", "staticgraph.sklearn.networks"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'staticgraph\[sklearn\]'"):
        importlib.import_module("staticgraph.sklearn")
