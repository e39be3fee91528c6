"""TorchFunctionMode: which functions it is asked for, in PyTorch 2.13's names, and when not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import dynamic as torch
from dynamic import nn
from dynamic.overrides import BaseTorchFunctionMode, TorchFunctionMode, resolve_name
from staticgraph.compiler.core.passing import passing
from staticgraph.dynamic.core import activity
from staticgraph.dynamic.tensors.tensor import PLAIN

F = nn.functional


class Log(TorchFunctionMode):
    """Notes what it is asked for, and computes it."""

    def __init__(self, calls: list[Any], tag: str = "") -> None:
        self.calls, self.tag = calls, tag

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(self.tag + func.__name__)
        return func(*args, **(kwargs or {}))


activity._total.methods_stay = False  # of the class above: the tests of small ops replace them


@pytest.fixture(autouse=True)
def _methods_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of modes in tests keep the methods of Tensor what they are for these tests alone."""
    monkeypatch.setattr(activity._total, "methods_stay", False)


x = torch.ones(2, 3, requires_grad=True)
_layer = nn.Linear(3, 2)
ASKED: list[tuple[Callable[[], Any], list[str]]] = [
    (lambda: x + 1, ["add"]), (lambda: 1 + x, ["add"]), (lambda: x * x, ["mul"]),
    (lambda: x @ x.T, ["matmul"]), (lambda: -x, ["neg"]), (lambda: abs(x), ["abs"]),
    (lambda: x > 0, ["gt"]), (lambda: x == x, ["__eq__"]), (lambda: 2**x, ["__rpow__"]),
    (lambda: torch.add(x, 1), ["add"]), (lambda: torch.sin(x), ["sin"]),
    (lambda: x.mean(dim=0, keepdim=True), ["mean"]), (lambda: x.size(), ["size"]),
    (lambda: x[0], ["__getitem__"]), (lambda: x.detach().add_(1), ["detach", "add_"]),
    (lambda: x.sum().backward(), ["sum", "backward"]), (lambda: repr(x), ["__repr__"]),
    (lambda: bool(x.sum() > 0), ["sum", "gt", "__bool__"]), (lambda: len(x), ["__len__"]),
    (lambda: float(x.detach().sum()), ["detach", "sum", "__float__"]),
    (lambda: torch.zeros(2), ["zeros"]), (lambda: torch.tensor([1.0]), ["tensor"]),
    (lambda: torch.full((2,), 1.0), ["full"]), (lambda: torch.rand(2), ["rand"]),
    (lambda: torch.stack([x, x]), ["stack"]), (lambda: F.gelu(x), ["gelu"]),
    (lambda: F.relu(x), ["relu"]), (lambda: nn.ReLU()(x), ["relu"]),
    (lambda: _layer(x), ["linear"]),
    (lambda: nn.Softmax(-1)(x), ["softmax"]), (lambda: F.dropout(x), ["dropout"]),
    (lambda: torch.einsum("ij,kj->ik", x, x), ["einsum"]), (lambda: torch.fft.fft(x), ["fft"]),
    (lambda: torch.linalg.norm(x), ["norm"]), (lambda: nn.init.zeros_(_layer.bias), ["zeros_"]),
    (lambda: torch.autograd.grad(x.sum(), x), ["sum", "grad"]),
    (lambda: F.cross_entropy(x, torch.tensor([0, 1])), ["tensor", "cross_entropy"]),
    (lambda: torch.where(x > 0, x, x), ["gt", "where"]), (lambda: x.shape, []),
]  # fmt: skip


def test_a_mode_is_asked_for_what_is_called() -> None:
    for call, names in ASKED:
        calls: list[Any] = []
        with Log(calls):
            call()
        assert calls == names


def test_values_and_gradients_are_the_same() -> None:
    y = torch.arange(6.0).reshape(2, 3).requires_grad_()
    weight = _layer.weight.detach().tolist()
    _layer(y).sum().backward()
    plain, y.grad = y.grad, None
    with Log([]):
        _layer(y).sum().backward()
    assert torch.equal(y.grad, plain) and _layer.weight.tolist() == weight


def test_modes_within_each_other_are_asked_from_the_inside() -> None:
    calls: list[Any] = []
    with Log(calls, "a "), Log(calls, "b ") as inner:
        _ = x + 1
        torch.sin(x)
        F.relu(x)
        torch.zeros(1)
        with torch._C.DisableTorchFunction():
            _ = x * x
        with inner:
            _ = x - 1
    assert calls == [
        "b add", "a add", "b sin", "a sin", "b relu", "a relu", "b zeros", "a zeros",
        "b sub", "b sub", "a sub",
    ]  # fmt: skip


def test_nothing_is_left_behind() -> None:
    methods, kinds = dict(vars(torch.Tensor)), [type(torch.sin), type(torch.add)]
    functions = [torch.zeros, nn.init.zeros_, torch.autograd.grad]
    with pytest.raises(KeyError), Log([]):
        raise KeyError
    assert dict(vars(torch.Tensor)) == methods and not passing
    assert [type(torch.sin), type(torch.add)] == kinds
    assert functions == [torch.zeros, nn.init.zeros_, torch.autograd.grad]
    assert torch.Tensor in PLAIN


def test_what_a_mode_is_handed_is_found_in_tables() -> None:
    tables = {torch.Tensor.add: "add", torch.sin: "sin", F.relu: "relu", torch.zeros: "zeros"}
    found: list[Any] = []

    class Table(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            here = func is torch.Tensor.add, func is torch.sin, func is torch.zeros
            found.append((tables.get(func), resolve_name(func), any(here), types))
            return func(*args, **(kwargs or {}))

    with Table():
        _ = x + 1
        torch.sin(x)
        F.relu(x)
        torch.zeros(1)
        torch.cat([x, x])
    assert found == [
        ("add", "torch.Tensor.add", True, ()), ("sin", "torch.sin", True, ()),
        ("relu", "torch.nn.functional.relu", False, ()), ("zeros", "torch.zeros", True, ()),
        (None, "torch.cat", False, ()),
    ]  # fmt: skip
    assert resolve_name(print) is None
    assert not torch.overrides.is_tensor_method_or_property(torch.add)


def test_a_mode_changes_arguments_and_results() -> None:
    class Wide(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            options = dict(kwargs or {})
            if func in (torch.ones, torch.full):
                options.setdefault("dtype", torch.float64)
            if func is nn.init.kaiming_uniform_:
                args[0].data.fill_(3)
                return args[0]
            return func(*args, **options)

    with Wide():
        assert torch.ones(1).dtype is torch.float64 and nn.Linear(2, 2).weight[0, 0] == 3
        assert torch.ones(1, dtype=torch.float32).dtype is torch.float32
    assert torch.ones(1).dtype is torch.float32


def test_a_mode_comes_before_classes_and_may_leave_it_to_them() -> None:
    calls: list[Any] = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append("sub " + func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Leaves(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append(types)
            return NotImplemented

    s = torch.ones(2).as_subclass(Sub)
    with Log(calls, "mode "):
        assert type(s + 1) is Sub
        with torch._C.DisableTorchFunctionSubclass():
            _ = s * 1
    assert calls == ["mode add", "sub add", "mode mul"]
    calls.clear()
    with Leaves():
        assert type(s + 1) is Sub
        assert calls == [(Sub,), "sub add"]
        with pytest.raises(TypeError, match=r"'torch\.zeros': the mode .*NotImplemented"):
            torch.zeros(1)
    with TorchFunctionMode(), pytest.raises(NotImplementedError):
        torch.zeros(1)
    with BaseTorchFunctionMode.push():
        assert torch.zeros(1).tolist() == [0.0]


def test_functions_of_users_ask_modes() -> None:
    def doubled(value: Any) -> Any:
        if torch.overrides.has_torch_function_unary(value):
            return torch.overrides.handle_torch_function(doubled, (value,), value)
        return 2 * value

    calls: list[Any] = []
    with Log(calls):
        assert doubled(3) == 6 and torch.overrides.has_torch_function_variadic(1, 2)
    assert calls == ["doubled"] and not torch.overrides.has_torch_function((x,))


def test_a_mode_is_of_one_thread() -> None:
    calls: list[Any] = []
    with Log(calls):
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
    assert not calls
