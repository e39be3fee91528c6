"""What `help` shows of the public ops and functions: each has an example, and it is right."""

from __future__ import annotations

import doctest
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.pytree import leaves, structure
from staticgraph.compiler.ops import LINALG, PUBLIC
from tests.project.namespaces import documented, namespaces

SPACES = namespaces()
NAMED = {
    f"{space}.{name}": one
    for space, module in SPACES.items()
    for name, one in documented(module).items()
}
OPS = {one.name: one for one in NAMED.values() if isinstance(one, Op)}
LIBRARY = {name: getattr(sg, name) for name in PUBLIC} | {
    f"linalg.{name}": getattr(sg.linalg, name) for name in LINALG
}
CLASSES = {
    base
    for name, value in (*NAMED.items(), *vars(sg.optim).items())
    if inspect.isclass(value)
    and not issubclass(value, Exception)
    and name.split(".")[0] != "dynamic"
    for base in value.__mro__
}


def _members(*, compiler: bool) -> dict[str, Any]:
    """The public methods and properties of the compiler's classes, or of the frontend's."""
    return {
        f"{kind.__name__}.{name}": member
        for kind in CLASSES
        if kind.__module__.startswith("staticgraph.")
        and kind.__module__.startswith("staticgraph.compiler.") == compiler
        for name, member in vars(kind).items()
        if not name.startswith("_") and isinstance(member, property | FunctionType)
    }


TENSOR = {
    name: inspect.getattr_static(dynamic.Tensor, name)
    for name in dir(dynamic.Tensor)
    if not name.startswith("_")
}
FUNCTIONS = {  # and classes, but for protocols: what a user's class has to have
    name: one
    for name, one in NAMED.items()
    if not isinstance(one, Op) and Protocol not in getattr(one, "__bases__", ())
}
ERRORS = {name: one for name in sg.__all__ if inspect.isclass(one := getattr(sg, name))}
MEMBERS = _members(compiler=False)
COMPILER = _members(compiler=True) | {
    kind.__name__: kind for kind in CLASSES if kind.__module__.startswith("staticgraph.")
}
OTHERS = {  # classes, and members of the compiler's, which are not all for users
    name: value for name, value in COMPILER.items() if ">>>" in (value.__doc__ or "")
}
KINDS = {
    "ops": OPS,
    "graphs": {name: one for name, one in FUNCTIONS.items() if name.startswith("sg.")} | ERRORS,
    "eager": {name: one for name, one in FUNCTIONS.items() if name.startswith("dynamic.")},
    "members": MEMBERS,
    "tensor": TENSOR,
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for what examples write, and the threads afterwards as they were before."""
    monkeypatch.chdir(tmp_path)
    threads = sg.get_num_threads()
    yield
    sg.set_num_threads(threads)


def _text(function: Any) -> str:
    return inspect.cleandoc(function.__doc__)


def _example(function: Any) -> list[doctest.Example]:
    """The example in a documentation: calls, and what they print."""
    return doctest.DocTestParser().get_examples(_text(function))


def _ran(name: str, function: Any) -> str:
    """What doctest has to say of an example: nothing if it is right."""
    names = {"sg": sg, "np": np, "dynamic": dynamic, "nn": dynamic.nn, "__name__": "example"}
    test = doctest.DocTest(_example(function), names, name, None, None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    with warnings.catch_warnings():
        for category in (UserWarning, FutureWarning):  # of debugging, and of PyTorch's old names
            warnings.simplefilter("ignore", category)
        runner.run(test, out=said.append)
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


@pytest.mark.parametrize("kind", KINDS)
def test_everything_public_has_an_example(kind: str) -> None:
    assert len(KINDS[kind]) > 10
    assert [name for name, value in KINDS[kind].items() if not _example(value)] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "others"])
def test_the_examples_print_what_they_say(kind: str) -> None:
    values = {**KINDS, "others": OTHERS}[kind]
    assert "".join(_ran(name, value) for name, value in values.items()) == ""


def test_the_examples_mean_the_same_when_they_are_compiled() -> None:
    wrong = {}
    for name, function in LIBRARY.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sg.NonFiniteWarning)  # some show an inf
                _compared(function)
        except Exception as error:  # whatever an example raises is told with the others
            wrong[name] = repr(error)
    assert wrong == {}


def test_an_example_calls_what_it_is_of() -> None:
    wrong = []
    for name, function in LIBRARY.items():
        place = name.rpartition(".")[0]
        call = f"sg.{place}.{function.__name__}(" if place else f"sg.{function.__name__}("
        if not any(call in one.source for one in _example(function)):
            wrong.append(name)
    assert wrong == []
