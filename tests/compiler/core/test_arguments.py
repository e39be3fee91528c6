"""Arguments that public functions take: each is used, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgraph as sg

X = sg.placeholder("x", (None,))
W = sg.variable(np.zeros(3, "float32"), "w")
LOSS = (W * W).sum()


def compiled(**options: Any) -> Callable[[], Any]:
    return lambda: sg.compile([X], X + 1, **options)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "fuse": (compiled(fuse="no"), sg.OptionError, "compile: fuse is True or False, not 'no'"),
    "background": (
        compiled(background=1), sg.OptionError, "compile: background is True or False, not 1",
    ),
    "name": (compiled(name=5), sg.OptionError, "compile: the name is a string, not 5"),
    "givens": (compiled(givens=[(X, X)]), sg.GraphError, r"compile: the givens \[.* are no dict"),
    "given": (
        compiled(givens={5: X}), sg.GraphError, "compile: givens replace 5, which is no expression",
    ),
    "a given that nothing needs": (
        compiled(givens={W: W}), sg.GraphError, "compile: givens replace .*'w'.*no output needs it",
    ),
    "updates": (compiled(updates=5), sg.GraphError, "compile: the updates 5 are no pairs of"),
    "update": (compiled(updates=[W]), sg.GraphError, "compile: the updates .* are no pairs of"),
    "variable's name": (
        lambda: sg.variable(1.0, name=5), sg.OptionError, "variable: the name is a string, not 5",  # type: ignore[arg-type]
    ),
    "a fraction as int": (
        lambda: sg.variable(1.5, dtype="int64"), sg.DTypeError, "1.5 does not fit int64: cast it",
    ),
    "large ints": (
        lambda: sg.variable(np.array([300]), dtype="int8"), sg.DTypeError, "does not fit int8",
    ),
    "nan as int": (
        lambda: sg.constant(np.array([np.nan]), "int8"), sg.DTypeError, "does not fit int8",
    ),
    "large floats": (lambda: sg.constant(1e300, "float32"), sg.DTypeError, "does not fit float32"),
    "a large int": (lambda: sg.full((2,), 300, "int8"), sg.DTypeError, "300 as int8: Python int"),
    "values": (
        lambda: sg.full((2,), np.ones(2)), sg.ShapeError, "full: the value is one number, not",  # type: ignore[arg-type]
    ),
    "no number": (lambda: sg.arange(2.5, "a"), sg.OptionError, "arange: 'a' is no number beside"),  # type: ignore[arg-type]
    "negative size": (lambda: sg.arange(-2), sg.OptionError, "arange: -2 is no size"),
    "bool as size": (lambda: sg.arange(True), sg.OptionError, "arange: True is no size"),
    "function's name": (
        lambda: sg.function(abs, name=5), sg.OptionError, "function: the name is a string, not 5",  # type: ignore[arg-type]
    ),
    "function's option": (
        lambda: sg.function(abs, fuze=True), sg.OptionError, "function: no option 'fuze': known",
    ),
    "function's shapes": (
        lambda: sg.function(abs, shapes=[1]), sg.OptionError, r"function: the shapes are a dict",  # type: ignore[arg-type]
    ),
    "reverse": (
        lambda: sg.scan(lambda c, x: (c, x), X, np.ones(3, "f"), reverse="no"),  # type: ignore[arg-type]
        sg.OptionError, "scan: reverse is True or False, not 'no'",
    ),
    "nesterov": (
        lambda: sg.optim.SGD(momentum=0.9, nesterov="no"), sg.OptionError,  # type: ignore[arg-type]
        "SGD: nesterov is True or False, not 'no'",
    ),
    "amsgrad": (
        lambda: sg.optim.Adam(amsgrad=1), sg.OptionError, "Adam: amsgrad is True or False, not 1",  # type: ignore[arg-type]
    ),
    "dampening": (
        lambda: sg.optim.SGD(dampening="x"), sg.OptionError, "SGD: dampening 'x' is no number",  # type: ignore[arg-type]
    ),
    "betas": (lambda: sg.optim.Adam(betas=("a", 0)), sg.OptionError, "Adam: betas .* are not in"),  # type: ignore[arg-type]
    "parameters": (
        lambda: sg.optim.SGD().minimize(LOSS, W), sg.GraphError,  # type: ignore[arg-type]
        "minimize: the parameters are a list of variables, not",
    ),
    "what is saved": (
        lambda: sg.save(5, "x.sg"), sg.OptionError, "save: 5 is no executable, nor a dict of them",  # type: ignore[arg-type]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
