"""Small ops as machine code where something goes wrong in the middle: no address is used then."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.tape import engine
from staticgraph.dynamic.tensors import tensor

F = torch.nn.functional


@pytest.fixture(autouse=True)
def _soon(soon: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tensor, "few_views", iter(()))
    yield
    monkeypatch.setattr(tensor, "few_views", tensor.blanks())


def often(function: Callable[[], Any]) -> Any:
    for _ in range(300):
        result = function()
    return result


OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "cat": lambda a, b: torch.cat((a, b)),
    "stack": lambda a, b: torch.stack([a, b]),
    "view": lambda a, _: a.view(4, 3),
    "index": lambda a, _: a[0],
    "matmul": lambda a, b: a @ b.view(4, 3),
    "linear": lambda a, b: F.linear(a, b),
    "where": lambda a, b: torch.where(a > b, a, b),
    "layer_norm": lambda a, _: F.layer_norm(a, (4,)),
    "sum of rows": lambda a, _: a.sum(1),
}


def operands() -> tuple[Any, Any]:
    values = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3, 4)).astype("float32")
    leaf = torch.from_numpy(values).requires_grad_()
    return leaf[0] * 1, leaf[1] * 1


class Spoiler:
    """What a collection finalizes, and so changes tensors."""

    def __init__(self, tensors: tuple[Any, ...]) -> None:
        self.itself, self.tensors = self, tensors

    def __del__(self) -> None:
        for one in self.tensors:
            one.data = torch.zeros(3, 4)
            one.detach_()
        [bytearray(200) for _ in range(50)]


@pytest.mark.parametrize("name", list(OPS))
def test_a_finalizer_may_change_the_operands_meanwhile(name: str) -> None:
    op = OPS[name]
    often(lambda: op(*operands()))
    before = gc.get_threshold()
    gc.collect()
    for after in range(1, 14):
        a, b = operands()
        gc.disable()
        Spoiler((a, b))
        gc.set_threshold(gc.get_count()[0] + after)
        gc.enable()
        try:
            value = op(a, b)
        finally:
            gc.set_threshold(*before)
        assert np.isfinite(value.detach().numpy()).all()
        if value.requires_grad:
            value.sum().backward()
        assert gc.isenabled()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("_testcapi") is None, reason="no allocation can be made to fail")
@pytest.mark.parametrize("name", ["add", "multiply", "cat", "stack", "view", "linear"])
def test_nothing_is_kept_where_memory_ends(name: str) -> None:
    testing, op = import_module("_testcapi"), OPS[name]
    a, b = operands()
    often(lambda: op(a, b))
    watched = (a, b, a._array, b._array, a.grad_fn, b.grad_fn, torch.Tensor, a.dtype.dtype)

    def failing(start: int) -> bool:
        testing.set_nomemory(start, start + 1)
        try:
            op(a, b)
        except MemoryError:
            return True
        finally:
            testing.remove_mem_hooks()
        return False

    found = 0
    for start in range(16):
        failing(start)
        gc.collect(1)  # the young: the whole heap of a run of all tests takes 40 ms each time
        counts = [sys.getrefcount(one) for one in watched]
        found += sum(failing(start) for _ in range(20)) > 0
        gc.collect(1)
        drift = [sys.getrefcount(one) - count for one, count in zip(watched, counts, strict=True)]
        assert max(map(abs, drift)) < 10, (start, drift)
    assert found > 2
    assert gc.isenabled()


class Unhashable(type):
    def __hash__(cls) -> int:
        raise KeyError("no hash")


class Other(metaclass=Unhashable):
    pass


@pytest.mark.parametrize(
    "call",
    [
        lambda x, other: torch.cat([x, other]),
        lambda x, other: torch.stack([x, other]),
        lambda x, other: torch.bmm(x.view(1, 2, 2), other),
        lambda x, other: F.linear(x, other),
    ],
)
def test_a_class_without_a_hash_is_refused_as_before(call: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(2, 2)
    often(lambda: [torch.cat([x, x]), torch.stack([x, x]), F.linear(x, x)])
    often(lambda: torch.bmm(x.view(1, 2, 2), x.view(1, 2, 2)))
    with pytest.raises((KeyError, TypeError), match=r"no hash|must be Tensor, not Other"):
        call(x, Other())


def test_sums_of_many_axes() -> None:
    few, many = (torch.ones((1,) * n + (2,), requires_grad=True) for n in (2, 9))
    often(lambda: few.sum())
    many.sum().backward()
    assert np.array_equal(many.grad.numpy(), np.ones(many.shape))


@pytest.mark.parametrize("name", ["exp", "__add__", "view", "sum"])
def test_methods_are_pickled_by_their_class(name: str) -> None:
    x = torch.ones(2, 2, requires_grad=True)
    often(lambda: [(x + x).exp(), x.view(4), x.sum()])
    method = getattr(torch.Tensor, name)
    assert pickle.loads(pickle.dumps(method)) is method
    assert method.__qualname__ == f"Tensor.{name}"
    with pytest.raises(ValueError, match="read-only"):
        method.__wrapped__.__self__[0] = 0


def test_a_method_is_one_wherever_it_is_put() -> None:
    x = torch.ones(2, 2)
    often(lambda: x.exp() + x)
    kept = torch.Tensor.exp, torch.Tensor.__add__
    try:
        torch.Tensor.exp = torch.Tensor.__add__ = lambda *_: 5
        assert (x.exp(), x + x) == (5, 5)
    finally:
        torch.Tensor.exp, torch.Tensor.__add__ = kept
    assert np.array_equal(x.exp().numpy(), np.exp(x.numpy()))
    assert np.array_equal((x + x).numpy(), 2 * x.numpy())


def test_an_interrupt_in_a_reverse_pass_leaves_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    value = (torch.ones(2, requires_grad=True) * 2).sum()
    with monkeypatch.context() as patch:
        patch.setattr(engine, "next_pass", interrupted)
        with pytest.raises(KeyboardInterrupt):
            value.backward()
    assert torch.is_grad_enabled()
    assert (torch.ones(2, requires_grad=True) * 2).requires_grad


def test_anomaly_mode_sees_nan_in_a_number() -> None:
    x = torch.tensor(float("nan"), requires_grad=True)
    with (
        torch.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Error detected in MulBackward0"),
        pytest.raises(RuntimeError, match="'MulBackward0' returned nan values in its 0th output"),
    ):
        (x * x).backward()


@pytest.mark.parametrize(
    "call", [lambda x: x.clamp("a"), lambda x: torch.where(x > 0, x, torch.ones(7))]
)
def test_what_fails_leaves_no_tensor_without_values_for_a_debugger(
    call: Callable[[Any], Any],
) -> None:
    with pytest.raises((TypeError, RuntimeError)) as caught:
        call(torch.ones(3))
    for entry in caught.traceback:
        for value in entry.frame.f_locals.values():
            assert not isinstance(value, torch.Tensor) or repr(value)
