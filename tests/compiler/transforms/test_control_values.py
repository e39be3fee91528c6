"""Loops and branches in both paradigms: values and derivatives against JAX's, and each other's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.dims import unknown
from staticgraph.compiler.graph.build import graph_of, verify
from staticgraph.compiler.graph.definition import define, to_text
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.inspect.interpret import interpret
from tests.combinations import some
from tests.loops import PROGRAMS, Program
from tests.paths import TESTS
from tests.trace import difference_quotient, placeholder

RECORDED = np.load(TESTS / "data" / "control_values.npz")
# both compute in float64; only the order of additions differs
CLOSE = {"rtol": 1e-11, "atol": 1e-12}

each = pytest.mark.parametrize("name", PROGRAMS)


def symbolic(
    program: Program, *, sizes: bool = True
) -> tuple[Expression, dict[Expression, np.ndarray]]:
    """The program as an expression, and what to feed; with `sizes` some axes are unknown."""
    feeds: dict[Expression, np.ndarray] = {}
    for i, (array, axes) in enumerate(zip(program.args, program.unknown, strict=True)):
        shape = [
            unknown(f"n{size}") if sizes and axis in axes else size
            for axis, size in enumerate(array.shape)
        ]
        feeds[placeholder(shape, "float64", f"x{i}")] = array
    return program.function(sg, *feeds), feeds


def recorded(name: str, kind: str) -> list[np.ndarray]:
    return [RECORDED[f"{name} {kind} {i}"] for i in range(len(PROGRAMS[name].args))]


def directions(args: Any) -> list[np.ndarray]:
    return [np.cos(np.arange(a.size)).reshape(a.shape) for a in args]


@each
@pytest.mark.parametrize("sizes", [True, False])
def test_expressions_against_jax(name: str, sizes: bool) -> None:
    output, feeds = symbolic(PROGRAMS[name], sizes=sizes)
    leaves = list(feeds)
    gradients = sg.grad(output, leaves)
    along = sum((g * d).sum() for g, d in zip(gradients, directions(feeds.values()), strict=True))
    second = sg.grad(along, leaves)
    verify(graph_of(define(leaves, [output, *gradients, *second])))
    value, *found = interpret([output, *gradients, *second], feeds)
    assert_allclose(value, RECORDED[f"{name} value"], **CLOSE)
    expected = recorded(name, "gradient") + recorded(name, "second")
    for one, other in zip(found, expected, strict=True):
        assert_allclose(one, other, **CLOSE)


@each
def test_tensors_against_jax(name: str) -> None:
    program = PROGRAMS[name]
    tensors = [dynamic.tensor(array, requires_grad=True) for array in program.args]
    output = program.function(dynamic, *tensors)
    assert_allclose(output.item(), RECORDED[f"{name} value"], **CLOSE)
    gradients = dynamic.autograd.grad(output, tensors, create_graph=True)
    for one, other in zip(gradients, recorded(name, "gradient"), strict=True):
        assert_allclose(one.detach().numpy(), other, **CLOSE)
    along: Any = sum(
        (g * dynamic.tensor(d)).sum()
        for g, d in zip(gradients, directions(program.args), strict=True)
    )
    second = dynamic.autograd.grad(along, tensors)
    for one, other in zip(second, recorded(name, "second"), strict=True):
        assert_allclose(one.numpy(), other, **CLOSE)


@each
def test_arrays_against_jax(name: str) -> None:
    program = PROGRAMS[name]
    output = program.function(sg, *program.args)
    assert isinstance(output, np.ndarray | np.generic)
    assert_allclose(output, RECORDED[f"{name} value"], **CLOSE)


@each
def test_the_text_of_equal_programs_is_the_same(name: str) -> None:
    texts = set()
    for _ in range(2):
        output, feeds = symbolic(PROGRAMS[name])
        gradients = sg.grad(output, list(feeds))
        texts.add(to_text(define(list(feeds), [output, *gradients])))
    assert len(texts) == 1
    assert "\n  body:\n    %0 = placeholder(" in texts.pop()


@pytest.mark.parametrize("name", some(["nested", "rnn", "branches"], 1))
def test_third_derivatives_against_differences(name: str) -> None:
    output, feeds = symbolic(PROGRAMS[name])
    leaves = list(feeds)
    total = output
    for _ in range(2):
        total = sum(
            (g * d).sum()
            for g, d in zip(sg.grad(total, leaves), directions(feeds.values()), strict=True)
        )
    leaf = leaves[-1]
    (third,) = interpret([sg.grad(total, leaf)], feeds)
    expected = difference_quotient(
        lambda at: float(interpret([total], {**feeds, leaf: at})[0]), feeds[leaf], step=5e-4
    )
    # the quotient's error: the fifth derivative times step**4 / 30, and rounding / step
    assert_allclose(third, expected, rtol=1e-6, atol=1e-6)


def test_unrolled_steps_give_the_same_gradients() -> None:
    program = PROGRAMS["rnn"]
    x, h, wx, wh, b = leaves = [placeholder(a.shape, "float64") for a in program.args]
    states = []
    state = h
    for t in range(6):
        state = sg.tanh(x[t] @ wx + state @ wh + b)
        states.append(state)
    loss = (state * state).sum() + (sg.stack(states) ** 3).mean()
    feeds = dict(zip(leaves, program.args, strict=True))
    unrolled = interpret([loss, *sg.grad(loss, leaves)], feeds)
    output, looped = symbolic(program)
    found = interpret([output, *sg.grad(output, list(looped))], looped)
    for one, other in zip(found, unrolled, strict=True):
        assert_allclose(one, other, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "loop",
    [
        lambda x: sg.scan(lambda carry, part: (carry, part), x, x)[0],
        lambda x: sg.scan(lambda carry, part: (carry, part), x, x[:0])[0],
        lambda x: sg.while_loop(lambda carry: carry.sum() < 0, lambda carry: carry, x),
        lambda x: sg.cond(x.sum() > 0, lambda x: x, lambda x: -x, x),
    ],
    ids=["scan", "no steps", "while_loop", "cond"],
)
def test_what_is_handed_on_is_a_value_of_its_own(loop: Any) -> None:
    x = dynamic.tensor([1.0, 2.0], requires_grad=True)
    result = loop(x)
    (by_result,) = dynamic.autograd.grad((result * x).sum(), [result], retain_graph=True)
    assert by_result.tolist() == [1, 2]
    (result * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
