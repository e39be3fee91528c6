"""Groups, clipping and accumulation, against the eager engine doing the same by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 4)), RNG.normal(size=(12, 3))
W, B = RNG.normal(size=(4, 3)), RNG.normal(size=3)


def prediction_error(x: Any, y: Any, w: Any, b: Any) -> Any:
    residual = sg.tanh(x @ w + b) - y
    return (residual * residual).mean()


def model(rows: int = 12) -> tuple[list[Any], Any, list[Any]]:
    x, y = sg.placeholder("x", (rows, 4), "float64"), sg.placeholder("y", (rows, 3), "float64")
    w, b = sg.variable(W, "w"), sg.variable(B, "b")
    return [x, y], prediction_error(x, y, w, b), [w, b]


def leaves() -> list[Any]:
    return [dynamic.tensor(one, requires_grad=True) for one in (W, B)]


def tensors(*arrays: Any) -> list[Any]:
    return [dynamic.tensor(one) for one in arrays]


def equal(variables: Any, others: Any) -> None:
    for one, other in zip(variables, others, strict=True):
        np.testing.assert_allclose(one.value, other.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("limits", [{"clip_norm": 0.05}, {"clip_norm": 50.0}, {"clip_value": 0.02}])
def test_groups_and_clipping_are_those_of_the_eager_engine(limits: Any) -> None:
    inputs, loss, (w, b) = model()
    optimizer = sg.optim.AdamW(lr=0.1, weight_decay=0.3, **limits)
    groups = [{"params": w}, {"params": [b], "weight_decay": 0.0, "lr": 0.02}]
    step = sg.compile(inputs, loss, updates=optimizer.minimize(loss, groups))
    ours = leaves()
    groups = [{"params": ours[:1]}, {"params": ours[1:], "weight_decay": 0.0, "lr": 0.02}]
    eager = dynamic.optim.AdamW(groups, lr=0.1, weight_decay=0.3)
    for _ in range(5):
        eager.zero_grad()
        value = prediction_error(*tensors(X, Y), *ours)
        value.backward()
        if "clip_norm" in limits:
            dynamic.nn.utils.clip_grad_norm_(ours, limits["clip_norm"])
        else:
            dynamic.nn.utils.clip_grad_value_(ours, limits["clip_value"])
        eager.step()
        np.testing.assert_allclose(step(X, Y), value.item(), rtol=1e-12)
    equal([w, b], ours)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_accumulated_calls_make_one_step_of_their_mean(name: str) -> None:
    inputs, loss, variables = model(rows=4)
    options = {"lr": sg.optim.exponential(0.1, 0.5), "clip_norm": 0.05, "accumulate": 3}
    optimizer = getattr(sg.optim, name)(**options)
    step = sg.compile(inputs, loss, updates=optimizer.minimize(loss))
    ours = leaves()
    eager = getattr(dynamic.optim, name)(ours, lr=0.1)
    scheduler = dynamic.optim.lr_scheduler.ExponentialLR(eager, 0.5)
    for _ in range(3):
        before = [one.value for one in variables]
        for part in range(3):
            for one, values in zip(variables, before, strict=True):
                np.testing.assert_array_equal(one.value, values)
            rows = slice(4 * part, 4 * part + 4)
            step(X[rows], Y[rows])
        eager.zero_grad()
        prediction_error(*tensors(X, Y), *ours).backward()
        dynamic.nn.utils.clip_grad_norm_(ours, 0.05)
        eager.step()
        scheduler.step()
        equal(variables, ours)
    assert optimizer.state_dict()["steps"] == [3]


def test_accumulation_goes_on_where_it_was_saved() -> None:
    found = []
    for saved_at in (None, 4):
        inputs, loss, variables = model(rows=4)
        optimizer = sg.optim.Adam(lr=0.1, accumulate=3)
        step = sg.compile(inputs, loss, updates=optimizer.minimize(loss))
        for call in range(6):
            if call == saved_at:
                saved, values = optimizer.state_dict(), [one.value for one in variables]
                inputs, loss, variables = model(rows=4)
                optimizer = sg.optim.Adam(lr=0.1, accumulate=3)
                step = sg.compile(inputs, loss, updates=optimizer.minimize(loss))
                optimizer.load_state_dict(saved)
                for one, value in zip(variables, values, strict=True):
                    one.value = value
            rows = slice(2 * call, 2 * call + 2)
            step(np.tile(X[rows], (2, 1)), np.tile(Y[rows], (2, 1)))
        found.append([one.value for one in variables])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_that_are_given_are_taken_as_they_are() -> None:
    w = sg.variable(np.array([1.0, 2.0]), "w")
    g = sg.placeholder("g", (2,), "float64")
    updates = sg.optim.SGD(lr=0.5, clip_value=1.0).update({w: g * 2})
    step = sg.compile([g], w, updates=updates)
    step(np.array([0.25, 4.0]))
    np.testing.assert_array_equal(w.value, [0.75, 1.5])
    assert sg.optim.global_norm([np.full((3, 3), 2.0), np.array(8.0)]) == 10.0
    (kept,) = sg.optim.clip_by_global_norm([np.array([3.0, 4.0])], 10.0)
    np.testing.assert_array_equal(kept, [3.0, 4.0])


def test_two_functions_share_the_state_of_one_optimizer() -> None:
    w = sg.variable(np.array([1.0, 2.0]), "w")
    once, twice = (w * w).sum(), (w * w * w).sum()
    optimizer = sg.optim.Adam(lr=0.1)
    steps = [sg.compile([], one, updates=optimizer.minimize(one)) for one in (once, twice)]
    leaf = dynamic.tensor([1.0, 2.0], dtype=dynamic.float64, requires_grad=True)
    eager = dynamic.optim.Adam([leaf], lr=0.1)
    for step, power in zip(steps * 2, (2, 3, 2, 3), strict=True):
        step()
        eager.zero_grad()
        (leaf**power).sum().backward()
        eager.step()
    np.testing.assert_allclose(w.value, leaf.detach().numpy(), rtol=1e-12)
    assert optimizer.state_dict()["steps"] == [4]


@pytest.mark.parametrize("name", ["AdamW", "Adafactor", "Rprop"])
def test_numbers_of_numpy_are_weak_and_empty_parameters_stay(name: str) -> None:
    found = []
    for number in (float, np.float64):
        w, empty = sg.variable(np.ones(2, "float32"), "w"), sg.variable(np.ones((0, 3), "float32"))
        loss = (w * w).sum() + empty.sum()
        optimizer = getattr(sg.optim, name)(lr=number(0.125))
        groups = [{"params": [w], "lr": number(0.25)}, {"params": [empty]}]
        step = sg.compile([], loss, updates=optimizer.minimize(loss, groups), debug=True)
        step()
        found.append(w.value)
    np.testing.assert_array_equal(*found)
    assert found[0].dtype == np.float32


def test_groups_that_do_not_fit_are_refused() -> None:
    _, loss, (w, b) = model()
    optimizer = sg.optim.SGD(lr=0.1)
    for parameters, message in [
        (
            [{"params": [w], "wd": 0.1}],
            "SGD: a group sets 'wd', which is no option: known are lr, ",
        ),
        ([{"params": [w], "momentum": -1}], "SGD: momentum -1 is negative"),
        ([{"params": [w], "nesterov": True}], "SGD: nesterov needs a momentum"),
    ]:
        with pytest.raises(sg.OptionError, match=message):
            optimizer.minimize(loss, parameters)  # type: ignore[arg-type]
    for parameters, message in [
        ([{"params": [w]}, b], "minimize: the group .*'b'.* is no dict with 'params'"),
        ([{"lr": 0.1}], "minimize: the group {'lr': 0.1} is no dict with 'params'"),
        ([{"params": []}], "minimize: there are no parameters, or none in a group"),
        ([{"params": [w]}, {"params": w}], "minimize: variable 'w' is given twice"),
    ]:
        with pytest.raises(sg.GraphError, match=message):
            optimizer.minimize(loss, parameters)
    optimizer.minimize(loss, [w, b])
    for other in ([w], [{"params": [w, b], "momentum": 0.5}]):
        with pytest.raises(sg.OptionError, match="SGD: variable 'w' has been minimized before"):
            optimizer.minimize(loss, other)  # type: ignore[arg-type]
    with pytest.raises(sg.GraphError, match="update: the gradient of variable 'b' is None, not"):
        sg.optim.SGD().update({w: w}, [w, b])
    with pytest.raises(sg.GraphError, match=r"update: the gradient of variable 'b' is .*\[4, 3\]"):
        sg.optim.SGD().update({b: w})
    with pytest.raises(AttributeError, match="'SGD' object has no attribute 'betas'"):
        _ = optimizer.betas
    with pytest.raises(sg.OptionError, match="Adam: no option 'momentum': known are lr, betas, "):
        sg.optim.Adam(momentum=0.9)  # type: ignore[call-arg]


def test_options_out_of_range_are_refused_with_their_values() -> None:
    optim: Any = sg.optim
    for name, options, message in [
        ("Adam", {"betas": (0.9, 1.0)}, r"Adam: betas \(0.9, 1.0\) are not in \[0, 1\)"),
        ("Adam", {"betas": 0.9}, "Adam: betas 0.9 are not in"),
        ("Adam", {"eps": -1e-8}, "Adam: eps -1e-08 is negative"),
        ("Adam", {"weight_decay": True}, "Adam: weight_decay True is no number"),
        ("Adadelta", {"rho": 1.5}, "Adadelta: rho 1.5 is more than 1"),
        ("Adafactor", {"d": 0.5}, "Adafactor: d 0.5 is less than 1"),
        ("Adafactor", {"beta2_decay": 0.5}, "Adafactor: beta2_decay 0.5 is more than 0"),
        ("Adafactor", {"eps": (-1.0, 1e-3)}, "Adafactor: eps .* are not two numbers from 0, or"),
        ("Rprop", {"etas": (1.0, 1.2)}, "Rprop: etas .* are not a factor below 1 and one above"),
        ("Rprop", {"step_sizes": (2, 1)}, "Rprop: step_sizes .* are not a lower and an upper"),
        ("Lion", {"clip_norm": -1.0}, "Lion: clip_norm -1.0 is negative"),
        ("Lion", {"clip_value": "x"}, "Lion: clip_value 'x' is no number"),
        ("SGD", {"accumulate": 0}, "SGD: accumulate 0 is no int from 1"),
    ]:
        with pytest.raises(sg.OptionError, match=message):
            getattr(optim, name)(**options)
    with pytest.raises(sg.OptionError, match="global_norm: no gradients are given"):
        optim.global_norm([])
    with pytest.raises(sg.OptionError, match="clip_by_value: value -1 is negative"):
        optim.clip_by_value([W], -1)
    with pytest.raises(sg.OptionError, match="clip_by_global_norm: norm nan is no number"):
        optim.clip_by_global_norm([W], float("nan"))
    optimizer = optim.SGD()
    with pytest.raises(sg.OptionError, match="SGD: momentum -1 is negative"):
        optimizer.momentum = -1
