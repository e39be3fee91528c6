"""Options of symbolic optimizers: rates that change, and those that cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg


def optimized(make: Any) -> tuple[Any, Any]:
    x, w = sg.placeholder("x", (3,)), sg.variable(np.ones(3, "float32"), "w")
    loss = ((w * x) ** 2).sum()
    return sg.compile([x], loss, updates=make().minimize(loss)), w


@pytest.mark.parametrize("optimizer", [sg.optim.SGD, sg.optim.Adam, sg.optim.AdamW])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_rate_in_a_variable_is_read_by_each_step(optimizer: Any, dtype: str) -> None:
    rate = sg.variable(np.array(0.25, dtype), "lr")
    changing, w = optimized(lambda: optimizer(lr=rate))
    fixed, v = optimized(lambda: optimizer(lr=0.25))
    x = np.arange(3, dtype="float32") * np.float32(0.1)
    for _ in range(3):
        changing(x)
        fixed(x)
    np.testing.assert_allclose(w.value, v.value, rtol=1e-6)
    rate.value = np.zeros((), dtype)
    before = w.value
    changing(x)
    np.testing.assert_array_equal(w.value, before)


@pytest.mark.parametrize("optimizer", [sg.optim.SGD, sg.optim.Adam, sg.optim.AdamW])
def test_what_minimize_has_read_cannot_be_set(optimizer: Any) -> None:
    x, w = sg.placeholder("x", (3,)), sg.variable(np.ones(3, "float32"), "w")
    loss = (w * x).sum()
    one = optimizer()
    one.lr = 0.5
    one.minimize(loss)
    name = optimizer.__name__
    with pytest.raises(sg.OptionError, match=f"{name}: lr is part of the updates that minimize"):
        one.lr = 0.1
    with pytest.raises(sg.OptionError, match=f"{name}: maximize is part of the updates"):
        one.maximize = True
    one.minimize(loss)
    assert one.lr == 0.5


@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"maximize": True}])
@pytest.mark.parametrize("rated", [False, True])
def test_adamw_is_that_of_the_eager_engine(options: Any, rated: bool) -> None:
    rate = sg.variable(np.float32(0.25), "lr") if rated else 0.25
    step, w = optimized(lambda: sg.optim.AdamW(lr=rate, weight_decay=0.5, **options))
    eager = dynamic.ones(3, requires_grad=True)
    theirs = dynamic.optim.AdamW([eager], lr=0.25, weight_decay=0.5, **options)
    x = np.array([0.0, 0.5, -2.0], "float32")
    for _ in range(5):
        step(x)
        theirs.zero_grad()
        ((eager * dynamic.tensor(x)) ** 2).sum().backward()
        theirs.step()
    assert w.value[0] == pytest.approx((1 - 0.25 * 0.5) ** 5)  # no gradient, and yet smaller
    np.testing.assert_allclose(w.value, eager.detach().numpy(), rtol=1e-5)


def test_what_no_optimizer_takes() -> None:
    x, w = sg.placeholder("x", (3,)), sg.variable(np.ones(3, "float32"), "w")
    for lr in (sg.variable(np.ones(3, "float32")), sg.variable(np.int64(1))):
        with pytest.raises(sg.OptionError, match="SGD: lr is a floating-point scalar, not"):
            sg.optim.SGD(lr=lr)
    for lr in ("0.1", None, float("nan"), 1j):
        with pytest.raises(sg.OptionError, match=r"Adam: lr .* is no number"):
            sg.optim.Adam(lr=lr)
    with pytest.raises(sg.OptionError, match="AdamW: weight_decay -1 is negative"):
        sg.optim.AdamW(weight_decay=-1)
    loss = (w * x).sum()
    with pytest.raises(sg.GraphError, match=r"minimize: the parameter .* is no variable"):
        sg.optim.SGD().minimize(loss, [x])
    with pytest.raises(sg.GraphError, match="minimize: variable 'w' is given twice"):
        sg.optim.SGD().minimize(loss, [w, w])
