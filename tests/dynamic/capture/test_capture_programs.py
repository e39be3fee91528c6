"""Captured functions that the campaign and hand-written attacks found wrong, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.nn import functional
from staticgraph.fuzz.capture.compare import REFUSED, SAME, SKIPPED, compared

BYTES = torch.tensor([1, 2, 3], dtype=torch.uint8)
MATRIX = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64)


def _written_with_a_leading_one(x: Any) -> Any:
    y = x.clone()
    y[0, 0] = x[1:, 1]
    return y * x


def _put_through_a_view(x: Any) -> Any:
    y = x * 2
    y[0] = x[:1]
    return y


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "integers rounded down": (lambda x: x // 2 + x // -2.5, BYTES),
    "integers rounded toward 0": (lambda x: torch.div(-x, 2, rounding_mode="trunc"), BYTES.long()),
    "a quotient rounded down": (lambda x: torch.div(x, -2.5, rounding_mode="floor"), MATRIX),
    "less than a number below": (lambda x: x < -1, BYTES),
    "plus a number below": (lambda x: x + (-1), BYTES),
    "times a number above": (lambda x: x * 300, BYTES),
    "compared with a number above": (lambda x: x >= 300, BYTES),
    "filled with a number below": (lambda x: x.clone().fill_(-1), BYTES),
    "one number for several of one": (_written_with_a_leading_one, MATRIX),
    "a row for a row": (_put_through_a_view, MATRIX),
    "margins": (
        lambda x: functional.multi_margin_loss(x, torch.tensor([0, 2])), MATRIX,
    ),
    "from NumPy": (lambda x: x * torch.from_numpy(np.array([1.0, 2.0, 3.0])), MATRIX),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_means_what_it_means_eagerly(name: str) -> None:
    function, x = PROGRAMS[name]
    assert compared(function, sg.function(function), [x]).verdict == SAME


RAISES: dict[str, tuple[Callable[..., Any], Any]] = {
    "bool as an axis of transpose": (lambda x: x.transpose(False, 1), MATRIX),
    "bool as an axis of unsqueeze": (lambda x: x.unsqueeze(True), MATRIX),
    "bool as an axis of squeeze": (lambda x: x.squeeze(False), MATRIX),
    "one axis for two": (lambda x: torch.transpose(x, 0), MATRIX),
    "zero_ of a number": (lambda x: x.clone().zero_(1), MATRIX),
    "fill_ of nothing": (lambda x: x.clone().fill_(), MATRIX),
    "unfold backwards": (lambda x: x.unfold(1, 2, -1), MATRIX),
    "unfold by 0": (lambda x: x.unfold(1, 2, 0), MATRIX),
    "a size of -2": (lambda x: x.view(-2), MATRIX),
    "sizes with -2": (lambda x: x.reshape((2, -2)), MATRIX),
    "keepdims no bool": (lambda x: x.sum(1, keepdims="no"), MATRIX),
    "keepdim no bool": (lambda x: torch.sum(x, 1, keepdim=2), MATRIX),
    "keepdim of an extremum": (lambda x: x.max(1, "no"), MATRIX),
    "keepdim without a dim": (lambda x: x.max(keepdim=True), MATRIX),
    "keepdim of a norm": (lambda x: torch.logsumexp(x, 1, "no"), MATRIX),
    "eps no number": (lambda x: sg.layer_norm(x, (3,), eps="a"), MATRIX),
    "correction no number": (lambda x: x.var(0, correction="a"), MATRIX),
    "too few targets": (
        lambda x: functional.multi_margin_loss(x, torch.tensor([0, 2, 1])), MATRIX,
    ),
    "another normalized shape": (lambda x: functional.layer_norm(x, (3, 3)), MATRIX),
    "another normalized shape of rms_norm": (lambda x: functional.rms_norm(x, (3, 3)), MATRIX),
    "a target of another size": (
        lambda x: functional.binary_cross_entropy_with_logits(x, x[:1]), MATRIX,
    ),
    "a number that does not fit": (lambda x: x.clone().fill_(300), BYTES),
    "bits of a float": (lambda x: x.bitwise_or(0.5), BYTES),
    "bits of a dtype": (lambda x: x.bitwise_or(torch.bool), BYTES),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_raises_what_it_raises_eagerly(name: str) -> None:
    function, x = RAISES[name]
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        function(x)
    assert compared(function, sg.function(function), [x]).verdict == SKIPPED


def _diagonal_written(x: Any) -> Any:
    y = x * 1
    y.diagonal().mul_(2)
    return y


def _windows_written(x: Any) -> Any:
    y = x * 1
    y.unfold(1, 2, 1).mul_(2)
    return y


@pytest.mark.parametrize("function", [_diagonal_written, _windows_written])
def test_a_view_without_a_place_is_not_written(function: Any) -> None:
    found = compared(function, sg.function(function), [MATRIX])
    assert found.verdict == REFUSED
    assert "changes a view whose place" in found.reason


REFUSALS: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "places": (lambda x: torch.where(x > 2)[0], MATRIX, "needs the values"),
    "a tensor as a size": (lambda x: x.reshape(x[0, 0].long(), -1), MATRIX, "needs the values"),
    "a tensor as a shape": (lambda x: x.expand(x[0, 0].long()), MATRIX[0, :1], "needs|too many"),
}


@pytest.mark.parametrize("name", list(REFUSALS)[:2])
def test_is_refused_at_its_line(name: str) -> None:
    function, x, message = REFUSALS[name]
    found = compared(function, sg.function(function), [x])
    assert found.verdict == REFUSED
    assert found.line == function.__code__.co_firstlineno
    assert message in found.reason


def test_sizes_taken_for_equal_are_checked_at_each_call() -> None:
    """A trace of unknown sizes is not used for sizes that do not fit."""
    loss = sg.function(functional.binary_cross_entropy_with_logits)
    for rows, others in ((2, 2), (4, 4), (1, 1)):
        loss(torch.ones(rows, 3), torch.ones(others, 3))
    with pytest.raises(ValueError, match="must be the same as input size"):
        loss(torch.ones(4, 3), torch.ones(1, 3))


def test_errors_of_the_library_name_the_line() -> None:
    def function(x: Any) -> Any:
        return x.sum(5)

    with pytest.raises(IndexError) as caught:
        sg.function(function)(MATRIX)
    (note,) = caught.value.__notes__
    assert f"{__file__}:{function.__code__.co_firstlineno + 1}" in note


def test_a_write_that_may_reach_another_tensor_is_named() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        flat = y.reshape(-1)
        flat += 1
        return y

    with pytest.raises(sg.CaptureError) as caught:
        sg.function(function)(MATRIX)
    assert str(caught.value).startswith(f"{__file__}:{function.__code__.co_firstlineno + 3}: ")


def test_where_of_a_condition_alone() -> None:
    rows, columns = torch.where(MATRIX > 2)
    assert rows.tolist() == [0, 1, 1, 1]
    assert columns.tolist() == [2, 0, 1, 2]


def test_numbers_in_integer_tensors_as_pytorch_converts_them() -> None:
    assert BYTES.clone().fill_(-1).tolist() == [255] * 3
    assert torch.full((2,), -255, dtype=torch.uint8).tolist() == [1, 1]
    assert (BYTES & -1).tolist() == [1, 2, 3]
    assert (BYTES & 300).tolist() == [0, 0, 0]
    for call in (
        lambda: BYTES.clone().fill_(300),
        lambda: torch.full((2,), 300, dtype=torch.uint8),
        lambda: torch.full_like(BYTES, -300),
        lambda: BYTES.clone().__setitem__(0, 300),
    ):
        with pytest.raises(RuntimeError, match="to type uint8_t without overflow"):
            call()


def test_heaviside_keeps_the_dtype() -> None:
    for dtype in (torch.bool, torch.uint8, torch.int64, torch.float32):
        x = torch.tensor([0, 1, 1]).to(dtype)
        assert torch.heaviside(x, x).dtype is dtype
    with pytest.raises(RuntimeError, match="not yet implemented for tensors with different"):
        torch.heaviside(BYTES, MATRIX[0])


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_diagonal_is_written(offset: int) -> None:
    x = torch.tensor(np.arange(12.0).reshape(3, 4))
    src = torch.tensor(np.full(3 if offset >= 0 else 2, -1.0))

    def program(x: Any, src: Any) -> Any:
        return torch.diagonal_scatter(x, src, offset)

    assert torch.equal(sg.function(program)(x, src), program(x, src))
