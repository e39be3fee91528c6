"""`diff` finds what is planted: a rewrite, or what a composite is written in, that is wrong."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.passes import rules

X = np.array([[0.5, -1.5, 2.0], [-0.25, 1.0, 3.0]], "float32")


def _wrong(x: Any) -> Any:
    return x * 1.001


def _square(x: Any) -> Any:
    h = sg.tanh(x)
    return sg.sum(h**2)


def _mean(x: Any) -> Any:
    h = sg.tanh(x)
    return sg.mean(h)


def _line(function: Any) -> str:
    _, first = inspect.getsourcelines(function)
    return f"{__file__}:{first + 2}"


def test_a_wrong_rewrite_of_a_power_is_found() -> None:
    assert sg.diff(_square, X).divergence is None
    planted = [
        replace(one, rewrite=lambda a, b: _wrong(ops.square(a)))
        if one.name == "power_of_constant_exponent"
        else one
        for one in rules.RULES
    ]
    before = [*rules.RULES]
    rules.RULES[:] = planted
    try:
        found = sg.diff(lambda x: _square(x) + 0.7123, X).divergence
    finally:
        rules.RULES[:] = before
    assert found is not None
    assert (found.op, found.source) == ("power", _line(_square))


def test_a_composite_that_is_written_wrongly_is_found() -> None:
    assert sg.diff(_mean, X).divergence is None
    expand = ops.mean.expand
    assert expand is not None
    object.__setattr__(ops.mean, "expand", lambda *x, **attrs: _wrong(expand(*x, **attrs)))
    try:
        found = sg.diff(lambda x: _mean(x) + 0.7123, X).divergence
    finally:
        object.__setattr__(ops.mean, "expand", expand)
    assert found is not None
    assert (found.op, found.source) == ("mean", _line(_mean))
