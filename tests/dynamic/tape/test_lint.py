"""The lint of eager programs: slips at the user's line, and nothing about healthy programs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.tape import lint

F = torch.nn.functional


@pytest.fixture(autouse=True)
def nothing_told_yet() -> Iterator[None]:
    lint.forget()
    with torch.set_lint("certain"):  # the default
        yield
    lint.forget()


def _data(*shape: int) -> Any:
    values = np.random.default_rng(0).normal(size=shape)
    return torch.tensor(values.astype(np.float32))


def _train(loss: Callable[[], Any], *params: Any, steps: int = 10) -> None:
    optimizer = torch.optim.SGD(params, lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def _leaf(*shape: int, zero: bool = False) -> Any:
    return (torch.zeros(*shape) if zero else _data(*shape)).requires_grad_()


# healthy programs


def frozen_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    torch.nn.init.zeros_(model[0].bias)
    for one in model[0].parameters():
        one.requires_grad_(False)
    x = _data(8, 3)
    _train(lambda: model(x).square().mean(), *model[2].parameters())


def head_alone_is_trained() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    torch.nn.init.zeros_(model[0].bias)
    x = _data(8, 3)
    _train(lambda: model(x).square().mean(), *model[2].parameters())


def trunk_alone_is_trained() -> None:
    w, head, bias = _leaf(3, 4), _leaf(4, 1), _leaf(1, zero=True)
    x = _data(8, 3)
    _train(lambda: ((x @ w) @ head + bias).square().mean(), w)


def two_optimizers() -> None:
    make, judge = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    for one in (make, judge):
        torch.nn.init.zeros_(one.bias)
    first = torch.optim.Adam(make.parameters(), lr=0.01)
    second = torch.optim.Adam(judge.parameters(), lr=0.01)
    x = _data(6, 2)
    for _ in range(10):
        second.zero_grad()
        F.softplus(-judge(x)).mean().backward()
        F.softplus(judge(make(x).detach())).mean().backward()
        second.step()
        first.zero_grad()
        F.softplus(-judge(make(x))).mean().backward()
        first.step()


def moving_average_of_the_weights() -> None:
    w, kept = _leaf(3), torch.zeros(3)
    x = _data(5, 3)

    def loss() -> Any:
        with torch.no_grad():
            kept.mul_(0.9).add_(w, alpha=0.1)
        return (x @ w - x @ kept).square().mean() + w.square().mean()

    _train(loss, w)


def logarithm_of_zero_is_masked() -> None:
    w, counts = _leaf(4), torch.tensor([0.0, 1.0, 2.0, 0.0])

    def loss() -> Any:
        weights = torch.where(counts > 0, torch.log(counts), torch.zeros(4))
        return (weights * w).square().sum()

    _train(loss, w)


def masked_attention() -> None:
    q, k, v = (_leaf(4, 3) for _ in range(3))
    mask = torch.ones(4, 4).triu(1).bool()

    def loss() -> Any:
        scores = (q @ k.T).masked_fill(mask, float("-inf"))
        return (torch.softmax(scores, -1) @ v).square().mean()

    _train(loss, q, k, v)


def division_by_zero_is_masked() -> None:
    w, x = _leaf(3), torch.tensor([1.0, 0.0, 2.0])

    def loss() -> Any:
        inverse = torch.where(x == 0, torch.zeros(3), 1 / x)
        return (w * inverse).square().sum()

    _train(loss, w)


def straight_through() -> None:
    w, x = _leaf(3, 2), _data(5, 3)

    def loss() -> Any:
        h = x @ w
        return (h + (torch.round(h) - h).detach()).square().mean()

    _train(loss, w)


def rounded_beside_a_smooth_way() -> None:
    w, x = _leaf(3, 2), _data(5, 3)
    _train(lambda: ((x @ w) * torch.sign(x @ w)).mean() + w.square().mean(), w)


def gradient_of_the_rounding_by_hand() -> None:
    w, x = _leaf(3), _data(5, 3)
    for _ in range(4):
        signs = torch.sign(w)
        signs.retain_grad()
        (x @ signs).square().mean().backward()
        with torch.no_grad():
            w -= 0.1 * signs.grad
        w.grad = None


def gradients_are_accumulated() -> None:
    layer, x = torch.nn.Linear(3, 1), _data(4, 3)
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for i in range(12):
        layer(x).square().mean().backward()
        if i % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def bias_by_hand_beside_an_optimizer() -> None:
    w, bias, x = _leaf(3, 1), _leaf(1, zero=True), _data(4, 3)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        (x @ w + bias - 1).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            bias -= 0.1 * bias.grad
            bias.grad = None


def attack_from_zero() -> None:
    model, x = torch.nn.Linear(3, 2), _data(3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        delta = torch.zeros(3, requires_grad=True)
        model(x + delta).square().sum().backward()
        with torch.no_grad():
            step = 0.1 * delta.grad.sign()
        optimizer.zero_grad()
        model(x + step).square().sum().backward()
        optimizer.step()


def double_precision() -> None:
    w, x = torch.zeros(3, dtype=torch.float64, requires_grad=True), _data(4, 3).double()
    _train(lambda: (x @ w - 1).square().mean(), w)


def metric_against_a_reference() -> None:
    w, x, exact = _leaf(3), _data(4, 3), torch.from_numpy(np.ones(4))

    def loss() -> Any:
        y = x @ w
        assert (y.detach() - exact).abs().max().dtype is torch.float64
        return y.square().mean()

    _train(loss, w)


def loss_summed_in_double() -> None:
    w, x = _leaf(3), _data(4, 3)
    _train(lambda: (x @ w).double().square().mean(), w)


def search_along_a_line() -> None:
    w = torch.tensor([50.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([w], lr=1.0, line_search_fn="strong_wolfe", max_iter=5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (torch.exp(w) + w * w).sum()
        loss.backward()
        return loss

    optimizer.step(closure)


def loss_that_is_checked_before() -> None:
    w = _leaf(2)
    for scale in (1.0, 1e30, 1.0):
        loss = (w * scale * scale).square().sum()
        if torch.isfinite(loss):
            loss.backward()


def both_ways_of_pairs() -> None:
    a, b = _leaf(6, 3), _leaf(6, 3)
    own = torch.arange(6).reshape(-1, 1)

    def loss() -> Any:
        scores = a @ b.T
        rows = torch.log_softmax(scores, 1).gather(1, own)
        columns = torch.log_softmax(scores, 0).gather(1, own)
        return -(rows + columns).mean()

    _train(loss, a, b)


HEALTHY = [
    one
    for one in list(globals().values())
    if callable(one) and getattr(one, "__module__", "") == __name__ and one.__name__[0] != "_"
    and one is not nothing_told_yet
]  # fmt: skip


@pytest.mark.parametrize("level", ["certain", "warn"])
@pytest.mark.parametrize("program", HEALTHY, ids=lambda one: str(one.__name__))
def test_nothing_is_said_of_healthy_programs(program: Callable[[], None], level: str) -> None:
    if program is metric_against_a_reference:
        level = "certain"  # that float64 is meant there is what advice asks
    with warnings.catch_warnings(), torch.set_lint(level):
        warnings.simplefilter("error")
        program()


# slips


def _lost_by_logarithm() -> None:
    w = _leaf(2, zero=True)
    torch.log(w).mean().backward()  # here


def _lost_after_harmless_ones() -> None:
    w = torch.ones((), requires_grad=True)
    for _ in range(60):
        harmless = torch.where(torch.zeros(1) > 0, torch.log(torch.zeros(1)), torch.zeros(1))
        (harmless + (w * 1.0) ** 2).sum().backward()  # here
        with torch.no_grad():
            w -= 3.0 * w.grad
            w.grad = None


def _lost_in_a_function() -> None:
    f = sg.function(
        lambda w: torch.log(w).mean()  # here
    )
    f(_leaf(2, zero=True)).backward()


def _lost_by_its_data() -> None:
    w = _leaf(2)
    x = torch.tensor([1.0, float("nan")])
    (x * w).sum().backward()  # here


def _rounded() -> None:
    w = _leaf(3)
    h = torch.round(w * 2)  # here
    h.square().sum().backward()


def _rounded_by_a_method() -> None:
    w = _leaf(3)
    h = (w * 2).floor()  # here
    h.square().sum().backward()


def _rounded_in_a_function() -> None:
    w = _leaf(3)

    def loss(x: Any) -> Any:
        return torch.sign(x @ w).sum()  # here

    sg.function(loss)(_data(2, 3)).backward()


def _rounded_in_a_captured_step() -> None:
    w = _leaf(3)

    def step(x: Any) -> Any:
        loss = torch.ceil(x @ w).sum()  # here
        loss.backward()
        return loss

    sg.function(step)(_data(2, 3))


def _float64_loss() -> None:
    w = _leaf(3)
    y = _data(2, 3) @ w - torch.from_numpy(np.ones(2))  # here
    y.square().mean().backward()


def _bias_in_no_optimizer() -> None:
    w, bias, x = _leaf(3, 1), _leaf(1, zero=True), _data(4, 3)
    optimizer = torch.optim.SGD([w], lr=0.1)  # here
    for _ in range(3):
        optimizer.zero_grad()
        (x @ w + bias - 1).square().mean().backward()
        optimizer.step()


def _bias_of_a_layer_in_no_optimizer() -> None:
    layer, x = torch.nn.Linear(3, 2), _data(4, 3)
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam([layer.weight], lr=0.1)  # here
    for _ in range(3):
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()


def _bias_of_a_function_in_no_optimizer() -> None:
    w, bias, x = _leaf(3, 1), _leaf(1, zero=True), _data(4, 3)
    optimizer = torch.optim.SGD([w], lr=0.1)  # here
    loss = sg.function(lambda x: (x @ w + bias - 1).square().mean())
    for _ in range(3):
        optimizer.zero_grad()
        loss(x).backward()
        optimizer.step()


def _bias_of_a_captured_step_in_no_optimizer() -> None:
    w, bias, x = _leaf(3, 1), _leaf(1, zero=True), _data(4, 3)
    optimizer = torch.optim.SGD([w], lr=0.1)  # here

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (x @ w + bias - 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    train = sg.function(step)
    for _ in range(3):
        train(x)


CERTAIN = [
    ("loss_not_finite", "divide by zero encountered in log", _lost_by_logarithm),
    ("loss_not_finite", "overflow encountered in square", _lost_after_harmless_ones),
    ("loss_not_finite", "log = float32", _lost_in_a_function),
    ("loss_not_finite", "its gradients will be nan", _lost_by_its_data),
    ("zero_gradient", "such as this round", _rounded),
    ("zero_gradient", "such as this floor", _rounded_by_a_method),
    ("zero_gradient", "through sign at", _rounded_in_a_function),
    ("zero_gradient", "through ceil at", _rounded_in_a_captured_step),
    ("float64_loss", "cast the float64 one", _float64_loss),
    ("never_updated", "it stays 0", _bias_in_no_optimizer),
    ("never_updated", "it stays 0", _bias_of_a_layer_in_no_optimizer),
    ("never_updated", "it stays 0", _bias_of_a_function_in_no_optimizer),
    ("never_updated", "it stays 0", _bias_of_a_captured_step_in_no_optimizer),
]


def _line_marked(program: Callable[[], None]) -> int:
    lines, first = inspect.getsourcelines(program)
    return next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


@pytest.mark.parametrize(("rule", "text", "slip"), CERTAIN)
def test_a_slip_is_told_at_its_line(rule: str, text: str, slip: Callable[[], None]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        slip()
        slip()
    found = [one for one in caught if issubclass(one.category, torch.LintWarning)]
    places = {(one.filename, one.lineno) for one in found}
    assert places == {(__file__, _line_marked(slip))}
    assert all(f"[{rule}]" in str(one.message) and text in str(one.message) for one in found)
    if "function" not in slip.__name__ and "step" not in slip.__name__:  # traced once each
        assert len(found) == 1


def test_off_says_nothing_and_error_raises() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.set_lint("off"):
            _rounded()
            _lost_by_logarithm()
    with torch.set_lint("error"), pytest.raises(sg.LintError, match="zero_gradient"):
        _rounded()
    with pytest.raises(sg.OptionError, match="the level is one of"):
        torch.set_lint("loud")


def test_advice_follows_ops_that_nothing_records() -> None:
    x, w, y = _data(8, 4), _data(4, 3), torch.zeros(8, dtype=torch.int64)
    with torch.set_lint("warn"):
        with pytest.warns(torch.LintWarning, match="write axis=-1") as caught:
            p = torch.softmax(x @ w, dim=0)
            line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
            (-torch.log(p.gather(1, y.reshape(-1, 1))).mean()).item()
        assert [one.lineno for one in caught] == [line]
        with pytest.warns(torch.LintWarning, match=r"becomes float64 because of"):
            x - torch.from_numpy(np.ones(4))
        with pytest.warns(torch.LintWarning, match="sg.softmax"):
            e = torch.exp(x)
            (e / e.sum(1, keepdim=True)).mean()


def test_advice_changes_no_value() -> None:
    x, w = _data(8, 4), _leaf(4, 3)
    found = []
    for level in ("certain", "warn"):
        with torch.set_lint(level):
            w.grad = None
            y = torch.softmax(x @ w, dim=1) * 1
            y[0] += 1
            loss = (y.T.reshape(3, 8)[:, 1:] ** 2).sum()
            loss.backward()
            found.append((loss.item(), w.grad.tolist()))
    assert found[0] == found[1]


def test_anomaly_mode_says_where_the_first_one_came_from() -> None:
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected"),
        pytest.raises(RuntimeError, match="nan values in its") as raised,
    ):
        w = _leaf(2, zero=True)
        loss = torch.log(w * 0.0).mean()
        line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
        loss.backward()
    (note,) = raised.value.__notes__
    assert f"test_lint.py:{line}: divide by zero encountered in log" in note
