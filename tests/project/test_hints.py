"""The annotations of what is public are what `typing.get_type_hints` finds in their modules."""

import inspect
import typing

import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.op import Op

MODULES = [
    sg, sg.nn, sg.random, sg.optim, sg.linalg, sg.special, sg.fft, dynamic, dynamic.nn,
    dynamic.nn.functional, dynamic.optim, dynamic.linalg, dynamic.distributions, dynamic.func,
    dynamic.autograd, dynamic.special, dynamic.fft,
]  # fmt: skip


def public(module):
    """Functions, ops, and the constructors and methods that a class declares itself."""
    for name in dir(module):
        one = None if name.startswith("_") else getattr(module, name)
        if isinstance(one, Op) or inspect.isfunction(one):
            yield name, one
        elif inspect.isclass(one) and one.__module__.startswith("staticgraph"):
            yield from (
                (f"{name}.{key}", method)
                for key, method in vars(one).items()
                if inspect.isfunction(method) and (key == "__init__" or not key.startswith("_"))
            )


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_hints_are_found(module):
    lost = {}
    for name, one in public(module):
        try:
            hints = typing.get_type_hints(one)
        except (NameError, TypeError) as error:
            lost[name] = str(error)
            continue
        assert all(not isinstance(hint, str) for hint in hints.values()), name
    assert lost == {}


def test_the_hints_of_an_op_are_those_of_its_options():
    assert typing.get_type_hints(sg.exp) == {}
    assert typing.get_type_hints(sg.elu) == {"alpha": float}
    assert typing.get_type_hints(sg.sum)["keepdims"] is bool
