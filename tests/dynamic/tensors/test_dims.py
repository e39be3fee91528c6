"""The argument `dim`: of numbers, and where there is no such axis, as PyTorch 2.13 has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic as torch

ZERO = torch.tensor(0)
FIRST = torch.tensor([0])


def _number() -> Any:
    return torch.tensor(1.5, dtype=torch.float64, requires_grad=True)


# method, arguments, value, gradient
OF_NUMBERS: dict[str, tuple[Any, Any, Any]] = {
    "transpose": (lambda x, d: x.transpose(d, 0), 1.5, 1.0),
    "swapaxes": (lambda x, d: torch.swapaxes(x, d, 0), 1.5, 1.0),
    "movedim": (lambda x, d: x.movedim(d, 0), 1.5, 1.0),
    "squeeze": (lambda x, d: x.squeeze(d), 1.5, 1.0),
    "unsqueeze": (lambda x, d: x.unsqueeze(d), [1.5], 1.0),
    "amax": (lambda x, d: x.amax(d), 1.5, 1.0),
    "amin": (lambda x, d: torch.amin(x, (d,), keepdim=True), 1.5, 1.0),
    "max": (lambda x, d: x.max(d).values, 1.5, 1.0),
    "min": (lambda x, d: torch.min(x, d).values, 1.5, 1.0),
    "sum": (lambda x, d: x.sum((d,)), 1.5, 1.0),
    "norm": (lambda x, d: x.norm(dim=d), 1.5, 1.0),
    "norm of ones": (lambda x, d: x.norm(1, d), 1.5, 1.0),
    "vector_norm": (lambda x, d: torch.linalg.vector_norm(x, dim=d), 1.5, 1.0),
    "logsumexp": (lambda x, d: x.logsumexp(d), 1.5, 1.0),
    "softmax": (lambda x, d: x.softmax(d), 1.0, 0.0),
    "log_softmax": (lambda x, d: torch.log_softmax(x, dim=d), 0.0, 0.0),
    "cumsum": (lambda x, d: x.cumsum(d), 1.5, 1.0),
    "cummax": (lambda x, d: x.cummax(d).values, 1.5, 1.0),
    "logcumsumexp": (lambda x, d: x.logcumsumexp(d), 1.5, 1.0),
    "sort": (lambda x, d: x.sort(d).values, 1.5, 1.0),
    "mode": (lambda x, d: x.mode(d).values, 1.5, 1.0),
    "median": (lambda x, d: x.median(d).values, 1.5, 1.0),
    "nanmedian": (lambda x, d: x.nanmedian(d).values, 1.5, 1.0),
    "flip": (lambda x, d: x.flip(d), 1.5, 1.0),
    "index_select": (lambda x, d: x.index_select(d, FIRST), 1.5, 1.0),
    "index_fill": (lambda x, d: x.index_fill(d, FIRST, 2.0), 2.0, 0.0),
    "index_add": (lambda x, d: x.index_add(d, FIRST, x), 3.0, 2.0),
    "index_copy": (lambda x, d: x.index_copy(d, FIRST, x), 1.5, 1.0),
    "gather": (lambda x, d: x.gather(d, ZERO), 1.5, 1.0),
    "scatter": (lambda x, d: x.scatter(d, ZERO, x * 2), 3.0, 2.0),
    "scatter_add": (lambda x, d: x.scatter_add(d, ZERO, x), 3.0, 2.0),
    "scatter_reduce": (lambda x, d: x.scatter_reduce(d, ZERO, x, "sum"), 3.0, 2.0),
    "unfold": (lambda x, d: x.unfold(d, 1, 1), [1.5], 1.0),
    "flatten": (lambda x, d: x.flatten(d), [1.5], 1.0),
    "transpose_": (lambda x, d: (x * 2).transpose_(0, d), 3.0, 2.0),
    "squeeze_": (lambda x, d: (x * 2).squeeze_(d), 3.0, 2.0),
    "index_fill_": (lambda x, d: (x * 2).index_fill_(d, FIRST, 4.0), 4.0, 0.0),
    "index_copy_": (lambda x, d: (x * 2).index_copy_(d, FIRST, x.reshape(1)), 1.5, 1.0),
    "scatter_": (lambda x, d: (x * 2).scatter_(d, ZERO, x), 1.5, 1.0),
}


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_zero_and_minus_one_are_axes_of_a_number(name: str, dim: int) -> None:
    call, value, slope = OF_NUMBERS[name]
    x = _number()
    found = call(x, dim)
    assert found.shape == np.shape(value)
    np.testing.assert_allclose(found.detach().numpy(), value)
    (gradient,) = torch.autograd.grad(found.sum() + 0 * x, [x])
    np.testing.assert_allclose(gradient.numpy(), slope)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, d: x.argmax(d),
        lambda x, d: torch.argmin(x, d),
        lambda x, d: x.argsort(d),
        lambda x, d: x.max(d).indices,
        lambda x, d: x.nanmedian(d).indices,
    ],
)
def test_the_place_of_a_number_is_zero(call: Any) -> None:
    for dim in (0, -1):
        found = call(_number(), dim)
        assert found.shape == ()
        assert found.item() == 0


MATRIX = torch.ones(2, 3)
_LINE = {
    "transpose": lambda x, d: x.transpose(d, 0),
    "movedim": lambda x, d: x.movedim(d, 0),
    "squeeze": lambda x, d: x.squeeze(d),
    "squeeze_": lambda x, d: x.clone().squeeze_(d),
    "chunk": lambda x, d: x.chunk(1, d),
    "stride": lambda x, d: x.stride(d),
    "sum": lambda x, d: x.sum(d),
    "amax": lambda x, d: x.amax(d),
    "norm": lambda x, d: x.norm(dim=d),
    "argmax": lambda x, d: x.argmax(d),
    "logsumexp": lambda x, d: torch.logsumexp(x, d),
    "softmax": lambda x, d: x.softmax(d),
    "flip": lambda x, d: x.flip(d),
    "cat": lambda x, d: torch.cat([x, x], d),
    "sort": lambda x, d: x.sort(d),
    "unique": lambda x, d: x.unique(dim=d),
    "unique_consecutive": lambda x, d: x.unique_consecutive(dim=d),
    "index_select": lambda x, d: x.index_select(d, FIRST),
    "index_fill_": lambda x, d: x.clone().index_fill_(d, FIRST, 1.0),
    "roll": lambda x, d: x.roll(1, d),
    "diff": lambda x, d: x.diff(dim=d),
}


@pytest.mark.parametrize("name", _LINE)
@pytest.mark.parametrize("dim", [2, -3])
def test_there_is_no_such_axis(name: str, dim: int) -> None:
    text = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got " + f"{dim}"
    with pytest.raises(IndexError, match=text):
        _LINE[name](MATRIX, dim)


@pytest.mark.parametrize("name", ["amax", "argmax", "logsumexp", "softmax", "flip", "sum"])
def test_a_number_has_no_other_axis(name: str) -> None:
    text = r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 1"
    with pytest.raises(IndexError, match=text):
        _LINE[name](_number(), 1)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.unbind(0), IndexError, "Dimension specified as 0 but tensor has no dim"),
        (lambda x: x.roll(1, 0), IndexError, "Dimension specified as 0 but tensor has no dim"),
        (lambda x: x.size(0), IndexError, "Dimension specified as 0 but tensor has no dim"),
        (lambda x: x.stride(-1), IndexError, "Dimension specified as -1 but tensor has no dim"),
        (lambda x: x.select(0, 0), IndexError, r"select\(\) cannot be applied to a 0-dim tensor"),
        (lambda x: x.narrow(0, 0, 1), RuntimeError, r"narrow\(\) cannot be applied to a 0-dim"),
        (lambda x: x.split(1), RuntimeError, "split expects at least a 1-dimensional tensor"),
        (lambda x: x.chunk(1), RuntimeError, "chunk expects at least a 1-dimensional tensor"),
        (lambda x: x.tensor_split(1), RuntimeError, "tensor_split expected at least a 1-dimens"),
        (lambda x: x.diff(), RuntimeError, "diff expects input to be at least one-dimensional"),
        (lambda x: x.unfold(0, 2, 1), RuntimeError, "maximum size for tensor at dimension 0 is 1"),
        (lambda x: x.tril(), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
        (lambda x: x.triu(), RuntimeError, "triu: input tensor must have at least 2 dimensions"),
        (
            lambda x: torch.cat([x.reshape(1), x]),
            RuntimeError,
            r"zero-dimensional tensor \(at position 1\) cannot be concatenated",
        ),
        (
            lambda x: x.index_select(0, torch.tensor([0, 0])),
            RuntimeError,
            r"Index to scalar can have only 1 value, got 2 value\(s\)",
        ),
    ],
)
def test_what_a_number_is_not_taken_for(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(_number())
