"""Errors of the eager frontend that no other file of tests meets: their class and their message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic import nn
from staticgraph.dynamic.autograd import Function
from staticgraph.dynamic.nn import functional

X = torch.arange(6.0).reshape(2, 3)
I = torch.tensor([[0, 1, 1]])  # noqa: E741
IMAGE = torch.ones(1, 2, 5, 5)


def leaf() -> Any:
    return torch.ones(2, requires_grad=True)


def hooked(hook: Callable[..., Any], *, frozen: bool = False) -> Any:
    """Backward through a module with a full backward hook; of a frozen input if it says so."""
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(hook)
    return layer(torch.ones(2) if frozen else leaf()).sum().backward()


def inference_then_changed() -> None:
    with torch.inference_mode():
        x = torch.ones(2)
    x.add_(1)


def loaded_with(hook: Callable[..., Any]) -> Any:
    layer = nn.Linear(2, 1)
    layer.register_load_state_dict_post_hook(hook)
    return layer.load_state_dict(layer.state_dict())


def saved_with(hook: Callable[..., Any]) -> Any:
    layer = nn.Linear(2, 1)
    layer.register_state_dict_post_hook(hook)
    return layer.state_dict()


class Twice(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def inside(pair: Callable[[Any], tuple[Any, Any]]) -> Any:
    """The gradient of a function that differentiates one of its values by another."""

    def function(y: Any) -> Any:
        output, wrt = pair(y)
        return torch.autograd.grad(output, (wrt,))[0].sum()

    return torch.func.grad(function)(torch.ones(2))


CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: torch.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
    (lambda: torch.stack([X, X], 4), IndexError, r"in range of \[-3, 2\], but got 4"),
    (lambda: torch.stack([X, X.t()]), RuntimeError, r"\[2, 3\] at entry 0 and \[3, 2\] at entry 1"),
    (lambda: torch.tensor(np.ones(2, "M8[s]")), TypeError, "tensor: no dtype datetime64"),
    (inference_then_changed, RuntimeError, "Inplace update to inference tensor outside Infer"),
    (lambda: [1, 2][X], TypeError, "only integer tensors of a single element"),
    (lambda: X.split(-1), RuntimeError, r"split_size be non-negative, but got split_size=-1"),
    (lambda: torch.ones(1, 2, 3).t(), RuntimeError, r"t\(\) expects .* <= 2 .* 3D"),
    (
        lambda: torch.autograd.backward((leaf().sum(),), (X, X)), RuntimeError,
        "got 1 tensors and 2 gradients for them",
    ),
    (
        lambda: hooked(lambda module, given, made: (None, None, None)), RuntimeError,
        "invalid number of .*, got 3, but expected 1",
    ),
    (lambda: saved_with(lambda *_: 1), RuntimeError, "state_dict post-hook must return None"),
    (lambda: loaded_with(lambda *_: 1), RuntimeError, "are not expected to return new values"),
    (
        lambda: nn.ConvTranspose2d(2, 3, 2)(IMAGE, output_size=(1, 2, 3)), ValueError,
        r"ConvTranspose2d: for 4D input, output_size must have 2 or 4 elements \(got 3\)",
    ),
    (lambda: nn.Conv2d(2, 3, 2, padding="half"), ValueError, "Invalid padding string 'half'"),
    (lambda: functional.max_pool2d(IMAGE, (1, 2, 3)), RuntimeError, r"2 numbers.*got \(1, 2, 3\)"),
    (lambda: functional.max_pool2d(IMAGE, 2, padding=-1), RuntimeError, "non-negative.*pad: -1"),
    (
        lambda: functional.conv2d(IMAGE, torch.ones(3, 2, 2, 2), groups=0), RuntimeError,
        "non-positive groups is not supported",
    ),
    (
        lambda: functional.conv2d(IMAGE, torch.ones(3, 2, 2, 2), padding=-1), RuntimeError,
        "negative padding is not supported",
    ),
    (lambda: torch.multinomial(torch.ones(1, 1, 1), 1), RuntimeError, "must be 1 or 2 dim"),
    (
        lambda: torch.median(torch.ones(2, 0), 1), RuntimeError,
        r"median\(\): Expected reduction dim 1 to have non-zero size",
    ),
    (lambda: torch.einsum("1j->j", X), RuntimeError, "invalid subscript given in '1j'"),
    (lambda: torch.einsum("ij"), ValueError, "must provide at least one operand"),
    (lambda: torch.block_diag(torch.ones(1, 1, 1)), ValueError, "tensors of at most 2 axes"),
    (lambda: torch.roll(X, (1, 2), 0), RuntimeError, "must align. shifts: 2, dims:1"),
    (
        lambda: torch.tensor_split(X, 0), RuntimeError,
        "number of sections must be larger than 0, got 0",
    ),
    (
        lambda: torch.movedim(X, (0, 1), 0), RuntimeError,
        "movedim: Invalid source or destination dims",
    ),
    (lambda: torch.iinfo(torch.float32), TypeError, "requires an integer input type"),
    (lambda: torch.finfo(torch.int64), TypeError, "requires a floating point input type"),
    (lambda: torch.masked_select(X, I), RuntimeError, "expected BoolTensor for mask"),
    (lambda: torch.index_fill(X, 0, torch.tensor([5]), 1.0), IndexError, "index 5 is out of"),
    (
        lambda: torch.scatter(X, 0, I, X, reduce="max"), ValueError,
        "scatter: reduce is 'add', 'multiply' or None, not 'max'",
    ),
    (
        lambda: torch.gather(X, 0, torch.tensor([[7]])), RuntimeError,
        "index 7 is out of bounds for dimension 0 with size 2",
    ),
    (
        lambda: torch.gather(X, 0, torch.zeros(1, 4, dtype=torch.int64)), RuntimeError,
        r"does not match at dimension 1 expected index \[1, 4\] .* self \[2, 3\]",
    ),
    (lambda: torch.gather(X, 0, X), RuntimeError, "Expected dtype int32/int64 for index"),
    (
        lambda: torch.vmap(Twice.apply)(torch.ones(0, 2)), RuntimeError,
        "vmap: Twice: there is no example",
    ),
    (
        lambda: inside(lambda y: (y * y, y)), RuntimeError,
        "grad can be implicitly created only for scalar outputs",
    ),
    (lambda: inside(lambda y: (torch.ones(()), y)), RuntimeError, "does not require grad and does"),
    (
        lambda: inside(lambda y: ((y * y).sum(), torch.ones(2))), RuntimeError,
        "One of the differentiated Tensors does not require grad",
    ),
    (
        lambda: inside(lambda y: ((y * y).sum(), y * 2)), RuntimeError,
        "at index 0 appears to not have been used",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), CASES)
def test_error(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_hook_of_a_module_without_inputs_that_require_grad() -> None:
    with (
        pytest.warns(UserWarning, match="Full backward hook is firing"),
        pytest.raises(RuntimeError, match="should always return None or None for all gradients"),
    ):
        hooked(lambda module, given, made: torch.ones(1), frozen=True)
