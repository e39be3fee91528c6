"""Small ops that machine code records, joins and multiplies: all but their time is as before."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from tests.paths import ROOT

F = torch.nn.functional


pytestmark = pytest.mark.usefixtures("soon")


def often(function: Callable[[], Any]) -> Any:
    for _ in range(6):
        result = function()
    return result


def draw(*shape: int, seed: int = 0, dtype: str = "float32", grad: bool = True) -> Any:
    values = np.random.default_rng(seed).uniform(0.2, 0.9, shape).astype(dtype)
    return torch.from_numpy(values).requires_grad_(grad)


def labels(*numbers: int) -> Any:
    return torch.tensor(numbers)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "cat": (lambda a, b: torch.cat((a, b)), ((3, 4), (2, 4))),
    "cat of one": (lambda a: torch.cat([a]), ((3, 4),)),
    "cat along the last axis": (lambda a, b, c: torch.cat([a, b, c], -1), ((2, 3), (2, 1), (2, 5))),
    "cat of itself": (lambda a: torch.cat((a, a, a, a, a), 1), ((2, 3),)),
    "cat of views": (lambda a, b: torch.cat((a[1:], b)), ((3,), (2,))),
    "stack": (lambda a, b: torch.stack((a, b)), ((3, 4), (3, 4))),
    "stack inside": (lambda a, b: torch.stack([a, b], 1), ((3, 4), (3, 4))),
    "stack at the end": (lambda a, b: torch.stack([a, b], -1), ((3, 4), (3, 4))),
    "stack of numbers": (lambda a, b: torch.stack((a, b)), ((), ())),
    "bmm": (torch.bmm, ((2, 3, 4), (2, 4, 5))),
    "bmm of columns": (torch.bmm, ((3, 4, 1), (3, 1, 1))),
    "linear": (F.linear, ((3, 4), (5, 4), (5,))),
    "linear without bias": (F.linear, ((3, 4), (5, 4))),
    "linear of one row": (F.linear, ((1, 4), (1, 4), (1,))),
    "linear of a vector": (F.linear, ((4,), (5, 4), (5,))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), ((3, 4), (4,), (4,))),
    "cross_entropy": (lambda x: F.cross_entropy(x, labels(1, 0, 3)), ((3, 4),)),
    "cross_entropy, sum": (lambda x: F.cross_entropy(x, labels(2, 2), reduction="sum"), ((2, 3),)),
    "cross_entropy, none": (lambda x: F.cross_entropy(x, labels(2), reduction="none"), ((1, 3),)),
    "mse_loss": (F.mse_loss, ((3, 4), (3, 4))),
    "where": (lambda a, b: torch.where(a > b, a, b), ((3, 4), (3, 4))),
    "clamp": (lambda a: a.clamp(0.3, 0.6), ((3, 4),)),
    "numbers": (lambda a: 2 / (a * 3.0 - 1) + a**2 - (4 - a), ((3, 4),)),
    "the largest of rows": (lambda a: a.max(1)[0] + a.min(dim=-1).values, ((3, 4),)),
    "sums of rows": (lambda a: a.mean(0) * a.sum(1)[:1] + a[0].sum(0), ((3, 4),)),
    "softmax": (lambda a: torch.softmax(a, 0) + torch.log_softmax(a, 1), ((3, 4),)),
}


def graph_of(node: Any) -> Any:
    if node is None:
        return None
    return node.name(), [(graph_of(one), place) for one, place in node.next_functions]


NEEDS = ((True, True, True), (True, False, False), (False, True, True))
CASES = [(dtype, which) for dtype in ("float32", "float64") for which in range(len(NEEDS))]


def outcome(name: str, dtype: str, which: int) -> list[Any]:
    """Values, gradients of two orders, and the graph."""
    function, shapes = FUNCTIONS[name]
    pairs = enumerate(zip(shapes, NEEDS[which], strict=False))
    operands = [draw(*one, seed=i, dtype=dtype, grad=grad) for i, (one, grad) in pairs]
    value = function(*operands)
    found = [value.detach().numpy().tobytes(), tuple(value.shape), value._version]
    leaves = [one for one in operands if one.requires_grad]
    if leaves:
        first = torch.autograd.grad((value**3).sum(), leaves[0], create_graph=True)[0]
        found += [graph_of(value.grad_fn), first.detach().numpy().tobytes()]
        if first.requires_grad:
            (first**2).sum().backward()
        function(*operands).sum().backward()
        found += [one.grad.numpy().tobytes() for one in leaves]
    return found


def outcomes(name: str) -> list[Any]:
    """Those of both dtypes, whichever operands require grad."""
    return [outcome(name, *case) for case in CASES]


@pytest.fixture(scope="module")
def by_python() -> dict[str, list[Any]]:
    """What a process finds that has no machine code for small ops."""
    code = (
        "import pickle, sys; "
        "from tests.dynamic.kernels.test_recorded_ops import FUNCTIONS, outcomes; "
        "sys.stdout.buffer.write(pickle.dumps({name: outcomes(name) for name in FUNCTIONS}))"
    )
    environment = {**os.environ, "DYNAMIC_COMPILE_SMALL_OPS": "0"}
    command = [sys.executable, "-c", code]
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    found: dict[str, list[Any]] = pickle.loads(made.stdout)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_gradients_and_graphs_stay(by_python: dict[str, list[Any]], name: str) -> None:
    assert often(lambda: outcomes(name)) == by_python[name]


def test_they_become_builtin_functions() -> None:
    often(lambda: F.linear(draw(3, 4), draw(5, 4), draw(5)))
    often(lambda: torch.bmm(torch.stack((draw(3, 4), draw(3, 4))), draw(2, 4, 3)))
    often(lambda: torch.cat((draw(3), draw(4))))
    names = {
        "nn.functional.linear": "_products", "operations.products": "_products",
        "operations.places": "_joining", "operations.functions": "_stacking",
    }  # fmt: skip
    for module, name in names.items():
        made = getattr(import_module(f"staticgraph.dynamic.{module}"), name)
        assert inspect.isbuiltin(made.function)


def test_values_are_those_of_numpy() -> None:
    a, b, bias = (draw(3, 4, seed=i).detach() for i in range(3))
    x, y, shift = a.numpy(), b.numpy(), bias[0, :3].clone()
    for _ in range(5):
        assert np.array_equal(torch.cat((a, b), 1).numpy(), np.concatenate((x, y), 1))
        assert np.array_equal(torch.stack((a, b), 2).numpy(), np.stack((x, y), 2))
        product = torch.bmm(a[None], b.t().contiguous()[None]).numpy()
        assert np.array_equal(product, np.matmul(x[None], np.ascontiguousarray(y.T)[None]))
        assert np.array_equal(F.linear(a, b, shift).numpy(), x @ y.T + shift.numpy())
        picked = -np.log(np.exp(x) / np.exp(x).sum(1, keepdims=True))[range(3), [1, 0, 3]]
        assert np.allclose(F.cross_entropy(a, labels(1, 0, 3)).numpy(), picked.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [lambda x, y: torch.bmm(x, y), lambda x, y: F.layer_norm(x, (2,), y[0, 0], y[0, 1]) * y],
)
def test_what_was_overwritten_is_refused(function: Any) -> None:
    def step() -> Any:
        x, y = draw(2, 2, 2) * 1, draw(2, 2, 2, seed=1)
        return x, function(x, y)

    x, value = often(step)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        value.sum().backward()


def test_modes() -> None:
    x, w = draw(3, 4), draw(5, 4)

    def step() -> Any:
        return torch.cat((F.linear(x, w), F.linear(x, w) * 2), 1)

    often(step)
    with torch.no_grad():
        assert not often(step).requires_grad
    with torch.inference_mode():
        assert often(step).is_inference()
        held = torch.ones(2, 3, 3)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        often(lambda: torch.bmm(draw(2, 3, 3), held))
    assert step().requires_grad


def test_errors_are_those_of_before() -> None:
    often(lambda: torch.cat((draw(2), draw(3))))
    often(lambda: torch.stack((draw(2, 2), draw(2, 2))))
    often(lambda: torch.bmm(draw(1, 2, 2), draw(1, 2, 2)))
    often(lambda: F.linear(draw(2, 2), draw(2, 2)))
    often(lambda: F.cross_entropy(draw(2, 3), labels(0, 1)))
    with pytest.raises(RuntimeError, match="Expected size 2 but got size 3"):
        torch.cat((draw(1, 2), draw(1, 3)))
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.cat((draw(2), draw(2)), 1)
    with pytest.raises(RuntimeError, match="stack"):
        torch.stack((draw(2), draw(3)))
    with pytest.raises(RuntimeError, match=r"bmm|batch"):
        torch.bmm(draw(1, 2, 2), draw(1, 3, 2))
    with pytest.raises(RuntimeError, match=r"linear: input .* has 2 features"):
        F.linear(draw(2, 2), draw(2, 3))
    for wrong in (3, -1):
        with pytest.raises(IndexError, match=f"{wrong} is out of"):
            F.cross_entropy(draw(2, 3), labels(0, wrong))


def test_infinite_values_are_those_of_numpy() -> None:
    large = torch.full((1, 2, 2), 3e38)
    often(lambda: torch.bmm(draw(1, 2, 2), draw(1, 2, 2)))
    with np.errstate(all="ignore"):
        expected = np.matmul(large.numpy(), large.numpy())
        assert np.array_equal(torch.bmm(large, large).numpy(), expected)


def test_nothing_is_kept() -> None:
    x, w, b = draw(3, 4), draw(5, 4), draw(5)

    def step() -> Any:
        return torch.stack((F.linear(x, w, b), F.linear(x, w, b))).clamp(0, 1)

    often(step)
    gc.collect()
    gc.disable()
    try:
        value = step()
        node, array = weakref.ref(value.grad_fn), weakref.ref(value._array)
        del value
        assert node() is None
        assert array() is None
    finally:
        gc.enable()


def test_parameters_are_operands() -> None:
    weight, x = torch.nn.Parameter(draw(5, 4).detach()), draw(3, 4, grad=False)
    value = often(lambda: F.linear(x, weight))
    assert value.grad_fn.name() == "MmBackward0"
    assert np.array_equal(value.detach().numpy(), x.numpy() @ weight.detach().numpy().T)
