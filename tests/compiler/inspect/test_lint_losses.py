"""The lint of losses that cannot teach what was meant, and of those that can, in both paradigms."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.inspect.lint import report
from staticgraph.dynamic import nn
from staticgraph.dynamic.tape import lint

F = nn.functional
ROWS = np.arange(32, dtype="float32").reshape(4, 8) / 32
CLASSES, TARGET = np.arange(4), np.arange(4, dtype="float32") / 4


class Graph:
    """What a loss is made of, as expressions."""

    cross_entropy, mse = staticmethod(sg.cross_entropy), staticmethod(sg.mse_loss)
    binary = staticmethod(sg.binary_cross_entropy_with_logits)
    softmax, sigmoid, log = staticmethod(sg.softmax), staticmethod(sg.sigmoid), staticmethod(sg.log)
    log_softmax, tanh = staticmethod(sg.log_softmax), staticmethod(sg.tanh)
    relu, layer_norm = staticmethod(sg.relu), staticmethod(sg.layer_norm)
    mean = staticmethod(lambda x: sg.mean(x, axis=1, keepdims=True))
    weight, bias = sg.variable(np.ones(1, "float32")), sg.variable(np.zeros(1, "float32"))


class Tensors:
    """The same of tensors."""

    cross_entropy, mse = staticmethod(F.cross_entropy), staticmethod(F.mse_loss)
    binary = staticmethod(F.binary_cross_entropy_with_logits)
    softmax = staticmethod(lambda x: torch.softmax(x, -1))
    log_softmax = staticmethod(lambda x: torch.log_softmax(x, -1))
    sigmoid, log, tanh = map(staticmethod, (torch.sigmoid, torch.log, torch.tanh))
    relu, layer_norm = staticmethod(torch.relu), staticmethod(F.layer_norm)
    mean = staticmethod(lambda x: x.mean(1, keepdim=True))
    weight, bias = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    nll, ones, rows = staticmethod(F.nll_loss), torch.ones(4), torch.arange(4)


Loss = Callable[[Any, Any, Any, Any], Any]
LOSSES: list[tuple[str, str, Loss]] = [
    ("probabilities_as_logits", "it applies softmax itself",
     lambda o, x, y, t: o.cross_entropy(o.softmax(x), y)),
    ("probabilities_as_logits", "it applies softmax itself",
     lambda o, x, y, t: -o.log_softmax(o.softmax(x))[:, 0].mean()),
    ("probabilities_as_logits", "it applies sigmoid itself",
     lambda o, x, y, t: o.binary(o.sigmoid(x[:, 0]), t)),
    ("constant_loss", "over an axis of 1 element",
     lambda o, x, y, t: o.cross_entropy(x[:, :1], y * 0)),
    ("constant_loss", "over an axis of 1 element",
     lambda o, x, y, t: o.log(o.softmax(x[:, :1])).mean()),
    ("constant_loss", "of a value and itself", lambda o, x, y, t: o.mse(x, x)),
    ("constant_loss", "of a value and itself", lambda o, x, y, t: ((x - x) ** 2).mean()),
    ("constant_loss", "of a softmax over its axis", lambda o, x, y, t: o.softmax(x).sum(-1).mean()),
    ("constant_loss", "of a value less its mean", lambda o, x, y, t: (x - x.mean()).mean()),
    ("constant_loss", "of a value less its mean", lambda o, x, y, t: (x - o.mean(x)).sum()),
    ("constant_loss", "of what is never above 0", lambda o, x, y, t: o.relu(-o.relu(x)).mean()),
    ("layer_norm_of_one", "gives its bias",
     lambda o, x, y, t: o.layer_norm(x[:, :1], [1], o.weight, o.bias).mean()),
    ("constant_loss", "layer_norm", lambda o, x, y, t: (o.layer_norm(x[:, :1], [1]) - t).mean()),
]  # fmt: skip
PAIRS: Loss = lambda o, x, y, t: o.mse(x[:, :1], t)  # noqa: E731
NOTHING: Loss = lambda o, x, y, t: o.cross_entropy(x, y) * 0.0  # noqa: E731
LOSSES_OF_GRAPHS = [("all_pairs", "compares each element with each target", PAIRS),
                    ("constant_loss", "by a constant that is 0", NOTHING)]  # fmt: skip
LOSSES_OF_TENSORS: list[tuple[str, str, Loss]] = [
    ("not_log_probabilities", "no bounds", lambda o, x, y, t: o.nll(x, y)),
    ("not_log_probabilities", "no bounds", lambda o, x, y, t: o.nll(x.unsqueeze(2), y[:, None])),
    ("not_log_probabilities", "no bounds", lambda o, x, y, t: o.nll(x + o.ones, y, o.ones)),
    ("not_log_probabilities", "never below 0", lambda o, x, y, t: o.nll(o.softmax(x), y)),
    ("not_log_probabilities", "never below 0", lambda o, x, y, t: o.nll(o.sigmoid(x), y)),
    ("not_log_probabilities", "never below 0", lambda o, x, y, t: o.nll(o.relu(x), y)),
]
FINE_OF_TENSORS: list[Loss] = [
    lambda o, x, y, t: o.nll(o.log_softmax(x), y),
    lambda o, x, y, t: o.nll(o.log(o.softmax(x)), y),
    lambda o, x, y, t: o.nll(x - o.log(x.exp().sum(1, keepdim=True)), y),
    lambda o, x, y, t: o.nll(torch.tensor(np.eye(4, dtype="f4")) @ o.log_softmax(x), y),
    lambda o, x, y, t: o.cross_entropy(x, y) + o.nll(o.softmax(x).detach(), y),
    lambda o, x, y, t: o.cross_entropy(x, y) + o.nll(x.detach() @ torch.ones(4, 4), y),
    lambda o, x, y, t: o.nll(o.log_softmax(x)[:, :, None], y[:, None], o.ones),
    lambda o, x, y, t: -x[o.rows, y].mean(),
    lambda o, x, y, t: o.cross_entropy(o.relu(x), y),  # advice
]
FINE: list[Loss] = [
    lambda o, x, y, t: o.cross_entropy(x, y),
    lambda o, x, y, t: o.cross_entropy(o.log_softmax(x), y),
    lambda o, x, y, t: o.cross_entropy(o.softmax(x) * 8.0, y),
    lambda o, x, y, t: -o.softmax(x)[:, 0].mean(),
    lambda o, x, y, t: o.binary(x[:, 0], o.sigmoid(x[:, 1])),
    lambda o, x, y, t: o.mse(x[:, 0], t),
    lambda o, x, y, t: o.mse(x[:, :1], t[:, None]),
    lambda o, x, y, t: o.cross_entropy(x[:, :1], y * 0) + (x * x).mean(),
    lambda o, x, y, t: o.mse(x, x) + o.tanh(x).mean(),
    lambda o, x, y, t: (o.softmax(x).sum(0) ** 2).mean(),
    lambda o, x, y, t: ((x - x) + x).mean(),
    lambda o, x, y, t: ((x - o.mean(x)) ** 2).mean(),
    lambda o, x, y, t: ((x - o.mean(x)).sum(0) ** 2).mean(),
    lambda o, x, y, t: (x[:, :4] - x.mean(0)).mean(0)[0],
    lambda o, x, y, t: (x - (x * x).mean()).mean(),
    lambda o, x, y, t: o.relu(o.relu(x) - o.tanh(x)).mean() + o.relu(-o.tanh(x)).mean(),
    lambda o, x, y, t: o.layer_norm(x, [4])[:, 0].mean(),
    lambda o, x, y, t: o.layer_norm(x[:, :1], [1], None, x[0, :1]).mean(),
]


def in_a_graph(loss: Loss, level: str = "certain") -> None:
    x, t = sg.placeholder("x", (None, 8)), sg.placeholder("t", (None,))
    y = sg.placeholder("y", (None,), "int64")
    w = sg.variable(np.ones((8, 4), "float32"), name="w")
    # all are read, so that each is an input
    total = loss(Graph, x @ w, y, t) + sg.mean(sg.stop_gradient(t)) + sg.mean(y.astype("float32"))
    train = sg.compile([x, y, t], total, updates=sg.optim.SGD(lr=0.1).minimize(total), lint=level)
    train(ROWS, CLASSES, TARGET)


def on_tensors(loss: Loss, level: str = "certain") -> None:
    w = torch.ones(8, 4, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    x, y, t = torch.tensor(ROWS), torch.tensor(CLASSES), torch.tensor(TARGET)
    for _ in range(2):
        optimizer.zero_grad()
        loss(Tensors, x @ w, y, t).backward()
        optimizer.step()


def captured(loss: Loss, level: str = "certain") -> None:
    w = torch.ones(8, 4, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any, y: Any, t: Any) -> Any:
        optimizer.zero_grad()
        made = loss(Tensors, x @ w, y, t)
        made.backward()
        optimizer.step()
        return made

    f = sg.function(step, lint=level)
    for _ in range(2):
        f(torch.tensor(ROWS), torch.tensor(CLASSES), torch.tensor(TARGET))


def told(
    run: Callable[..., None], loss: Loss, level: str = "certain"
) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.set_lint(level):
            run(loss, level)
    return [one for one in caught if issubclass(one.category, sg.LintWarning)]


@pytest.mark.parametrize(
    "run", [in_a_graph, pytest.param(captured, marks=pytest.mark.slow), on_tensors]
)
def test_a_loss_that_cannot_be_meant_is_told_of(run: Callable[[Loss], None]) -> None:
    more = LOSSES_OF_GRAPHS if run is in_a_graph else LOSSES_OF_TENSORS
    for rule, text, loss in (*LOSSES, *more):
        forget()
        found = told(run, loss)
        assert len(found) == 1, (text, [str(one.message) for one in found])
        message = str(found[0].message)
        assert f"[{rule}]" in message, inspect.getsource(loss)
        assert text in message
        assert found[0].filename == __file__


@pytest.mark.long
@pytest.mark.parametrize("run", [in_a_graph, captured, on_tensors])
def test_nothing_is_said_of_a_loss_that_may_be_meant(run: Callable[[Loss], None]) -> None:
    for loss in (*FINE, *(() if run is in_a_graph else FINE_OF_TENSORS)):
        forget()
        assert [str(one.message) for one in told(run, loss)] == []


@pytest.mark.slow
@pytest.mark.parametrize("run", [in_a_graph, captured, on_tensors])
def test_relu_before_a_loss_that_applies_softmax_is_advice(run: Callable[[Loss], None]) -> None:
    for loss in (
        lambda o, x, y, t: o.cross_entropy(o.relu(x), y),
        lambda o, x, y, t: -o.log_softmax(o.relu(x))[:, 0].mean(),
    ):
        forget()
        found = [str(one.message) for one in told(run, loss, "warn")]
        assert any("[relu_before_softmax]" in one for one in found), found
        forget()
        assert told(run, loss) == []


def forget() -> None:
    """Have each line told of again."""
    lint.forget()
    report._told.clear()
