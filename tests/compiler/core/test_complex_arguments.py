"""Complex numbers where a real one is taken: refused by the argument's name, no part is dropped."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.op import Op, all_ops
from tests.samples import SAMPLES

C = np.complex64(1 + 2j)
COMPLEX = (C, np.complex128(1 + 2j), 1 + 2j)
OPS = {op.name: op for op in all_ops() if op.name in SAMPLES and op.bind is not None}


def _numbers(op: Op) -> list[str]:
    """The arguments of an op that samples give numbers for, or whose defaults are such."""
    found = set()
    for sample in SAMPLES[op.name]:
        given = inspect.signature(op).bind(*sample.args, **sample.options).arguments
        found |= {name for name, one in given.items() if type(one) is float}
    for one in inspect.signature(op).parameters.values():
        if type(one.default) is float or str(one.annotation).startswith("float"):
            found.add(one.name)
    return sorted(found - {"values"})  # an operand


CASES = [(name, argument) for name, op in OPS.items() for argument in _numbers(op)]
X = np.ones((2, 3), "float32")
T = dynamic.ones(2, 3)


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_every_number_of_an_op_is_real(name: str, argument: str) -> None:
    op = OPS[name]
    sample = SAMPLES[name][0]
    for operand in (sample.args[0], dynamic.tensor(sample.args[0]), sg.constant(sample.args[0])):
        for value in COMPLEX:
            given = inspect.signature(op).bind(operand, *sample.args[1:], **sample.options)
            given.arguments[argument] = value
            text = f"{name}.*{argument}.*must be float"
            with pytest.raises(TypeError, match=text):
                op(*given.args, **given.kwargs)


REFUSED: dict[str, Callable[[Any], object]] = {
    "pad": lambda c: sg.pad(X, 1, value=c),
    "full": lambda c: sg.full((2,), c),
    "constant": lambda c: sg.constant(c, "float32"),
    "linspace": lambda c: sg.linspace(0, c, 5),
    "logspace": lambda c: sg.logspace(0, c, 5),
    "base": lambda c: sg.logspace(0, 1, 5, base=c),
    "arange": lambda c: sg.arange(0, c),
    "quantile": lambda c: sg.quantile(X, c),
    "tensor": lambda c: dynamic.tensor(c, dtype=dynamic.float32),
    "eager full": lambda c: dynamic.full((2,), c, dtype=dynamic.float32),
    "eager pad": lambda c: dynamic.nn.functional.pad(T, (1, 1), value=c),
    "eager linspace": lambda c: dynamic.linspace(c, 1, 5),
    "eager logspace": lambda c: dynamic.logspace(c, 1, 5),
    "eager arange": lambda c: dynamic.arange(0, c),
    "eager quantile": lambda c: dynamic.quantile(T, c),
    "eager leaky_relu": lambda c: dynamic.nn.functional.leaky_relu(T, c),
    "norm": lambda c: T.norm(c),
    "normal_": lambda c: T.clone().normal_(0, c),
    "uniform_": lambda c: T.clone().uniform_(c),
    "isclose": lambda c: dynamic.isclose(T, T, rtol=c),
    "scatter_": lambda c: T.clone().scatter_(0, dynamic.zeros(1, 3, dtype=dynamic.int64), c),
    "lerp": lambda c: dynamic.lerp(T, T, c),
    "SGD": lambda c: dynamic.optim.SGD([T.clone().requires_grad_()], lr=c),
    "betas": lambda c: dynamic.optim.Adam([T.clone().requires_grad_()], betas=(0.9, c)),
    "layer_norm": lambda c: dynamic.nn.functional.layer_norm(T, (3,), eps=c),
}  # fmt: skip


SAID = r"complex|real|convert|size|dtype"


@pytest.mark.parametrize("name", REFUSED)
def test_a_complex_number_is_refused(name: str) -> None:
    for value in COMPLEX:
        with pytest.raises((TypeError, ValueError, RuntimeError), match=SAID):
            REFUSED[name](value)
