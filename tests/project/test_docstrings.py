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
from dynamic.autograd import forward_ad, functional, graph
from dynamic.nn.utils import parametrizations, parametrize, prune, rnn
from dynamic.optim import swa_utils
from dynamic.utils import checkpoint, hooks
from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.pytree import leaves, structure
from staticgraph.compiler.ops import LINALG, PUBLIC

OPS = {
    op.name: op
    for module in (
        sg,
        sg.distributed,
        sg.linalg,
        sg.special,
        dynamic,
        dynamic.linalg,
        dynamic.nn.functional,
    )
    for op in vars(module).values()
    if isinstance(op, Op)
}
LIBRARY = {name: getattr(sg, name) for name in PUBLIC} | {
    f"linalg.{name}": getattr(sg.linalg, name) for name in LINALG
}
PUBLIC_NAMES = LIBRARY | {name: getattr(sg, name) for name in sg.__all__}
PUBLIC_NAMES |= {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (sg.distributed, sg.linalg, sg.nn, sg.optim, sg.random, sg.special)
    for name in module.__all__
}
FUNCTIONS = {name: value for name, value in PUBLIC_NAMES.items() if inspect.isfunction(value)}
CLASSES = {
    base
    for value in (*PUBLIC_NAMES.values(), *vars(sg.optim).values())
    if inspect.isclass(value) and not issubclass(value, Exception)
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


def _eager() -> dict[str, Any]:
    """The public functions and classes of the eager packages, but for what another form shows.

    Errors have none.
    """
    found = {}
    for module in (
        dynamic, dynamic.nn, dynamic.nn.functional, dynamic.nn.init, dynamic.nn.utils, parametrize,
        parametrizations, prune, rnn, dynamic.optim, dynamic.optim.lr_scheduler, swa_utils,
        dynamic.autograd, forward_ad, functional, graph, dynamic.func, dynamic.fft, dynamic.linalg,
        dynamic.special, dynamic.distributions, dynamic.utils.data, checkpoint, hooks,
    ):  # fmt: skip
        for name in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, name)
            own = (getattr(value, "__module__", None) or "").startswith("staticgraph.dynamic")
            is_error = inspect.isclass(value) and issubclass(value, BaseException)
            if own and callable(value) and not is_error and not name.startswith("_"):
                found[f"{module.__name__}.{name}"] = value
    return found


EAGER = _eager()
FOR_OPS = {  # what ops and captures ask of whatever they apply to (`compiler.core.op.Operand`)
    "apply", "arrays", "call", "captured", "constant", "keeps", "perform", "settings", "standing",
    "traced",
}  # fmt: skip
INTERNAL = {"imaginary_part", "log_odds", "real_part"}  # ops of which public functions are made
TENSOR = {
    name: inspect.getattr_static(dynamic.Tensor, name)
    for name in dir(dynamic.Tensor)
    if not name.startswith("_") and name not in FOR_OPS | INTERNAL
}
PUBLIC_CLASSES = {  # errors too; a protocol is what a user's class has to have
    name: value
    for name, value in PUBLIC_NAMES.items()
    if inspect.isclass(value) and Protocol not in value.__bases__
}
MEMBERS = _members(compiler=False)
COMPILER = _members(compiler=True) | {kind.__name__: kind for kind in CLASSES}
OTHERS = {  # classes, and members of the compiler's, which are not all for users
    name: value for name, value in COMPILER.items() if ">>>" in (value.__doc__ or "")
}
KINDS = {
    "ops": OPS,
    "functions": FUNCTIONS,
    "members": MEMBERS,
    "eager": EAGER,
    "tensor": TENSOR,
    "classes": PUBLIC_CLASSES,
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
