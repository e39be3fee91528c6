"""What `help` shows of the public ops and functions: each has an example, and it is right."""

from __future__ import annotations

import doctest
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from compiler.core.op import Op
from compiler.core.pytree import leaves, structure
from compiler.ops import LINALG, PUBLIC

OPS = {
    op.name: op
    for module in (sg, sg.linalg, dynamic, dynamic.linalg, dynamic.nn.functional)
    for op in vars(module).values()
    if isinstance(op, Op)
}
LIBRARY_FUNCTIONS = {name: getattr(sg, name) for name in PUBLIC} | {
    f"linalg.{name}": getattr(sg.linalg, name) for name in LINALG
}
FUNCTIONS = {
    name: function for name, function in LIBRARY_FUNCTIONS.items() if not isinstance(function, Op)
}


def _text(function: Any) -> str:
    return inspect.cleandoc(function.__doc__)


def _example(function: Any) -> list[doctest.Example]:
    """The example in a documentation: calls, and what they print."""
    return doctest.DocTestParser().get_examples(_text(function))


def _ran(name: str, function: Any) -> str:
    """What doctest has to say of an example: nothing if it is right."""
    test = doctest.DocTest(_example(function), {"sg": sg, "np": np}, name, None, None, None)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


def _values(function: Any, numpy: Any) -> Iterator[Any]:
    """What the calls in an example return, with this in the place of NumPy."""
    names = {"sg": sg, "np": numpy}
    for one in _example(function):
        if one.want:
            yield eval(one.source, names)
        else:
            exec(one.source, names)


class _Placeholders:
    """NumPy, but for arrays, which are placeholders that are to be fed with them."""

    def __init__(self) -> None:
        self.made: list[sg.Expression] = []
        self.fed: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        return partial(self._called, found) if callable(found) else found

    def _called(self, function: Callable[..., Any], *args: Any) -> Any:
        value = function(*args)
        if not isinstance(value, np.ndarray):
            return value
        self.made.append(sg.placeholder(f"x{len(self.made)}", value.shape, value.dtype))
        self.fed.append(value)
        return self.made[-1]


def _compared(function: Any) -> None:
    """AssertionError unless an example has one value on arrays and compiled."""
    numpy = _Placeholders()
    symbolic = list(_values(function, numpy))
    if not numpy.made:
        return  # it is of numbers
    eager = list(_values(function, np))
    assert structure(symbolic) == structure(eager)
    found = sg.compile(numpy.made, leaves(symbolic), debug=True)(*numpy.fed)
    for one, other in zip(found, leaves(eager), strict=True):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [OPS, FUNCTIONS], ids=["ops", "functions"])
def test_every_public_function_has_an_example(kind: dict[str, Any]) -> None:
    assert len(kind) > 20
    assert [name for name, function in kind.items() if not _example(function)] == []


@pytest.mark.parametrize("kind", [OPS, FUNCTIONS], ids=["ops", "functions"])
def test_the_examples_print_what_they_say(kind: dict[str, Any]) -> None:
    assert "".join(_ran(name, function) for name, function in kind.items()) == ""


def test_the_examples_mean_the_same_when_they_are_compiled() -> None:
    wrong = {}
    for name, function in LIBRARY_FUNCTIONS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sg.NonFiniteWarning)  # some show an inf
                _compared(function)
        except Exception as error:  # whatever an example raises is told with the others
            wrong[name] = repr(error)
    assert wrong == {}


def test_an_example_calls_what_it_is_of() -> None:
    wrong = []
    for name, function in LIBRARY_FUNCTIONS.items():
        place = name.rpartition(".")[0]
        call = f"sg.{place}.{function.__name__}(" if place else f"sg.{function.__name__}("
        if not any(call in one.source for one in _example(function)):
            wrong.append(name)
    assert wrong == []
