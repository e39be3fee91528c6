"""`__torch_function__`: of objects that are no tensors, and of subclasses of Tensor.

What is asked for, and with which arguments, is as PyTorch 2.13 has it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch
from dynamic.nn import functional
from dynamic.overrides import handle_torch_function, has_torch_function, is_tensor_like
from staticgraph.dynamic.core import activity
from tests.paths import ROOT


class Duck:
    """No tensor: the answer is what is asked."""

    shape = (2,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, types


DUCK, ONES = Duck(), torch.ones(2, 2)


@pytest.mark.parametrize(
    "function, args, options",
    [
        (torch.add, (DUCK, 1), {}),
        (torch.add, (ONES,), {"other": DUCK}),
        (torch.mean, (DUCK,), {}),
        (torch.sum, (DUCK,), {"dim": 1}),
        (torch.cat, ([ONES, DUCK],), {}),
        (torch.stack, ([DUCK, DUCK],), {}),
        (torch.exp, (DUCK,), {}),
        (torch.matmul, (ONES, DUCK), {}),
        (torch.where, (DUCK, 1, 2), {}),
        (torch.reshape, (DUCK, (2,)), {}),
        (torch.softmax, (DUCK,), {"dim": 0}),
        (torch.linalg.inv, (DUCK,), {}),
        (torch.zeros_like, (DUCK,), {}),
        (functional.linear, (DUCK, ONES), {}),
        (functional.relu, (DUCK,), {}),
        (functional.gelu, (DUCK,), {}),
        (functional.cross_entropy, (DUCK, ONES), {}),
        (functional.conv2d, (torch.ones(1, 1, 3, 3), DUCK), {}),
    ],
)
def test_the_function_that_was_called_is_asked_for(
    function: Any, args: Any, options: dict[str, Any]
) -> None:
    asked, types = function(*args, **options)
    assert asked is function
    assert types == (Duck,)


def test_a_method_with_such_an_argument_asks() -> None:
    asked, types = ONES.add(DUCK)  # type: ignore[misc]
    assert asked.__name__ == "add" and types == (Duck,)


def test_nobody_who_knows_is_a_type_error() -> None:
    class Knows(Duck):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"no implementation found for 'torch.exp' on types that"):
        torch.exp(Knows())
    asked, types = torch.add(DUCK, Knows())
    assert asked is torch.add and types == (Knows, Duck)  # derived classes first


asked: list[Any] = []


class Noting(torch.Tensor):
    """What it is asked for is noted."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asked.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


activity._total.methods_stay = False  # of the class above: the tests of small ops replace them


@pytest.mark.parametrize(
    "call, function",
    [
        (lambda s: s + 1, "add"),
        (lambda s: 1 + s, "add"),
        (lambda s: torch.ones(2) * s, "mul"),
        (lambda s: 1 - s, "__rsub__"),
        (lambda s: torch.ones(2, 2) @ s, "matmul"),
        (lambda s: s.sum(), "sum"),
        (lambda s: s[0], "__getitem__"),
        (torch.exp, torch.exp),
        (lambda s: torch.softmax(s, 0), torch.softmax),
        (lambda s: torch.stack([s, s]), torch.stack),
        (lambda s: functional.linear(s, torch.ones(2, 2)), functional.linear),
        (lambda s: functional.layer_norm(s, (2,)), functional.layer_norm),
        (lambda s: s.sort().values, "sort"),
    ],
)
def test_a_subclass_is_asked_once_and_by_default_kept(
    call: Callable[[Any], Any], function: Any
) -> None:
    asked.clear()
    found = call(Noting([1.0, 2.0]))
    if isinstance(function, str):  # a method, which other tests have replaced by machine code
        function = getattr(torch.Tensor, function)
    assert (type(found), asked) == (Noting, [function])
    with_plain = call(torch.tensor([1.0, 2.0]))
    assert type(with_plain) is torch.Tensor and with_plain.tolist() == found.tolist()


def test_gradients_and_changes_in_place_are_those_of_the_tensor() -> None:
    x = Noting([1.0, 2.0]).requires_grad_()
    assert type(x) is Noting
    y = torch.exp(x) * 2
    y += 1
    assert type(y) is Noting and y.requires_grad
    y.sum().backward()
    assert torch.allclose(x.grad, 2 * torch.exp(torch.tensor([1.0, 2.0])))
    z = Noting([1.0])
    view = z[:]
    z.add_(1)
    assert z.tolist() == view.tolist() == [2.0] and z._version == view._version == 1


def test_overrides() -> None:
    assert has_torch_function((1, DUCK)) and has_torch_function((Noting([1.0]),))
    assert not has_torch_function((ONES, 1, "a"))
    assert is_tensor_like(ONES) and is_tensor_like(DUCK) and not is_tensor_like(1)
    assert handle_torch_function(torch.exp, (DUCK,), DUCK) == (torch.exp, (Duck,))


def test_methods_stay_what_they_are_where_a_class_is_handed_them() -> None:
    """Short ways become machine code after many calls; who keeps a table of methods finds them."""
    program = """
import dynamic as torch

class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func is before)
        return super().__torch_function__(func, types, args, kwargs)

before, x = torch.Tensor.add, torch.ones(2)
for _ in range(25_000):
    x.add(x)
print(torch.Tensor.add is before)
Own([1.0, 2.0]).add(x)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["True", "True"]


class Unasked(torch.Tensor):
    """Computes with plain tensors, and makes one of itself."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **(kwargs or {}))
        if func is torch.Tensor.sum:
            return found
        return found.as_subclass(cls) if isinstance(found, torch.Tensor) else found


activity._total.methods_stay = False


def test_a_subclass_computes_with_plain_tensors_where_it_is_not_asked() -> None:
    x = torch.ones(2, requires_grad=True)
    own = (x * 2).as_subclass(Unasked)
    z = functional.relu(torch.stack([own, own]) + 1)
    assert type(own) is type(z) is Unasked and type(z.sum()) is torch.Tensor
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    with torch._C.DisableTorchFunctionSubclass():
        assert not has_torch_function((own,))
        assert type(own + 1) is type(torch.ones(2) * own) is type(torch.exp(own)) is torch.Tensor
        with pytest.raises(TypeError):
            torch.exp(DUCK)
    assert has_torch_function((own,))


def test_as_subclass_shares_memory_and_refuses_other_classes() -> None:
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2)
    own = x.as_subclass(Plain)
    own.add_(1)
    assert type(own) is Plain and type(own + 1) is torch.Tensor and x.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match=r"^cls must be a type that inherits from Tensor, not"):
        x.as_subclass(int)


def test_what_a_function_returns_as_it_is_stays_of_its_class() -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

    assert type(Same.apply(torch.ones(2).as_subclass(Unasked))) is Unasked


def test_a_leaf_of_a_subclass_is_made_of_a_tensor() -> None:
    class Named(torch.Tensor):
        name = "x"

    data = torch.ones(2, requires_grad=True) * 2
    made = torch.Tensor._make_subclass(Named, data, True)
    assert type(made) is Named and made.is_leaf and made.requires_grad and made.name == "x"
    made.data[0] = 5
    assert data[0] == 5 and not torch.Tensor._make_subclass(Named, data).requires_grad
    with pytest.raises(TypeError, match="inherits from Tensor"):
        torch.Tensor._make_subclass(int, data)


def test_what_the_new_of_a_subclass_made_is_kept() -> None:
    class Tagged(torch.Tensor):
        def __new__(cls, data: Any, *, tag: str) -> Any:
            made = torch.Tensor._make_subclass(cls, torch.as_tensor(data))
            made.tag = tag
            return made

    made = Tagged([1.0, 2.0], tag="t")
    assert made.tolist() == [1.0, 2.0] and made.tag == "t"
    with pytest.raises(TypeError, match=r"no keyword arguments, but got \['tag'\]"):
        torch.Tensor(2, tag="t")


def test_a_parameter_of_a_class_with_its_own_new() -> None:
    class Named(torch.nn.Parameter):
        def __new__(cls, data: Any = None, requires_grad: bool = True, tag: str = "") -> Any:
            made = super().__new__(cls, data, requires_grad)
            made.tag = tag
            return made

    made = Named(torch.ones(2), tag="w")
    assert made.tag == "w" and made.requires_grad and made.tolist() == [1.0, 1.0]
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight = made
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
