"""The lint's advice, which is given when it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import staticgraph as sg
from staticgraph.compiler.inspect.lint.advice import ALL
from staticgraph.compiler.inspect.lint.report import LATER
from staticgraph.compiler.inspect.lint.rules import RULES
from tests.compiler.inspect.lint_programs import Program, X, Y, compiled, variable
from tests.compiler.inspect.test_lint import SLIPS
from tests.compiler.inspect.test_lint_losses import LOSSES, LOSSES_OF_GRAPHS, LOSSES_OF_TENSORS


def _first_axis() -> Program:
    return compiled([X], sg.softmax(X, axis=0), lint="warn")


def _over_rows() -> Program:
    logits = sg.placeholder("logits", (8, 3))
    classes = sg.placeholder("classes", (8, 1), "int64")
    p = sg.softmax(logits, axis=0)
    return compiled([logits, classes], sg.take_along_axis(p, classes, axis=1), lint="warn")


def _by_hand() -> Program:
    e = sg.exp(X)
    return compiled([X], e / sg.sum(e, axis=1, keepdims=True), lint="warn")


def _hidden() -> Program:
    value = sg.sum(sg.where(X > 0, sg.log(X), 0.0))
    return compiled([X], [value, sg.grad(value, X)], lint="warn")


def _equal() -> Program:
    return compiled([X], sg.where(X * 3 == X + X + X, X, 0.0), lint="warn")


def _by_nothing() -> Program:
    return compiled([X], X / 0, lint="warn")


def _never() -> Program:
    w, b = variable(5), variable(5, name="b")
    loss = sg.mean(X @ w + X @ b)
    return compiled([X], loss, updates=sg.optim.SGD().minimize(loss, [w]), lint="warn")


def _target() -> Program:
    w, target = variable(5), variable(5, name="target")
    loss = sg.mean((X @ w - sg.stop_gradient(X @ target)) ** 2)
    return compiled([X], loss, updates=sg.optim.SGD().minimize(loss), lint="warn")


def _integers() -> Program:
    return compiled([X, Y], sg.sum(X * Y[:, None]), lint="warn")


def _same() -> Program:
    return compiled([X], [X * 2, sg.constant([1.0]) * 3], lint="warn")


def _sized() -> Program:
    return compiled([X], sg.zeros((X.shape[0],)), lint="warn")


def _pairs_by_hand() -> Program:
    target = sg.placeholder("t", (None,))
    return compiled([X, target], sg.mean((X @ variable(5, 1) - target) ** 2), lint="warn")


ADVICE = [
    ("all_pairs_by_hand", _pairs_by_hand, "give each pair of elements"),
    ("softmax_over_first_axis", _first_axis, "if that is the batch, write axis=-1"),
    ("softmax_over_rows", _over_rows, "softmax over axis 0 of softmax float32.8, 3., whose last"),
    ("softmax_by_hand", _by_hand, "where x is above 89: write sg.softmax"),
    ("logsumexp_by_hand", lambda: compiled([X], BY_HAND[-1][1](), lint="warn"), "sg.logsumexp"),
    ("gradient_of_hidden_branch", _hidden, r"log\(where\(mask, x, 1\)\)"),
    ("float_equality", _equal, "equal of the floats"),
    ("division_by_zero", _by_nothing, "by a constant that is 0"),
    ("never_updated", _never, "variable 'b' .* although variable 'w'"),
    ("stopped_gradient", _target, "flows only through stop_gradient"),
    ("float64_between", _integers, "becomes float64 because of"),
    ("output_without_inputs", _same, "output 1, multiply"),
    ("input_for_its_size", _sized, "placeholder 'x' .* but for its size"),
]


@pytest.mark.parametrize(
    ("rule", "make", "says"), ADVICE, ids=lambda one: getattr(one, "__name__", "")
)
def test_advice_is_given_when_it_is_asked_for(
    rule: str, make: Callable[[], Program], says: str
) -> None:
    with pytest.warns(sg.LintWarning, match=f"{says}.*\\[{rule}\\]"):
        make()()


def test_every_rule_is_here() -> None:
    steps = {  # test_lint_captured.py has them
        "argument_not_read", "float64_around", "never_reached", "not_in_optimizer",
        "result_without_arguments",
    }  # fmt: skip
    known = {rule.name for rule in RULES} - steps
    slips = {rule for rule, *_ in (*SLIPS, *LOSSES, *LOSSES_OF_GRAPHS, *LOSSES_OF_TENSORS)}
    assert known == slips | {rule for rule, *_ in ADVICE} | {"relu_before_softmax"}
    assert {rule.name for rule in RULES if rule.certain} & known == slips
    assert {rule.name for rule in RULES} >= LATER
    assert ALL.findings  # the table of all


@pytest.mark.parametrize(
    "of_integers",
    [
        sg.mean,
        sg.std,
        lambda y: sg.sum(sg.sqrt(y)),
        lambda y: sg.sum(y / 2),
        lambda y: sg.mean(y > 0),
    ],
    ids=["mean", "std", "sqrt", "divide", "bool"],
)
def test_float64_made_of_integers_is_told(of_integers: Callable[[Any], Any]) -> None:
    loss = sg.mean(X) + of_integers(Y)
    with pytest.warns(sg.LintWarning, match=r"add: mean float32\[\] becomes float64") as told:
        compiled([X, Y], loss, lint="warn")()
    assert "[float64_between]" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled([X, Y], loss)()
        compiled([X, Y], sg.mean(X) + of_integers(Y).astype("float32"), lint="warn")()


def test_float64_that_was_asked_for_is_not_told() -> None:
    wide = sg.placeholder("wide", (), "float64")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled([X], sg.mean(X) + sg.sum(X.astype("float64")), lint="warn")()
        compiled([X, wide], sg.mean(X) + wide, lint="warn")()


BY_HAND: list[tuple[str, Callable[[], Any]]] = [
    ("softmax", lambda: sg.exp(X)[:, 0] / sg.sum(sg.exp(X), axis=1)),
    ("softmax", lambda: sg.exp(X).T / sg.sum(sg.exp(X), axis=1)),
    ("softmax", lambda: sg.exp(X) @ variable(5, 2) / sg.sum(sg.exp(X), axis=1, keepdims=True)),
    ("softmax", lambda: sg.sum(sg.exp(X) * X, axis=1) / sg.sum(sg.exp(X), axis=1)),
    ("logsumexp", lambda: sg.log(sg.sum(sg.exp(X), axis=1))),
]


@pytest.mark.parametrize(("name", "made"), BY_HAND, ids=range(len(BY_HAND)))
def test_exp_without_max_is_told(name: str, made: Callable[[], Any]) -> None:
    with pytest.warns(sg.LintWarning, match=rf"above 89: write sg.{name}\(x, axis=1\)") as told:
        compiled([X], made(), lint="warn")()
    assert len(told) == 1


BOUNDED: list[Callable[[], Any]] = [
    lambda: X - sg.max(X, axis=1, keepdims=True),
    lambda: sg.minimum(X, 0.0),
    lambda: -sg.square(X),
    lambda: sg.tanh(X),
]


@pytest.mark.parametrize("argument", BOUNDED, ids=range(len(BOUNDED)))
def test_exp_of_what_is_not_large_is_not_told(argument: Callable[[], Any]) -> None:
    exp = sg.exp(argument())
    total = sg.sum(exp, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled([X], [exp[:, 0] / total, sg.log(total)], lint="warn")()
