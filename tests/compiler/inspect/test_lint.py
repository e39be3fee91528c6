"""The lint: what each rule finds and what it must not, at the user's line."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.compiler.inspect.lint.report import LEVELS
from tests.compiler.inspect.lint_programs import (
    CLASSES,
    ROWS,
    Program,
    X,
    Y,
    chosen,
    compiled,
    variable,
)

# -- slips: (rule, program, what the message says) -------------------------------------------------


def softmax_of_batch() -> Program:
    p = sg.softmax(X @ variable(5, 3), axis=0)
    return compiled([X, Y], -sg.mean(chosen(sg.log(p))))


def softmax_of_batch_one_hot() -> Program:
    p = sg.log_softmax(X @ variable(5, 3), axis=0)
    return compiled([X, Y], -sg.mean(sg.sum(p * sg.one_hot(Y, 3), axis=1)))


def softmax_of_batch_all() -> Program:
    p = sg.softmax(X @ variable(5, 3), axis=0)
    return compiled([X, Y], -sg.mean(sg.one_hot(Y, 3) * sg.log(p)))


def softmax_of_batch_picked() -> Program:
    p = sg.softmax(X @ variable(5, 3), axis=0)
    return compiled([X, Y], -sg.mean(sg.log(p[sg.arange(X.shape[0]), Y])))


def softmax_of_batch_of_tensors_picked() -> Program:
    w = torch.ones(5, 3)

    def loss(x: Any, y: Any) -> Any:
        p = torch.softmax(x @ w, dim=0)
        return -torch.log(p[torch.arange(len(ROWS)), y]).mean()

    f = sg.function(loss, debug=True)
    return lambda: f(torch.tensor(ROWS), torch.tensor(CLASSES))


def softmax_of_batch_of_tensors() -> Program:
    w = torch.ones(5, 3)

    def loss(x: Any, y: Any) -> Any:
        p = torch.softmax(x @ w, dim=0)
        return -torch.log(p.gather(1, y.reshape(-1, 1))).mean()

    f = sg.function(loss, debug=True)
    return lambda: f(torch.tensor(ROWS), torch.tensor(CLASSES))


def softmax_of_batch_of_a_layer() -> Program:
    w, b = torch.ones(5, 3), torch.zeros(3)

    def loss(x: Any, y: Any) -> Any:
        p = torch.softmax(torch.relu(x * 0.5) @ w + b, dim=0)
        return -torch.log(p.gather(1, y.reshape(-1, 1))).mean()

    f = sg.function(loss, debug=True)
    return lambda: f(torch.tensor(ROWS), torch.tensor(CLASSES))


def wide_of_tensors() -> Program:
    f = sg.function(lambda x: x - torch.from_numpy(np.ones(5)), debug=True)
    return lambda: f(torch.tensor(ROWS))


def softmax_of_batch_captured() -> Program:
    def loss(x: Any, w: Any, y: Any) -> Any:
        p = sg.softmax(x @ w, axis=0)
        return -sg.mean(sg.take_along_axis(sg.log(p), y[:, None], axis=1))

    f = sg.function(loss, debug=True)
    return lambda: f(ROWS, np.ones((5, 3), "float32"), CLASSES)


def rounded_captured() -> Program:
    f = sg.grad(lambda x: sg.sum(sg.round(x)))
    return lambda: f(ROWS)


def wide_captured() -> Program:
    f = sg.function(lambda x: sg.sum(x * np.sqrt(2.0)), debug=True)
    return lambda: f(ROWS)


def softmax_of_batch_predicts() -> Program:
    return compiled([X], sg.argmax(sg.softmax(X, axis=-2), axis=-1))


def rounded() -> Program:
    w = variable(5)
    return compiled([X], sg.grad(sg.sum(sg.round(X @ w) * 2), w))


def compared() -> Program:
    w = variable(5)
    return compiled([X], [X * 2, sg.grad(sg.mean((X @ w > 0).astype("float32")), w)])


def cast() -> Program:
    w = variable(5)
    slope = sg.grad(sg.sum(X @ w.astype("int64").astype("float32")), w)
    return compiled([X], [X * 2, slope])


def stopped() -> Program:
    w, b = variable(5), variable(name="b")
    return compiled([X], sg.grad(sg.sum(X @ sg.stop_gradient(w) + b), [w, b]))


def wide_scalar() -> Program:
    return compiled([X], sg.sum(X * np.sqrt(2.0)))


def wide_array() -> Program:
    return compiled([X], X + sg.constant(np.linspace(0, 1, 5)))


def divided() -> Program:
    return compiled([Y], Y // 0)


def divided_by_some() -> Program:
    return compiled([X, Y], [X * 2, Y[:, None] % np.array([3, 0])])


def beyond() -> Program:
    return compiled([X], sg.take(X, np.array([0, 5]), axis=1))


def beyond_in_a_scan() -> Program:
    table = variable(3, name="table")
    ys = sg.scan(lambda c, x: (c + sg.take(table, np.array([7]))[0], c), 0.0, X[:, 0])[0]
    return compiled([X], ys)


def forgotten() -> Program:
    w, b = variable(5), sg.variable(0.5, "b")
    loss = sg.mean(X @ w + b)
    slope, _ = sg.grad(loss, [w, b])
    return lambda: sg.compile([X], loss, updates={w: w - slope}, debug=True)(ROWS)


def never_trained() -> Program:
    w, b = variable(5, 3), sg.variable(np.zeros(3, "float32"), "b")
    loss = sg.cross_entropy(X @ w + b, Y)
    updates = sg.optim.SGD().minimize(loss, [w])
    return lambda: sg.compile([X, Y], loss, updates=updates, debug=True)(ROWS, CLASSES)


def never_trained_alone() -> Program:
    w, b = variable(5), sg.variable(np.zeros(1, "float32"), "b")
    loss = sg.mean((X @ w + b) ** 2)
    updates = sg.optim.SGD().minimize(loss, [w])
    return lambda: sg.compile([X], loss, updates=updates, debug=True)(ROWS)


def frozen() -> Program:
    gate = variable(name="gate")
    if gate.value > 0:
        y = X * 2
    else:
        y = -X
    return compiled([X], y)


def frozen_in_a_line() -> Program:
    gate = variable(name="gate")
    y = X * 2 if gate.value.sum() > 0 else -X
    return compiled([X], y)


SLIPS = [
    ("softmax_over_batch", softmax_of_batch, "matmul float32.x.0, 3., whose last axis"),
    ("softmax_over_batch", softmax_of_batch_one_hot, "log_softmax over axis 0, the batch"),
    ("softmax_over_batch", softmax_of_batch_all, "softmax over axis 0, the batch"),
    ("softmax_over_batch", softmax_of_batch_captured, "write axis=-1"),
    ("softmax_over_batch", softmax_of_batch_picked, "write axis=-1"),
    ("softmax_over_batch", softmax_of_batch_of_tensors_picked, "write axis=-1"),
    ("softmax_over_batch", softmax_of_batch_of_tensors, "over axis 0, the batch, of"),
    ("softmax_over_batch", softmax_of_batch_of_a_layer, "over axis 0, the batch, of"),
    ("float64_by_constant", wide_of_tensors, r"because of float64\[5\]"),
    ("zero_gradient", rounded_captured, "through round at"),
    ("float64_by_constant", wide_captured, "give it as a Python number"),
    ("softmax_over_batch", softmax_of_batch_predicts, "write axis=-1"),
    ("zero_gradient", rounded, r"by variable 'w' .* through round at .*test_lint.py:\d+, which"),
    ("zero_gradient", compared, "through greater at"),
    ("zero_gradient", cast, "through astype at"),
    ("zero_gradient", stopped, "through stop_gradient at"),
    ("float64_by_constant", wide_scalar, r"multiply: placeholder 'x' .* of float64\[\] 1\.414"),
    ("float64_by_constant", wide_array, r"add: placeholder 'x' .* of float64\[5\]"),
    ("integer_division_by_zero", divided, "floor_divide of placeholder 'y' .* by the constant 0"),
    ("integer_division_by_zero", divided_by_some, "remainder of .* the constant 1 zeros of 2"),
    ("index_out_of_range", beyond, "the constant index 5 is out of range for axis 1 of size 5"),
    ("index_out_of_range", beyond_in_a_scan, "the constant index 7 .* of size 3"),
    ("gradient_not_used", forgotten, r"variable 'b' float32\[\] is never updated: .* 'w'"),
    ("bias_never_updated", never_trained, r"variable 'b' float32\[3\] is 0 everywhere, is added"),
    ("bias_never_updated", never_trained_alone, r"variable 'b' float32\[1\]"),
    ("frozen_branch", frozen, "if on the value of variable 'gate' was decided once"),
    ("frozen_branch", frozen_in_a_line, "write sg.cond or sg.where"),
]


@pytest.mark.parametrize(
    ("rule", "make", "says"), SLIPS, ids=lambda one: getattr(one, "__name__", "")
)
def test_a_slip_is_told_at_its_line(rule: str, make: Callable[[], Program], says: str) -> None:
    program = make()
    with pytest.warns(sg.LintWarning, match=says) as found:
        program()
    (one,) = [w for w in found if issubclass(w.category, sg.LintWarning)]
    assert str(one.message).endswith(f"[{rule}]")
    lines, first = inspect.getsourcelines(make)
    assert one.filename == __file__
    assert first < one.lineno < first + len(lines)


# -- what is no slip -------------------------------------------------------------------------------


def pooled() -> Program:
    p = sg.softmax(X @ variable(5, 3), axis=0)  # attention over a sequence of any length
    entropy = -sg.sum(p * sg.log(p))
    return compiled([X], [p.T @ X, entropy, sg.mean(p, axis=-1)])


def contrasted() -> Program:
    other = sg.placeholder("other", (None, 5))
    losses = [chosen_rows(sg.log_softmax(X @ one.T, axis=0)) for one in (X, other)]
    return compiled([X, other], sg.mean(losses[0]) + sg.mean(losses[1]))


def chosen_rows(logits: Any) -> Any:
    return sg.take_along_axis(logits, sg.arange(logits.shape[0])[:, None], axis=1)


def straight_through() -> Program:
    w = variable(5)
    h = X @ w
    return compiled([X], sg.grad(sg.sum(h + sg.stop_gradient(sg.round(h) - h)), w))


def second_derivative() -> Program:
    x = sg.placeholder("x", (3,))
    (first,) = sg.grad(sg.sum(sg.relu(x)), [x])
    return compiled([x], [x * 2, sg.grad(sg.sum(first), x)])


def target_network() -> Program:
    w, target = variable(5), variable(5, name="target")
    loss = sg.mean((X @ w - sg.stop_gradient(X @ target)) ** 2)
    return compiled([X], loss, updates=sg.optim.SGD().minimize(loss))


def meant_to_be_wide() -> Program:
    v = sg.variable(np.ones(5))
    return compiled([X], sg.sum(X * np.sqrt(2.0) + v))


def cast_by_hand() -> Program:
    return compiled([X], sg.sum(X.astype("float64") * np.sqrt(2.0)))


def alternating() -> Program:
    w, b = variable(5), variable(name="b")
    loss = sg.mean((X @ w + b) ** 2)
    by_w, by_b = sg.grad(loss, [w, b])

    def run() -> None:
        one = sg.compile([X], loss, updates={w: w - by_w}, debug=True)
        other = sg.compile([X], loss, updates={b: b - by_b}, debug=True)
        one(ROWS), other(ROWS)

    return run


def assigned() -> Program:
    w, b = variable(5, 3), sg.variable(np.zeros(3, "float32"), "b")
    loss = sg.cross_entropy(X @ w + b, Y)
    step = sg.compile([X, Y], loss, updates=sg.optim.SGD().minimize(loss, [w]), debug=True)

    def run() -> None:
        b.value = np.ones(3, "float32")  # by hand, before the first call
        step(ROWS, CLASSES)

    return run


def trained_by_another() -> Program:
    w, b = variable(5, 3), sg.variable(np.zeros(3, "float32"), "b")
    loss = sg.cross_entropy(X @ w + b, Y)
    steps = [
        sg.compile([X, Y], loss, updates=sg.optim.SGD().minimize(loss, [one]), debug=True)
        for one in (w, b)
    ]
    return lambda: [step(ROWS, CLASSES) for step in steps]


def state_of_zeros() -> Program:
    w, h = variable(5, 5), sg.variable(np.zeros(5, "float32"), "h")
    last = sg.scan(lambda c, x: (sg.tanh(x @ w + c), None), h, X)[0]
    loss = sg.mean(last)
    step = sg.compile([X], loss, updates=sg.optim.SGD().minimize(loss, [w]), debug=True)
    return lambda: step(ROWS)


def chosen_by_shape() -> Program:
    table = variable(5, name="table")
    if table.value.shape[0] > 3 and len(table.value) > 3:
        y = X * table
    else:
        y = X
    return compiled([X], y)


def compiled_in_a_branch() -> Program:
    gate = variable(name="gate")
    if gate.value > 0:
        return lambda: None
    return compiled([X], X)


def masked_division() -> Program:
    return compiled([Y], sg.where(Y == 0, 0, 6 // sg.where(Y == 0, 1, Y)))


def cast_back() -> Program:
    return compiled([X], (X * np.sqrt(2.0)).astype("float32"))


def counted_from_the_end() -> Program:
    return compiled([X], sg.take(X, np.array([-5, 4]), axis=1))


def softmax_of_places() -> Program:
    def chosen_places(x: Any, y: Any) -> Any:
        p = torch.softmax(x.cumsum(0), dim=0)  # the first axis may be that of time
        return -torch.log(p.gather(1, y.reshape(-1, 1))).mean()

    f = sg.function(chosen_places, debug=True)
    return lambda: f(torch.tensor(ROWS), torch.tensor(CLASSES))


def softmax_of_products_of_arguments() -> Program:
    def attended(x: Any, keys: Any, y: Any) -> Any:
        p = torch.softmax(x @ keys, dim=0)
        return -torch.log(p.gather(1, y.reshape(-1, 1))).mean()

    f = sg.function(attended, debug=True)
    return lambda: f(torch.tensor(ROWS), torch.ones(5, 3), torch.tensor(CLASSES))


FINE = [
    softmax_of_places, softmax_of_products_of_arguments,
    pooled, contrasted, straight_through, second_derivative, target_network, meant_to_be_wide,
    cast_by_hand, alternating, assigned, trained_by_another, state_of_zeros, chosen_by_shape,
    compiled_in_a_branch, masked_division, cast_back, counted_from_the_end,
]  # fmt: skip


@pytest.mark.parametrize("make", FINE)
def test_what_may_be_meant_is_no_slip(make: Callable[[], Program]) -> None:
    make()()  # a warning would be an error


# -- levels ----------------------------------------------------------------------------------------


def test_levels() -> None:
    for level in ("off", None):
        sg.compile([Y], Y // 0, lint=level, debug=True)
    with pytest.raises(sg.LintError, match=rf"floor_divide .*\n.*divide.* \({__file__}:\d+\)"):
        sg.compile([X, Y], [Y // 0, X / 0], lint="error", debug=True)
    message = f"compile: lint is one of {LEVELS} or None, not 'loud'".replace("(", r"\(")
    with pytest.raises(sg.OptionError, match=message.replace(")", r"\)")):
        sg.compile([X], X, lint="loud")
    f = sg.function(lambda y: y // 0, lint="error")
    with pytest.raises(sg.LintError, match="integer_division_by_zero"):
        f(CLASSES)


def test_a_slip_is_told_once_of_each_line() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            sg.compile([Y], Y // 0)
    assert len(found) == 1


def test_a_start_from_the_cache_tells_too() -> None:
    for _ in range(2):
        with pytest.warns(sg.LintWarning, match="integer_division_by_zero"):
            f = sg.compile([Y], Y // 0)
        assert f(CLASSES).tolist() == [0] * 4


@pytest.mark.parametrize("level", ["certain", "warn"])
@pytest.mark.parametrize("together", [False, True])
def test_a_variable_is_told_of_once(level: str, together: bool) -> None:
    w, b = variable(5, 3), sg.variable(np.zeros(3, "float32"), "b")
    loss = sg.mean((X @ w + b) ** 2)
    gradient = sg.grad(loss, [w, b] if together else [w])[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled([X], loss, updates={w: w - gradient}, lint=level)()(ROWS)
    assert len([one for one in told if "variable 'b'" in str(one.message)]) == 1
